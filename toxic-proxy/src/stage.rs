//! One toxic in the chain of one link: whether it applies there (toxicity),
//! what it holds, and whether it has acted yet.

use std::sync::Arc;

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use tokio::time::Instant;

use crate::item::Item;
use crate::schedule::Schedule;
use crate::toxic::Toxic;
use crate::toxics::Working;

/// A toxic on a link.
#[derive(Debug)]
pub(crate) struct Stage {
    name: Arc<str>,
    /// Drawn by toxicity; a stage that is not active passes everything on.
    active: bool,
    working: Working,
    schedule: Schedule,
    rng: ChaCha8Rng,
    acted: bool,
    /// An end has left: nothing more comes of this stage.
    finished: bool,
}

impl Stage {
    pub(crate) fn new(toxic: &Toxic, mut rng: ChaCha8Rng, now: Instant) -> Self {
        Self {
            name: Arc::from(toxic.name.as_str()),
            active: rng.random::<f32>() < toxic.toxicity,
            working: Working::start(&toxic.attributes, now),
            schedule: Schedule::default(),
            rng,
            acted: false,
            finished: false,
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether data may go around this stage.
    pub(crate) fn is_transparent(&self) -> bool {
        !self.active && self.schedule.is_empty()
    }

    pub(crate) fn has_room(&self) -> bool {
        if self.active {
            self.working.has_room(self.schedule.len())
        } else {
            self.schedule.is_empty()
        }
    }

    /// Takes an item in. Returns the toxic's name when it acts for the first time.
    pub(crate) fn accept(&mut self, item: Item, now: Instant) -> Option<Arc<str>> {
        if !self.active {
            self.schedule.at(now, item);
            return None;
        }
        let acted = self
            .working
            .accept(item, now, &mut self.rng, &mut self.schedule);
        self.first_act(acted)
    }

    /// Lets a deadline pass, if one has. Returns the toxic's name when it acts
    /// for the first time.
    pub(crate) fn expire(&mut self, now: Instant) -> Option<Arc<str>> {
        if !self.active
            || self.finished
            || self
                .working
                .deadline()
                .is_none_or(|deadline| deadline > now)
        {
            return None;
        }
        self.working.expire(now, &mut self.schedule);
        self.first_act(true)
    }

    fn first_act(&mut self, acted: bool) -> Option<Arc<str>> {
        (acted && !std::mem::replace(&mut self.acted, true)).then(|| Arc::clone(&self.name))
    }

    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.schedule.is_due(now)
    }

    /// Whether the next thing to leave is a reset.
    pub(crate) fn resets(&self) -> bool {
        self.schedule.starts_with_reset()
    }

    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<Item> {
        self.schedule.pop_due(now)
    }

    /// When this stage next does something by itself.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let own = if self.active && !self.finished {
            self.working.deadline()
        } else {
            None
        };
        match (self.schedule.next(), own) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// The stage goes away: what it held, in order.
    pub(crate) fn withdraw(&mut self) -> Vec<Item> {
        if self.finished {
            Vec::new()
        } else if self.active {
            self.working.withdraw(&mut self.schedule)
        } else {
            self.schedule.take_all()
        }
    }

    /// An end has left this stage or a later one: nothing that is still here
    /// counts any more.
    pub(crate) fn finish(&mut self) {
        self.finished = true;
        self.schedule.take_all();
    }

    /// New settings; toxicity is drawn again. Where the toxic applied before
    /// and no longer does, what it held is returned, to be passed on.
    pub(crate) fn update(&mut self, toxic: &Toxic, mut rng: ChaCha8Rng, now: Instant) -> Vec<Item> {
        if self.finished {
            return Vec::new();
        }
        let active = rng.random::<f32>() < toxic.toxicity;
        self.rng = rng;
        let was_active = std::mem::replace(&mut self.active, active);
        match (was_active, active) {
            (true, true) => {
                self.working
                    .update(&toxic.attributes, now, &mut self.rng, &mut self.schedule);
                Vec::new()
            }
            (true, false) => self.working.withdraw(&mut self.schedule),
            (false, _) => {
                self.working = Working::start(&toxic.attributes, now);
                Vec::new()
            }
        }
    }
}

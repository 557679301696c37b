//! One direction of one connection: the chain of toxics between a source and
//! a sink, without either. Items are fed in, time is passed in, items come out.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::time::Instant;

use crate::item::{End, Item};
use crate::stage::Stage;

/// How many items may stand ready for the sink before the chain waits for it.
const READY: usize = 4;

/// The chain of toxics of one direction.
#[derive(Debug, Default)]
pub(crate) struct Link {
    stages: Vec<Stage>,
    ready: VecDeque<Item>,
    /// An end has been fed, or a toxic has made one: nothing more goes in.
    sealed: bool,
}

impl Link {
    /// Whether data may go from source to sink without passing through here.
    pub(crate) fn is_direct(&self) -> bool {
        self.ready.is_empty() && !self.sealed && self.stages.iter().all(Stage::is_transparent)
    }

    /// Whether an item may be fed.
    pub(crate) fn has_room(&self) -> bool {
        !self.sealed
            && self
                .stages
                .first()
                .map_or(self.ready.len() < READY, Stage::has_room)
    }

    /// Puts an item in at the source's end. Nothing follows an end.
    pub(crate) fn feed(&mut self, item: Item, now: Instant, acted: &mut Vec<Arc<str>>) {
        if self.sealed {
            return;
        }
        self.sealed = matches!(item, Item::End(_));
        self.put(0, item, now, acted);
    }

    /// Hands an item to stage `index`, or to the sink's end after the last.
    fn put(&mut self, index: usize, item: Item, now: Instant, acted: &mut Vec<Arc<str>>) {
        match self.stages.get_mut(index) {
            Some(stage) => acted.extend(stage.accept(item, now)),
            None => self.ready.push_back(item),
        }
    }

    /// Moves everything on that may move. The names of toxics that act for the
    /// first time are added to `acted`.
    pub(crate) fn step(&mut self, now: Instant, acted: &mut Vec<Arc<str>>) {
        loop {
            let mut moved = false;
            for index in (0..self.stages.len()).rev() {
                acted.extend(self.stages[index].expire(now));
                while self.stages[index].is_due(now)
                    && (self.room_after(index) || self.stages[index].resets())
                {
                    let Some(item) = self.stages[index].pop_due(now) else {
                        break;
                    };
                    if matches!(item, Item::End(_)) {
                        self.cut(index);
                    }
                    self.put(index + 1, item, now, acted);
                    moved = true;
                }
            }
            if !moved {
                return;
            }
        }
    }

    /// Data waits for room; a reset needs none.
    fn room_after(&self, index: usize) -> bool {
        self.stages
            .get(index + 1)
            .map_or(self.ready.len() < READY, Stage::has_room)
    }

    /// An end has left stage `index`: what comes behind it counts no more.
    fn cut(&mut self, index: usize) {
        self.sealed = true;
        for stage in &mut self.stages[..=index] {
            stage.finish();
        }
    }

    /// The next item for the sink.
    pub(crate) fn pop_ready(&mut self) -> Option<Item> {
        self.ready.pop_front()
    }

    /// Whether something stands ready for the sink.
    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Whether a reset has come through, behind whatever else is ready.
    pub(crate) fn is_reset(&self) -> bool {
        self.ready.contains(&Item::End(End::Reset))
    }

    /// When the chain next does something by itself. What was due at `now`
    /// already waits for room, not for time.
    pub(crate) fn deadline_after(&self, now: Instant) -> Option<Instant> {
        self.stages
            .iter()
            .filter_map(Stage::deadline)
            .filter(|deadline| *deadline > now)
            .min()
    }

    /// Puts a toxic at the end of the chain.
    pub(crate) fn add(&mut self, stage: Stage) {
        self.stages.push(stage);
    }

    /// Takes a toxic out; what it held goes on.
    pub(crate) fn remove(&mut self, name: &str, now: Instant, acted: &mut Vec<Arc<str>>) {
        let Some(index) = self.stages.iter().position(|stage| stage.name() == name) else {
            return;
        };
        let held = self.stages[index].withdraw();
        let ended = held.iter().any(|item| matches!(item, Item::End(_)));
        if ended {
            self.cut(index);
        }
        self.stages.remove(index);
        for item in held {
            self.put(index, item, now, acted);
        }
    }

    /// Gives a toxic new settings, by the function that knows them.
    pub(crate) fn update(
        &mut self,
        name: &str,
        now: Instant,
        acted: &mut Vec<Arc<str>>,
        change: impl FnOnce(&mut Stage) -> Vec<Item>,
    ) {
        let Some(index) = self.stages.iter().position(|stage| stage.name() == name) else {
            return;
        };
        let held = change(&mut self.stages[index]);
        if held.iter().any(|item| matches!(item, Item::End(_))) {
            self.cut(index);
        }
        for item in held {
            self.put(index + 1, item, now, acted);
        }
    }
}

//! Whether anything is still due.
//!
//! Owns the question "is the lab settled" and the looks at the client's outcomes that answer it.

use std::{
    collections::{BTreeSet, HashMap},
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use super::{Lab, Signal, client::Probe};
use crate::{
    history::EventKind,
    intent::{Intent, Outcome},
    run::{
        error::Error,
        outcome::{Belief, Subject},
    },
};

/// How long the provider is waited for once everything else is settled.
const PROVIDER: Duration = Duration::from_secs(3);

/// How often the outcomes are asked for at the end, and how long between.
const LAST_LOOKS: u32 = 20;
const LAST_PAUSE: Duration = Duration::from_millis(50);

/// Which intent a row of the client's is about.
#[derive(Debug)]
pub(super) struct Subjects {
    by_id: HashMap<String, usize>,
    by_recipient: HashMap<String, usize>,
}

impl Subjects {
    /// The intents, by what a row can name them by; of several to one recipient, the first.
    pub(super) fn of(intents: &[Intent]) -> Self {
        let mut by_recipient = HashMap::new();
        for intent in intents {
            by_recipient
                .entry(intent.to.clone())
                .or_insert(intent.number);
        }
        Self {
            by_id: intents.iter().map(|i| (i.id.clone(), i.number)).collect(),
            by_recipient,
        }
    }

    /// The intent's number; `None` where the row is about none of ours.
    fn number_of(&self, subject: &Subject) -> Option<usize> {
        match subject {
            Subject::Intent(id) => self.by_id.get(id),
            Subject::To(to) => self.by_recipient.get(to),
        }
        .copied()
    }
}

impl Lab {
    /// No attempt in flight, nothing held, nothing on the agenda, every outcome final, and nothing
    /// more to come: a request on its way or at work, a receipt.
    pub(super) fn is_settled(&mut self) -> bool {
        let settled =
            self.is_quiet() && self.jobs.is_empty() && self.client.is_through() && self.all_final();
        if !settled {
            self.provider_until = None;
            return false;
        }
        let provider_works = self
            .sides
            .iter()
            .any(|side| side.provider.has_work_under_way());
        if !provider_works && self.closing.is_empty() {
            return true;
        }
        let now = Instant::now();
        let patience = PROVIDER + self.plan.longest_wait();
        let until = *self.provider_until.get_or_insert(now + patience);
        if now >= until {
            let text =
                "settled all the same: a receipt was not acknowledged, or a connection not closed"
                    .into();
            self.recorder.record(EventKind::Remark { text });
            return true;
        }
        // What the provider tells comes a moment before its work is over.
        self.want_probe(Duration::from_millis(5));
        false
    }

    /// Nothing is under way that was already begun.
    pub(super) fn is_quiet(&self) -> bool {
        self.live.is_empty()
            && self.waiting.is_empty()
            && !self.timers.has_work()
            && self.client.submitting.is_empty()
    }

    /// Whether the client has finished with an intent: it says so, or never took it on.
    pub(super) fn is_final(&self, intent: usize) -> bool {
        match self.beliefs.get(&intent) {
            Some((outcome, _)) => outcome.is_final(),
            None => self.client.refused(intent),
        }
    }

    /// Whether the client has finished with every intent. Most often one that is not final still
    /// is not: the search goes on where the last one ended.
    fn all_final(&mut self) -> bool {
        let count = self.plan.intents.len();
        let first = self.last_open;
        for at in (first..count).chain(0..first.min(count)) {
            if !self.is_final(self.plan.intents[at].number) {
                self.last_open = at;
                return false;
            }
        }
        true
    }

    /// Wants the client's outcomes looked at within `within`, or as soon as looking is not most of
    /// what the machine does.
    pub(super) fn want_probe(&mut self, within: Duration) {
        let within = within.max(self.client.probe_pause());
        self.timers.probe_by(Instant::now() + within);
    }

    /// Looks, unless a look is under way.
    pub(super) fn probe(&mut self) {
        let Some(mut probe) = self.client.probe.take() else {
            return;
        };
        if !self.client.asks_for_outcomes() {
            self.client.probe = Some(probe);
            return;
        }
        let signals = self.signals.clone();
        tokio::spawn(async move {
            let began = Instant::now();
            let beliefs = probe.ask().await;
            // Nobody listens once the lab is closed.
            let _unheard = signals.send(Signal::Probed(Box::new(probe), beliefs, began.elapsed()));
        });
    }

    /// Looks once more, now that the client has stopped, and notes what it knows nothing of.
    pub(super) async fn last_look(&mut self) -> Result<(), Error> {
        if self.client.asks_for_outcomes() {
            let cancel = self.shared.cancel.clone();
            while self.client.probe.is_none() {
                tokio::select! {
                    biased;
                    () = cancel.cancelled() => return Ok(()),
                    signal = self.inbox.recv() => self.answer(signal).await?,
                }
            }
            if let Some(mut probe) = self.client.probe.take() {
                let answer = tokio::select! {
                    biased;
                    () = cancel.cancelled() => return Ok(()),
                    answer = last_answer(&mut probe) => answer?,
                };
                self.client.probe = Some(probe);
                if let Some(beliefs) = answer {
                    // A row that was there and is gone is as forgotten as one that never was.
                    let number_of = |belief: &Belief| self.subjects.number_of(&belief.subject);
                    let known: BTreeSet<usize> = beliefs.iter().filter_map(number_of).collect();
                    self.on_beliefs(beliefs);
                    self.beliefs.retain(|intent, _| known.contains(intent));
                } else {
                    let text = "the client's outcomes could not be asked for at the end".into();
                    self.recorder.record(EventKind::Remark { text });
                }
            }
        }
        let plan = std::sync::Arc::clone(&self.plan);
        for intent in &plan.intents {
            if self.beliefs.contains_key(&intent.number) {
                continue;
            }
            if self.client.would_have_told(intent.number) {
                // Its command was still at work when the time was up: it has not forgotten.
                self.believe(intent.number, Outcome::Pending, None);
            } else {
                self.recorder.record(EventKind::Forgotten {
                    intent: intent.number,
                });
            }
        }
        Ok(())
    }

    /// Notes what changed in the client's outcomes, and looks again while any is not final.
    pub(super) fn on_beliefs(&mut self, beliefs: Vec<Belief>) {
        for belief in beliefs {
            if let Some(number) = self.subjects.number_of(&belief.subject) {
                self.believe(number, belief.outcome, belief.attempts);
            }
        }
        if !self.all_final() {
            self.want_probe(self.client.probe_interval());
        }
    }

    /// Notes what the client believes of an intent.
    pub(super) fn believe(&mut self, intent: usize, outcome: Outcome, attempts: Option<u32>) {
        let before = self.beliefs.insert(intent, (outcome, attempts));
        if outcome.is_final() && !before.is_some_and(|(before, _)| before.is_final()) {
            self.shared.finished.fetch_add(1, Ordering::Relaxed);
        }
        if before != Some((outcome, attempts)) {
            self.last_activity = Instant::now();
            self.recorder.record(EventKind::Believed {
                intent,
                outcome,
                attempts,
            });
        }
    }
}

/// Asks until there is an answer, for a while: at the end it decides.
async fn last_answer(probe: &mut Probe) -> Result<Option<Vec<Belief>>, Error> {
    for _ in 0..LAST_LOOKS {
        if let Some(beliefs) = probe.ask().await? {
            return Ok(Some(beliefs));
        }
        tokio::time::sleep(LAST_PAUSE).await;
    }
    Ok(None)
}

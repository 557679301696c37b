//! Whether anything is still due.
//!
//! Owns the question "is the lab settled" and the looks at the client's outcomes that answer it.

use std::time::{Duration, Instant};

use super::{Lab, Signal};
use crate::{
    history::EventKind,
    intent::Outcome,
    run::{
        error::Error,
        outcome::{Belief, Subject},
    },
};

/// How long receipts are waited for once everything else is settled.
const RECEIPTS: Duration = Duration::from_secs(3);

impl Lab {
    /// No attempt in flight, nothing held, nothing on the agenda, every outcome final, and every
    /// receipt acknowledged or given up.
    pub(super) fn is_settled(&mut self) -> bool {
        let settled = self.is_quiet()
            && self.jobs.is_empty()
            && self.client.is_through()
            && self
                .plan
                .intents
                .iter()
                .all(|intent| self.is_final(intent.number));
        if !settled {
            self.receipts_until = None;
            return false;
        }
        if !self
            .sides
            .iter()
            .any(|side| side.provider.has_receipts_under_way())
        {
            return true;
        }
        let now = Instant::now();
        let patience = RECEIPTS + self.plan.longest_wait();
        let until = *self.receipts_until.get_or_insert(now + patience);
        if now >= until {
            let text = "the client's endpoint does not acknowledge its receipts".into();
            self.recorder.record(EventKind::Remark { text });
            return true;
        }
        // That a receipt was acknowledged is told before its courier is done.
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

    /// Wants the client's outcomes looked at within `within`.
    pub(super) fn want_probe(&mut self, within: Duration) {
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
            let beliefs = probe.ask().await;
            // Nobody listens once the lab is closed.
            let _unheard = signals.send(Signal::Probed(Box::new(probe), beliefs));
        });
    }

    /// Looks once more, now that the client has stopped, and notes what it knows nothing of.
    pub(super) async fn last_look(&mut self) -> Result<(), Error> {
        if self.client.asks_for_outcomes() {
            while self.client.probe.is_none() {
                match self.inbox.recv().await {
                    Some(signal) => self.answer(signal).await?,
                    None => break,
                }
            }
            if let Some(mut probe) = self.client.probe.take() {
                let beliefs = probe.ask().await?;
                self.client.probe = Some(probe);
                self.on_beliefs(beliefs);
            }
        }
        for intent in &self.plan.intents {
            if !self.beliefs.contains_key(&intent.number) {
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
            let intent = self
                .plan
                .intents
                .iter()
                .find(|intent| match &belief.subject {
                    Subject::Intent(id) => intent.id == *id,
                    Subject::To(to) => intent.to == *to,
                });
            if let Some(number) = intent.map(|intent| intent.number) {
                self.believe(number, belief.outcome, belief.attempts);
            }
        }
        if !self
            .plan
            .intents
            .iter()
            .all(|intent| self.is_final(intent.number))
        {
            self.want_probe(self.client.probe_interval());
        }
    }

    /// Notes what the client believes of an intent.
    pub(super) fn believe(&mut self, intent: usize, outcome: Outcome, attempts: Option<u32>) {
        if self.beliefs.insert(intent, (outcome, attempts)) != Some((outcome, attempts)) {
            self.last_activity = Instant::now();
            self.recorder.record(EventKind::Believed {
                intent,
                outcome,
                attempts,
            });
        }
    }
}

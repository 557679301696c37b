//! [`HoldRule`]: which attempts wait at a stage until they are let go.
//!
//! Owns the rules and the attempts that wait. A hold is how a watcher puts something in place
//! (a network fault, a kill) before an attempt goes on.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;

use crate::{
    attempts::Attempts,
    event::AttemptId,
    fault::{RequestKind, Stage},
    record::Attempt,
};

/// Which attempts wait.
#[derive(Clone, Debug, PartialEq)]
pub struct HoldRule {
    /// Only those of this intent; absent: of each, counted apart.
    pub intent: Option<usize>,
    /// Which attempts (lookups) of it.
    pub attempts: Attempts,
    /// Submit requests or lookups.
    pub request: RequestKind,
}

/// Every hold of one provider.
#[derive(Debug, Default)]
pub(crate) struct Holds(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    rules: Vec<(Stage, HoldRule)>,
    held: HashMap<(AttemptId, Stage), oneshot::Sender<()>>,
    /// Let go before they came to the stage.
    early: HashSet<(AttemptId, Stage)>,
}

impl Holds {
    pub(crate) fn add(&self, stage: Stage, rule: HoldRule) {
        self.state().rules.push((stage, rule));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.state().rules.is_empty()
    }

    /// If the attempt must wait here: what resolves once it is let go. It counts as held from now
    /// on, so that whoever hears of it can let it go.
    pub(crate) fn stop(&self, attempt: &Attempt, stage: Stage) -> Option<oneshot::Receiver<()>> {
        let mut holds = self.state();
        let held = holds.rules.iter().any(|(at, rule)| {
            *at == stage
                && rule.request == attempt.kind
                && rule
                    .intent
                    .is_none_or(|intent| attempt.intent() == Some(intent))
                && rule.attempts.contains(attempt.ordinal)
        });
        if !held || holds.early.remove(&(attempt.id, stage)) {
            return None;
        }
        let (release, released) = oneshot::channel();
        holds.held.insert((attempt.id, stage), release);
        Some(released)
    }

    /// Lets an attempt go; one that has not come to the stage yet will not stop there.
    pub(crate) fn release(&self, attempt: AttemptId, stage: Stage) {
        let mut holds = self.state();
        match holds.held.remove(&(attempt, stage)) {
            // The attempt may be gone with a crash: then there is nothing to let go.
            Some(release) => drop(release.send(())),
            None => drop(holds.early.insert((attempt, stage))),
        }
    }

    /// Lets everything go and holds nothing from now on.
    pub(crate) fn lift(&self) {
        *self.state() = State::default();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! What is true over all histories of a run: the controls of the narrower kinds.
//!
//! Owns [`Facts`]. It names nothing.

use super::Judged;
use crate::{
    bug_kind::BugKind,
    checks::{Growth, SymptomKind, decide_growth, late_waits},
    history::{
        reply::{Reply, reply},
        retry::{Cause, KeyMove, retries},
    },
};

/// What is true over all histories.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one control of one kind, and none excludes another"
)]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Quick retries of a plain refusal that kept the key.
    pub(super) quick_kept: usize,
    /// Quick retries of a plain refusal under another key.
    pub(super) quick_changed: usize,
    /// Retries of a plain refusal that lost the key.
    pub(super) plain_dropped: usize,
    /// Retries of a plain refusal without any key.
    pub(super) plain_keyless: usize,
    /// Late retries of a plain refusal that kept the key.
    pub(super) late_kept: usize,
    /// Late retries of a plain refusal under another key.
    pub(super) late_changed: usize,
    /// Plain refusals after which nothing more came.
    pub(super) not_retried: usize,
    /// Whether the key was lost or changed after ambiguity, with the process alive.
    pub(super) ambiguous_changed: bool,
    /// Whether a lost answer was taken for a failure.
    pub(super) ambiguous_failed: bool,
    /// Whether two intents of one customer bore one key.
    pub(super) reused_within_customer: bool,
    /// Whether the content changed under a key anywhere.
    pub(super) payload_differs: bool,
    /// Whether requests multiplied after whole answers.
    pub(super) multiplied: bool,
    /// Whether a request was resent from a fresh connection.
    pub(super) resent_fresh: bool,
    /// Whether a request was resent without the key that it had borne.
    pub(super) resent_keyless: bool,
    /// Whether one row was taken twice with nothing wrong around it.
    pub(super) quiet_overlap: bool,
    /// Whether one worker alone overlapped with itself.
    pub(super) single_overlap: bool,
    /// Whether several workers shared work without a fault and without overlap.
    pub(super) quiet_workers_clean: bool,
    /// Whether a Retry-After in seconds was not heeded.
    pub(super) retry_after_ignored: bool,
    /// Whether the front door let a plain repeat through.
    pub(super) repeats_sent: bool,
    /// Whether the waits do not grow.
    pub(super) flat: bool,
    /// Whether a message that was taken on was forgotten unsent, across a kill.
    pub(super) forgotten_at_kill: bool,
}

impl Facts {
    /// What these and those histories together say.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        Self {
            quick_kept: self.quick_kept + other.quick_kept,
            quick_changed: self.quick_changed + other.quick_changed,
            plain_dropped: self.plain_dropped + other.plain_dropped,
            plain_keyless: self.plain_keyless + other.plain_keyless,
            late_kept: self.late_kept + other.late_kept,
            late_changed: self.late_changed + other.late_changed,
            not_retried: self.not_retried + other.not_retried,
            ambiguous_changed: self.ambiguous_changed | other.ambiguous_changed,
            ambiguous_failed: self.ambiguous_failed | other.ambiguous_failed,
            reused_within_customer: self.reused_within_customer | other.reused_within_customer,
            payload_differs: self.payload_differs | other.payload_differs,
            multiplied: self.multiplied | other.multiplied,
            resent_fresh: self.resent_fresh | other.resent_fresh,
            resent_keyless: self.resent_keyless | other.resent_keyless,
            quiet_overlap: self.quiet_overlap | other.quiet_overlap,
            single_overlap: self.single_overlap | other.single_overlap,
            quiet_workers_clean: self.quiet_workers_clean | other.quiet_workers_clean,
            retry_after_ignored: self.retry_after_ignored | other.retry_after_ignored,
            repeats_sent: self.repeats_sent | other.repeats_sent,
            flat: self.flat | other.flat,
            forgotten_at_kill: self.forgotten_at_kill | other.forgotten_at_kill,
        }
    }

    /// What these histories say.
    #[must_use]
    pub fn of(runs: &[Judged<'_>]) -> Self {
        let mut facts = Self::default();
        for run in runs {
            facts.count_retries(run);
            for symptom in &run.symptoms {
                facts.note(symptom.kind);
                facts.forgotten_at_kill |= symptom.kind == SymptomKind::ForgottenAndUndelivered
                    && symptom
                        .intent
                        .is_some_and(|i| run.view.violence_on(i).is_some());
            }
            let overlapped = run
                .symptoms
                .iter()
                .any(|s| matches!(s.kind, SymptomKind::WorkedOnTwice { .. }));
            facts.quiet_workers_clean |= run.view.history.client.workers > 1
                && !run.view.any_fault_fired()
                && !overlapped
                && !run.view.attempts.is_empty();
        }
        let waits: Vec<_> = runs.iter().flat_map(|r| late_waits(&r.view)).collect();
        facts.flat |= runs.first().is_some_and(|run| {
            decide_growth(&run.view.history.client.policy, &waits) == Growth::Flat
        });
        facts
    }

    fn note(&mut self, kind: SymptomKind) {
        match kind {
            SymptomKind::KeyNotKept {
                key: KeyMove::Changed | KeyMove::Dropped,
                cause: Cause::Ambiguous,
                resend: false,
            } => self.ambiguous_changed = true,
            SymptomKind::KeyNotKept {
                key: KeyMove::Dropped,
                resend: true,
                ..
            } => self.resent_keyless = true,
            SymptomKind::FailedButDelivered {
                last: Reply::Ambiguous,
            } => self.ambiguous_failed = true,
            SymptomKind::KeyOfAnotherIntent {
                across_customers: false,
            } => self.reused_within_customer = true,
            SymptomKind::PayloadDiffers => self.payload_differs = true,
            SymptomKind::Multiplied { .. } => self.multiplied = true,
            SymptomKind::Resent { reused: false, .. } => self.resent_fresh = true,
            SymptomKind::WorkedOnTwice {
                faulted,
                several_workers,
            } => {
                self.quiet_overlap |= !faulted;
                self.single_overlap |= !several_workers;
            }
            SymptomKind::CameBackEarly => self.retry_after_ignored = true,
            SymptomKind::SentForEachSubmission => self.repeats_sent = true,
            SymptomKind::WaitsFlat => self.flat = true,
            _ => {}
        }
    }

    fn count_retries(&mut self, run: &Judged<'_>) {
        let view = &run.view;
        for intent in view.intents() {
            let all = retries(view, intent.number);
            for retry in all.iter().filter(|r| !r.resend) {
                match (retry.cause, retry.key) {
                    (Cause::Refusal, KeyMove::Kept) => self.quick_kept += 1,
                    (Cause::Refusal, KeyMove::Changed) => self.quick_changed += 1,
                    (Cause::LateRefusal, KeyMove::Kept) => self.late_kept += 1,
                    (Cause::LateRefusal, KeyMove::Changed) => self.late_changed += 1,
                    (Cause::Refusal | Cause::LateRefusal, KeyMove::Dropped) => {
                        self.plain_dropped += 1;
                    }
                    (Cause::Refusal | Cause::LateRefusal, KeyMove::Keyless) => {
                        self.plain_keyless += 1;
                    }
                    _ => {}
                }
            }
            let tries = view.tries(intent.number);
            if let [only] = tries.as_slice()
                && reply(view, only).is_refusal()
                && view.belief(intent.number).is_some()
            {
                self.not_retried += 1;
            }
        }
    }

    /// Whether the key depends on the time: kept on a quick retry, changed on a late one.
    pub(super) fn volatile(&self) -> bool {
        self.quick_kept > 0 && self.late_changed > 0 && self.late_kept == 0
    }

    /// The general kind of lost key that plain refusals show.
    pub(super) fn general(&self) -> Option<BugKind> {
        if self.quick_changed > 0 && !self.volatile() {
            Some(BugKind::KeyPerAttempt)
        } else if self.plain_dropped > 0 {
            Some(BugKind::KeyDropped)
        } else if self.plain_keyless > 0 {
            Some(BugKind::NoKey)
        } else if self.volatile() {
            Some(BugKind::VolatileKey)
        } else {
            None
        }
    }

    /// Whether plain refusals were met, whatever the client made of them.
    pub(super) fn has_control(&self) -> bool {
        [self.quick_kept, self.late_kept, self.not_retried] != [0; 3]
    }

    /// Whether plain refusals were retried at once, under whatever key.
    pub(super) fn retries_refusals(&self) -> bool {
        let retried = [
            self.quick_kept,
            self.quick_changed,
            self.plain_dropped,
            self.plain_keyless,
        ];
        retried != [0; 4]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each fact, so many times.
    fn every(count: usize) -> Facts {
        Facts {
            quick_kept: count,
            quick_changed: count,
            plain_dropped: count,
            plain_keyless: count,
            late_kept: count,
            late_changed: count,
            not_retried: count,
            ambiguous_changed: true,
            ambiguous_failed: true,
            reused_within_customer: true,
            payload_differs: true,
            multiplied: true,
            resent_fresh: true,
            resent_keyless: true,
            quiet_overlap: true,
            single_overlap: true,
            quiet_workers_clean: true,
            retry_after_ignored: true,
            repeats_sent: true,
            flat: true,
            forgotten_at_kill: true,
        }
    }

    #[test]
    fn joined_histories_say_what_each_says_and_count_what_both_count() {
        let none = Facts::default();
        assert_eq!(none.join(&none), none);
        assert_eq!(every(3).join(&none), every(3));
        assert_eq!(none.join(&every(3)), every(3));
        assert_eq!(every(3).join(&every(4)), every(7));
    }
}

//! The checks: pure functions from a history to the symptoms in it.
//!
//! Owns [`Symptom`] and the table of [`CHECKS`]. A symptom says what was seen and cites the events
//! that prove it; which bug kind explains it is the diagnosis'.

mod attempt_count;
mod bound;
mod caller_key;
mod duplicate_delivery;
mod expectation;
mod failover;
mod front_door;
mod given_up;
mod key_collision;
mod key_kept;
mod keyless_in_batch;
mod never_on_wire;
mod outcome;
mod payload;
mod permanent;
mod receipts;
mod statistic;
mod stray;

pub use bound::Bound;
pub use bound::retry_after::asked_us;
pub use outcome::waits_as_told;
pub(crate) use statistic::growth::{
    Growth, decide as decide_growth, late_waits, symptom as flat_waits,
};
pub use statistic::{FEWEST_MESSAGES, HISTORIES, Statistic};

use bound::{expiry, overlap, retention, retry_after};
use statistic::{growth, spread};

use crate::history::{
    reply::Reply,
    retry::{Cause, KeyMove},
    view::View,
};

/// What was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SymptomKind {
    /// A retry does not bear the key of the request before it.
    KeyNotKept {
        /// What became of the key.
        key: KeyMove,
        /// What lay between the two requests.
        cause: Cause,
        /// Whether something below the client sent the second.
        resend: bool,
    },
    /// An intent's first request bears no key, though another intent's does.
    KeylessInBatch,
    /// The key on the wire is not the caller's.
    CallerKeyReplaced,
    /// The key on the wire is a beginning or another case of the caller's.
    CallerKeyMangled,
    /// A request bears the key of another intent under the same credential.
    KeyOfAnotherIntent {
        /// Whether the two intents are of different customers.
        across_customers: bool,
    },
    /// A request bears the key of another intent, made from what the identities of both have in
    /// common.
    KeyCutFromId,
    /// A request bears another customer's credential.
    CredentialOfAnotherCustomer,
    /// Under one key, two contents.
    PayloadDiffers,
    /// Under one key, one JSON in two spellings.
    BytesDiffer,
    /// A request under a key that the provider has forgotten.
    AttemptAfterRetention,
    /// More deliveries than there should be.
    DeliveredTooOften {
        /// What lay before the request that made the first delivery too many.
        cause: Option<Cause>,
    },
    /// Fewer deliveries than the scenario asks for.
    DeliveredTooSeldom,
    /// The client says `failed`, and the phone has buzzed.
    FailedButDelivered {
        /// How the last request looked to the client.
        last: Reply,
    },
    /// The client says `failed`, and the last it heard is that a request is in flight.
    FailedWhileInFlight,
    /// The client says `sent`, and no phone has buzzed.
    SentButUndelivered {
        /// Whether its process was killed on the way.
        across_kill: bool,
    },
    /// The client is not finished, and does nothing more.
    PendingAtEnd,
    /// The client knows nothing of an intent that was delivered.
    ForgottenButDelivered,
    /// The client knows nothing of an intent that it had taken on, and that was not delivered.
    ForgottenAndUndelivered,
    /// An intent was never on the wire, while another to the same recipient was.
    NeverOnWire,
    /// The client gave up on a passing error with attempts left.
    GivenUp {
        /// Whether nothing but broken connections and lost answers was seen.
        only_ambiguous: bool,
        /// Whether the last answer bore a Retry-After in an unusual form.
        odd_retry_after: bool,
    },
    /// Another try after an answer that will never change.
    PermanentRetried,
    /// Another try before the time that the provider asked for, in whole seconds.
    CameBackEarly,
    /// A Retry-After in another form, not heeded as it should be.
    RetryAfterMisread {
        /// Whether the client came back too early; else too late, or never.
        early: bool,
    },
    /// The waits of many intents lie together beyond chance.
    WaitsCluster,
    /// The waits do not grow.
    WaitsFlat,
    /// More tries than the client promises.
    OverMaximum,
    /// A request that the client does not know of, after a broken connection.
    Resent {
        /// Whether the broken connection had been in use before.
        reused: bool,
        /// Whether the same key makes it harmless.
        harmless: bool,
    },
    /// More requests on the wire than the client knows of, after whole answers.
    Multiplied {
        /// Whether they are more than the client promises.
        over_maximum: bool,
    },
    /// Two requests for one intent at once.
    WorkedOnTwice {
        /// Whether a fault had acted on the first.
        faulted: bool,
        /// Whether several workers ran.
        several_workers: bool,
    },
    /// A request after the message's expiry.
    AttemptAfterExpiry,
    /// A request after a whole success, when a receipt had come.
    AttemptAfterReceipt,
    /// The outcome went back after a receipt.
    OutcomeWentBack,
    /// Both providers delivered one intent.
    BothProvidersDelivered,
    /// One intent, submitted more than once, was delivered more than once.
    SentForEachSubmission,
    /// Other content under a known id was answered as a success.
    ConflictAccepted,
    /// The outcome is none of those that the scenario allows.
    UnexpectedOutcome,
    /// A request that belongs to no intent.
    StrayAttempt,
}

/// What a check saw, and the events that prove it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symptom {
    /// What.
    pub kind: SymptomKind,
    /// Of which intent; `None`: of none, or of all.
    pub intent: Option<usize>,
    /// The `seq` of the events that prove it.
    pub evidence: Vec<u64>,
    /// The requests that show it, in the order of arrival.
    pub attempts: Vec<u64>,
    /// What was seen, in one line, with its numbers.
    pub detail: String,
}

/// What a check has to say on a history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// What is wrong.
    pub symptoms: Vec<Symptom>,
    /// What could not be decided, and why. It counts only where a scenario is about it.
    pub undecided: Vec<String>,
}

impl Observed {
    #[cfg(test)]
    fn kinds(self) -> Vec<SymptomKind> {
        self.symptoms
            .into_iter()
            .map(|symptom| symptom.kind)
            .collect()
    }

    fn saw(&mut self, symptom: Symptom) {
        self.symptoms.push(symptom);
    }

    fn open(&mut self, why: impl Into<String>) {
        self.undecided.push(why.into());
    }
}

/// One rule.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// Its name.
    pub name: &'static str,
    /// What its findings rest on.
    pub basis: Basis,
    /// The rule.
    pub run: fn(&View<'_>) -> Observed,
}

/// What a finding rests on.
#[derive(Clone, Copy, Debug)]
pub enum Basis {
    /// On what happened, whenever it did.
    Fact,
    /// On one time that is too short or too late by itself.
    Bound(&'static Bound),
    /// On many times, weighed against chance.
    Statistic(&'static Statistic),
}

const fn fact(name: &'static str, run: fn(&View<'_>) -> Observed) -> Check {
    Check {
        name,
        basis: Basis::Fact,
        run,
    }
}

const fn bound(name: &'static str, bound: &'static Bound, run: fn(&View<'_>) -> Observed) -> Check {
    Check {
        name,
        basis: Basis::Bound(bound),
        run,
    }
}

const fn statistic(
    name: &'static str,
    statistic: &'static Statistic,
    run: fn(&View<'_>) -> Observed,
) -> Check {
    Check {
        name,
        basis: Basis::Statistic(statistic),
        run,
    }
}

/// Every check.
pub const CHECKS: &[Check] = &[
    fact("key-kept", key_kept::check),
    fact("keyless-in-batch", keyless_in_batch::check),
    fact("caller-key", caller_key::check),
    fact("key-collision", key_collision::check),
    fact("payload", payload::check),
    bound("retention", &retention::BOUND, retention::check),
    fact("duplicate-delivery", duplicate_delivery::check),
    fact("outcome", outcome::check),
    fact("never-on-wire", never_on_wire::check),
    fact("given-up", given_up::check),
    fact("permanent", permanent::check),
    bound("retry-after", &retry_after::BOUND, retry_after::check),
    statistic("spread", &spread::STATISTIC, spread::check),
    statistic("growth", &growth::STATISTIC, growth::check),
    fact("attempt-count", attempt_count::check),
    bound("overlap", &overlap::BOUND, overlap::check),
    bound("expiry", &expiry::BOUND, expiry::check),
    fact("receipts", receipts::check),
    fact("failover", failover::check),
    fact("front-door", front_door::check),
    fact("expectation", expectation::check),
    fact("stray", stray::check),
];

/// How sure a finding about time is, by kind, in Markdown.
#[must_use]
pub fn timing_reference() -> String {
    format!(
        "## Times that one sample proves\n\n{}\n## Times that are left to chance\n\n{}",
        bound::reference(),
        statistic::reference()
    )
}

/// Everything that the checks see in a history, with what they could not decide by the tag of
/// the check.
#[must_use]
pub fn observe(view: &View<'_>) -> (Vec<Symptom>, Vec<(&'static str, String)>) {
    let mut symptoms = Vec::new();
    let mut undecided = Vec::new();
    for check in CHECKS {
        let seen = (check.run)(view);
        symptoms.extend(seen.symptoms);
        if let Basis::Statistic(statistic) = check.basis {
            undecided.extend(seen.undecided.into_iter().map(|why| (statistic.tag, why)));
        }
    }
    (symptoms, undecided)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::history::builder::tale;

    #[test]
    fn every_check_has_a_name_of_its_own() {
        let names: BTreeSet<_> = CHECKS.iter().map(|c| c.name).collect();
        assert_eq!(names.len(), CHECKS.len());
    }

    #[test]
    fn the_reference_of_times_is_the_published_one() {
        let published = include_str!("../../../docs/bug-kinds.md");
        let reference = timing_reference();
        assert!(published.contains(&reference), "UPDATE_SCHEMAS=1");
        for kind in ["sent-after-deadline", "no-jitter", "no-backoff"] {
            assert!(reference.contains(&format!("| `{kind}` |")), "{kind}");
        }
    }

    #[test]
    fn a_clean_history_shows_nothing() {
        let history = tale("clean", 2)
            .ask(1, Some("k1"))
            .accept()
            .ask(2, Some("k2"))
            .accept()
            .all_sent();
        assert_eq!(observe(&View::new(&history)).0, []);
    }

    #[test]
    fn an_empty_history_shows_no_symptom_but_what_the_client_forgot() {
        let history = tale("empty", 1).given(|h| h.events.clear()).history;
        assert_eq!(observe(&View::new(&history)).0, []);
    }
}

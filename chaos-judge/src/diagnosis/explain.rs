//! Names a symptom by the kind that explains it.

use super::{Judged, Named, facts::Facts, keys};
use crate::{
    bug_kind::BugKind,
    checks::{Symptom, SymptomKind},
    history::{
        reply::Reply,
        retry::{Cause, KeyMove, own_count},
    },
    severity::Severity,
};

/// The kind that explains `symptom`; `None` where another symptom of the same cause is named, or
/// where nothing but the symptom itself is known.
pub(super) fn name(facts: &Facts, run: &Judged<'_>, symptom: &Symptom) -> Option<Named> {
    let also = |wanted: fn(&SymptomKind) -> bool| run.of(symptom.intent).any(|s| wanted(&s.kind));
    match symptom.kind {
        SymptomKind::KeyNotKept { key, cause, resend } => {
            let broken = matches!(cause, Cause::Ambiguous | Cause::BrokenSuccess);
            let uncounted = || {
                symptom
                    .intent
                    .is_some_and(|i| own_count(&run.view, i).is_none())
            };
            if resend {
                None
            } else if facts.resent_keyless && key == KeyMove::Dropped && broken && uncounted() {
                // Seen to be sent again by something below the client wherever that can be told.
                Some(Named::surely(resent(facts, true)))
            } else {
                keys::name(facts, key, cause)
            }
        }
        SymptomKind::KeylessInBatch => Some(Named::surely(
            facts.general().unwrap_or(BugKind::KeyDropped),
        )),
        SymptomKind::CallerKeyReplaced => Some(Named::surely(
            facts.general().unwrap_or(BugKind::CallerKeyOverwritten),
        )),
        SymptomKind::CallerKeyMangled | SymptomKind::KeyCutFromId => {
            Some(Named::surely(BugKind::KeyMangled))
        }
        SymptomKind::KeyOfAnotherIntent { across_customers } => {
            let kind = if across_customers && !facts.reused_within_customer {
                BugKind::KeySharedByCustomers
            } else {
                BugKind::KeyReused
            };
            // Of two that share a key, either may be the one whose own was mangled.
            let mangled = symptom
                .attempts
                .iter()
                .filter_map(|id| run.view.attempt(*id))
                .flat_map(|a| run.of(a.intent))
                .any(|s| s.kind == SymptomKind::CallerKeyMangled);
            (!mangled).then(|| Named::surely(kind))
        }
        SymptomKind::CredentialOfAnotherCustomer => {
            Some(Named::surely(BugKind::KeySharedByCustomers))
        }
        SymptomKind::PayloadDiffers => Some(Named::surely(BugKind::PayloadChanged)),
        SymptomKind::BytesDiffer => Some(Named::surely(if facts.payload_differs {
            BugKind::PayloadChanged
        } else {
            BugKind::PayloadReserialised
        })),
        SymptomKind::AttemptAfterRetention => Some(Named::surely(BugKind::KeyOutlived)),
        SymptomKind::BothProvidersDelivered => Some(Named::surely(BugKind::FailoverDuplicates)),
        SymptomKind::SentForEachSubmission => Some(Named::surely(BugKind::FrontDoorDuplicates)),
        SymptomKind::ConflictAccepted => Some(Named::surely(if facts.repeats_sent {
            BugKind::FrontDoorDuplicates
        } else {
            BugKind::FrontDoorConflictHidden
        })),
        SymptomKind::WorkedOnTwice { .. } => Some(worked_on_twice(facts, run, symptom)),
        SymptomKind::AttemptAfterReceipt | SymptomKind::OutcomeWentBack => {
            Some(Named::surely(BugKind::ReceiptMishandled))
        }
        SymptomKind::AttemptAfterExpiry => Some(Named::surely(BugKind::SentAfterDeadline)),
        SymptomKind::PermanentRetried => Some(Named::surely(BugKind::PermanentRetried)),
        SymptomKind::StrayAttempt => Some(Named::surely(BugKind::StrayAttempt)),
        SymptomKind::FailedButDelivered { .. }
        | SymptomKind::FailedWhileInFlight
        | SymptomKind::SentButUndelivered { .. }
        | SymptomKind::PendingAtEnd
        | SymptomKind::ForgottenButDelivered
        | SymptomKind::ForgottenAndUndelivered
        | SymptomKind::NeverOnWire
        | SymptomKind::GivenUp { .. } => outcome(facts, run, symptom),
        // Workers that take one row from each other try it too often as well.
        SymptomKind::OverMaximum if also(|k| matches!(k, SymptomKind::WorkedOnTwice { .. })) => {
            None
        }
        SymptomKind::CameBackEarly
        | SymptomKind::RetryAfterMisread { .. }
        | SymptomKind::WaitsCluster
        | SymptomKind::WaitsFlat
        | SymptomKind::OverMaximum
        | SymptomKind::Resent { .. }
        | SymptomKind::Multiplied { .. } => manners(facts, run, symptom),
        SymptomKind::DeliveredTooOften { .. }
        | SymptomKind::DeliveredTooSeldom
        | SymptomKind::UnexpectedOutcome => None,
    }
}

/// Names a contradiction between belief and delivery. The precedence: pending, then forgotten
/// (unless it was never on the wire beside a sibling), then `sent`, then `failed`.
fn outcome(facts: &Facts, run: &Judged<'_>, symptom: &Symptom) -> Option<Named> {
    let also = |wanted: fn(&SymptomKind) -> bool| run.of(symptom.intent).any(|s| wanted(&s.kind));
    match symptom.kind {
        SymptomKind::PendingAtEnd => {
            // Once it was done, and a receipt undid it.
            let undone = also(|k| *k == SymptomKind::OutcomeWentBack);
            let waits = also(|k| matches!(k, SymptomKind::RetryAfterMisread { early: false }));
            (!undone && !waits).then(|| Named::surely(BugKind::Stuck))
        }
        SymptomKind::NeverOnWire => Some(Named::surely(BugKind::Swallowed)),
        SymptomKind::ForgottenButDelivered => {
            // What a kill takes from it before the send, a kill takes after it as well.
            let killed = symptom
                .intent
                .is_some_and(|i| run.view.violence_on(i).is_some());
            Some(Named::surely(if killed && facts.forgotten_at_kill {
                BugKind::Lost
            } else {
                BugKind::SentThenRolledBack
            }))
        }
        SymptomKind::ForgottenAndUndelivered => (!also(|k| *k == SymptomKind::NeverOnWire))
            .then_some(BugKind::Lost)
            .map(Named::surely),
        SymptomKind::SentButUndelivered { across_kill } => {
            let swallowed_by_a_key = also(|k| {
                matches!(
                    k,
                    SymptomKind::NeverOnWire
                        | SymptomKind::KeyOfAnotherIntent { .. }
                        | SymptomKind::KeyCutFromId
                        | SymptomKind::CredentialOfAnotherCustomer
                        | SymptomKind::CallerKeyMangled
                )
            });
            if swallowed_by_a_key {
                None
            } else if across_kill {
                Some(Named::surely(BugKind::Lost))
            } else {
                Some(Named::surely(BugKind::BrokenSuccessTrusted))
            }
        }
        SymptomKind::FailedButDelivered { last } => {
            let refused_for_its_content = matches!(last, Reply::Permanent(_) | Reply::InFlight)
                && also(|k| matches!(k, SymptomKind::PayloadDiffers | SymptomKind::BytesDiffer));
            if refused_for_its_content || also(|k| *k == SymptomKind::OutcomeWentBack) {
                None
            } else if last == Reply::InFlight {
                Some(Named::surely(BugKind::InFlightMishandled))
            } else {
                Some(Named::surely(BugKind::AmbiguousAsFailed))
            }
        }
        SymptomKind::FailedWhileInFlight => {
            (!also(|k| matches!(k, SymptomKind::PayloadDiffers | SymptomKind::BytesDiffer)))
                .then(|| Named::surely(BugKind::InFlightMishandled))
        }
        SymptomKind::GivenUp {
            only_ambiguous,
            odd_retry_after,
        } => {
            let retries_otherwise = facts.retries_refusals();
            if only_ambiguous && facts.ambiguous_failed {
                // The same defect, but here the message is lost by it.
                Some(Named::graded(BugKind::AmbiguousAsFailed, Severity::Loss))
            } else if odd_retry_after && retries_otherwise {
                Some(Named::surely(BugKind::RetryAfterMisread))
            } else {
                Some(Named::surely(BugKind::RetryableGivenUp))
            }
        }
        _ => None,
    }
}

/// Names a matter of retry manners and of counts.
fn manners(facts: &Facts, run: &Judged<'_>, symptom: &Symptom) -> Option<Named> {
    match symptom.kind {
        SymptomKind::CameBackEarly => Some(Named::surely(BugKind::RetryAfterIgnored)),
        SymptomKind::RetryAfterMisread { early } => {
            Some(Named::surely(if early && facts.retry_after_ignored {
                BugKind::RetryAfterIgnored
            } else {
                BugKind::RetryAfterMisread
            }))
        }
        // Flat waits come together as well.
        SymptomKind::WaitsCluster => Some(Named::surely(if facts.flat {
            BugKind::NoBackoff
        } else {
            BugKind::NoJitter
        })),
        SymptomKind::WaitsFlat | SymptomKind::OverMaximum => {
            Some(Named::surely(BugKind::NoBackoff))
        }
        // Workers that take one row write their counts over each other's.
        SymptomKind::Resent { .. }
            if facts.quiet_overlap && run.view.history.client.workers > 1 =>
        {
            None
        }
        SymptomKind::Resent { reused, harmless } => {
            let kind = resent(facts, reused);
            if harmless {
                Some(Named::graded(kind, Severity::Note))
            } else {
                Some(Named::graded(kind, Severity::Duplicate))
            }
        }
        SymptomKind::Multiplied { over_maximum: true } => {
            Some(Named::surely(BugKind::LayeredRetries))
        }
        SymptomKind::Multiplied {
            over_maximum: false,
        } => Some(Named::graded(BugKind::LayeredRetries, Severity::Note)),
        _ => None,
    }
}

/// What sends again below the client's own count: another layer, or the transport, and then only
/// where a reused connection breaks, unless it was seen to do so on a fresh one.
fn resent(facts: &Facts, reused: bool) -> BugKind {
    if facts.multiplied {
        BugKind::LayeredRetries
    } else if reused && !facts.resent_fresh {
        BugKind::ResendReusedConnection
    } else {
        BugKind::ResendFreshConnection
    }
}

/// Names a broken claim. One that breaks with nothing wrong around it is no matter of time.
fn worked_on_twice(facts: &Facts, run: &Judged<'_>, symptom: &Symptom) -> Named {
    let named = if facts.quiet_overlap {
        Named::surely(BugKind::NoClaimLock)
    } else if facts.single_overlap {
        Named::surely(BugKind::SweeperTooEager)
    } else if facts.quiet_workers_clean {
        Named::surely(BugKind::LeaseTooShort)
    } else {
        Named::or_narrower(BugKind::NoClaimLock)
    };
    // A stable key makes it harmless to the recipient; the claim is broken all the same.
    let kept = run.of(symptom.intent).all(|s| {
        !matches!(
            s.kind,
            SymptomKind::KeyNotKept { key, .. } if key != KeyMove::Kept
        )
    });
    Named {
        severity: if kept {
            Severity::Policy
        } else {
            named.severity
        },
        ..named
    }
}

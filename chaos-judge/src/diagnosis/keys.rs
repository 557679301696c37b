//! Names a key that was not kept.
//!
//! The general kinds are those that plain refusals show: there the provider said that nothing was
//! accepted, and the process lived on. What is seen only elsewhere has a name of its own.

use super::{Named, facts::Facts};
use crate::{
    bug_kind::BugKind,
    history::retry::{Cause, KeyMove},
};

/// The kind that explains a key that was not kept, where it is a matter of keys at all.
pub(super) fn name(facts: &Facts, key: KeyMove, cause: Cause) -> Option<Named> {
    match cause {
        // What lies between these is a kind of its own, whatever the key does.
        Cause::SubmittedAgain
        | Cause::Failover
        | Cause::Overlap
        | Cause::Receipt
        | Cause::Permanent => return None,
        // No reason to ask again, or none any more: only a general kind explains another key.
        Cause::Success | Cause::Retention => return facts.general().map(Named::surely),
        _ => {}
    }
    let general = match key {
        KeyMove::Kept => return None,
        KeyMove::Keyless => BugKind::NoKey,
        KeyMove::Dropped => BugKind::KeyDropped,
        KeyMove::Changed => BugKind::KeyPerAttempt,
    };
    match (cause, key) {
        (Cause::Refusal, KeyMove::Changed) if facts.volatile() => {
            return Some(Named::surely(BugKind::VolatileKey));
        }
        (Cause::Refusal, _) | (Cause::LateRefusal, KeyMove::Dropped | KeyMove::Keyless) => {
            return Some(Named::surely(general));
        }
        (Cause::LateRefusal, _) => {
            return if facts.quick_changed > 0 && !facts.volatile() {
                Some(Named::surely(BugKind::KeyPerAttempt))
            } else if facts.quick_kept > 0 {
                Some(Named::surely(BugKind::VolatileKey))
            } else {
                Some(Named::or_narrower(BugKind::KeyPerAttempt))
            };
        }
        _ => {}
    }
    if let Some(seen) = facts.general() {
        return Some(Named::surely(seen));
    }
    if !facts.has_control() {
        return Some(Named::or_narrower(general));
    }
    // Without a key at any time there is none to lose: only the retry of a server error, which
    // the client would not make of a plain refusal, is a kind of its own.
    let narrow = match (cause, key) {
        (Cause::ServerError, KeyMove::Keyless | KeyMove::Dropped) => {
            BugKind::RetriedAcceptedFiveHundred
        }
        (Cause::ServerError, _) => BugKind::NewKeyOnStoredError,
        (Cause::InFlight, _) => BugKind::InFlightMishandled,
        (Cause::BrokenSuccess, _) if facts.ambiguous_changed => BugKind::AmbiguousAsFailed,
        (Cause::BrokenSuccess, _) => BugKind::BadSuccessRetried,
        (_, KeyMove::Keyless) => BugKind::NoKey,
        (Cause::Redirect, KeyMove::Dropped) => BugKind::KeyLostOnRedirect,
        (Cause::Restart, _) if !facts.ambiguous_changed => BugKind::CrashMintsKey,
        (Cause::Restart | Cause::Ambiguous, _) => BugKind::AmbiguousAsFailed,
        _ => general,
    };
    Some(Named::surely(narrow))
}

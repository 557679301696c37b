//! Is a key used only as long as the provider remembers it?

use super::Bound;
use crate::{
    checks::{Observed, Symptom, SymptomKind},
    history::view::View,
};

/// What the check holds a client to: both arrivals are on the provider's clock, and so is what it
/// forgets.
pub(in crate::checks) const BOUND: Bound = Bound {
    proof: "a request under a key whose first request arrived longer ago than the provider said it keeps keys",
    tolerance_us: 0,
};

/// Cites the first request under the key and the one that came too late.
pub(in crate::checks) fn check(view: &View<'_>) -> Observed {
    let mut seen = Observed::default();
    let retention = view.history.provider.retention_us;
    if retention == 0 {
        seen.open("the provider's retention is not known");
        return seen;
    }
    for intent in view.intents() {
        // A second submission is the caller's doing.
        if view.submitted_again(intent.number) {
            continue;
        }
        let tries = view.tries(intent.number);
        for (nth, attempt) in tries.iter().enumerate() {
            let first = tries[..nth].iter().find(|a| {
                a.key.is_some() && a.key == attempt.key && a.provider == attempt.provider
            });
            let Some(first) = first else { continue };
            let age = attempt.arrived.at_us.saturating_sub(first.arrived.at_us);
            if age > retention.saturating_add(BOUND.tolerance_us) {
                seen.saw(Symptom {
                    kind: SymptomKind::AttemptAfterRetention,
                    intent: Some(intent.number),
                    evidence: vec![first.arrived.seq, attempt.arrived.seq],
                    attempts: vec![first.id, attempt.id],
                    detail: format!(
                        "the key was {} ms old, and is kept for {} ms",
                        age / 1_000,
                        retention / 1_000
                    ),
                });
                break;
            }
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{History, builder::tale};

    fn retried_after(millis: u64) -> History {
        tale("retention", 1)
            .given(|h| h.provider.retention_us = 1_000_000)
            .ask(1, Some("k"))
            .refuse(429)
            .wait(millis)
            .ask(1, Some("k"))
            .accept()
            .all_sent()
    }

    #[test]
    fn a_retry_while_the_key_is_known_passes() {
        assert_eq!(check(&View::new(&retried_after(500))), Observed::default());
    }

    #[test]
    fn a_retry_after_the_retention_is_seen() {
        let seen = check(&View::new(&retried_after(2_000)));
        assert_eq!(seen.symptoms[0].kind, SymptomKind::AttemptAfterRetention);
        assert_eq!(seen.symptoms[0].attempts, [1, 2]);
    }

    #[test]
    fn without_a_known_retention_nothing_is_decided() {
        let mut history = retried_after(2_000);
        history.provider.retention_us = 0;
        let seen = check(&View::new(&history));
        assert!(seen.symptoms.is_empty() && !seen.undecided.is_empty());
    }

    #[test]
    fn a_key_is_good_up_to_the_last_instant() {
        let mut history = retried_after(997);
        let arrivals: Vec<u64> = View::new(&history)
            .tries(1)
            .iter()
            .map(|a| a.arrived.at_us)
            .collect();
        history.provider.retention_us = arrivals[1] - arrivals[0];
        assert_eq!(check(&View::new(&history)), Observed::default());
        history.provider.retention_us -= 1;
        assert_eq!(check(&View::new(&history)).symptoms.len(), 1);
    }

    #[test]
    fn another_key_no_key_and_another_provider_are_no_use_of_the_old_key() {
        let again = |first: Option<&str>, second: Option<&str>, provider: u8| {
            tale("retention", 1)
                .given(|h| h.provider.retention_us = 1_000_000)
                .ask(1, first)
                .refuse(429)
                .wait(2_000)
                .at_provider(provider)
                .ask(1, second)
                .accept()
                .all_sent()
        };
        let seen = |history: &History| check(&View::new(history)).symptoms.len();
        assert_eq!(seen(&again(Some("k"), Some("k"), 1)), 1);
        assert_eq!(seen(&again(Some("k"), Some("l"), 1)), 0);
        assert_eq!(seen(&again(Some("k"), Some("k"), 2)), 0);
        assert_eq!(seen(&again(None, None, 1)), 0);
    }
}

//! Does every retry bear the key of the request before it?

use super::{Observed, Symptom, SymptomKind};
use crate::history::{
    retry::{Cause, KeyMove, retries},
    view::View,
};

/// Cites the two requests.
pub(super) fn check(view: &View<'_>) -> Observed {
    let mut seen = Observed::default();
    if !view.history.provider.has_key {
        seen.open("the provider's API has no key");
        return seen;
    }
    for intent in view.intents() {
        let all = retries(view, intent.number);
        if all.is_empty() {
            seen.open(format!("intent {} was not retried", intent.number));
        }
        for retry in all.iter().filter(|r| r.key != KeyMove::Kept) {
            // Another provider knows other keys, and a hop is no retry: without a key before
            // it there was none to lose.
            if retry.cause == Cause::Failover
                || (retry.cause == Cause::Redirect && retry.key == KeyMove::Keyless)
            {
                continue;
            }
            let what = match retry.key {
                KeyMove::Keyless => "no key on either request".to_owned(),
                KeyMove::Dropped => format!(
                    "the key `{}` is missing on the later request",
                    retry.from.key.unwrap_or_default()
                ),
                KeyMove::Changed | KeyMove::Kept => format!(
                    "`{}` became `{}`",
                    retry.from.key.unwrap_or("no key"),
                    retry.to.key.unwrap_or_default()
                ),
            };
            seen.saw(Symptom {
                kind: SymptomKind::KeyNotKept {
                    key: retry.key,
                    cause: retry.cause,
                    resend: retry.resend,
                },
                intent: Some(intent.number),
                evidence: retry.evidence(),
                attempts: retry.attempts(),
                detail: format!(
                    "{what} {}{}",
                    retry.cause,
                    if retry.from.replayed.is_some() {
                        ", which the provider replayed from its memory"
                    } else {
                        ""
                    }
                ),
            });
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::builder::tale;

    fn moves(history: &crate::history::History) -> Vec<(KeyMove, Cause)> {
        check(&View::new(history))
            .symptoms
            .iter()
            .filter_map(|s| match s.kind {
                SymptomKind::KeyNotKept { key, cause, .. } => Some((key, cause)),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn a_kept_key_passes() {
        let history = tale("kept", 1)
            .ask(1, Some("k"))
            .refuse(503)
            .ask(1, Some("k"))
            .accept()
            .all_sent();
        assert_eq!(moves(&history), []);
    }

    #[test]
    fn a_changed_a_dropped_and_a_missing_key_are_told_apart_and_cite_both_requests() {
        for (first, second, expected) in [
            (Some("a"), Some("b"), KeyMove::Changed),
            (Some("a"), None, KeyMove::Dropped),
            (None, None, KeyMove::Keyless),
        ] {
            let history = tale("moved", 1)
                .ask(1, first)
                .refuse(503)
                .ask(1, second)
                .accept()
                .all_sent();
            assert_eq!(moves(&history), [(expected, Cause::Refusal)]);
            let seen = check(&View::new(&history));
            assert_eq!(seen.symptoms[0].attempts, [1, 2]);
            assert_eq!(seen.symptoms[0].evidence.len(), 2);
        }
    }

    #[test]
    fn a_key_that_comes_back_is_no_other_one() {
        let history = tale("back", 1)
            .ask(1, Some("a"))
            .refuse(503)
            .ask(1, None)
            .refuse(503)
            .ask(1, Some("a"))
            .refuse(503)
            .ask(1, Some("b"))
            .accept()
            .all_sent();
        assert_eq!(
            moves(&history),
            [
                (KeyMove::Dropped, Cause::Refusal),
                (KeyMove::Changed, Cause::Refusal)
            ]
        );
    }

    #[test]
    fn what_lies_between_the_requests_is_named() {
        let hang = tale("hang", 1)
            .ask(1, Some("a"))
            .hang()
            .ask(1, Some("b"))
            .accept();
        assert_eq!(
            moves(&hang.all_sent()),
            [(KeyMove::Changed, Cause::Ambiguous)]
        );
        let kill = tale("kill", 1)
            .ask(1, Some("a"))
            .deliver()
            .kill()
            .ask(1, Some("b"))
            .accept();
        assert_eq!(
            moves(&kill.all_sent()),
            [(KeyMove::Changed, Cause::Restart)]
        );
        let late = tale("late", 1)
            .ask(1, Some("a"))
            .refuse(429)
            .wait(2_000)
            .ask(1, Some("b"))
            .accept();
        assert_eq!(
            moves(&late.all_sent()),
            [(KeyMove::Changed, Cause::LateRefusal)]
        );
    }

    #[test]
    fn another_provider_is_asked_under_another_key_and_a_hop_without_a_key_has_lost_none() {
        let other = tale("failover", 1)
            .ask(1, Some("a"))
            .refuse(503)
            .at_provider(2)
            .ask(1, Some("b"))
            .accept();
        assert_eq!(moves(&other.all_sent()), []);
        let hop = |first| {
            tale("redirect", 1)
                .ask(1, first)
                .refuse(307)
                .ask(1, None)
                .accept()
                .all_sent()
        };
        assert_eq!(moves(&hop(None)), []);
        assert_eq!(
            moves(&hop(Some("a"))),
            [(KeyMove::Dropped, Cause::Redirect)]
        );
    }

    #[test]
    fn without_a_retry_or_without_keys_in_the_api_nothing_is_decided() {
        let once = tale("once", 1).ask(1, None).accept().all_sent();
        assert!(check(&View::new(&once)).symptoms.is_empty());
        assert!(!check(&View::new(&once)).undecided.is_empty());
        let keyless = tale("keyless", 1)
            .given(|h| h.provider.has_key = false)
            .ask(1, None)
            .refuse(503)
            .ask(1, None)
            .accept()
            .all_sent();
        assert!(check(&View::new(&keyless)).symptoms.is_empty());
        assert!(!check(&View::new(&keyless)).undecided.is_empty());
    }
}

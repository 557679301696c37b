//! Did the client give up on a passing error while it had attempts left?

use super::{Observed, Symptom, SymptomKind, asked_us, bound::retry_after::Form};
use crate::{
    history::{
        reply::{Reply, reply},
        retry::own_count,
        view::View,
    },
    intent::Outcome,
};

/// A retention under which a client may rightly stop before its attempts are used up, in
/// microseconds.
const SHORT_RETENTION_US: u64 = 5_000_000;

/// Cites the last request and the outcome.
pub(super) fn check(view: &View<'_>) -> Observed {
    let mut seen = Observed::default();
    let Some(maximum) = view.history.client.policy.max_attempts else {
        seen.open("the client promises no number of attempts");
        return seen;
    };
    if !view.history.provider.has_key {
        seen.open("the provider's API has no key: giving up is right");
        return seen;
    }
    for intent in view.intents() {
        let number = intent.number;
        let Some(belief) = view.belief(number) else {
            seen.open(format!("nobody asked what became of intent {number}"));
            continue;
        };
        let Some(outcome @ (Outcome::Failed | Outcome::Dead)) = belief.outcome else {
            continue;
        };
        if !view.deliveries(number).is_empty() || view.violence_on(number).is_some() {
            continue;
        }
        let tries = view.tries(number);
        let own = own_count(view, number);
        let used = u32::try_from(tries.len())
            .unwrap_or(u32::MAX)
            .max(own.unwrap_or(0));
        let never_arrived = tries.is_empty() && own.is_none();
        // Told to come back only when the message is useless, it is done at once.
        let next_us = told_until_us(view, number)
            .unwrap_or(0)
            .max(belief.mark.at_us.saturating_add(1_000_000));
        let expired = view.expires_at_us(number).is_some_and(|at| at <= next_us);
        if used >= maximum || never_arrived || expired || key_runs_out(view, number) {
            continue;
        }
        let replies: Vec<Reply> = tries.iter().map(|a| reply(view, a)).collect();
        let passing = replies.iter().all(|r| {
            matches!(
                r,
                Reply::Refused(_) | Reply::ServerError(_) | Reply::Ambiguous
            )
        });
        let only_ambiguous = replies
            .iter()
            .all(|r| matches!(r, Reply::Ambiguous | Reply::ServerError(_)));
        // Set aside after ambiguity: the client knows that it does not know.
        let known_unknown = outcome == Outcome::Dead && replies.contains(&Reply::Ambiguous);
        let form = tries
            .last()
            .and_then(|a| a.answer)
            .and_then(|(_, answer)| Form::of(answer));
        if !passing || known_unknown || matches!(form, Some(Form::Huge(_))) {
            continue;
        }
        let mut evidence: Vec<u64> = tries.last().map(|a| a.arrived.seq).into_iter().collect();
        evidence.push(belief.mark.seq);
        seen.saw(Symptom {
            kind: SymptomKind::GivenUp {
                only_ambiguous,
                odd_retry_after: form.is_some_and(|f| !matches!(f, Form::Seconds(_))),
            },
            intent: Some(number),
            evidence,
            attempts: tries.last().map(|a| a.id).into_iter().collect(),
            detail: format!("`{outcome}` after {used} of {maximum} attempts"),
        });
    }
    seen
}

/// When the last answer to an intent told the client to come back, in microseconds.
fn told_until_us(view: &View<'_>, intent: usize) -> Option<u64> {
    let tries = view.tries(intent);
    let (mark, answer) = tries.last()?.answer?;
    Some(mark.at_us.saturating_add(asked_us(answer)?))
}

/// Whether the time for which the provider remembers the key may have stopped the client: it is
/// short, or the client was told to come back only after it.
fn key_runs_out(view: &View<'_>, intent: usize) -> bool {
    let retention = view.history.provider.retention_us;
    let told = view
        .tries(intent)
        .iter()
        .filter_map(|a| a.answer)
        .filter_map(|(_, answer)| asked_us(answer))
        .any(|asked| asked >= retention);
    told || retention < SHORT_RETENTION_US
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{EventKind, builder::tale};

    #[test]
    fn a_client_that_is_told_to_wait_beyond_the_expiry_may_stop_at_once() {
        let told_to_wait = |seconds| {
            tale("429", 1)
                .given(|h| {
                    h.client.policy.max_attempts = Some(5);
                    h.provider.has_key = true;
                    h.provider.retention_us = 3_600_000_000;
                    h.intents[0].expires_after = Some(std::time::Duration::from_secs(4));
                })
                .submit(1, crate::history::Submission::First, true)
                .ask(1, Some("k"))
                .answer_with(429, &[("retry-after", seconds)])
                .believe(1, Outcome::Dead)
                .settle()
        };
        assert!(check(&View::new(&told_to_wait("5"))).symptoms.is_empty());
        assert_eq!(check(&View::new(&told_to_wait("2"))).symptoms.len(), 1);
    }

    /// What is seen of a client that gives up at its first 429 with this `Retry-After`, at a
    /// provider that remembers a key for so long.
    fn given_up_at(retry_after: &str, retention_us: u64) -> Vec<SymptomKind> {
        let history = tale("429", 1)
            .given(|h| {
                h.client.policy.max_attempts = Some(5);
                h.provider.retention_us = retention_us;
            })
            .ask(1, Some("k"))
            .answer_with(429, &[("retry-after", retry_after)])
            .believe(1, Outcome::Dead)
            .settle();
        let seen = check(&View::new(&history));
        seen.symptoms.into_iter().map(|s| s.kind).collect()
    }

    #[test]
    fn a_key_that_runs_out_meanwhile_is_a_reason_to_stop() {
        let given_up = [SymptomKind::GivenUp {
            only_ambiguous: false,
            odd_retry_after: false,
        }];
        assert_eq!(given_up_at("1", SHORT_RETENTION_US - 1), []);
        assert_eq!(given_up_at("1", SHORT_RETENTION_US), given_up);
        assert_eq!(given_up_at("10", 10_000_000), []);
        assert_eq!(given_up_at("9", 10_000_000), given_up);
    }

    #[test]
    fn a_retry_after_that_is_no_number_of_seconds_is_said_with_it() {
        for odd in ["soon", "-1"] {
            assert_eq!(
                given_up_at(odd, 3_600_000_000),
                [SymptomKind::GivenUp {
                    only_ambiguous: false,
                    odd_retry_after: true
                }]
            );
        }
    }

    #[test]
    fn giving_up_at_the_maximum_passes() {
        let mut t = tale("exhausted", 1).given(|h| h.client.policy.max_attempts = Some(2));
        for _ in 0..2 {
            t = t.ask(1, Some("k")).refuse(503);
        }
        let history = t.believe(1, Outcome::Dead).settle();
        assert_eq!(check(&View::new(&history)), Observed::default());
    }

    #[test]
    fn giving_up_on_a_503_with_attempts_left_is_seen() {
        let history = tale("early", 1)
            .ask(1, Some("k"))
            .refuse(503)
            .believe(1, Outcome::Failed)
            .settle();
        let seen = check(&View::new(&history));
        assert_eq!(
            seen.symptoms[0].kind,
            SymptomKind::GivenUp {
                only_ambiguous: false,
                odd_retry_after: false
            }
        );
    }

    #[test]
    fn tries_that_only_the_client_or_only_the_wire_counted_are_tries() {
        let dead_after = |told: crate::history::builder::Tale, count: Option<u32>| {
            let history = told
                .event(EventKind::Believed {
                    intent: 1,
                    outcome: Outcome::Dead,
                    attempts: count,
                })
                .settle();
            check(&View::new(&history)).symptoms.len()
        };
        let never_arrived = || tale("down", 1);
        assert_eq!(dead_after(never_arrived(), Some(2)), 1);
        assert_eq!(dead_after(never_arrived(), Some(5)), 0);
        assert_eq!(dead_after(never_arrived(), Some(0)), 0);
        assert_eq!(dead_after(never_arrived(), None), 0);
        let refused = || tale("refused", 1).ask(1, Some("k")).refuse(503);
        assert_eq!(dead_after(refused(), None), 1);
    }

    #[test]
    fn setting_aside_after_ambiguity_or_a_permanent_error_passes() {
        let hang = tale("hang", 1)
            .ask(1, Some("k"))
            .hang()
            .believe(1, Outcome::Dead)
            .settle();
        assert!(check(&View::new(&hang)).symptoms.is_empty());
        let never = tale("400", 1)
            .ask(1, Some("k"))
            .refuse(400)
            .believe(1, Outcome::Failed)
            .settle();
        assert!(check(&View::new(&never)).symptoms.is_empty());
    }

    #[test]
    fn without_a_promise_nothing_is_decided() {
        let history = tale("free", 1)
            .given(|h| h.client.policy.max_attempts = None)
            .ask(1, Some("k"))
            .refuse(503)
            .believe(1, Outcome::Failed)
            .settle();
        let seen = check(&View::new(&history));
        assert!(seen.symptoms.is_empty() && !seen.undecided.is_empty());
    }
}

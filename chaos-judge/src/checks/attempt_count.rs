//! Do the wire's count, the client's own count and its promise agree?

use super::{Observed, Symptom, SymptomKind};
use crate::history::{
    retry::{Cause, KeyMove, own_count, retries, wire_count},
    view::View,
};

/// Cites the requests that the client does not know of, or the last one too many.
pub(super) fn check(view: &View<'_>) -> Observed {
    let mut seen = Observed::default();
    let maximum = view.history.client.policy.max_attempts;
    for intent in view.intents() {
        let number = intent.number;
        let tries = view.tries(number);
        if tries.is_empty() || view.alike(number).len() > 1 || view.submitted_again(number) {
            continue;
        }
        let all = retries(view, number);
        let wire = wire_count(&all);
        let told = view.own_count(number);
        let belief = view.belief(number).map(|b| b.mark.seq);
        let last: Vec<_> = tries.iter().rev().take(2).rev().collect();
        let evidence =
            || -> Vec<u64> { last.iter().map(|a| a.arrived.seq).chain(belief).collect() };
        let attempts = || -> Vec<u64> { last.iter().map(|a| a.id).collect() };
        if told.is_none() {
            seen.open(format!(
                "the client does not count its attempts for intent {number}"
            ));
        }
        if let Some(max) = maximum {
            let over = told.map_or(wire > max, |own| own > max);
            if over {
                seen.saw(Symptom {
                    kind: SymptomKind::OverMaximum,
                    intent: Some(number),
                    evidence: evidence(),
                    attempts: attempts(),
                    detail: format!("{} attempts, {max} promised", told.unwrap_or(wire)),
                });
                continue;
            }
        }
        let resent: Vec<_> = all.iter().filter(|r| r.resend).collect();
        for retry in &resent {
            let reused = retry.from.nth_on_connection > 1;
            seen.saw(Symptom {
                kind: SymptomKind::Resent {
                    reused,
                    harmless: retry.key == KeyMove::Kept,
                },
                intent: Some(number),
                evidence: retry.evidence().into_iter().chain(belief).collect(),
                attempts: retry.attempts(),
                detail: format!(
                    "{wire} requests on the wire, {} by the client's own count{}; the broken connection was {}",
                    own_count(view, number).unwrap_or_default(),
                    if retry.key == KeyMove::Dropped {
                        ", the one that it does not know of without the key"
                    } else {
                        ""
                    },
                    if reused { "a reused one" } else { "a fresh one" }
                ),
            });
        }
        let Some(own) = own_count(view, number) else {
            continue;
        };
        let unknown = wire.saturating_sub(own) as usize;
        // One worker more, or one receipt more, is not a layer of retries.
        let by_answers = all.iter().all(|r| {
            matches!(
                r.cause,
                Cause::Refusal
                    | Cause::LateRefusal
                    | Cause::ServerError
                    | Cause::Permanent
                    | Cause::InFlight
                    | Cause::Redirect
                    | Cause::Ambiguous
                    | Cause::BrokenSuccess
            )
        });
        if unknown > resent.len() && by_answers {
            seen.saw(Symptom {
                kind: SymptomKind::Multiplied {
                    over_maximum: maximum.is_some_and(|max| own <= max && wire > max),
                },
                intent: Some(number),
                evidence: evidence(),
                attempts: attempts(),
                detail: format!(
                    "{wire} requests on the wire, {own} by the client's own count, {} promised",
                    maximum.map_or_else(|| "no number".to_owned(), |m| m.to_string())
                ),
            });
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use stub_provider::{event::End, fault::Stage};

    use super::*;
    use crate::{
        history::{
            EventKind, History, Submission,
            builder::{close, reset, tale, two_alike},
        },
        intent::Outcome,
    };

    fn kinds(history: &History) -> Vec<SymptomKind> {
        check(&View::new(history)).kinds()
    }

    fn refused(wire: u32, own: u32) -> History {
        let mut t = tale("constant", 1);
        for _ in 0..wire {
            t = t.ask(1, Some("k")).refuse(503);
        }
        t.believe_counting(1, Outcome::Dead, own).settle()
    }

    #[test]
    fn counts_that_agree_within_the_promise_pass() {
        assert_eq!(kinds(&refused(5, 5)), []);
        assert_eq!(kinds(&refused(3, 3)), []);
    }

    #[test]
    fn more_than_promised_and_more_than_the_client_knows_are_told_apart() {
        assert_eq!(kinds(&refused(9, 9)), [SymptomKind::OverMaximum]);
        assert_eq!(
            kinds(&refused(15, 5)),
            [SymptomKind::Multiplied { over_maximum: true }]
        );
    }

    #[test]
    fn a_request_resent_by_something_below_the_client_is_seen_with_its_connection() {
        let fresh = tale("fresh", 1)
            .ask(1, None)
            .deliver()
            .suffer(close(Stage::AfterAccept))
            .end(End::Closed)
            .ask(1, None)
            .accept()
            .believe_counting(1, Outcome::Sent, 1)
            .settle();
        assert_eq!(
            kinds(&fresh),
            [SymptomKind::Resent {
                reused: false,
                harmless: false
            }]
        );
        let reused = tale("reused", 2)
            .ask(1, Some("a"))
            .accept()
            .believe(1, Outcome::Sent)
            .ask_again_there(2, Some("b"))
            .deliver()
            .suffer(reset(Stage::AfterAccept))
            .end(End::Reset)
            .ask(2, Some("b"))
            .replay(2)
            .answer(201)
            .believe_counting(2, Outcome::Sent, 1)
            .settle();
        assert_eq!(
            kinds(&reused),
            [SymptomKind::Resent {
                reused: true,
                harmless: true
            }]
        );
    }

    #[test]
    fn a_client_that_does_not_count_is_held_to_its_promise_by_the_wire() {
        let uncounted = |wire: u32| {
            let mut history = refused(wire, 0);
            let belief = history.events.len() - 2;
            history.events[belief].kind = EventKind::Believed {
                intent: 1,
                outcome: Outcome::Dead,
                attempts: None,
            };
            history
        };
        assert_eq!(kinds(&uncounted(5)), []);
        assert_eq!(kinds(&uncounted(6)), [SymptomKind::OverMaximum]);
        assert_eq!(kinds(&refused(5, 6)), [SymptomKind::OverMaximum]);
    }

    #[test]
    fn more_requests_than_counted_within_the_promise_or_beyond_it_are_told_apart() {
        let multiplied = |wire, own| kinds(&refused(wire, own));
        let within = SymptomKind::Multiplied {
            over_maximum: false,
        };
        let beyond = SymptomKind::Multiplied { over_maximum: true };
        assert_eq!(multiplied(5, 2), [within]);
        assert_eq!(multiplied(6, 2), [beyond]);
        assert_eq!(multiplied(6, 5), [beyond]);
    }

    #[test]
    fn requests_that_cannot_be_told_apart_or_were_submitted_twice_are_not_counted() {
        let alike = |same: bool| {
            let mut told = if same { two_alike() } else { tale("apart", 2) };
            for _ in 0..9 {
                told = told.ask(1, Some("k")).refuse(503);
            }
            told.believe(1, Outcome::Dead)
                .ask(2, Some("j"))
                .accept()
                .believe(2, Outcome::Sent)
                .settle()
        };
        assert_eq!(kinds(&alike(false)), [SymptomKind::OverMaximum]);
        assert_eq!(kinds(&alike(true)), []);
        let mut again = tale("again", 1).submit(1, Submission::Again, true);
        for _ in 0..9 {
            again = again.ask(1, Some("k")).refuse(503);
        }
        assert_eq!(kinds(&again.believe(1, Outcome::Dead).settle()), []);
    }

    #[test]
    fn a_client_that_does_not_count_is_not_contradicted() {
        let history = tale("uncounted", 1)
            .given(|h| h.client.policy.max_attempts = None)
            .ask(1, Some("k"))
            .refuse(503)
            .ask(1, Some("k"))
            .accept()
            .settle();
        let seen = check(&View::new(&history));
        assert!(seen.symptoms.is_empty() && !seen.undecided.is_empty());
    }
}

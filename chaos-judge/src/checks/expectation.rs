//! Did what the scenario itself asks for come out?

use super::{Observed, Symptom, SymptomKind};
use crate::{history::view::View, intent::Outcome};

/// Cites the outcome, or the last that was seen of the intent.
pub(super) fn check(view: &View<'_>) -> Observed {
    let mut seen = Observed::default();
    let expect = &view.history.expect;
    for intent in view.intents() {
        let number = intent.number;
        let belief = view.belief(number);
        // Turned away at the door: whoever submitted it knows that nothing was sent.
        let turned_away = belief.is_none_or(|b| b.outcome.is_none())
            && !view.taken_on(number)
            && view.tries(number).is_empty();
        if turned_away {
            seen.open(format!("intent {number} was not taken on"));
            continue;
        }
        let attempts: Vec<u64> = view.tries(number).iter().take(2).map(|a| a.id).collect();
        if !expect.outcomes.is_empty() {
            match belief {
                None => seen.open(format!("nobody asked what became of intent {number}")),
                Some(belief) if belief.outcome.is_none_or(|o| !expect.outcomes.contains(&o)) => {
                    let allowed: Vec<_> = expect.outcomes.iter().map(|o| o.as_str()).collect();
                    seen.saw(Symptom {
                        kind: SymptomKind::UnexpectedOutcome,
                        intent: Some(number),
                        evidence: vec![belief.mark.seq],
                        attempts: attempts.clone(),
                        detail: format!(
                            "the client says `{}`, the scenario allows {}",
                            belief.outcome.map_or("nothing", |o| o.as_str()),
                            allowed.join(", ")
                        ),
                    });
                }
                Some(_) => {}
            }
        }
        let alike = view.alike(number);
        let each = expect.deliveries.unwrap_or(0) as usize * alike.len();
        let delivered: usize = alike.iter().map(|n| view.deliveries(*n).len()).sum();
        // It says that it does not know, and none of what the scenario is about has happened.
        let at_a_loss = belief
            .is_some_and(|b| matches!(b.outcome, Some(Outcome::Unknown | Outcome::Dead)))
            && !view.history.faults.is_empty()
            && !view.any_fault_fired();
        if delivered < each && at_a_loss {
            seen.open(format!("intent {number} met none of the faults"));
        } else if delivered < each && alike.first() == Some(&number) {
            seen.saw(Symptom {
                kind: SymptomKind::DeliveredTooSeldom,
                intent: Some(number),
                evidence: belief.map_or_else(|| vec![view.last_seq], |b| vec![b.mark.seq]),
                attempts,
                detail: format!("{delivered} deliveries where {each} should be"),
            });
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use stub_provider::fault::Stage;

    use super::*;
    use crate::history::{
        EventKind, History, Submission,
        builder::{hang, tale, two_alike},
    };

    fn expecting(outcome: Outcome, deliveries: u32, sent: bool) -> History {
        let t = tale("expect", 1).given(|h| {
            h.expect.outcomes = vec![outcome];
            h.expect.deliveries = Some(deliveries);
        });
        let t = t.ask(1, Some("k"));
        let t = if sent { t.accept() } else { t.refuse(400) };
        t.believe(1, if sent { Outcome::Sent } else { Outcome::Failed })
            .settle()
    }

    #[test]
    fn what_was_asked_for_passes() {
        let history = expecting(Outcome::Sent, 1, true);
        assert_eq!(check(&View::new(&history)), Observed::default());
    }

    #[test]
    fn another_outcome_and_too_few_deliveries_are_seen() {
        let history = expecting(Outcome::Sent, 1, false);
        let seen = check(&View::new(&history));
        assert_eq!(
            seen.symptoms.iter().map(|s| s.kind).collect::<Vec<_>>(),
            [
                SymptomKind::UnexpectedOutcome,
                SymptomKind::DeliveredTooSeldom
            ]
        );
    }

    #[test]
    fn one_that_does_not_know_and_met_none_of_the_faults_decides_nothing() {
        let expecting_one = |told| {
            tale("starved", 1)
                .given(|h| h.expect.deliveries = Some(1))
                .declare(1, hang(Stage::AfterAccept))
                .believe(1, told)
                .settle()
        };
        let seen = check(&View::new(&expecting_one(Outcome::Unknown)));
        assert!(seen.symptoms.is_empty() && !seen.undecided.is_empty());
        let seen = check(&View::new(&expecting_one(Outcome::Failed)));
        assert_eq!(seen.symptoms[0].kind, SymptomKind::DeliveredTooSeldom);
    }

    #[test]
    fn only_what_was_turned_away_and_left_no_trace_is_nobody_s_message() {
        let door = |accepted: bool, asked: bool, belief: Option<Outcome>| {
            let mut told = tale("door", 1).given(|h| {
                h.expect.deliveries = Some(1);
            });
            told.history.events.clear();
            let told = told.submit(1, Submission::First, accepted);
            let told = if asked {
                told.ask(1, Some("k")).refuse(503)
            } else {
                told
            };
            let told = match belief {
                Some(outcome) => told.believe(1, outcome),
                None => told.event(EventKind::Forgotten { intent: 1 }),
            };
            check(&View::new(&told.settle())).symptoms.len()
        };
        assert_eq!(door(false, false, None), 0);
        assert_eq!(door(true, false, None), 1);
        assert_eq!(door(false, true, None), 1);
        assert_eq!(door(false, false, Some(Outcome::Failed)), 1);
    }

    #[test]
    fn each_of_several_that_look_alike_is_to_be_delivered() {
        let alike = |deliveries: usize| {
            let mut told = two_alike().given(|h| h.expect.deliveries = Some(1));
            for n in 0..deliveries {
                told = told.ask(1, Some(&format!("k{n}"))).accept();
            }
            check(&View::new(&told.all_sent())).symptoms.len()
        };
        assert_eq!(alike(1), 1, "said once, of the first");
        assert_eq!(alike(2), 0);
    }

    #[test]
    fn one_at_a_loss_that_was_delivered_leaves_nothing_open() {
        let history = tale("delivered", 1)
            .given(|h| h.expect.deliveries = Some(1))
            .declare(9, hang(Stage::AfterAccept))
            .ask(1, Some("k"))
            .accept()
            .believe(1, Outcome::Unknown)
            .settle();
        assert_eq!(check(&View::new(&history)), Observed::default());
    }

    #[test]
    fn a_client_that_is_not_asked_decides_nothing() {
        let history = tale("mute", 1)
            .given(|h| h.expect.outcomes = vec![Outcome::Sent])
            .ask(1, Some("k"))
            .accept()
            .settle();
        let seen = check(&View::new(&history));
        assert!(seen.symptoms.is_empty() && !seen.undecided.is_empty());
    }
}

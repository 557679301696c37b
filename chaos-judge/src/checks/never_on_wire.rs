//! Was every one of several messages to one recipient on the wire?

use std::collections::HashMap;

use super::{Observed, Symptom, SymptomKind};
use crate::{history::view::View, intent::Outcome};

/// Cites the sibling's request and the last that is known of the missing one.
pub(super) fn check(view: &View<'_>) -> Observed {
    let mut seen = Observed::default();
    let mut compared = false;
    let mut by_recipient: HashMap<&str, Vec<usize>> = HashMap::new();
    for intent in view.intents() {
        let numbers = by_recipient.entry(&intent.to).or_default();
        numbers.push(intent.number);
    }
    for intent in view.intents() {
        let to_the_same = by_recipient.get(&*intent.to).map_or(&[][..], Vec::as_slice);
        if to_the_same.len() < 2 {
            continue;
        }
        compared = true;
        let sibling = to_the_same
            .iter()
            .filter(|number| **number != intent.number)
            .find_map(|number| view.tries(*number).first().copied());
        let Some(sibling) = sibling else { continue };
        if !view.tries(intent.number).is_empty() || view.violence_on(intent.number).is_some() {
            continue;
        }
        // Alike: the sibling may have been asked for twice, once for this one.
        let alike = view.alike(intent.number);
        let asked: usize = alike.iter().map(|n| view.deliveries(*n).len()).sum();
        if asked >= alike.len() {
            continue;
        }
        let belief = view.belief(intent.number);
        // Refused at the door, set aside, or not finished: other rules speak of it.
        let gone = match belief.map(|b| b.outcome) {
            Some(Some(Outcome::Sent)) => true,
            Some(None) => view.taken_on(intent.number),
            _ => false,
        };
        if gone {
            let mut evidence = vec![sibling.arrived.seq];
            evidence.extend(belief.map(|b| b.mark.seq));
            seen.saw(Symptom {
                kind: SymptomKind::NeverOnWire,
                intent: Some(intent.number),
                evidence,
                attempts: vec![sibling.id],
                detail: format!(
                    "intent {} was {}never requested, though intent {} to the same number was",
                    intent.number,
                    if view.taken_on(intent.number) {
                        "taken on and "
                    } else {
                        ""
                    },
                    sibling.intent.unwrap_or_default()
                ),
            });
        }
    }
    if !compared {
        seen.open("no two messages to one recipient");
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::builder::{Tale, tale, two_alike};

    fn two_to_one() -> Tale {
        tale("same", 2).given(|h| h.intents[1].to = h.intents[0].to.clone())
    }

    #[test]
    fn two_requests_pass() {
        let history = two_to_one()
            .ask(1, Some("a"))
            .accept()
            .ask(2, Some("b"))
            .accept()
            .all_sent();
        assert_eq!(check(&View::new(&history)), Observed::default());
    }

    #[test]
    fn a_second_message_that_is_never_requested_is_seen() {
        let history = two_to_one().ask(1, Some("a")).accept().all_sent();
        let seen = check(&View::new(&history));
        assert_eq!(seen.symptoms.len(), 1);
        assert_eq!(seen.symptoms[0].intent, Some(2));
    }

    #[test]
    fn one_that_was_requested_in_vain_was_requested() {
        let refused = two_to_one()
            .ask(1, Some("a"))
            .accept()
            .ask(2, Some("b"))
            .refuse(400)
            .all_sent();
        assert!(check(&View::new(&refused)).symptoms.is_empty());
    }

    #[test]
    fn what_a_kill_may_have_taken_is_left_to_other_rules() {
        let killed = two_to_one().ask(1, Some("a")).accept().kill().all_sent();
        assert!(check(&View::new(&killed)).symptoms.is_empty());
    }

    #[test]
    fn of_two_with_equal_words_one_that_was_asked_for_twice_stands_for_both() {
        let once = two_alike().ask(1, Some("a")).accept();
        assert_eq!(check(&View::new(&once.all_sent())).symptoms.len(), 1);
        let twice = two_alike()
            .ask(1, Some("a"))
            .accept()
            .ask(1, Some("b"))
            .accept();
        assert!(check(&View::new(&twice.all_sent())).symptoms.is_empty());
    }

    #[test]
    fn messages_to_several_recipients_decide_nothing() {
        let history = tale("apart", 2).ask(1, Some("a")).accept().all_sent();
        let seen = check(&View::new(&history));
        assert!(seen.symptoms.is_empty() && !seen.undecided.is_empty());
    }
}

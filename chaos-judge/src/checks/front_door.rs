//! Does the client's own front door know an intent again?

use super::{Observed, Symptom, SymptomKind};
use crate::history::{Submission, view::View};

/// Cites the two submissions and what they led to.
pub(super) fn check(view: &View<'_>) -> Observed {
    let mut seen = Observed::default();
    let mut again = false;
    for intent in view.intents() {
        let submissions = view.submissions(intent.number);
        if !view.submitted_again(intent.number) {
            continue;
        }
        again = true;
        let deliveries = view.deliveries(intent.number);
        let conflict = submissions.iter().find(|s| {
            s.which == Submission::Conflicting && s.ended.is_some_and(|(_, accepted)| accepted)
        });
        if let Some(conflict) = conflict {
            let mut evidence = vec![conflict.began.seq];
            evidence.extend(conflict.ended.map(|(m, _)| m.seq));
            seen.saw(Symptom {
                kind: SymptomKind::ConflictAccepted,
                intent: Some(intent.number),
                evidence,
                attempts: deliveries.iter().take(2).map(|a| a.id).collect(),
                detail: format!(
                    "other words under the same id were answered as a success; {} delivered",
                    deliveries.len()
                ),
            });
        } else if deliveries.len() > 1 && different_keys(&deliveries) {
            let mut evidence: Vec<u64> = submissions.iter().map(|s| s.began.seq).collect();
            evidence.extend(
                deliveries
                    .iter()
                    .filter_map(|a| a.delivered.map(|(m, _)| m.seq)),
            );
            seen.saw(Symptom {
                kind: SymptomKind::SentForEachSubmission,
                intent: Some(intent.number),
                evidence,
                attempts: deliveries.iter().take(2).map(|a| a.id).collect(),
                detail: format!(
                    "submitted {} times, delivered {} times",
                    submissions.len(),
                    deliveries.len()
                ),
            });
        }
    }
    if !again {
        seen.open("nothing was submitted twice");
    }
    seen
}

/// Equal keys that the provider has forgotten are no fault of the front door.
fn different_keys(deliveries: &[&crate::history::view::AttemptView<'_>]) -> bool {
    deliveries
        .iter()
        .any(|a| a.key.is_none() || a.key != deliveries[0].key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{History, builder::tale};

    fn kinds(history: &History) -> Vec<SymptomKind> {
        check(&View::new(history)).kinds()
    }

    #[test]
    fn a_repeat_that_sends_nothing_and_a_conflict_that_is_refused_pass() {
        let repeat = tale("repeat", 1)
            .ask(1, Some("k"))
            .accept()
            .submit(1, Submission::Again, true)
            .all_sent();
        assert_eq!(kinds(&repeat), []);
        let conflict = tale("conflict", 1)
            .ask(1, Some("k"))
            .accept()
            .submit(1, Submission::Conflicting, false)
            .all_sent();
        assert_eq!(kinds(&conflict), []);
    }

    #[test]
    fn two_messages_for_one_id_and_a_hidden_conflict_are_seen() {
        let twice = tale("twice", 1)
            .ask(1, Some("a"))
            .accept()
            .submit(1, Submission::Again, true)
            .ask(1, Some("b"))
            .accept()
            .all_sent();
        assert_eq!(kinds(&twice), [SymptomKind::SentForEachSubmission]);
        let hidden = tale("hidden", 1)
            .ask(1, Some("a"))
            .accept()
            .submit(1, Submission::Conflicting, true)
            .all_sent();
        assert_eq!(kinds(&hidden), [SymptomKind::ConflictAccepted]);
    }

    #[test]
    fn only_two_deliveries_that_no_key_holds_together_are_the_front_door_s() {
        let again = |keys: &[Option<&str>]| {
            let told = tale("again", 1).submit(1, Submission::Again, true);
            let told = keys.iter().fold(told, |t, key| t.ask(1, *key).accept());
            kinds(&told.all_sent())
        };
        let for_each = [SymptomKind::SentForEachSubmission];
        assert_eq!(again(&[None]), []);
        assert_eq!(again(&[Some("a")]), []);
        assert_eq!(again(&[Some("a"), Some("a")]), [], "it was forgotten");
        assert_eq!(again(&[Some("a"), Some("b")]), for_each);
        assert_eq!(again(&[None, None]), for_each);
    }

    #[test]
    fn one_submission_decides_nothing() {
        let history = tale("one", 1).ask(1, Some("k")).accept().all_sent();
        assert!(!check(&View::new(&history)).undecided.is_empty());
    }
}

//! Does the key on the wire equal the one on which the caller insists?

use super::{Observed, Symptom, SymptomKind};
use crate::history::view::View;

/// Cites the submission and the request.
pub(super) fn check(view: &View<'_>) -> Observed {
    let mut seen = Observed::default();
    for intent in view.intents() {
        let Some(wanted) = intent.key.as_deref() else {
            continue;
        };
        let tries = view.tries(intent.number);
        if tries.is_empty() {
            seen.open(format!("intent {} was never on the wire", intent.number));
        }
        // A later request without, or with another key, is a question of retries.
        let Some(first) = tries.first() else { continue };
        let wire = first.key.map(|k| k.trim_matches('"'));
        if wire == Some(wanted) {
            continue;
        }
        let mangled = wire.is_some_and(|k| {
            !k.is_empty()
                && (wanted.starts_with(k) || wanted.to_lowercase().starts_with(&k.to_lowercase()))
        });
        seen.saw(Symptom {
            kind: if mangled {
                SymptomKind::CallerKeyMangled
            } else {
                SymptomKind::CallerKeyReplaced
            },
            intent: Some(intent.number),
            evidence: view
                .submissions(intent.number)
                .first()
                .map(|s| s.began.seq)
                .into_iter()
                .chain([first.arrived.seq])
                .collect(),
            attempts: vec![first.id],
            detail: format!(
                "the caller gave `{wanted}`, the request bears `{}`",
                wire.unwrap_or("no key")
            ),
        });
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{History, builder::tale};

    fn with(wanted: &str, wire: Option<&str>) -> History {
        tale("caller-key", 1)
            .given(|h| h.intents[0].key = Some(wanted.into()))
            .ask(1, wire)
            .accept()
            .all_sent()
    }

    fn kinds(history: &History) -> Vec<SymptomKind> {
        check(&View::new(history)).kinds()
    }

    #[test]
    fn the_callers_key_bare_or_quoted_passes() {
        assert_eq!(kinds(&with("Order-7", Some("Order-7"))), []);
        assert_eq!(kinds(&with("Order-7", Some("\"Order-7\""))), []);
    }

    #[test]
    fn another_key_none_a_beginning_and_another_case_are_told_apart() {
        assert_eq!(
            kinds(&with("Order-7", Some("x"))),
            [SymptomKind::CallerKeyReplaced]
        );
        assert_eq!(
            kinds(&with("Order-7", None)),
            [SymptomKind::CallerKeyReplaced]
        );
        assert_eq!(
            kinds(&with("Order-7", Some("Order"))),
            [SymptomKind::CallerKeyMangled]
        );
        assert_eq!(
            kinds(&with("Order-7", Some("order-7"))),
            [SymptomKind::CallerKeyMangled]
        );
    }

    #[test]
    fn without_a_request_nothing_is_decided() {
        let history = tale("none", 1)
            .given(|h| h.intents[0].key = Some("k".into()))
            .settle();
        let seen = check(&View::new(&history));
        assert!(seen.symptoms.is_empty() && !seen.undecided.is_empty());
    }
}

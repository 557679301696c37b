//! Does the first request of every intent bear a key, where that of another does?

use super::{Observed, Symptom, SymptomKind};
use crate::history::view::View;

/// Cites the keyed request and the keyless one.
pub(super) fn check(view: &View<'_>) -> Observed {
    let mut seen = Observed::default();
    if !view.history.provider.has_key {
        seen.open("the provider's API has no key");
        return seen;
    }
    let firsts: Vec<_> = view
        .intents()
        .filter_map(|i| view.tries(i.number).first().copied())
        .collect();
    if firsts.len() < 2 {
        seen.open("fewer than two intents were on the wire");
        return seen;
    }
    let Some(keyed) = firsts.iter().find(|a| a.key.is_some()) else {
        return seen;
    };
    for keyless in firsts.iter().filter(|a| a.key.is_none()) {
        seen.saw(Symptom {
            kind: SymptomKind::KeylessInBatch,
            intent: keyless.intent,
            evidence: vec![keyed.arrived.seq, keyless.arrived.seq],
            attempts: vec![keyed.id, keyless.id],
            detail: "one message of the batch bears a key, another none".into(),
        });
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::builder::tale;

    #[test]
    fn a_batch_with_all_keys_or_with_none_passes() {
        for keys in [[Some("a"), Some("b")], [None, None]] {
            let history = tale("batch", 2)
                .ask(1, keys[0])
                .accept()
                .ask(2, keys[1])
                .accept()
                .all_sent();
            assert_eq!(check(&View::new(&history)), Observed::default());
        }
    }

    #[test]
    fn a_keyless_second_message_is_seen() {
        let history = tale("batch", 2)
            .ask(1, Some("a"))
            .accept()
            .ask(2, None)
            .accept()
            .all_sent();
        let seen = check(&View::new(&history));
        assert_eq!(seen.symptoms.len(), 1);
        assert_eq!(seen.symptoms[0].intent, Some(2));
    }

    #[test]
    fn one_message_decides_nothing() {
        let history = tale("one", 1).ask(1, None).accept().all_sent();
        assert!(!check(&View::new(&history)).undecided.is_empty());
    }
}

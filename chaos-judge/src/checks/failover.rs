//! Did both providers deliver one intent?

use super::{Observed, Symptom, SymptomKind};
use crate::history::view::View;

/// Cites the two deliveries.
pub(super) fn check(view: &View<'_>) -> Observed {
    let mut seen = Observed::default();
    if !view.attempts.iter().any(|a| a.provider > 1) {
        seen.open("no second provider was asked");
        return seen;
    }
    for intent in view.intents() {
        let deliveries = view.deliveries(intent.number);
        let Some(first) = deliveries.first() else {
            continue;
        };
        let Some(other) = deliveries.iter().find(|a| a.provider != first.provider) else {
            continue;
        };
        seen.saw(Symptom {
            kind: SymptomKind::BothProvidersDelivered,
            intent: Some(intent.number),
            evidence: [first, other]
                .iter()
                .filter_map(|a| a.delivered.map(|(m, _)| m.seq))
                .collect(),
            attempts: vec![first.id, other.id],
            detail: format!(
                "provider {} delivered, and so did provider {}",
                first.provider, other.provider
            ),
        });
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::builder::tale;

    #[test]
    fn a_failover_after_a_refusal_passes() {
        let history = tale("refused", 1)
            .ask(1, Some("k"))
            .refuse(503)
            .at_provider(2)
            .ask(1, Some("k"))
            .accept()
            .all_sent();
        assert_eq!(check(&View::new(&history)), Observed::default());
    }

    #[test]
    fn two_providers_that_deliver_are_seen() {
        let history = tale("both", 1)
            .ask(1, Some("k"))
            .deliver()
            .hang()
            .at_provider(2)
            .ask(1, Some("k"))
            .accept()
            .all_sent();
        let seen = check(&View::new(&history));
        assert_eq!(seen.symptoms[0].kind, SymptomKind::BothProvidersDelivered);
        assert_eq!(seen.symptoms[0].attempts, [1, 2]);
    }

    #[test]
    fn one_provider_decides_nothing() {
        let history = tale("one", 1).ask(1, Some("k")).accept().all_sent();
        assert!(!check(&View::new(&history)).undecided.is_empty());
    }
}

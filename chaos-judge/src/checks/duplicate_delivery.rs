//! Did the phone buzz more often than it should have?

use stub_provider::fault::{Memory, ProviderFault};

use super::{Observed, Symptom, SymptomKind};
use crate::{
    fault::Action,
    history::{retry::retries, view::AttemptView, view::View},
};

/// Cites the two deliveries.
pub(super) fn check(view: &View<'_>) -> Observed {
    let mut seen = Observed::default();
    if view.attempts.is_empty() {
        seen.open("nothing was on the wire");
        return seen;
    }
    for intent in view.intents() {
        let alike = view.alike(intent.number);
        if alike.first() != Some(&intent.number) {
            continue;
        }
        let mut deliveries: Vec<_> = alike.iter().flat_map(|n| view.deliveries(*n)).collect();
        deliveries.sort_by_key(|a| a.delivered.map(|(m, _)| m.seq));
        let each = view.history.expect.deliveries.unwrap_or(1) as usize;
        let allowed = each * alike.len();
        if deliveries.len() <= allowed {
            continue;
        }
        let (Some(second), Some(first)) = (
            deliveries.get(allowed),
            deliveries
                .get(allowed.saturating_sub(1))
                .or(deliveries.first()),
        ) else {
            continue;
        };
        if forgotten_by_the_provider(view, first, second) {
            continue;
        }
        let cause = retries(view, intent.number)
            .iter()
            .find(|r| r.to.id == second.id)
            .map(|r| r.cause);
        seen.saw(Symptom {
            kind: SymptomKind::DeliveredTooOften { cause },
            intent: Some(intent.number),
            evidence: [first, second]
                .iter()
                .filter_map(|a| a.delivered.map(|(m, _)| m.seq))
                .collect(),
            attempts: vec![first.id, second.id],
            detail: format!("{} deliveries where {allowed} should be", deliveries.len()),
        });
    }
    seen
}

/// Whether the provider lost its memory of the key in between: the client did all it could.
fn forgotten_by_the_provider(
    view: &View<'_>,
    first: &AttemptView<'_>,
    second: &AttemptView<'_>,
) -> bool {
    first.key.is_some()
        && first.key == second.key
        && view.fired.iter().any(|(mark, id, ..)| {
            (first.arrived.seq..second.arrived.seq).contains(&mark.seq)
                && view.fault(*id).is_some_and(|f| {
                    matches!(
                        &f.action,
                        Action::Provider(ProviderFault::Crash(c)) if c.memory == Memory::Lost
                    )
                })
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::builder::{crash, tale, two_alike};
    use stub_provider::event::End;

    #[test]
    fn one_delivery_and_a_replay_pass() {
        let history = tale("once", 1)
            .ask(1, Some("k"))
            .deliver()
            .hang()
            .ask(1, Some("k"))
            .replay(1)
            .answer(201)
            .all_sent();
        assert_eq!(check(&View::new(&history)), Observed::default());
    }

    #[test]
    fn two_deliveries_are_seen_and_cited() {
        let history = tale("twice", 1)
            .ask(1, Some("a"))
            .deliver()
            .hang()
            .ask(1, Some("b"))
            .accept()
            .all_sent();
        let seen = check(&View::new(&history));
        assert_eq!(seen.symptoms.len(), 1);
        assert_eq!(seen.symptoms[0].attempts, [1, 2]);
        assert_eq!(seen.symptoms[0].evidence.len(), 2);
    }

    #[test]
    fn a_provider_that_lost_its_memory_is_not_held_against_the_client() {
        let history = tale("amnesia", 1)
            .ask(1, Some("a"))
            .deliver()
            .suffer(crash(Memory::Lost))
            .end(End::Crashed)
            .ask(1, Some("a"))
            .accept()
            .all_sent();
        assert!(check(&View::new(&history)).symptoms.is_empty());
    }

    #[test]
    fn a_crash_excuses_a_second_delivery_under_the_same_key_after_it_and_no_other() {
        let crashed = |memory, first: Option<&str>, second: Option<&str>| {
            let history = tale("crash", 1)
                .ask(1, first)
                .deliver()
                .suffer(crash(memory))
                .end(End::Crashed)
                .ask(1, second)
                .accept()
                .all_sent();
            check(&View::new(&history)).symptoms.len()
        };
        assert_eq!(crashed(Memory::Lost, Some("a"), Some("a")), 0);
        assert_eq!(crashed(Memory::Lost, Some("a"), Some("b")), 1);
        assert_eq!(crashed(Memory::Lost, None, None), 1);
        assert_eq!(crashed(Memory::Kept, Some("a"), Some("a")), 1);
        let afterwards = tale("afterwards", 1)
            .ask(1, Some("a"))
            .deliver()
            .hang()
            .ask(1, Some("a"))
            .deliver()
            .suffer(crash(Memory::Lost))
            .end(End::Crashed)
            .all_sent();
        assert_eq!(check(&View::new(&afterwards)).symptoms.len(), 1);
    }

    #[test]
    fn intents_that_look_alike_are_counted_together() {
        let alike = |n: usize| {
            let mut t = two_alike();
            for k in 0..n {
                t = t.ask(1, Some(&format!("k{k}"))).accept();
            }
            t.all_sent()
        };
        assert!(check(&View::new(&alike(2))).symptoms.is_empty());
        assert_eq!(check(&View::new(&alike(3))).symptoms.len(), 1);
    }

    #[test]
    fn nothing_on_the_wire_decides_nothing() {
        let history = tale("silent", 1).settle();
        assert!(!check(&View::new(&history)).undecided.is_empty());
    }
}

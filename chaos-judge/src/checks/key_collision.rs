//! Does each intent have a key of its own, and each customer their own credential?

use std::collections::{BTreeSet, HashMap};

use stub_provider::fault::RequestKind;

use super::{Observed, Symptom, SymptomKind};
use crate::history::{
    reply::{Reply, reply_by},
    view::{AttemptView, View},
};

/// What a key belongs to.
fn owner<'h>(a: &AttemptView<'h>) -> (Option<&'h str>, &'h str, u8, RequestKind) {
    (a.key, a.customer, a.provider, a.kind)
}

/// Cites the two requests that share a key, or the submission and the request with the wrong
/// credential.
pub(super) fn check(view: &View<'_>) -> Observed {
    let mut seen = Observed::default();
    if view.history.intents.len() < 2 {
        seen.open("one intent alone cannot collide");
        return seen;
    }
    let customers: BTreeSet<&str> = view.intents().map(|i| i.customer.as_str()).collect();
    let mut by_key: HashMap<_, Vec<&AttemptView<'_>>> = HashMap::new();
    for attempt in &view.attempts {
        if attempt.key.is_some() && attempt.intent.is_some() {
            by_key.entry(owner(attempt)).or_default().push(attempt);
        }
    }
    for intent in view.intents() {
        let alike = view.alike(intent.number);
        for attempt in view.tries(intent.number) {
            if attempt.customer != intent.customer && customers.contains(attempt.customer) {
                seen.saw(Symptom {
                    kind: SymptomKind::CredentialOfAnotherCustomer,
                    intent: Some(intent.number),
                    evidence: view
                        .submissions(intent.number)
                        .first()
                        .map(|s| s.began.seq)
                        .into_iter()
                        .chain([attempt.arrived.seq])
                        .collect(),
                    attempts: vec![attempt.id],
                    detail: format!(
                        "the message of customer `{}` bears the credential of `{}`",
                        intent.customer, attempt.customer
                    ),
                });
                break;
            }
            let sharing = by_key.get(&owner(attempt)).map_or(&[][..], Vec::as_slice);
            let mut before = sharing.iter().copied().take_while(|a| a.id != attempt.id);
            let other = before.find(|a| {
                a.intent != attempt.intent
                    // With equal words a retry of the first looks like the second, unless the
                    // first was done and there are too few keys for all.
                    && (!alike.contains(&a.intent.unwrap_or_default())
                        || !enough_keys(view, alike)
                            && reply_by(view, a, attempt.arrived.seq) == Reply::Success)
            });
            if let Some(other) = other {
                let owner = other.intent.and_then(|number| view.intent(number));
                let key = attempt.key.unwrap_or_default();
                let kind = if owner.is_some_and(|i| is_cut_from(key, &i.id, &intent.id)) {
                    SymptomKind::KeyCutFromId
                } else {
                    SymptomKind::KeyOfAnotherIntent {
                        across_customers: owner.is_some_and(|i| i.customer != intent.customer),
                    }
                };
                seen.saw(Symptom {
                    kind,
                    intent: Some(intent.number),
                    evidence: vec![other.arrived.seq, attempt.arrived.seq],
                    attempts: vec![other.id, attempt.id],
                    detail: format!(
                        "intents {} and {} both bear `{}`",
                        other.intent.unwrap_or_default(),
                        intent.number,
                        attempt.key.unwrap_or_default()
                    ),
                });
                break;
            }
        }
    }
    seen
}

/// Whether intents that nothing on the wire tells apart bear as many keys as they are.
fn enough_keys(view: &View<'_>, alike: &[usize]) -> bool {
    let keys: BTreeSet<&str> = alike
        .iter()
        .flat_map(|intent| view.tries(*intent))
        .filter_map(|attempt| attempt.key)
        .collect();
    keys.len() >= alike.len()
}

/// The least that a key must have of an identity to be called a part of it, in characters.
const LEAST_PART: usize = 6;

/// Whether `key` bears a beginning of both identities, and nothing of either that tells them apart.
fn is_cut_from(key: &str, one: &str, other: &str) -> bool {
    let fold = |text: &str| text.to_ascii_lowercase().replace('-', "");
    let (key, one, other) = (fold(key), fold(one), fold(other));
    let common = one.chars().zip(other.chars()).take_while(|(a, b)| a == b);
    let common = common.map(|(a, _)| a.len_utf8()).sum::<usize>();
    let longest = (0..=one.len())
        .rev()
        .filter(|end| one.is_char_boundary(*end))
        .find(|end| key.contains(&one[..*end]))
        .unwrap_or(0);
    longest >= LEAST_PART && longest <= common
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::builder::{tale, two_alike};

    #[test]
    fn a_key_cut_from_what_two_identities_have_in_common_is_told_from_one_that_is_reused() {
        let two = |first: &'static str, second: &'static str, key: &'static str| {
            let history = tale("close", 2)
                .given(|h| {
                    h.intents[0].id = first.into();
                    h.intents[1].id = second.into();
                })
                .ask(1, Some(key))
                .accept()
                .ask(2, Some(key))
                .replay(1)
                .answer(201)
                .all_sent();
            check(&View::new(&history)).symptoms[0].kind
        };
        let (a, b) = (
            "9f1c2e3d-0000-4000-8000-0000000000a1",
            "9f1c2e3d-0000-4000-8000-0000000000a2",
        );
        for cut in ["9f1c2e", "sms-9F1C2E3D", "9f1c2e3d00004000", &a[..35]] {
            assert_eq!(two(a, b, cut), SymptomKind::KeyCutFromId, "{cut}");
        }
        let reused = SymptomKind::KeyOfAnotherIntent {
            across_customers: false,
        };
        for key in ["k", "sms-+12025550101", a, "9f1c2"] {
            assert_eq!(two(a, b, key), reused, "{key}");
        }
        assert_eq!(
            two(a, "0e1c2e3d-0000-4000-8000-0000000000a2", "9f1c2e3d"),
            reused
        );
    }

    #[test]
    fn two_intents_with_two_keys_pass_and_so_do_equal_keys_of_two_customers() {
        let own = tale("own", 2)
            .ask(1, Some("a"))
            .accept()
            .ask(2, Some("b"))
            .accept()
            .all_sent();
        assert!(check(&View::new(&own)).symptoms.is_empty());
        let customers = tale("customers", 2)
            .given(|h| h.intents[1].customer = "blue".into())
            .ask(1, Some("a"))
            .accept()
            .ask(2, Some("a"))
            .accept()
            .all_sent();
        assert!(check(&View::new(&customers)).symptoms.is_empty());
    }

    #[test]
    fn a_shared_key_and_a_foreign_credential_are_seen() {
        let shared = tale("shared", 2)
            .ask(1, Some("a"))
            .accept()
            .ask(2, Some("a"))
            .replay(1)
            .answer(201)
            .all_sent();
        let seen = check(&View::new(&shared));
        assert_eq!(
            seen.symptoms[0].kind,
            SymptomKind::KeyOfAnotherIntent {
                across_customers: false
            }
        );
        assert_eq!(seen.symptoms[0].attempts, [1, 2]);
        let foreign = tale("foreign", 2)
            .given(|h| h.intents[1].customer = "blue".into())
            .ask(1, Some("a"))
            .accept()
            .under_credential_of("default")
            .ask(2, Some("a"))
            .replay(1)
            .answer(201)
            .all_sent();
        let seen = check(&View::new(&foreign));
        assert_eq!(
            seen.symptoms.iter().map(|s| s.kind).collect::<Vec<_>>(),
            [SymptomKind::CredentialOfAnotherCustomer]
        );
    }

    #[test]
    fn equal_words_need_as_many_keys_as_there_are_messages() {
        let alike = |second| {
            let history = two_alike()
                .ask(1, Some("a"))
                .accept()
                .ask(2, Some(second))
                .accept()
                // The second's retry, by count the first's.
                .ask(1, Some(second))
                .replay(2)
                .answer(201)
                .all_sent();
            check(&View::new(&history)).symptoms.len()
        };
        assert_eq!(alike("b"), 0);
        assert_ne!(alike("a"), 0);
    }

    #[test]
    fn messages_without_a_key_share_none_and_a_stray_requests_key_is_no_messages() {
        let keyless = tale("keyless", 2)
            .ask(1, None)
            .accept()
            .ask(2, None)
            .accept()
            .all_sent();
        assert!(check(&View::new(&keyless)).symptoms.is_empty());
        let stray = tale("stray", 2)
            .stray()
            .accept()
            .ask(1, Some("k-stray"))
            .replay(1)
            .answer(201)
            .all_sent();
        assert!(check(&View::new(&stray)).symptoms.is_empty());
    }

    #[test]
    fn one_intent_decides_nothing() {
        let history = tale("one", 1).ask(1, Some("a")).accept().all_sent();
        assert!(!check(&View::new(&history)).undecided.is_empty());
    }
}

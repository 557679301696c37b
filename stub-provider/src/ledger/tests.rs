//! One owner, one payload, one answer.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

const HOUR: Duration = Duration::from_hours(1);

fn print(n: u8) -> Fingerprint {
    Fingerprint::of("POST", "/v1/messages", &[n])
}

fn key(name: &str) -> KeyId {
    KeyId::new("default", name)
}

fn ask(ledger: &Ledger<u64>, attempt: AttemptId, payload: u8, now: Duration) -> Claim<u64> {
    ledger
        .arrive(&key("k"), print(payload), attempt, None, now)
        .1
}

#[test]
fn the_first_wins_and_the_others_get_its_answer() {
    let ledger = Ledger::new(HOUR);
    assert_eq!(ask(&ledger, 1, 0, Duration::ZERO), Claim::Won);
    assert_eq!(ask(&ledger, 2, 0, Duration::ZERO), Claim::InFlight);
    ledger.settle(&key("k"), 1, Some(7), Some(MessageId(0)), Duration::ZERO);
    let stored = Claim::Stored {
        answer: 7,
        of: 1,
        message: Some(MessageId(0)),
    };
    assert_eq!(ask(&ledger, 3, 0, Duration::ZERO), stored);
    assert_eq!(ask(&ledger, 4, 1, Duration::ZERO), Claim::Mismatch);
}

#[test]
fn whoever_does_not_own_a_key_cannot_settle_it() {
    let ledger = Ledger::new(HOUR);
    assert_eq!(ask(&ledger, 1, 0, Duration::ZERO), Claim::Won);
    ledger.settle(&key("k"), 2, Some(7), None, Duration::ZERO);
    assert_eq!(ask(&ledger, 3, 0, Duration::ZERO), Claim::InFlight);
}

#[test]
fn a_released_key_is_won_by_the_next_with_whatever_payload() {
    let ledger = Ledger::new(HOUR);
    assert_eq!(ask(&ledger, 1, 0, Duration::ZERO), Claim::Won);
    ledger.release(&key("k"), 1);
    assert_eq!(ask(&ledger, 2, 1, Duration::ZERO), Claim::Won);
}

#[test]
fn retention_counts_from_the_answer_and_the_count_of_requests_goes_on() {
    let ledger = Ledger::new(HOUR);
    assert_eq!(ask(&ledger, 1, 0, Duration::ZERO), Claim::Won);
    ledger.settle(&key("k"), 1, Some(7), Some(MessageId(0)), HOUR);
    let at = |now| ledger.arrive(&key("k"), print(0), 2, None, now);
    assert!(matches!(
        at(HOUR + Duration::from_mins(59)),
        (2, Claim::Stored { .. })
    ));
    assert_eq!(at(HOUR * 2), (3, Claim::Won));
}

#[test]
fn what_is_forgotten_is_not_found_but_still_counted() {
    let ledger = Ledger::new(HOUR);
    assert_eq!(ask(&ledger, 1, 0, Duration::ZERO), Claim::Won);
    ledger.settle(&key("k"), 1, Some(7), Some(MessageId(0)), Duration::ZERO);
    assert!(ledger.look(&key("k")).is_some());
    ledger.forget();
    assert_eq!(ledger.look(&key("k")), None);
    let (nth, claim) = ledger.arrive(&key("k"), print(1), 2, None, Duration::ZERO);
    assert_eq!((nth, claim), (2, Claim::Won));
}

#[derive(Clone, Debug)]
enum Step {
    Arrive { key: u8, payload: u8 },
    Finish { nth: usize, well: bool },
    Ask { nth: usize },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (0..3u8, 0..2u8).prop_map(|(key, payload)| Step::Arrive { key, payload }),
        (0..8usize, any::<bool>()).prop_map(|(nth, well)| Step::Finish { nth, well }),
        (0..8usize).prop_map(|nth| Step::Ask { nth }),
    ];
    prop::collection::vec(step, 0..60)
}

proptest! {
    /// However requests under equal keys interleave, and whoever gives up on the way: a key
    /// has one delivery, one payload is bound to it, and all get the same answer.
    #[test]
    fn a_key_has_one_delivery_in_every_interleaving(steps in steps()) {
        let ledger: Ledger<u64> = Ledger::new(HOUR);
        let id = |k: u8| key(&k.to_string());
        let mut open: Vec<(AttemptId, u8, u8, bool)> = Vec::new();
        let mut answers: HashMap<u8, (u64, u8)> = HashMap::new();
        let mut attempt = 0;
        for step in steps {
            let (nth, claim) = match step {
                Step::Arrive { key, payload } => {
                    attempt += 1;
                    let (_, claim) = ledger.arrive(
                        &id(key), print(payload), attempt, None, Duration::ZERO,
                    );
                    open.push((attempt, key, payload, false));
                    (open.len() - 1, claim)
                }
                Step::Ask { nth } => {
                    let Some((attempt, key, payload, _)) = open.get(nth).copied() else {
                        continue;
                    };
                    let claim = ledger.claim(
                        &id(key), print(payload), attempt, Duration::ZERO, Waker::noop(),
                    );
                    (nth, claim)
                }
                Step::Finish { nth, well } => {
                    if nth >= open.len() {
                        continue;
                    }
                    let (attempt, key, payload, owner) = open.remove(nth);
                    if owner && well {
                        let before = answers.insert(key, (attempt, payload));
                        prop_assert_eq!(before, None, "a second delivery under one key");
                        ledger.settle(
                            &id(key), attempt, Some(attempt), Some(MessageId(attempt)),
                            Duration::ZERO,
                        );
                    } else {
                        ledger.release(&id(key), attempt);
                    }
                    continue;
                }
            };
            let (attempt, key, payload, _) = open[nth];
            match claim {
                Claim::Won => {
                    prop_assert!(
                        open.iter().all(|o| o.0 == attempt || o.1 != key || !o.3),
                        "two owners of one key"
                    );
                    prop_assert!(!answers.contains_key(&key), "an answered key is won again");
                    open[nth].3 = true;
                }
                Claim::Stored { answer, of, .. } => {
                    prop_assert_eq!((answer, of), (answers[&key].0, answers[&key].0));
                    prop_assert_eq!(payload, answers[&key].1);
                }
                Claim::InFlight | Claim::Mismatch => {
                    prop_assert!(!open[nth].3, "an owner was turned away");
                }
                Claim::Refused(_) => prop_assert!(false, "nothing refuses here"),
            }
        }
    }
}

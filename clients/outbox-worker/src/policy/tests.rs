//! The rules, by example and for all inputs.

use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::StdRng;

use super::*;
use crate::message::fingerprint;

const NOW: UnixMillis = 1_772_366_400_000;

fn policy() -> Policy {
    Policy {
        backoff: Backoff {
            base: Duration::from_millis(50),
            cap: Duration::from_millis(200),
        },
        max_attempts: 5,
        max_lookups: 4,
        retry_after_max: Duration::from_secs(5),
        max_age: Duration::from_hours(1),
        key_retention: Duration::from_mins(1),
        attempt_time: Duration::from_millis(300),
        expiry_margin: Duration::from_millis(50),
    }
}

fn message() -> Message {
    Message {
        id: "0190".to_owned(),
        key: "0190".to_owned(),
        intent: "login-1".to_owned(),
        customer: "default".to_owned(),
        recipient: "+12025550142".to_owned(),
        body: "Your code is 4711".to_owned(),
        fingerprint: fingerprint("default", "+12025550142", "Your code is 4711"),
        attempts: 1,
        lookups: 0,
        first_attempt_at: Some(NOW),
        touched: true,
        ambiguous: false,
        superseded: false,
        provider: 1,
        next_step: NextStep::Send,
        rule: None,
        created_at: NOW,
        expires_at: None,
        fence: 1,
        lease_until: NOW + 1000,
    }
}

fn answer(class: Class) -> Classified {
    Classified {
        class,
        why: String::new(),
        status: None,
        not_before: None,
        touched: true,
    }
}

fn after(message: &Message, answer: &Classified) -> Next {
    policy().after_attempt(message, answer, NOW, &mut StdRng::seed_from_u64(1))
}

#[test]
fn a_refusal_without_ambiguity_is_dead_at_once() {
    assert_eq!(
        after(&message(), &answer(Class::Definitive)),
        Next::Dead(Rule::Refused)
    );
}

#[test]
fn a_refusal_after_an_ambiguous_attempt_is_asked_about() {
    let mut message = message();
    message.ambiguous = true;
    assert_eq!(
        after(&message, &answer(Class::Definitive)),
        Next::Ask(NOW, Rule::Refused)
    );
}

#[test]
fn the_last_attempt_is_followed_by_a_question() {
    let mut message = message();
    message.attempts = 5;
    for class in [Class::Recoverable, Class::Throttled, Class::Ambiguous] {
        assert_eq!(
            after(&message, &answer(class)),
            Next::Ask(NOW, Rule::Attempts)
        );
    }
    message.touched = false;
    assert_eq!(
        after(&message, &answer(Class::Recoverable)),
        Next::Dead(Rule::Attempts)
    );
}

#[test]
fn an_outage_does_not_use_up_the_attempts_at_once() {
    let mut never = answer(Class::Recoverable);
    never.touched = false;
    let mut message = message();
    (message.attempts, message.touched) = (3, false);
    for seed in 0..100 {
        let mut rng = StdRng::seed_from_u64(seed);
        match policy().after_attempt(&message, &never, NOW, &mut rng) {
            Next::Retry(at) => assert!((NOW + 100..=NOW + 201).contains(&at)),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_wait_longer_than_the_longest_ends_the_message() {
    let mut throttled = answer(Class::Throttled);
    throttled.not_before = Some(NOW + 86_400_000);
    assert_eq!(
        after(&message(), &throttled),
        Next::Ask(NOW, Rule::RetryAfter)
    );
}

#[test]
fn a_wait_beyond_the_expiry_ends_the_message_now() {
    let mut message = message();
    message.expires_at = Some(NOW + 1000);
    let mut throttled = answer(Class::Throttled);
    throttled.not_before = Some(NOW + 2000);
    assert_eq!(after(&message, &throttled), Next::Ask(NOW, Rule::Expired));
}

#[test]
fn a_wait_beyond_the_keys_retention_ends_the_message_now() {
    let mut short = policy();
    short.key_retention = Duration::from_secs(1);
    let mut throttled = answer(Class::Throttled);
    throttled.not_before = Some(NOW + 2001);
    assert_eq!(
        short.after_attempt(&message(), &throttled, NOW, &mut StdRng::seed_from_u64(1)),
        Next::Ask(NOW, Rule::Retention)
    );
}

#[test]
fn an_expired_message_that_was_never_sent_is_dead() {
    let mut message = message();
    (message.attempts, message.touched, message.first_attempt_at) = (0, false, None);
    message.expires_at = Some(NOW + 50);
    assert_eq!(
        policy().step(&message, NOW),
        Step::Settle(Next::Dead(Rule::Expired))
    );
    message.expires_at = Some(NOW + 51);
    assert_eq!(policy().step(&message, NOW), Step::Send);
}

#[test]
fn a_row_that_was_changed_is_not_sent() {
    let mut message = message();
    message.body.push('!');
    assert_eq!(
        policy().step(&message, NOW),
        Step::Settle(Next::Ask(NOW, Rule::Fingerprint))
    );
    message.touched = false;
    assert_eq!(
        policy().step(&message, NOW),
        Step::Settle(Next::Dead(Rule::Fingerprint))
    );
}

#[test]
fn a_message_too_old_is_not_sent() {
    let mut message = message();
    (message.attempts, message.touched, message.first_attempt_at) = (0, false, None);
    message.created_at = NOW - 3_600_000;
    assert_eq!(
        policy().step(&message, NOW),
        Step::Settle(Next::Dead(Rule::Age))
    );
}

#[test]
fn nothing_found_settles_only_what_is_not_ambiguous() {
    let mut message = message();
    message.lookups = 1;
    let ask = |message: &Message, found: &Found| {
        policy().after_lookup(
            message,
            Rule::Attempts,
            found,
            NOW,
            &mut StdRng::seed_from_u64(1),
        )
    };
    assert_eq!(ask(&message, &Found::Nothing), Next::Dead(Rule::Attempts));
    message.ambiguous = true;
    for found in [
        Found::Nothing,
        Found::InProgress,
        Found::NoAnswer(String::new()),
    ] {
        assert!(matches!(
            ask(&message, &found),
            Next::Ask(_, Rule::Attempts)
        ));
    }
    message.lookups = 4;
    for found in [
        Found::Nothing,
        Found::InProgress,
        Found::NoAnswer(String::new()),
    ] {
        assert_eq!(ask(&message, &found), Next::Unknown(Rule::Attempts));
    }
}

fn any_class() -> impl Strategy<Value = Class> {
    prop_oneof![
        Just(Class::Definitive),
        Just(Class::Recoverable),
        Just(Class::Throttled),
        Just(Class::Ambiguous),
        Just(Class::Redirected {
            location: "/".to_owned()
        }),
    ]
}

fn any_found() -> impl Strategy<Value = Found> {
    prop_oneof![
        Just(Found::Nothing),
        Just(Found::InProgress),
        Just(Found::NoAnswer(String::new())),
    ]
}

proptest! {
    #[test]
    fn a_touched_message_is_never_dead_without_a_question_unless_it_was_refused(
        class in any_class(), attempts in 1i64..7, ambiguous in any::<bool>(),
        bound in proptest::option::of(0i64..100_000), left in proptest::option::of(0i64..5000)
    ) {
        let mut message = message();
        message.attempts = attempts;
        message.ambiguous = ambiguous || class == Class::Ambiguous;
        message.expires_at = left.map(|left| NOW + left);
        let mut answer = answer(class);
        answer.not_before = bound.map(|wait| NOW + wait);
        match after(&message, &answer) {
            Next::Dead(rule) => {
                prop_assert_eq!(rule, Rule::Refused);
                prop_assert!(!message.ambiguous);
            }
            Next::Unknown(_) | Next::Sent => prop_assert!(false, "nothing was asked yet"),
            Next::Retry(_) | Next::Ask(..) => {}
        }
    }

    #[test]
    fn an_ambiguous_message_never_ends_as_dead(
        found in any_found(), lookups in 1i64..10
    ) {
        let mut message = message();
        (message.ambiguous, message.lookups) = (true, lookups);
        let next = policy().after_lookup(&message, Rule::Attempts, &found, NOW, &mut rand::rng());
        prop_assert!(!matches!(next, Next::Dead(_) | Next::Sent), "{:?}", next);
    }

    #[test]
    fn a_retry_is_never_before_the_providers_bound_nor_after_any_budget(
        class in any_class(), attempts in 1i64..7, bound in proptest::option::of(0i64..100_000),
        left in proptest::option::of(0i64..5000), seed in any::<u64>()
    ) {
        let policy = policy();
        let mut message = message();
        message.attempts = attempts;
        message.expires_at = left.map(|left| NOW + left);
        let mut answer = answer(class);
        answer.not_before = bound.map(|wait| NOW + wait);
        let next = policy.after_attempt(&message, &answer, NOW, &mut StdRng::seed_from_u64(seed));
        if let Next::Retry(at) = next {
            prop_assert!(at >= answer.not_before.unwrap_or(NOW));
            prop_assert!(at <= NOW + 5000 + 200);
            prop_assert!(attempts < policy.max_attempts);
            prop_assert!(message.expires_at.is_none_or(|expiry| at + 50 < expiry));
            prop_assert_eq!(policy.forbids(&message, at), None);
        }
    }
}

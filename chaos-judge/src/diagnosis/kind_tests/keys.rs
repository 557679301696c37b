//! What a client does to its keys and the payload under them.

use stub_provider::fault::Stage;

use super::{ambiguous, clean_control, findings, kinds, refused, restarted};
use crate::{
    bug_kind::BugKind,
    history::{
        History,
        builder::{Tale, respond, tale},
    },
    intent::Outcome,
};

#[test]
fn a_second_keyless_request_is_no_key() {
    assert_eq!(kinds(&[refused(None, None)]), [BugKind::NoKey]);
}

#[test]
fn two_keys_for_one_intent_are_key_per_attempt_whatever_lies_between() {
    let all = [
        refused(Some("a"), Some("b")),
        ambiguous(Some("b")).accept().all_sent(),
        restarted(Some("c")),
    ];
    assert_eq!(kinds(&all[..1]), [BugKind::KeyPerAttempt]);
    assert_eq!(kinds(&all), [BugKind::KeyPerAttempt]);
}

#[test]
fn a_key_lost_on_a_retry_or_in_a_batch_is_key_dropped() {
    assert_eq!(kinds(&[refused(Some("a"), None)]), [BugKind::KeyDropped]);
    let batch = tale("batch", 2)
        .ask(1, Some("a"))
        .accept()
        .ask(2, None)
        .accept()
        .all_sent();
    assert_eq!(kinds(&[batch]), [BugKind::KeyDropped]);
}

#[test]
fn a_key_lost_only_on_a_redirect_is_key_lost_on_redirect() {
    let redirect = || {
        tale("redirect", 1)
            .ask(1, Some("a"))
            .refuse(307)
            .ask(1, None)
            .accept()
            .believe_counting(1, Outcome::Sent, 1)
            .settle()
    };
    assert_eq!(
        kinds(&[redirect(), clean_control()]),
        [BugKind::KeyLostOnRedirect]
    );
    let alone = findings(&[redirect()]);
    assert_eq!(
        (alone[0].kind, alone[0].or_narrower),
        (BugKind::KeyDropped, true)
    );
}

#[test]
fn a_key_that_is_not_the_callers_is_caller_key_overwritten() {
    let history = tale("caller-key", 1)
        .given(|h| h.intents[0].key = Some("order-7".into()))
        .ask(1, Some("8c5f2f4e"))
        .accept()
        .all_sent();
    assert_eq!(
        kinds(&[history, clean_control()]),
        [BugKind::CallerKeyOverwritten]
    );
}

#[test]
fn a_key_that_changes_only_after_a_wait_is_volatile_key() {
    let late = || {
        tale("late", 1)
            .ask(1, Some("a"))
            .suffer(respond(Stage::BeforeAccept, 429))
            .answer_with(429, &[("retry-after", "2")])
            .wait(2_000)
            .ask(1, Some("b"))
            .accept()
            .all_sent()
    };
    assert_eq!(kinds(&[late(), clean_control()]), [BugKind::VolatileKey]);
    // A quick retry across a tick of its clock does not make it another defect.
    assert_eq!(
        kinds(&[late(), clean_control(), refused(Some("a"), Some("b"))]),
        [BugKind::VolatileKey]
    );
    assert_eq!(kinds(&[late()]), [BugKind::KeyPerAttempt]);
    // One that keeps it never does not depend on the time.
    let never = findings(&[late(), refused(Some("a"), Some("b"))]);
    let never: Vec<_> = never.iter().map(|f| (f.kind, f.or_narrower)).collect();
    assert_eq!(never, [(BugKind::KeyPerAttempt, false); 2]);
}

#[test]
fn what_plain_refusals_show_is_named_each_by_itself() {
    let changed = refused(Some("a"), Some("b"));
    assert_eq!(
        kinds(&[changed.clone(), refused(Some("a"), None)]),
        [BugKind::KeyPerAttempt, BugKind::KeyDropped]
    );
    assert_eq!(
        kinds(&[changed, refused(None, None)]),
        [BugKind::NoKey, BugKind::KeyPerAttempt]
    );
}

#[test]
fn who_never_bears_a_key_has_none_whatever_lies_between() {
    let keyless = || {
        let told = tale("keyless", 1).ask(1, None).deliver().hang();
        told.ask(1, None).accept().all_sent()
    };
    let named = |control| {
        let found = findings(&[control, keyless()]);
        let found = found.last().expect("a finding");
        (found.kind, found.or_narrower)
    };
    assert_eq!(named(refused(None, None)), (BugKind::NoKey, false));
    assert_eq!(named(clean_control()), (BugKind::NoKey, false));
    let nothing = tale("nothing", 1).history;
    assert_eq!(named(nothing), (BugKind::NoKey, true));
}

#[test]
fn a_late_retry_that_kept_the_key_is_a_control_and_shows_that_time_is_not_all() {
    let late = |second| {
        tale("late", 1)
            .ask(1, Some("a"))
            .suffer(respond(Stage::BeforeAccept, 429))
            .answer_with(429, &[("retry-after", "2")])
            .wait(2_000)
            .ask(1, Some(second))
            .accept()
            .all_sent()
    };
    let renewed = || ambiguous(Some("b")).accept().all_sent();
    assert_eq!(kinds(&[late("a"), renewed()]), [BugKind::AmbiguousAsFailed]);
    let quick = || refused(Some("a"), Some("a"));
    assert_eq!(
        kinds(&[late("b"), quick(), renewed()]),
        [BugKind::VolatileKey]
    );
    assert_eq!(
        kinds(&[late("a"), late("b"), quick(), renewed()]),
        [BugKind::VolatileKey, BugKind::AmbiguousAsFailed]
    );
}

#[test]
fn one_message_that_leaves_no_doubt_is_enough_to_name_the_kind_for_sure() {
    let late = |tale: Tale, intent, key| {
        tale.ask(intent, Some("a"))
            .suffer(respond(Stage::BeforeAccept, 429))
            .answer_with(429, &[("retry-after", "2")])
            .wait(2_000)
            .ask(intent, Some(key))
            .accept()
    };
    let kept_then_changed = || late(late(tale("late", 3), 1, "a"), 2, "b");
    let unsure = findings(&[kept_then_changed().all_sent()]);
    assert_eq!(
        (unsure[0].kind, unsure[0].or_narrower),
        (BugKind::KeyPerAttempt, true)
    );
    let sure = kept_then_changed()
        .ask(3, Some("a"))
        .refuse(307)
        .ask(3, Some("c"))
        .accept()
        .all_sent();
    let sure = findings(&[sure]);
    assert_eq!(
        (sure[0].kind, sure[0].or_narrower),
        (BugKind::KeyPerAttempt, false)
    );
}

#[test]
fn one_key_for_two_intents_is_key_reused() {
    let history = tale("reused", 2)
        .ask(1, Some("a"))
        .accept()
        .ask(2, Some("a"))
        .replay(1)
        .answer(201)
        .all_sent();
    assert_eq!(kinds(&[history]), [BugKind::KeyReused]);
}

#[test]
fn a_message_under_another_customers_credential_is_key_shared_by_customers() {
    let history = tale("customers", 2)
        .given(|h| h.intents[1].customer = "blue".into())
        .ask(1, Some("a"))
        .accept()
        .under_credential_of("default")
        .ask(2, Some("a"))
        .replay(1)
        .answer(201)
        .all_sent();
    assert_eq!(kinds(&[history]), [BugKind::KeySharedByCustomers]);
}

#[test]
fn two_customers_under_one_credential_and_one_key_are_key_shared_by_customers() {
    let across = || {
        tale("customers", 2)
            .given(|h| {
                h.intents[0].customer = "red".into();
                h.intents[1].customer = "blue".into();
            })
            .under_credential_of("default")
            .ask(1, Some("a"))
            .accept()
            .ask(2, Some("a"))
            .replay(1)
            .answer(201)
            .all_sent()
    };
    let within = tale("reused", 2)
        .ask(1, Some("a"))
        .accept()
        .ask(2, Some("a"))
        .replay(1)
        .answer(201)
        .all_sent();
    assert_eq!(kinds(&[across()]), [BugKind::KeySharedByCustomers]);
    assert_eq!(kinds(&[across(), within]), [BugKind::KeyReused]);
}

#[test]
fn a_shortened_or_case_folded_key_is_key_mangled() {
    let history = tale("mangled", 2)
        .given(|h| {
            h.intents[0].key = Some("Order-7-first".into());
            h.intents[1].key = Some("Order-7-second".into());
        })
        .ask(1, Some("order-7-"))
        .accept()
        .ask(2, Some("order-7-"))
        .replay(1)
        .answer(201)
        .all_sent();
    assert_eq!(kinds(&[history]), [BugKind::KeyMangled]);
}

fn with_bodies(first: &str, second: &str) -> History {
    tale("bodies", 1)
        .with_body(first)
        .ask(1, Some("k"))
        .refuse(503)
        .with_body(second)
        .ask(1, Some("k"))
        .accept()
        .all_sent()
}

#[test]
fn another_content_is_payload_changed_and_another_spelling_payload_reserialised() {
    let spelling = || with_bodies(r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#);
    let content = || with_bodies(r#"{"a":1}"#, r#"{"a":2}"#);
    assert_eq!(kinds(&[content()]), [BugKind::PayloadChanged]);
    assert_eq!(kinds(&[spelling()]), [BugKind::PayloadReserialised]);
    assert_eq!(kinds(&[content(), spelling()]), [BugKind::PayloadChanged]);
}

#[test]
fn a_changed_payload_that_is_refused_and_called_failed_is_still_payload_changed() {
    let history = tale("mismatch", 1)
        .with_body(r#"{"a":1}"#)
        .ask(1, Some("k"))
        .deliver()
        .hang()
        .with_body(r#"{"a":2}"#)
        .ask(1, Some("k"))
        .answer(422)
        .believe(1, Outcome::Failed)
        .settle();
    assert_eq!(kinds(&[history]), [BugKind::PayloadChanged]);
}

#[test]
fn a_retry_after_the_retention_is_key_outlived() {
    let history = tale("retention", 1)
        .given(|h| h.provider.retention_us = 1_000_000)
        .ask(1, Some("k"))
        .suffer(respond(Stage::AfterAccept, 503))
        .deliver()
        .answer_with(503, &[("retry-after", "2")])
        .wait(2_000)
        .ask(1, Some("k"))
        .accept()
        .all_sent();
    assert_eq!(kinds(&[history, clean_control()]), [BugKind::KeyOutlived]);
}

#[test]
fn a_key_that_collides_because_either_was_mangled_is_not_reused() {
    let either_case = |first: &str, second: &str, borne: [&str; 2]| {
        let history = tale("case", 2)
            .given(|h| {
                h.intents[0].key = Some(first.into());
                h.intents[1].key = Some(second.into());
            })
            .ask(1, Some(borne[0]))
            .accept()
            .ask(2, Some(borne[1]))
            .replay(1)
            .answer(201)
            .all_sent();
        kinds(&[history])
    };
    let mangled = [BugKind::KeyMangled];
    assert_eq!(either_case("Ab", "ab", ["ab", "ab"]), mangled);
    assert_eq!(either_case("ab", "Ab", ["ab", "ab"]), mangled);
}

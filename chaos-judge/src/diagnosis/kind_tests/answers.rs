//! What a client makes of an answer, or of none.

use stub_provider::{
    event::End,
    fault::{Garbling, Part, Stage},
};

use super::{ambiguous, clean_control, findings, kinds, refused, restarted};
use crate::{
    bug_kind::BugKind,
    history::{
        EventKind, History,
        builder::{Tale, close, delay, garble, reset, respond, tale, truncate},
    },
    intent::Outcome,
    severity::Severity,
};

/// 500 after acceptance, then asked again under `second`.
fn accepted_500(second: Option<&str>) -> Tale {
    tale("accepted-500", 1)
        .ask(1, second.map(|_| "k"))
        .deliver()
        .suffer(respond(Stage::AfterAccept, 500))
        .answer(500)
        .ask(1, second)
}

#[test]
fn a_new_key_only_after_a_stored_error_is_new_key_on_stored_error() {
    let history = accepted_500(Some("k"))
        .replay(1)
        .answer(500)
        .ask(1, Some("b"))
        .accept()
        .all_sent();
    assert_eq!(
        kinds(&[history, clean_control()]),
        [BugKind::NewKeyOnStoredError]
    );
}

#[test]
fn a_keyless_retry_only_after_an_accepted_error_is_retried_accepted_500() {
    let not_retried = tale("503", 1)
        .ask(1, None)
        .refuse(503)
        .believe(1, Outcome::Unknown)
        .settle();
    let history = || accepted_500(None).accept().all_sent();
    assert_eq!(
        kinds(&[history(), not_retried]),
        [BugKind::RetriedAcceptedFiveHundred]
    );
    assert_eq!(kinds(&[history(), refused(None, None)]), [BugKind::NoKey]);
}

/// The first is slow, the second is answered 409 meanwhile.
fn in_flight() -> Tale {
    tale("in-flight", 1)
        .ask(1, Some("k"))
        .suffer(delay(600))
        .wait(300)
        .end(End::ClientClosed)
        .ask(1, Some("k"))
        .answer(409)
}

#[test]
fn a_409_taken_for_final_or_escaped_by_a_new_key_is_in_flight_mishandled() {
    let gave_up = in_flight()
        .of(1)
        .deliver()
        .believe(1, Outcome::Failed)
        .settle();
    assert_eq!(kinds(&[gave_up]), [BugKind::InFlightMishandled]);
    let before_it_was_accepted = in_flight().believe(1, Outcome::Failed).settle();
    assert_eq!(
        kinds(&[before_it_was_accepted]),
        [BugKind::InFlightMishandled]
    );
    let escaped = in_flight()
        .of(1)
        .deliver()
        .of(2)
        .ask(1, Some("b"))
        .of(3)
        .accept()
        .all_sent();
    assert_eq!(
        kinds(&[escaped, clean_control()]),
        [BugKind::InFlightMishandled]
    );
}

/// A broken connection after acceptance, and another request of which the client knows nothing.
pub(super) fn resent(reused: bool) -> History {
    let t = tale("resent", 1);
    let t = if reused {
        t.given(|h| {
            let mut warm = h.intents[0].clone();
            warm.number = 2;
            warm.to = "+12025550177".into();
            h.intents.push(warm);
        })
        .ask(2, Some("w"))
        .accept()
        .believe(2, Outcome::Sent)
        .ask_again_there(1, None)
        .deliver()
        .suffer(reset(Stage::AfterAccept))
        .end(End::Reset)
    } else {
        t.ask(1, None)
            .deliver()
            .suffer(close(Stage::AfterAccept))
            .end(End::Closed)
    };
    t.ask(1, None)
        .accept()
        .believe_counting(1, Outcome::Sent, 1)
        .settle()
}

#[test]
fn a_keyless_resend_that_nobody_counted_is_what_it_is_where_it_can_be_counted() {
    let resent = |count: Option<u32>, second: Option<&str>| {
        tale("resent", 1)
            .ask(1, Some("k"))
            .deliver()
            .suffer(close(Stage::AfterAccept))
            .end(End::Closed)
            .ask(1, second)
            .accept()
            .event(EventKind::Believed {
                intent: 1,
                outcome: Outcome::Sent,
                attempts: count,
            })
            .settle()
    };
    let kept = refused(Some("k"), Some("k"));
    let counted = resent(Some(1), None);
    assert_eq!(
        kinds(&[kept.clone(), counted.clone(), resent(None, None)]),
        [BugKind::ResendFreshConnection]
    );
    assert_eq!(
        kinds(&[kept.clone(), resent(None, None)]),
        [BugKind::AmbiguousAsFailed]
    );
    let both = [BugKind::ResendFreshConnection, BugKind::AmbiguousAsFailed];
    for own in [resent(Some(2), None), resent(None, Some("other"))] {
        assert_eq!(kinds(&[kept.clone(), counted.clone(), own]), both);
    }
}

#[test]
fn a_request_that_was_given_up_and_overtaken_is_the_one_before() {
    let late = |end: End, second: &str| {
        tale("late", 1)
            .connect()
            .wait(300)
            .ask(1, Some(second))
            .accept()
            .wait(100)
            .ask_on(1, 1, Some("a"))
            .end(end)
            .deliver()
            .believe(1, Outcome::Sent)
            .settle()
    };
    let kept = refused(Some("k"), Some("k"));
    assert_eq!(
        kinds(&[kept.clone(), late(End::ClientClosed, "b")]),
        [BugKind::AmbiguousAsFailed]
    );
    assert_eq!(
        kinds(&[kept, late(End::Closed, "b")]),
        [BugKind::DuplicateDelivery],
        "it was waited for"
    );
}

#[test]
fn a_request_resent_below_the_client_is_named_by_its_connection() {
    let fresh = kinds(&[resent(false)]);
    assert_eq!(fresh, [BugKind::ResendFreshConnection]);
    let both = kinds(&[resent(false), {
        let mut h = resent(true);
        h.intents.truncate(1);
        h
    }]);
    assert_eq!(both, [BugKind::ResendFreshConnection]);
    let mut reused = resent(true);
    reused.intents.truncate(1);
    assert_eq!(kinds(&[reused]), [BugKind::ResendReusedConnection]);
}

#[test]
fn a_lost_answer_taken_for_a_failure_is_ambiguous_as_failed() {
    let failed = tale("failed", 1)
        .ask(1, Some("k"))
        .deliver()
        .hang()
        .believe(1, Outcome::Failed)
        .settle();
    assert_eq!(kinds(&[failed]), [BugKind::AmbiguousAsFailed]);
    let renewed = || ambiguous(Some("b")).accept().all_sent();
    assert_eq!(
        kinds(&[renewed(), clean_control()]),
        [BugKind::AmbiguousAsFailed]
    );
    // A restart leaves the same doubt: it is no defect of its own.
    assert_eq!(
        kinds(&[renewed(), clean_control(), restarted(Some("c"))]),
        [BugKind::AmbiguousAsFailed]
    );
    let alone = findings(&[renewed()]);
    assert_eq!(
        (alone[0].kind, alone[0].or_narrower),
        (BugKind::KeyPerAttempt, true)
    );
}

#[test]
fn a_message_that_is_lost_by_it_makes_ambiguous_as_failed_as_grave_as_a_loss() {
    let delivered = tale("after", 1)
        .ask(1, Some("k"))
        .deliver()
        .hang()
        .believe(1, Outcome::Failed)
        .settle();
    let lost = tale("before", 1)
        .given(|h| h.client.policy.max_attempts = Some(5))
        .ask(1, Some("k"))
        .hang()
        .believe(1, Outcome::Failed)
        .settle();
    let found = findings(&[delivered, lost]);
    let found: Vec<_> = found.iter().map(|f| (f.kind, f.severity)).collect();
    assert_eq!(
        found,
        [Severity::WrongOutcome, Severity::Loss].map(|s| (BugKind::AmbiguousAsFailed, s))
    );
}

#[test]
fn whoever_takes_any_lost_answer_for_a_failure_takes_a_broken_one_for_it_too() {
    let broken = tale("broken", 1)
        .ask(1, Some("a"))
        .deliver()
        .suffer(truncate(Stage::AfterAccept, Part::Body))
        .answering(201, &[])
        .end(End::Truncated)
        .ask(1, Some("b"))
        .accept()
        .all_sent();
    let renewed = ambiguous(Some("b")).accept().all_sent();
    assert_eq!(
        kinds(&[clean_control(), renewed, broken]),
        [BugKind::AmbiguousAsFailed]
    );
}

#[test]
fn another_key_after_a_broken_success_is_bad_success_retried() {
    for broken in [
        truncate(Stage::AfterAccept, Part::Body),
        garble(Stage::AfterAccept, Garbling::BadJson),
    ] {
        let history = tale("broken", 1)
            .ask(1, Some("a"))
            .deliver()
            .suffer(broken)
            .answering(201, &[])
            .end(End::Truncated)
            .ask(1, Some("b"))
            .accept()
            .all_sent();
        assert_eq!(
            kinds(&[history, clean_control()]),
            [BugKind::BadSuccessRetried]
        );
    }
}

#[test]
fn half_an_answer_taken_for_success_is_broken_success_trusted() {
    let history = tale("half", 1)
        .ask(1, Some("k"))
        .suffer(truncate(Stage::BeforeAccept, Part::Head))
        .answering(201, &[])
        .end(End::Truncated)
        .all_sent();
    assert_eq!(kinds(&[history]), [BugKind::BrokenSuccessTrusted]);
}

#[test]
fn a_retried_4xx_is_permanent_retried() {
    let history = tale("400", 1)
        .ask(1, Some("k"))
        .refuse(400)
        .ask(1, Some("k"))
        .refuse(400)
        .believe(1, Outcome::Failed)
        .settle();
    assert_eq!(kinds(&[history]), [BugKind::PermanentRetried]);
}

#[test]
fn giving_up_with_attempts_left_is_retryable_given_up() {
    for status in [503, 429] {
        for outcome in [Outcome::Failed, Outcome::Dead] {
            let history = tale("given-up", 1)
                .ask(1, Some("k"))
                .refuse(status)
                .believe(1, outcome)
                .settle();
            assert_eq!(kinds(&[history]), [BugKind::RetryableGivenUp]);
        }
    }
    let rst = tale("rst", 1)
        .ask(1, Some("k"))
        .suffer(reset(Stage::BeforeAccept))
        .end(End::Reset)
        .believe(1, Outcome::Failed)
        .settle();
    assert_eq!(kinds(&[rst]), [BugKind::RetryableGivenUp]);
}

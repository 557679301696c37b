//! From histories to exactly the kind that they show: at least one case for each.

use std::time::Duration;

use stub_provider::{
    event::End,
    fault::{Garbling, MessageStatus, Part, Stage},
};

use super::{Finding, Judged, diagnose};
use crate::{
    bug_kind::BugKind,
    history::{
        EventKind, History, Process, Submission,
        builder::{Tale, backoff, close, delay, garble, kill, reset, respond, tale, truncate},
    },
    intent::Outcome,
    severity::Severity,
};

pub(super) fn findings(histories: &[History]) -> Vec<Finding> {
    let judged: Vec<Judged<'_>> = histories.iter().map(Judged::new).collect();
    diagnose(&judged)
}

/// The kinds that count, each once, in the order of the reference.
pub(super) fn kinds(histories: &[History]) -> Vec<BugKind> {
    let mut kinds: Vec<BugKind> = findings(histories)
        .into_iter()
        .filter(|f| f.severity > Severity::Note)
        .map(|f| f.kind)
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// 503 once, then accepted, under these keys: the control of many kinds.
pub(super) fn refused(first: Option<&str>, second: Option<&str>) -> History {
    tale("refused", 1)
        .ask(1, first)
        .refuse(503)
        .ask(1, second)
        .accept()
        .all_sent()
}

fn clean_control() -> History {
    refused(Some("k"), Some("k"))
}

/// Accepted, no answer, then asked again under `second`.
pub(super) fn ambiguous(second: Option<&str>) -> Tale {
    tale("ambiguous", 1)
        .ask(1, Some("k"))
        .deliver()
        .hang()
        .ask(1, second)
}

/// Killed after acceptance, then asked again under `second`.
fn restarted(second: Option<&str>) -> History {
    tale("restarted", 1)
        .ask(1, Some("k"))
        .deliver()
        .kill()
        .ask(1, second)
        .accept()
        .all_sent()
}

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
fn resent(reused: bool) -> History {
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
    let severities: Vec<Severity> = findings(&[delivered, lost])
        .iter()
        .map(|f| f.severity)
        .collect();
    assert_eq!(severities, [Severity::WrongOutcome, Severity::Loss]);
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

fn told_to_wait(value: &str, wait: u64) -> History {
    tale("retry-after", 1)
        .given(|h| h.client.policy.backoff = Some(backoff(50, 200)))
        .ask(1, Some("k"))
        .suffer(respond(Stage::BeforeAccept, 429))
        .answer_with(
            429,
            &[
                ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
                ("retry-after", value),
            ],
        )
        .wait(wait)
        .ask(1, Some("k"))
        .accept()
        .all_sent()
}

#[test]
fn coming_back_early_is_ignored_for_seconds_and_misread_for_other_forms() {
    let date = "Sun, 06 Nov 1994 08:49:41 GMT";
    assert_eq!(
        kinds(&[told_to_wait("2", 100)]),
        [BugKind::RetryAfterIgnored]
    );
    assert_eq!(
        kinds(&[told_to_wait(date, 0), told_to_wait("2", 2_000)]),
        [BugKind::RetryAfterMisread]
    );
    assert_eq!(
        kinds(&[told_to_wait(date, 0), told_to_wait("2", 100)]),
        [BugKind::RetryAfterIgnored]
    );
    assert_eq!(
        kinds(&[told_to_wait("-5", 30_000)]),
        [BugKind::RetryAfterMisread]
    );
}

/// Many intents, each refused `refusals` times and back after `wait` (of the intent and the
/// retry, in milliseconds), told one after the other.
fn herd(
    intents: usize,
    refusals: u32,
    base: u64,
    mut wait: impl FnMut(usize, u32) -> u64,
) -> History {
    let mut t =
        tale("herd", intents).given(|h| h.client.policy.backoff = Some(backoff(base, base * 8)));
    for n in 1..=intents {
        let key = format!("k{n}");
        t = t.ask(n, Some(&key)).refuse(503);
        for k in 0..refusals {
            t = t.wait(wait(n, k)).ask(n, Some(&key));
            t = if k + 1 == refusals {
                t.accept()
            } else {
                t.refuse(503)
            };
        }
    }
    t.all_sent()
}

#[test]
fn equal_waits_that_grow_are_no_jitter_and_flat_ones_no_backoff() {
    let growing = herd(50, 3, 400, |_, k| 400 << k);
    assert_eq!(kinds(&[growing]), [BugKind::NoJitter]);
    let flat = herd(50, 4, 400, |_, _| 400);
    assert_eq!(kinds(&[flat]), [BugKind::NoBackoff]);
}

#[test]
fn flat_waits_are_collected_over_all_histories() {
    let few = || herd(2, 4, 50, |_, _| 40);
    assert_eq!(kinds(&[few()]), []);
    let many: Vec<History> = (0..10).map(|_| few()).collect();
    assert_eq!(kinds(&many), [BugKind::NoBackoff]);
}

fn constant(wire: u32, own: u32) -> History {
    let mut t = tale("constant", 1);
    for _ in 0..wire {
        t = t.ask(1, Some("k")).refuse(503);
    }
    t.believe_counting(1, Outcome::Dead, own).settle()
}

#[test]
fn more_attempts_than_promised_are_no_backoff_and_more_than_counted_layered_retries() {
    assert_eq!(kinds(&[constant(9, 9)]), [BugKind::NoBackoff]);
    assert_eq!(kinds(&[constant(15, 5)]), [BugKind::LayeredRetries]);
    // The lower layer resends after a broken connection as well.
    assert_eq!(
        kinds(&[constant(15, 5), resent(false)]),
        [BugKind::LayeredRetries]
    );
}

#[test]
fn a_new_key_only_after_a_restart_is_crash_mints_key() {
    let kept = ambiguous(Some("k")).replay(1).answer(201).all_sent();
    assert_eq!(
        kinds(&[restarted(Some("b")), clean_control(), kept]),
        [BugKind::CrashMintsKey]
    );
}

/// The first answer leaves after the second request came, and is taken.
fn overlapping(workers: u32, faulted: bool, second: &str) -> History {
    let t = tale("overlapping", 1)
        .given(|h| h.client.workers = workers)
        .ask(1, Some("a"));
    let t = if faulted { t.suffer(delay(1_500)) } else { t };
    t.wait(500)
        .ask(1, Some(second))
        .wait(100)
        .of(1)
        .deliver()
        .answer(201)
        .of(2)
        .replay(1)
        .answer(201)
        .all_sent()
}

fn quiet_workers() -> History {
    tale("workers", 2)
        .given(|h| h.client.workers = 3)
        .ask(1, Some("a"))
        .accept()
        .ask(2, Some("b"))
        .accept()
        .all_sent()
}

#[test]
fn work_on_one_intent_at_once_is_named_by_its_workers_and_its_faults() {
    assert_eq!(
        kinds(&[overlapping(2, true, "a"), quiet_workers()]),
        [BugKind::LeaseTooShort]
    );
    assert_eq!(
        kinds(&[overlapping(1, true, "a")]),
        [BugKind::SweeperTooEager]
    );
    assert_eq!(kinds(&[overlapping(3, false, "a")]), [BugKind::NoClaimLock]);
    assert_eq!(
        kinds(&[overlapping(3, false, "b"), overlapping(2, true, "b")]),
        [BugKind::NoClaimLock]
    );
    let alone = findings(&[overlapping(2, true, "b")]);
    assert_eq!(
        (alone[0].kind, alone[0].or_narrower),
        (BugKind::NoClaimLock, true)
    );
}

#[test]
fn too_many_tries_by_workers_that_collide_are_no_finding_of_their_own() {
    let mut history = overlapping(3, false, "a");
    history.client.policy.max_attempts = Some(1);
    assert_eq!(kinds(&[history]), [BugKind::NoClaimLock]);
}

#[test]
fn a_row_taken_twice_without_a_fault_is_no_claim_lock_even_one_after_the_other() {
    let history = tale("workers", 1)
        .given(|h| h.client.workers = 3)
        .ask(1, Some("a"))
        .accept()
        .ask(1, Some("b"))
        .accept()
        .all_sent();
    assert_eq!(kinds(&[history]), [BugKind::NoClaimLock]);
}

#[test]
fn a_delivery_without_a_record_is_sent_then_rolled_back() {
    let history = tale("rolled-back", 1)
        .ask(1, Some("k"))
        .accept()
        .event(EventKind::Forgotten { intent: 1 })
        .settle();
    assert_eq!(kinds(&[history]), [BugKind::SentThenRolledBack]);
}

#[test]
fn a_request_after_the_expiry_is_sent_after_deadline() {
    let history = tale("otp", 1)
        .given(|h| {
            h.events.clear();
            h.intents[0].expires_after = Some(Duration::from_secs(1));
        })
        .submit(1, Submission::First, true)
        .ask(1, Some("k"))
        .refuse(503)
        .wait(1_500)
        .ask(1, Some("k"))
        .accept()
        .all_sent();
    assert_eq!(kinds(&[history]), [BugKind::SentAfterDeadline]);
}

#[test]
fn nothing_sent_and_no_record_or_sent_across_a_kill_is_lost() {
    let forgotten = tale("lost", 1)
        .event(EventKind::Forgotten { intent: 1 })
        .settle();
    assert_eq!(kinds(&[forgotten]), [BugKind::Lost]);
    let claimed = tale("lost", 1)
        .declare(1, kill())
        .event(EventKind::ProcessSignalled {
            process: Process::Worker(1),
            signal: "kill".into(),
            fault: Some(1),
        })
        .believe(1, Outcome::Sent)
        .settle();
    assert_eq!(kinds(&[claimed]), [BugKind::Lost]);
}

#[test]
fn a_request_after_a_receipt_or_an_outcome_that_goes_back_is_receipt_mishandled() {
    let told = |status| {
        tale("receipt", 1)
            .ask(1, Some("a"))
            .accept()
            .believe(1, Outcome::Sent)
            .event(EventKind::Receipt {
                message: "msg_1".into(),
                event_id: "evt_1".into(),
                status,
                attempt: 1,
                answered: Some(200),
            })
    };
    let again = told(MessageStatus::Delivered)
        .ask(1, Some("b"))
        .accept()
        .all_sent();
    assert_eq!(kinds(&[again]), [BugKind::ReceiptMishandled]);
    let back = told(MessageStatus::Queued)
        .believe(1, Outcome::Unknown)
        .settle();
    assert_eq!(kinds(&[back]), [BugKind::ReceiptMishandled]);
}

#[test]
fn two_providers_that_deliver_are_failover_duplicates() {
    let history = tale("failover", 1)
        .ask(1, Some("a"))
        .deliver()
        .hang()
        .at_provider(2)
        .ask(1, Some("b"))
        .accept()
        .all_sent();
    assert_eq!(kinds(&[history]), [BugKind::FailoverDuplicates]);
}

#[test]
fn a_second_real_message_that_is_never_sent_is_swallowed() {
    let two = || tale("same", 2).given(|h| h.intents[1].to = h.intents[0].to.clone());
    let claimed = two().ask(1, Some("a")).accept().all_sent();
    assert_eq!(kinds(&[claimed]), [BugKind::Swallowed]);
    let forgotten = two()
        .ask(1, Some("a"))
        .accept()
        .believe(1, Outcome::Sent)
        .event(EventKind::Forgotten { intent: 2 })
        .settle();
    assert_eq!(kinds(&[forgotten]), [BugKind::Swallowed]);
}

#[test]
fn pending_for_ever_is_stuck_before_anything_else() {
    let history = tale("stuck", 1)
        .ask(1, Some("k"))
        .deliver()
        .kill()
        .believe(1, Outcome::Pending)
        .wait(20_000)
        .time_out();
    assert_eq!(kinds(&[history]), [BugKind::Stuck]);
}

#[test]
fn a_repeat_at_the_front_door_that_is_sent_is_front_door_duplicates() {
    let twice = || {
        tale("repeat", 1)
            .ask(1, Some("a"))
            .accept()
            .submit(1, Submission::Again, true)
            .ask(1, Some("b"))
            .accept()
            .all_sent()
    };
    let conflict = || {
        tale("conflict", 1)
            .ask(1, Some("a"))
            .accept()
            .submit(1, Submission::Conflicting, true)
            .ask(1, Some("b"))
            .accept()
            .all_sent()
    };
    assert_eq!(kinds(&[twice()]), [BugKind::FrontDoorDuplicates]);
    assert_eq!(kinds(&[conflict()]), [BugKind::FrontDoorConflictHidden]);
    assert_eq!(
        kinds(&[twice(), conflict()]),
        [BugKind::FrontDoorDuplicates]
    );
}

#[test]
fn what_no_kind_explains_is_named_by_its_symptom() {
    let double = tale("double", 1)
        .ask(1, Some("a"))
        .accept()
        .ask(1, Some("b"))
        .accept()
        .all_sent();
    assert_eq!(kinds(&[double]), [BugKind::DuplicateDelivery]);
    let outcome = tale("outcome", 1)
        .given(|h| h.expect.outcomes = vec![Outcome::Sent])
        .ask(1, Some("k"))
        .accept()
        .believe(1, Outcome::Unknown)
        .settle();
    assert_eq!(kinds(&[outcome]), [BugKind::UnexpectedOutcome]);
    let lost = tale("lost", 1)
        .given(|h| h.expect.deliveries = Some(1))
        .ask(1, Some("k"))
        .refuse(400)
        .believe(1, Outcome::Failed)
        .settle();
    assert_eq!(kinds(&[lost]), [BugKind::LostMessage]);
    let stray = tale("stray", 1)
        .ask(1, Some("k"))
        .accept()
        .stray()
        .accept()
        .all_sent();
    assert_eq!(kinds(&[stray]), [BugKind::StrayAttempt]);
}

#[test]
fn every_finding_cites_its_proof_and_the_fault_that_provoked_it() {
    let found = findings(&[refused(Some("a"), Some("b"))]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].attempts, [1, 2]);
    assert_eq!(found[0].evidence.len(), 2);
    assert_eq!(found[0].fault, Some(1));
    assert_eq!(found[0].intents, [1]);
}

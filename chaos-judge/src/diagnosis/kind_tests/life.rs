//! What becomes of a message over a client's life: restarts, workers, records, receipts.

use std::time::Duration;

use stub_provider::{
    event::End,
    fault::{MessageStatus, Stage},
};

use super::{ambiguous, clean_control, findings, kinds, restarted};
use crate::{
    bug_kind::BugKind,
    history::{
        EventKind, History, Process, Submission,
        builder::{Tale, delay, kill, reset, tale},
    },
    intent::Outcome,
    severity::Severity,
};

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

fn quiet_workers() -> Tale {
    tale("workers", 2)
        .given(|h| h.client.workers = 3)
        .ask(1, Some("a"))
        .accept()
        .ask(2, Some("b"))
        .accept()
}

#[test]
fn work_on_one_intent_at_once_is_named_by_its_workers_and_its_faults() {
    assert_eq!(
        kinds(&[overlapping(2, true, "a"), quiet_workers().all_sent()]),
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
    // A key that is kept makes it harmless to the phone.
    let severity = |second| findings(&[overlapping(3, false, second)])[0].severity;
    assert_eq!(severity("a"), Severity::Policy);
    assert_eq!(severity("b"), BugKind::NoClaimLock.severity());
    assert!(severity("b") > severity("a"));
    // One worker, or several of whom one met a fault, are no control.
    let faulted = || {
        let told = tale("faulted", 1).given(|h| h.client.workers = 3);
        told.ask(1, Some("a"))
            .refuse(503)
            .ask(1, Some("a"))
            .accept()
    };
    let nobody = || quiet_workers().given(|h| h.events.clear());
    let one = || tale("one", 1).ask(1, Some("a")).accept();
    for control in [
        clean_control(),
        one().all_sent(),
        faulted().all_sent(),
        nobody().history,
    ] {
        let alone = findings(&[overlapping(2, true, "b"), control]);
        assert_eq!(
            (alone[0].kind, alone[0].or_narrower),
            (BugKind::NoClaimLock, true)
        );
    }
}

#[test]
fn too_many_tries_by_workers_that_collide_are_no_finding_of_their_own() {
    let mut history = overlapping(3, false, "a");
    history.client.policy.max_attempts = Some(1);
    assert_eq!(kinds(&[history]), [BugKind::NoClaimLock]);
}

#[test]
fn a_count_that_colliding_workers_wrote_over_is_no_resend() {
    let resent = |workers| {
        tale("two-workers", 1)
            .given(|h| h.client.workers = workers)
            .ask(1, Some("a"))
            .suffer(reset(Stage::AfterAccept))
            .end(End::Reset)
            .ask(1, Some("a"))
            .accept()
            .believe_counting(1, Outcome::Sent, 1)
            .settle()
    };
    let noted = |histories: &[History]| {
        let found = findings(histories);
        found
            .iter()
            .any(|f| f.kind == BugKind::ResendFreshConnection)
    };
    assert!(!noted(&[overlapping(3, false, "a"), resent(2)]));
    // A single process has a count that nobody else writes, and so has a client that claims well.
    assert!(noted(&[overlapping(3, false, "a"), resent(1)]));
    assert!(noted(&[quiet_workers().all_sent(), resent(2)]));
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

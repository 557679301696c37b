//! Where a general kind is shown, the narrower ones that the same defect looks like are not named
//! beside it.

use stub_provider::fault::{MessageStatus, Stage};

use super::kind_tests::{findings, kinds, refused};
use crate::{
    bug_kind::BugKind,
    history::{
        EventKind, History, Process,
        builder::{backoff, respond, tale},
    },
    intent::Outcome,
};

/// Accepted, answered 503 with a long wait, then asked again when the key is forgotten.
fn after_the_retention(second: Option<&str>) -> History {
    tale("retention", 1)
        .given(|h| h.provider.retention_us = 1_000_000)
        .ask(1, Some("a"))
        .suffer(respond(Stage::AfterAccept, 503))
        .deliver()
        .answer_with(503, &[("retry-after", "2")])
        .wait(2_000)
        .ask(1, second)
        .accept()
        .all_sent()
}

#[test]
fn who_never_keeps_a_key_has_not_outlived_one() {
    for (second, general) in [
        (Some("b"), BugKind::KeyPerAttempt),
        (None, BugKind::KeyDropped),
    ] {
        let all = [after_the_retention(second), refused(Some("a"), second)];
        assert_eq!(kinds(&all), [general]);
    }
    let kept = refused(Some("k"), Some("k"));
    assert_eq!(
        kinds(&[after_the_retention(Some("b")), kept]),
        [BugKind::KeyOutlived]
    );
}

/// Killed on the way, after acceptance or before the request arrived, and nothing is known of the
/// message afterwards.
fn forgotten_at_a_kill(name: &str, delivered: bool) -> History {
    let taken_on = tale(name, 1);
    let killed = if delivered {
        taken_on.ask(1, Some("k")).deliver().kill()
    } else {
        taken_on.event(EventKind::ProcessSignalled {
            process: Process::Worker(1),
            signal: "kill".into(),
            fault: Some(1),
        })
    };
    killed.event(EventKind::Forgotten { intent: 1 }).settle()
}

#[test]
fn a_record_that_a_kill_takes_before_the_send_as_well_is_lost_and_not_rolled_back() {
    let delivered = forgotten_at_a_kill("after", true);
    let undelivered = forgotten_at_a_kill("before", false);
    assert_eq!(kinds(&[delivered.clone(), undelivered]), [BugKind::Lost]);
    assert_eq!(kinds(&[delivered]), [BugKind::SentThenRolledBack]);
}

#[test]
fn what_a_receipt_has_undone_is_not_stuck() {
    let history = tale("undone", 1)
        .ask(1, Some("k"))
        .accept()
        .believe(1, Outcome::Sent)
        .event(EventKind::Receipt {
            message: "msg_1".into(),
            event_id: "evt_1".into(),
            status: MessageStatus::Sent,
            attempt: 2,
            answered: Some(200),
        })
        .believe(1, Outcome::Pending)
        .settle();
    assert_eq!(kinds(&[history]), [BugKind::ReceiptMishandled]);
}

#[test]
fn two_layers_of_retries_are_not_called_flat() {
    let mut t = tale("layered", 20).given(|h| h.client.policy.backoff = Some(backoff(50, 200)));
    for n in 1..=20 {
        let key = format!("k{n}");
        for k in 0..15 {
            let wait = if k % 3 == 0 { 40 << (k / 3) } else { 0 };
            t = t.wait(wait).ask(n, Some(&key)).refuse(503);
        }
        t = t.believe_counting(n, Outcome::Dead, 5);
    }
    assert_eq!(kinds(&[t.settle()]), [BugKind::LayeredRetries]);
}

#[test]
fn a_key_cut_from_close_identities_is_mangled_and_not_reused() {
    let history = tale("close", 2)
        .given(|h| {
            h.intents[0].id = "9f1c2e3d-0000-4000-8000-0000000000a1".into();
            h.intents[1].id = "9f1c2e3d-0000-4000-8000-0000000000a2".into();
        })
        .ask(1, Some("sms-9f1c2e3d"))
        .accept()
        .ask(2, Some("sms-9f1c2e3d"))
        .replay(1)
        .answer(201)
        .all_sent();
    let found = findings(&[history]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].kind, BugKind::KeyMangled);
    assert_eq!(
        (&found[0].attempts, found[0].evidence.len()),
        (&vec![1, 2], 2)
    );
}

//! What an honest client does gives no finding, however odd it looks.

use stub_provider::{
    duration::Span,
    event::End,
    fault::{Garbling, Memory, MessageStatus, Part, RequestKind, Stage},
};

use super::kind_tests::{ambiguous, findings, kinds, refused};
use crate::{
    bug_kind::BugKind,
    fault::ToxicKind,
    history::{
        EventKind, History, Submission,
        builder::{Tale, close, crash, delay, garble, respond, tale, toxic, truncate, two_alike},
    },
    intent::Outcome,
    severity::Severity,
};

/// No finding at all, notes included.
fn nothing(history: History) {
    assert_eq!(findings(&[history]), []);
}

#[test]
fn a_retry_under_a_stable_key_after_anything_gives_nothing() {
    nothing(refused(Some("k"), Some("k")));
    nothing(ambiguous(Some("k")).replay(1).answer(201).all_sent());
    nothing(
        tale("kill", 1)
            .ask(1, Some("k"))
            .deliver()
            .kill()
            .ask(1, Some("k"))
            .replay(1)
            .answer(201)
            .all_sent(),
    );
    nothing(
        tale("toxic", 1)
            .ask(1, Some("k"))
            .deliver()
            .suffer(toxic(ToxicKind::Timeout))
            .answer(201)
            .wait(300)
            .ask(1, Some("k"))
            .replay(1)
            .answer(201)
            .all_sent(),
    );
}

/// A 400 is answered, the connection ends so after a while, and another request comes.
fn let_go_after(millis: u64, end: End) -> History {
    tale("late", 1)
        .given(|h| h.client.policy.read_timeout = Some(Span::from_millis(300)))
        .ask(1, Some("k"))
        .refuse(400)
        .wait(millis)
        .event(EventKind::ConnectionClosed {
            provider: 1,
            connection: 1,
            end,
        })
        .wait(50)
        .ask(1, Some("k"))
        .accept()
        .all_sent()
}

#[test]
fn a_retry_after_an_answer_that_came_too_late_to_be_read_gives_nothing() {
    // With the answer in the socket its system sends an RST, where a reader sends a FIN.
    nothing(let_go_after(300, End::ClientReset));
    nothing(let_go_after(300, End::Answered));
}

#[test]
fn a_retry_after_an_answer_that_was_read_is_judged_by_it() {
    let early = let_go_after(150, End::Answered);
    assert_eq!(kinds(&[early]), [BugKind::PermanentRetried]);
    let mut kept = let_go_after(300, End::Answered);
    // The connection outlives the retry: nobody has let go of it for want of an answer.
    let closed = kept
        .events
        .iter()
        .position(|e| matches!(e.kind, EventKind::ConnectionClosed { .. }))
        .expect("it was closed");
    let end = kept.events.remove(closed);
    kept.events.push(end);
    for (at, event) in kept.events.iter_mut().enumerate() {
        event.seq = at as u64 + 1;
    }
    assert_eq!(kinds(&[kept]), [BugKind::PermanentRetried]);
}

#[test]
fn asking_again_under_the_same_key_after_a_broken_success_gives_nothing() {
    for broken in [
        truncate(Stage::AfterAccept, Part::Body),
        truncate(Stage::AfterAccept, Part::Head),
        garble(Stage::AfterAccept, Garbling::WrongContentLength),
        garble(Stage::AfterAccept, Garbling::NotHttp),
    ] {
        nothing(
            tale("broken", 1)
                .ask(1, Some("k"))
                .deliver()
                .suffer(broken)
                .answering(201, &[])
                .end(End::Truncated)
                .ask(1, Some("k"))
                .replay(1)
                .answer(201)
                .all_sent(),
        );
    }
}

#[test]
fn a_wire_duplicate_that_a_stable_key_makes_harmless_is_a_note() {
    let history = tale("resent", 1)
        .ask(1, Some("k"))
        .deliver()
        .suffer(close(Stage::AfterAccept))
        .end(End::Closed)
        .ask(1, Some("k"))
        .replay(1)
        .answer(201)
        .believe_counting(1, Outcome::Sent, 1)
        .settle();
    let found = findings(&[history]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].kind, BugKind::ResendFreshConnection);
    assert_eq!(found[0].severity, Severity::Note);
}

#[test]
fn giving_up_as_unknown_or_dead_after_ambiguity_gives_nothing() {
    for outcome in [Outcome::Unknown, Outcome::Dead] {
        nothing(
            tale("hang", 1)
                .ask(1, Some("k"))
                .deliver()
                .hang()
                .believe(1, outcome)
                .settle(),
        );
        nothing(
            tale("not-accepted", 1)
                .ask(1, Some("k"))
                .hang()
                .believe(1, outcome)
                .settle(),
        );
    }
}

#[test]
fn giving_up_where_the_api_has_no_key_gives_nothing() {
    nothing(
        tale("keyless", 1)
            .given(|h| h.provider.has_key = false)
            .ask(1, None)
            .refuse(503)
            .believe(1, Outcome::Dead)
            .settle(),
    );
}

#[test]
fn a_keyless_retry_of_a_refusal_where_the_api_has_no_key_gives_nothing() {
    nothing(
        tale("keyless", 1)
            .given(|h| h.provider.has_key = false)
            .ask(1, None)
            .refuse(503)
            .ask(1, None)
            .accept()
            .all_sent(),
    );
}

#[test]
fn a_lookup_in_place_of_a_retry_gives_nothing() {
    let lookup = |t: Tale| {
        t.event(EventKind::Attempt {
            attempt: 99,
            provider: 1,
            connection: 99,
            nth_on_connection: 1,
            kind: RequestKind::Lookup,
            intent: Some(1),
            ordinal: 1,
            customer: "default".into(),
            key: Some("k".into()),
            to: None,
            text: None,
            request: crate::history::Request {
                method: "GET".into(),
                target: "/v1/messages?idempotency_key=k".into(),
                headers: Vec::new(),
                body: crate::history::Payload::Text(String::new()),
            },
        })
        .of(99)
        .answer(200)
    };
    let history = lookup(tale("lookup", 1).ask(1, Some("k")).deliver().hang())
        .believe_counting(1, Outcome::Sent, 1)
        .settle();
    nothing(history);
}

#[test]
fn a_provider_that_forgets_is_not_held_against_the_client() {
    nothing(
        tale("amnesia", 1)
            .ask(1, Some("k"))
            .deliver()
            .suffer(crash(Memory::Lost))
            .end(End::Crashed)
            .ask(1, Some("k"))
            .accept()
            .all_sent(),
    );
}

#[test]
fn a_409_in_flight_that_is_waited_out_gives_nothing() {
    nothing(
        tale("in-flight", 1)
            .ask(1, Some("k"))
            .suffer(delay(600))
            .wait(300)
            .end(End::ClientClosed)
            .ask(1, Some("k"))
            .answer(409)
            .wait(400)
            .of(1)
            .deliver()
            .of(2)
            .ask(1, Some("k"))
            .replay(1)
            .answer(201)
            .all_sent(),
    );
}

#[test]
fn a_redirect_followed_with_its_key_gives_nothing() {
    nothing(
        tale("redirect", 1)
            .ask(1, Some("k"))
            .refuse(308)
            .ask(1, Some("k"))
            .accept()
            .believe_counting(1, Outcome::Sent, 1)
            .settle(),
    );
}

#[test]
fn a_permanent_error_taken_for_a_failure_gives_nothing() {
    nothing(
        tale("400", 1)
            .ask(1, Some("k"))
            .refuse(400)
            .believe(1, Outcome::Failed)
            .settle(),
    );
}

#[test]
fn exhausted_attempts_set_aside_give_nothing() {
    let mut t = tale("exhausted", 1);
    for _ in 0..5 {
        t = t.ask(1, Some("k")).refuse(503);
    }
    nothing(t.believe(1, Outcome::Dead).settle());
}

#[test]
fn a_failover_after_a_refusal_gives_nothing_whatever_the_key() {
    nothing(
        tale("failover", 1)
            .ask(1, Some("a"))
            .refuse(503)
            .at_provider(2)
            .ask(1, Some("b"))
            .accept()
            .all_sent(),
    );
}

#[test]
fn receipts_twice_and_late_give_nothing() {
    let receipt = |t: Tale, id: &str| {
        t.event(EventKind::Receipt {
            message: "msg_1".into(),
            event_id: id.into(),
            status: MessageStatus::Delivered,
            attempt: 1,
            answered: Some(200),
        })
    };
    let t = tale("receipts", 1)
        .ask(1, Some("k"))
        .accept()
        .believe(1, Outcome::Sent);
    nothing(receipt(receipt(t, "evt"), "evt").all_sent());
    // An unknown attempt that a receipt settles.
    let t = tale("settled", 1)
        .ask(1, Some("k"))
        .deliver()
        .hang()
        .believe(1, Outcome::Unknown);
    nothing(receipt(t, "evt").believe(1, Outcome::Sent).settle());
}

#[test]
fn a_repeat_at_the_front_door_that_sends_nothing_gives_nothing() {
    nothing(
        tale("repeat", 1)
            .ask(1, Some("k"))
            .accept()
            .submit(1, Submission::Again, true)
            .all_sent(),
    );
    nothing(
        tale("conflict", 1)
            .ask(1, Some("k"))
            .accept()
            .submit(1, Submission::Conflicting, false)
            .all_sent(),
    );
}

#[test]
fn two_real_messages_with_equal_words_give_nothing() {
    nothing(
        two_alike()
            .ask(1, Some("a"))
            .accept()
            .ask(2, Some("b"))
            .accept()
            .all_sent(),
    );
    // A retry of the first that looks like the second.
    nothing(
        two_alike()
            .ask(1, Some("a"))
            .refuse(503)
            .ask(2, Some("a"))
            .accept()
            .ask(1, Some("b"))
            .accept()
            .all_sent(),
    );
}

#[test]
fn two_customers_with_equal_keys_give_nothing() {
    nothing(
        tale("customers", 2)
            .given(|h| {
                h.intents[1].customer = "blue".into();
                for intent in &mut h.intents {
                    intent.key = Some("same".into());
                }
            })
            .ask(1, Some("same"))
            .accept()
            .ask(2, Some("same"))
            .accept()
            .all_sent(),
    );
}

#[test]
fn an_intent_that_the_client_refused_at_its_door_gives_nothing() {
    nothing(
        tale("refused", 1)
            .given(|h| h.events.clear())
            .submit(1, Submission::First, false)
            .event(EventKind::Forgotten { intent: 1 })
            .settle(),
    );
}

#[test]
fn giving_up_after_a_huge_retry_after_or_waiting_for_it_gives_nothing() {
    let told = || {
        tale("huge", 1)
            .ask(1, Some("k"))
            .suffer(respond(Stage::BeforeAccept, 429))
            .answer_with(429, &[("retry-after", "86400")])
    };
    for outcome in [Outcome::Dead, Outcome::Unknown, Outcome::Failed] {
        nothing(told().believe(1, outcome).settle());
    }
    nothing(told().believe(1, Outcome::Pending).wait(30_000).time_out());
}

#[test]
fn an_accepted_error_replayed_until_the_client_sets_it_aside_gives_nothing() {
    nothing(
        tale("stored", 1)
            .ask(1, Some("k"))
            .deliver()
            .suffer(respond(Stage::AfterAccept, 500))
            .answer(500)
            .ask(1, Some("k"))
            .replay(1)
            .answer(500)
            .believe(1, Outcome::Dead)
            .settle(),
    );
}

#[test]
fn a_clean_run_of_many_scenarios_gives_nothing() {
    let all = [
        tale("baseline", 1).ask(1, Some("k")).accept().all_sent(),
        refused(Some("k"), Some("k")),
        ambiguous(Some("k")).replay(1).answer(201).all_sent(),
    ];
    assert_eq!(kinds(&all), []);
}

//! What an outcome contradicts, and what it does not.

use stub_provider::fault::{Part, Stage};

use super::*;
use crate::history::{
    EventKind, History,
    builder::{Tale, numbers, tale, truncate, two_alike},
};

fn kinds(history: &History) -> Vec<SymptomKind> {
    check(&View::new(history)).kinds()
}

#[test]
fn the_delivery_is_cited_or_where_nothing_more_is_done_the_last_request() {
    let told = |outcome| {
        tale("hang", 1)
            .ask(1, Some("k"))
            .deliver()
            .hang()
            .ask(1, Some("k"))
            .hang()
            .believe(1, outcome)
            .wait(20_000)
            .time_out()
    };
    let failed = told(Outcome::Failed);
    let belief = numbers(&failed, |e| matches!(e, EventKind::Believed { .. }))[0];
    let delivered = numbers(&failed, |e| matches!(e, EventKind::Delivered { .. }))[0];
    let seen = check(&View::new(&failed));
    assert_eq!(seen.symptoms[0].evidence, [delivered, belief]);
    assert_eq!(seen.symptoms[0].attempts, [1, 2]);
    let stuck = told(Outcome::Pending);
    let requests = numbers(&stuck, |e| matches!(e, EventKind::Attempt { .. }));
    let over = numbers(&stuck, |e| matches!(e, EventKind::TimedOut { .. }));
    let seen = check(&View::new(&stuck));
    assert_eq!(seen.symptoms[0].evidence, [requests[1], belief, over[0]]);
}

#[test]
fn sent_and_delivered_passes_and_so_do_unknown_and_dead() {
    for outcome in [Outcome::Sent, Outcome::Unknown, Outcome::Dead] {
        let history = tale("fine", 1)
            .ask(1, Some("k"))
            .deliver()
            .hang()
            .believe(1, outcome)
            .settle();
        assert_eq!(kinds(&history), [], "{outcome}");
    }
}

#[test]
fn failed_though_delivered_is_seen_with_the_last_reply() {
    let hang = tale("hang", 1)
        .ask(1, Some("k"))
        .deliver()
        .hang()
        .believe(1, Outcome::Failed)
        .settle();
    let seen = check(&View::new(&hang)).symptoms;
    let last = Reply::Ambiguous;
    assert_eq!(seen[0].kind, SymptomKind::FailedButDelivered { last });
    // The first request and the last are one.
    assert_eq!(seen[0].attempts, [1]);
}

#[test]
fn a_provider_that_says_never_may_be_believed_unless_an_answer_was_lost_before() {
    let refused_at_last = |told: Tale| {
        let told = told.ask(1, Some("k")).deliver().answer(400);
        kinds(&told.believe(1, Outcome::Failed).settle())
    };
    let refused = tale("refused", 1).ask(1, Some("k")).refuse(503);
    assert_eq!(refused_at_last(refused), []);
    let hang = tale("hang", 1).ask(1, Some("k")).hang();
    assert_eq!(
        refused_at_last(hang),
        [SymptomKind::FailedButDelivered {
            last: Reply::Permanent(400)
        }]
    );
}

#[test]
fn a_409_taken_for_a_failure_is_said_as_such() {
    let history = tale("in flight", 1)
        .ask(1, Some("k"))
        .deliver()
        .hang()
        .ask(1, Some("k"))
        .refuse(409)
        .believe(1, Outcome::Failed)
        .settle();
    let seen = check(&View::new(&history)).symptoms;
    assert_eq!(
        seen[0].kind,
        SymptomKind::FailedButDelivered {
            last: Reply::InFlight
        }
    );
    assert!(seen[0].detail.contains("409"), "{}", seen[0].detail);
}

#[test]
fn sent_though_undelivered_is_seen_and_a_made_up_success_is_not_blamed() {
    let cut = tale("cut", 1)
        .ask(1, Some("k"))
        .suffer(truncate(Stage::BeforeAccept, Part::Head))
        .answering(201, &[])
        .end(stub_provider::event::End::Truncated)
        .all_sent();
    assert_eq!(
        kinds(&cut),
        [SymptomKind::SentButUndelivered { across_kill: false }]
    );
    let lie = tale("lie", 1).ask(1, Some("k")).refuse(201).all_sent();
    assert_eq!(kinds(&lie), []);
}

#[test]
fn pending_is_stuck_when_idle_and_not_while_it_waits_as_told() {
    let stuck = tale("stuck", 1)
        .ask(1, Some("k"))
        .hang()
        .believe(1, Outcome::Pending)
        .wait(20_000)
        .time_out();
    assert_eq!(kinds(&stuck), [SymptomKind::PendingAtEnd]);
    let busy = tale("busy", 1)
        .ask(1, Some("k"))
        .hang()
        .believe(1, Outcome::Pending)
        .time_out();
    assert_eq!(kinds(&busy), []);
    let waits = tale("waits", 1)
        .ask(1, Some("k"))
        .answer_with(429, &[("retry-after", "86400")])
        .believe(1, Outcome::Pending)
        .wait(20_000)
        .time_out();
    assert_eq!(kinds(&waits), []);
}

#[test]
fn a_wait_that_has_just_run_out_is_no_excuse() {
    let told = |millis| {
        tale("waits", 1)
            .ask(1, Some("k"))
            .answer_with(429, &[("retry-after", "2")])
            .believe(1, Outcome::Pending)
            .wait(millis)
            .time_out()
    };
    let gap_us = |history: &History| {
        let view = View::new(history);
        view.end_us - view.tries(1)[0].answer.expect("a 429").0.at_us
    };
    let exact = 2_000 - gap_us(&told(0)) / 1_000;
    assert_eq!(gap_us(&told(exact)), 2_000_000);
    let waits = |millis| waits_as_told(&View::new(&told(millis)), 1);
    assert!(waits(exact - 1));
    assert!(!waits(exact));
}

#[test]
fn a_client_that_is_busy_with_another_message_may_have_yet_to_come_to_this_one() {
    let one_waits = || {
        tale("busy", 2)
            .ask(1, Some("j"))
            .hang()
            .believe(1, Outcome::Pending)
            .wait(20_000)
            .ask(2, Some("k"))
            .accept()
            .believe(2, Outcome::Sent)
    };
    assert_eq!(kinds(&one_waits().time_out()), []);
    let idle = one_waits().wait(20_000).time_out();
    assert_eq!(kinds(&idle), [SymptomKind::PendingAtEnd]);
}

#[test]
fn of_two_that_look_alike_one_delivery_belongs_to_the_one_with_a_record() {
    let seen = |told: Tale| {
        let history = told
            .believe(1, Outcome::Sent)
            .event(EventKind::Forgotten { intent: 2 })
            .settle();
        kinds(&history).contains(&SymptomKind::ForgottenButDelivered)
    };
    assert!(!seen(two_alike().ask(2, Some("k")).accept()));
    let both = two_alike().ask(1, Some("j")).accept();
    assert!(seen(both.ask(2, Some("k")).accept()));
}

#[test]
fn of_two_that_look_alike_two_deliveries_are_enough_and_one_leaves_the_other_unsent() {
    let one = two_alike().ask(1, Some("a")).accept();
    let unsent = check(&View::new(&one.all_sent())).symptoms;
    let unsent: Vec<_> = unsent.iter().map(|s| (s.kind, s.intent)).collect();
    assert_eq!(
        unsent,
        [(
            SymptomKind::SentButUndelivered { across_kill: false },
            Some(2)
        )]
    );
    let both = two_alike().ask(1, Some("a")).accept();
    let both = both.ask(1, Some("b")).accept();
    assert_eq!(kinds(&both.all_sent()), []);
}

#[test]
fn a_client_whose_worker_never_ran_is_not_stuck() {
    let history = tale("no-worker", 1)
        .believe(1, Outcome::Pending)
        .wait(20_000)
        .time_out();
    assert_eq!(kinds(&history), []);
}

#[test]
fn a_forgotten_intent_is_blamed_only_where_it_was_delivered_or_taken_on() {
    let delivered = tale("forgot", 1)
        .ask(1, Some("k"))
        .accept()
        .event(EventKind::Forgotten { intent: 1 })
        .settle();
    assert_eq!(kinds(&delivered), [SymptomKind::ForgottenButDelivered]);
    let taken = tale("forgot", 1)
        .event(EventKind::Forgotten { intent: 1 })
        .settle();
    assert_eq!(kinds(&taken), [SymptomKind::ForgottenAndUndelivered]);
    let refused = tale("refused", 1)
        .given(|h| {
            h.events.clear();
        })
        .event(EventKind::Forgotten { intent: 1 })
        .settle();
    assert_eq!(kinds(&refused), []);
}

#[test]
fn without_an_answer_on_the_outcome_nothing_is_decided() {
    let history = tale("mute", 1).ask(1, Some("k")).accept().settle();
    assert!(!check(&View::new(&history)).undecided.is_empty());
}

//! What a finding says beside its kind, and which symptoms get a name of their own.

use std::collections::BTreeMap;

use stub_provider::{
    event::End,
    fault::{Garbling, Stage},
};

use super::{
    Facts, Judged, diagnose_each,
    kind_tests::{findings, kinds, refused},
};
use crate::{
    bug_kind::BugKind,
    history::{
        EventKind, History,
        builder::{Tale, backoff, garble, reset, respond, tale},
    },
    intent::Outcome,
};

#[test]
fn each_intent_is_diagnosed_by_itself() {
    let history = tale("two", 2)
        .ask(1, Some("a"))
        .refuse(503)
        .ask(1, Some("b"))
        .accept()
        .ask(2, Some("c"))
        .accept()
        .all_sent();
    let judged = Judged::new(&history);
    let found: BTreeMap<Option<usize>, Vec<BugKind>> =
        diagnose_each(&Facts::of(std::slice::from_ref(&judged)), &judged)
            .into_iter()
            .map(|(intent, found)| (intent, found.iter().map(|f| f.kind).collect()))
            .collect();
    assert_eq!(
        found,
        BTreeMap::from([(Some(1), vec![BugKind::KeyPerAttempt])])
    );
}

/// The fault that the only finding names.
fn provoked_by(told: Tale) -> Option<u32> {
    let found = findings(&[told.all_sent()]);
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].fault
}

/// Two deliveries of an intent that no fault touches.
fn twice(told: Tale, intent: usize) -> Tale {
    told.ask(intent, Some("same"))
        .accept()
        .ask(intent, Some("same"))
        .accept()
}

#[test]
fn the_fault_on_a_cited_request_provoked_it_or_else_the_first_that_could() {
    let on_the_second = tale("cited", 1)
        .ask(1, Some("a"))
        .refuse(503)
        .ask(1, Some("a"))
        .refuse(503)
        .ask(1, Some("b"))
        .accept();
    assert_eq!(provoked_by(on_the_second), Some(2));
    let before_those_cited = tale("before", 1).ask(1, Some("same")).refuse(503);
    assert_eq!(provoked_by(twice(before_those_cited, 1)), Some(1));
    let of_another = tale("other", 2)
        .ask(1, Some("a"))
        .refuse(503)
        .ask(1, Some("a"))
        .accept();
    assert_eq!(provoked_by(twice(of_another, 2)), None);
    let of_none_alone = tale("all", 2)
        .declare(1, respond(Stage::BeforeAccept, 503))
        .event(EventKind::FaultFired {
            fault: 1,
            attempt: None,
            intent: None,
        });
    let of_none_alone = of_none_alone.ask(1, Some("a")).accept();
    assert_eq!(provoked_by(twice(of_none_alone, 2)), Some(1));
    let too_late = twice(tale("late", 2), 2).ask(1, Some("a")).accept();
    let too_late = too_late
        .declare(9, respond(Stage::BeforeAccept, 503))
        .event(EventKind::FaultFired {
            fault: 1,
            attempt: None,
            intent: None,
        });
    assert_eq!(provoked_by(too_late), None);
}

#[test]
fn a_finding_on_one_intent_accounts_for_nothing_on_another() {
    let told = tale("two", 2)
        .ask(1, Some("a"))
        .deliver()
        .hang()
        .believe(1, Outcome::Failed);
    let history = twice(told, 2).believe(2, Outcome::Sent).settle();
    assert_eq!(
        kinds(&[history]),
        [BugKind::AmbiguousAsFailed, BugKind::DuplicateDelivery]
    );
}

#[test]
fn bad_manners_and_what_is_harmless_account_for_no_second_delivery() {
    let impolite = tale("impolite", 1)
        .ask(1, Some("same"))
        .suffer(respond(Stage::BeforeAccept, 429))
        .answer_with(429, &[("retry-after", "2")]);
    assert_eq!(
        kinds(&[twice(impolite, 1).all_sent()]),
        [BugKind::RetryAfterIgnored, BugKind::DuplicateDelivery]
    );
    let resent = tale("resent", 1)
        .ask(1, Some("same"))
        .deliver()
        .suffer(reset(Stage::AfterAccept))
        .end(End::Reset)
        .ask(1, Some("same"))
        .accept()
        .believe_counting(1, Outcome::Sent, 1)
        .settle();
    assert_eq!(kinds(&[resent]), [BugKind::DuplicateDelivery]);
}

#[test]
fn what_came_too_early_accounts_for_the_one_message_that_should_not_have_come() {
    let early = |times: usize| {
        let told = tale("early", 1)
            .given(|h| h.expect.deliveries = Some(0))
            .ask(1, Some("same"))
            .suffer(respond(Stage::BeforeAccept, 429))
            .answer_with(429, &[("retry-after", "2")]);
        let told = (0..times).fold(told, |t, _| t.ask(1, Some("same")).accept());
        kinds(&[told.all_sent()])
    };
    assert_eq!(early(1), [BugKind::RetryAfterIgnored]);
    assert_eq!(
        early(2),
        [BugKind::RetryAfterIgnored, BugKind::DuplicateDelivery]
    );
}

#[test]
fn a_retry_that_doubles_is_named_by_its_cause_where_the_api_has_no_key() {
    let after = |has_key: bool, first: fn(Tale) -> Tale| {
        let key = has_key.then_some("k");
        let told = tale("again", 1).given(|h| h.provider.has_key = has_key);
        let told = first(told.ask(1, key).deliver()).ask(1, key).accept();
        kinds(&[told.all_sent()])
    };
    let lost: fn(Tale) -> Tale = Tale::hang;
    let failed = |t: Tale| t.suffer(respond(Stage::AfterAccept, 500)).answer(500);
    let garbled = |t: Tale| {
        t.suffer(garble(Stage::AfterAccept, Garbling::BadJson))
            .answer(201)
    };
    for (first, kind) in [
        (lost, BugKind::AmbiguousAsFailed),
        (failed, BugKind::RetriedAcceptedFiveHundred),
        (garbled, BugKind::BadSuccessRetried),
    ] {
        assert_eq!(after(false, first), [kind]);
        assert_eq!(after(true, first), [BugKind::DuplicateDelivery]);
    }
}

#[test]
fn a_general_kind_explains_a_second_message_after_a_success_only() {
    let general = || refused(Some("a"), Some("b"));
    let after_success = twice(tale("success", 1), 1).all_sent();
    assert_eq!(
        kinds(&[general(), after_success.clone()]),
        [BugKind::KeyPerAttempt]
    );
    assert_eq!(kinds(&[after_success]), [BugKind::DuplicateDelivery]);
    let after_silence = tale("silence", 1)
        .ask(1, Some("same"))
        .deliver()
        .hang()
        .ask(1, Some("same"))
        .accept()
        .all_sent();
    assert_eq!(
        kinds(&[general(), after_silence]),
        [BugKind::KeyPerAttempt, BugKind::DuplicateDelivery]
    );
}

#[test]
fn what_a_kind_accounts_for_is_not_named_again() {
    let lost = tale("lost", 1)
        .given(|h| h.expect.deliveries = Some(1))
        .ask(1, Some("k"))
        .refuse(503)
        .believe(1, Outcome::Dead)
        .settle();
    assert_eq!(kinds(&[lost]), [BugKind::RetryableGivenUp]);
    let wrong = tale("wrong", 1)
        .given(|h| h.expect.outcomes = vec![Outcome::Sent])
        .ask(1, Some("k"))
        .deliver()
        .hang()
        .believe(1, Outcome::Failed)
        .settle();
    assert_eq!(kinds(&[wrong]), [BugKind::AmbiguousAsFailed]);
}

#[test]
fn what_the_time_limit_cut_short_is_no_outcome() {
    let outcome = |outcome: Outcome, cut: bool| {
        let told = tale("outcome", 1)
            .given(|h| h.expect.outcomes = vec![Outcome::Sent])
            .ask(1, Some("k"))
            .accept()
            .believe(1, outcome);
        kinds(&[if cut { told.time_out() } else { told.settle() }])
    };
    assert_eq!(outcome(Outcome::Pending, true), []);
    assert_eq!(
        outcome(Outcome::Unknown, true),
        [BugKind::UnexpectedOutcome]
    );
    assert_eq!(
        outcome(Outcome::Unknown, false),
        [BugKind::UnexpectedOutcome]
    );
}

/// `intents` messages, each refused four times and back after 40 ms.
fn flat(intents: usize) -> History {
    let mut told =
        tale("flat", intents).given(|h| h.client.policy.backoff = Some(backoff(50, 400)));
    for n in 1..=intents {
        let key = format!("k{n}");
        for _ in 0..4 {
            told = told.ask(n, Some(&key)).refuse(503).wait(40);
        }
        told = told.ask(n, Some(&key)).accept();
    }
    told.all_sent()
}

#[test]
fn waits_that_are_flat_over_all_histories_are_named_once_beside_other_kinds() {
    let no_backoff = |histories: &[History]| {
        let found = findings(histories);
        found
            .iter()
            .filter(|f| f.kind == BugKind::NoBackoff)
            .count()
    };
    let few: Vec<History> = (0..10).map(|_| flat(2)).collect();
    assert_eq!(no_backoff(&few), 1);
    let mut beside = vec![
        tale("impolite", 1)
            .ask(1, Some("k"))
            .suffer(respond(Stage::BeforeAccept, 429))
            .answer_with(429, &[("retry-after", "2")])
            .ask(1, Some("k"))
            .accept()
            .all_sent(),
    ];
    beside[0].client.policy.backoff = Some(backoff(50, 400));
    beside.extend(few.clone());
    assert_eq!(no_backoff(&beside), 1);
    let mut enough = few;
    enough.push(flat(30));
    assert_eq!(no_backoff(&enough), 1, "one history shows it by itself");
}

//! When and how often a client comes back.

use stub_provider::fault::Stage;

use super::{answers::resent, findings, kinds, refused};
use crate::{
    bug_kind::BugKind,
    history::{
        History,
        builder::{backoff, respond, tale},
    },
    intent::Outcome,
    severity::Severity,
};

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
fn giving_up_at_an_odd_retry_after_is_a_misreading_only_of_whom_retries_otherwise() {
    let given_up = |retry_after| {
        tale("429", 1)
            .ask(1, Some("k"))
            .answer_with(429, &[("retry-after", retry_after)])
            .believe(1, Outcome::Failed)
            .settle()
    };
    let named = |histories: &[History]| findings(histories)[0].kind;
    for (first, second) in [
        (Some("k"), Some("k")),
        (Some("k"), Some("j")),
        (Some("k"), None),
        (None, None),
    ] {
        let control = || refused(first, second);
        assert_eq!(
            named(&[given_up("soon"), control()]),
            BugKind::RetryAfterMisread
        );
        assert_eq!(
            named(&[given_up("1"), control()]),
            BugKind::RetryableGivenUp
        );
    }
    assert_eq!(named(&[given_up("soon")]), BugKind::RetryableGivenUp);
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
    let few = || herd(2, 4, 400, |_, _| 320);
    assert_eq!(kinds(&[few()]), []);
    let mut many: Vec<History> = (0..10).map(|_| few()).collect();
    assert_eq!(kinds(&many), [BugKind::NoBackoff]);
    // That they come together as well is no defect of its own.
    let together = || herd(50, 2, 400, |_, _| 320);
    assert_eq!(kinds(&[together()]), [BugKind::NoJitter]);
    many.push(together());
    assert_eq!(kinds(&many), [BugKind::NoBackoff]);
}

#[test]
fn waits_that_are_flat_in_one_history_are_flat_whatever_the_others_are() {
    let flat = herd(10, 4, 400, |_, _| 400);
    let growing = herd(50, 4, 400, |_, k| 400 << k);
    assert_eq!(kinds(&[flat, growing]), [BugKind::NoBackoff]);
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
    // Within the promise, a second layer is worth a note.
    let within = findings(&[constant(5, 3)]);
    let within: Vec<_> = within.iter().map(|f| (f.kind, f.severity)).collect();
    assert_eq!(within, [(BugKind::LayeredRetries, Severity::Note)]);
    // The lower layer resends after a broken connection as well.
    assert_eq!(
        kinds(&[constant(15, 5), resent(false)]),
        [BugKind::LayeredRetries]
    );
}

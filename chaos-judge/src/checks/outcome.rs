//! Does what the client believes at the end agree with what was delivered?

use super::{Observed, Symptom, SymptomKind};
use crate::{
    history::{
        reply::{Reply, reply},
        retry::Cause,
        retry::retries,
        view::{Belief, View},
    },
    intent::{Intent, Outcome},
};

/// The lease of a client that promises none, in microseconds.
const LEASE_US: u64 = 10_000_000;
/// What a client on a loaded machine may take to find out that a lease is over, in microseconds.
const SLACK_US: u64 = 5_000_000;

/// Cites the delivery and the belief that contradict each other.
pub(super) fn check(view: &View<'_>) -> Observed {
    let mut seen = Observed::default();
    for intent in view.intents() {
        let Some(belief) = view.belief(intent.number) else {
            seen.open(format!(
                "nobody asked what became of intent {}",
                intent.number
            ));
            continue;
        };
        let deliveries = view.deliveries(intent.number);
        let evidence = evidence(view, intent, &belief);
        let tries = view.tries(intent.number);
        let told = match belief.outcome {
            None if delivered_without_record(view, intent) => Some((
                SymptomKind::ForgottenButDelivered,
                "delivered, and the client has no record of it".to_owned(),
            )),
            None if deliveries.is_empty() && view.taken_on(intent.number) => Some((
                SymptomKind::ForgottenAndUndelivered,
                "taken on, not delivered, and the client has no record of it".to_owned(),
            )),
            Some(Outcome::Pending) => stuck(view, intent),
            Some(Outcome::Sent) => unsent(view, intent),
            Some(Outcome::Failed) => wrongly_failed(view, intent),
            None | Some(Outcome::Unknown | Outcome::Dead) => None,
        };
        if let Some((kind, detail)) = told {
            seen.saw(Symptom {
                kind,
                intent: Some(intent.number),
                evidence,
                attempts: tries
                    .first()
                    .into_iter()
                    .chain(tries.last())
                    .map(|a| a.id)
                    .fold(Vec::new(), |mut ids, id| {
                        if !ids.contains(&id) {
                            ids.push(id);
                        }
                        ids
                    }),
                detail,
            });
        }
    }
    seen
}

/// The belief, and what it contradicts: the delivery, or (where there is none, or where the client
/// does nothing more) the last that happened to the message.
fn evidence(view: &View<'_>, intent: &Intent, belief: &Belief) -> Vec<u64> {
    let pending = belief.outcome == Some(Outcome::Pending);
    let delivery = view
        .deliveries(intent.number)
        .first()
        .and_then(|a| a.delivered.map(|(mark, _)| mark.seq));
    let violence = view.violence_on(intent.number).map(|v| v.mark.seq);
    let request = view
        .tries(intent.number)
        .last()
        .map(|a| a.answer.map_or(a.arrived.seq, |(mark, _)| mark.seq));
    let submission = view.submissions(intent.number).first().map(|s| s.began.seq);
    let first = if pending {
        violence.or(request)
    } else {
        delivery.or(violence).or(request)
    };
    let mut evidence: Vec<u64> = first.or(submission).into_iter().collect();
    evidence.push(belief.mark.seq);
    // A last look that shows nothing new is no event; the end of the wait is.
    evidence.extend(view.timed_out.filter(|_| pending).map(|mark| mark.seq));
    evidence
}

/// Whether there is a delivery of this intent, or of one that nothing on the wire tells from it,
/// that no outcome of the client accounts for.
fn delivered_without_record(view: &View<'_>, intent: &Intent) -> bool {
    let alike = view.alike(intent.number);
    let delivered: usize = alike.iter().map(|n| view.deliveries(*n).len()).sum();
    let recorded = alike
        .iter()
        .filter(|n| view.belief(**n).and_then(|b| b.outcome).is_some())
        .count();
    delivered > recorded
}

fn stuck(view: &View<'_>, intent: &Intent) -> Option<(SymptomKind, String)> {
    let policy = &view.history.client.policy;
    let micros = |span: std::time::Duration| u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
    let lease = policy.lease.map_or(LEASE_US, |span| micros(span.0));
    let longest_wait = policy.backoff.as_ref().map_or(0, |b| micros(b.cap.0));
    let patience = lease.saturating_add(longest_wait).saturating_add(SLACK_US);
    let idle = view.idle_us(intent.number);
    // Where nothing more was due, no clock is needed; at the time limit, the client may have
    // been about to go on.
    let over = view.timed_out.is_none() || idle >= patience;
    if !over || !view.could_send(intent.number) || waits_as_told(view, intent.number) {
        return None;
    }
    Some((
        SymptomKind::PendingAtEnd,
        format!(
            "still pending, {} ms after the last sign of work",
            idle / 1_000
        ),
    ))
}

/// Whether the provider's last word was a `Retry-After` that has not run out.
#[must_use]
pub fn waits_as_told(view: &View<'_>, intent: usize) -> bool {
    let tries = view.tries(intent);
    let Some((mark, answer)) = tries.last().and_then(|a| a.answer) else {
        return false;
    };
    answer
        .headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("retry-after"))
        .and_then(|(_, value)| value.trim().parse::<u64>().ok())
        .is_some_and(|seconds| {
            mark.at_us.saturating_add(seconds.saturating_mul(1_000_000)) > view.end_us
        })
}

fn unsent(view: &View<'_>, intent: &Intent) -> Option<(SymptomKind, String)> {
    let alike = view.alike(intent.number);
    let delivered: usize = alike.iter().map(|n| view.deliveries(*n).len()).sum();
    let believed = alike
        .iter()
        .filter(|n| view.belief(**n).and_then(|b| b.outcome) == Some(Outcome::Sent))
        .count();
    if delivered >= believed || !view.deliveries(intent.number).is_empty() {
        return None;
    }
    // A whole, well-formed success that the provider made up is not the client's to doubt.
    if view
        .tries(intent.number)
        .iter()
        .any(|a| a.replayed.is_none() && reply(view, a) == Reply::Success)
    {
        return None;
    }
    Some((
        SymptomKind::SentButUndelivered {
            across_kill: view.violence_on(intent.number).is_some(),
        },
        "the client says `sent`, and nothing was delivered".to_owned(),
    ))
}

fn wrongly_failed(view: &View<'_>, intent: &Intent) -> Option<(SymptomKind, String)> {
    let tries = view.tries(intent.number);
    let last = tries.last().map_or(Reply::Ambiguous, |a| reply(view, a));
    if view.deliveries(intent.number).is_empty() {
        // The request that is in flight may be accepted after everybody has stopped looking.
        return (last == Reply::InFlight).then(|| {
            (
                SymptomKind::FailedWhileInFlight,
                "the client says `failed`, and the last it heard is that a request is in flight"
                    .to_owned(),
            )
        });
    }
    // A provider that says "never" about what it has accepted: the client may believe it, unless
    // it was asked because of an answer that was lost.
    let misled = matches!(last, Reply::Permanent(_))
        && retries(view, intent.number)
            .iter()
            .all(|r| !matches!(r.cause, Cause::Ambiguous | Cause::ServerError));
    (!misled).then(|| {
        (
            SymptomKind::FailedButDelivered { last },
            match last {
                Reply::InFlight => {
                    "the client says `failed` after a 409 for a request in flight, and the phone has buzzed"
                }
                _ => "the client says `failed`, and the phone has buzzed",
            }
            .to_owned(),
        )
    })
}

#[cfg(test)]
mod tests {
    use stub_provider::fault::{Part, Stage};

    use super::*;
    use crate::history::{EventKind, History, builder::tale, builder::truncate};

    fn kinds(history: &History) -> Vec<SymptomKind> {
        check(&View::new(history)).kinds()
    }

    /// The numbers of the events of this kind.
    fn numbers(history: &History, wanted: impl Fn(&EventKind) -> bool) -> Vec<u64> {
        let events = history.events.iter();
        events.filter(|e| wanted(&e.kind)).map(|e| e.seq).collect()
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
    fn the_only_request_is_cited_once() {
        let history = tale("hang", 1)
            .ask(1, Some("k"))
            .deliver()
            .hang()
            .believe(1, Outcome::Failed)
            .settle();
        assert_eq!(check(&View::new(&history)).symptoms[0].attempts, [1]);
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
        assert_eq!(
            kinds(&hang),
            [SymptomKind::FailedButDelivered {
                last: Reply::Ambiguous
            }]
        );
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
        let alike = || {
            tale("alike", 2).given(|h| {
                h.intents[1].to = h.intents[0].to.clone();
                h.intents[1].body = h.intents[0].body.clone();
            })
        };
        let seen = |told: crate::history::builder::Tale| {
            let history = told
                .believe(1, Outcome::Sent)
                .event(EventKind::Forgotten { intent: 2 })
                .settle();
            kinds(&history).contains(&SymptomKind::ForgottenButDelivered)
        };
        assert!(!seen(alike().ask(2, Some("k")).accept()));
        let both = alike().ask(1, Some("j")).accept();
        assert!(seen(both.ask(2, Some("k")).accept()));
    }

    #[test]
    fn of_two_that_look_alike_two_deliveries_are_enough_and_one_leaves_the_other_unsent() {
        let alike = || {
            tale("alike", 2).given(|h| {
                h.intents[1].to = h.intents[0].to.clone();
                h.intents[1].body = h.intents[0].body.clone();
            })
        };
        let one = alike().ask(1, Some("a")).accept();
        let unsent = check(&View::new(&one.all_sent())).symptoms;
        let unsent: Vec<_> = unsent.iter().map(|s| (s.kind, s.intent)).collect();
        assert_eq!(
            unsent,
            [(
                SymptomKind::SentButUndelivered { across_kill: false },
                Some(2)
            )]
        );
        let both = alike().ask(1, Some("a")).accept();
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
}

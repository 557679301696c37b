//! Were two requests for one intent worked on at once?
//!
//! Proven only where the client took the first's answer, which left after the second came.
//! Comparing times alone accuses clients that work one after the other.

use super::Bound;
use crate::{
    checks::{Observed, Symptom, SymptomKind},
    history::{
        retry::{self, Cause, Overlap, TAKEN_US, retries},
        view::View,
    },
};

/// What the check holds a client to: a client that let go of the first and asked again at once has
/// been seen to look busy for a moment.
pub(in crate::checks) const BOUND: Bound = Bound {
    proof: "a handshake: the answer to the first request left after the second had arrived, and the client took it",
    tolerance_us: TAKEN_US,
};

/// Cites the two arrivals and the answer that was taken.
pub(in crate::checks) fn check(view: &View<'_>) -> Observed {
    let mut seen = Observed::default();
    let several_workers = view.history.client.workers > 1;
    let quiet = !view.any_fault_fired();
    for intent in view.intents() {
        if view.submitted_again(intent.number) || view.alike(intent.number).len() > 1 {
            continue;
        }
        let tries = view.tries(intent.number);
        let mut proven = None;
        'pairs: for (nth, second) in tries.iter().enumerate() {
            for first in &tries[..nth] {
                match retry::overlap(view, first, second) {
                    Overlap::No => {}
                    // Nothing was wrong with the first, and no client had cause to let go of it.
                    Overlap::Open if !quiet => seen.open(format!(
                        "two requests for intent {} look simultaneous",
                        intent.number
                    )),
                    Overlap::Open | Overlap::Proven => {
                        proven = Some((*first, *second));
                        break 'pairs;
                    }
                }
            }
        }
        // Without any fault, a worker that asks again for what another has done took the same row.
        let repeated = retries(view, intent.number)
            .into_iter()
            .find(|r| quiet && several_workers && r.cause == Cause::Success)
            .map(|r| (r.from, r.to));
        let detail = if proven.is_some() {
            "a second request came while the client still worked on the first"
        } else {
            "a second request came though the first was answered with success: two workers had the message"
        };
        let Some((first, second)) = proven.or(repeated) else {
            continue;
        };
        let mut evidence = vec![first.arrived.seq, second.arrived.seq];
        evidence.extend(first.answer.map(|(m, _)| m.seq));
        seen.saw(Symptom {
            kind: SymptomKind::WorkedOnTwice {
                faulted: !quiet,
                several_workers,
            },
            intent: Some(intent.number),
            evidence,
            attempts: vec![first.id, second.id],
            detail: detail.into(),
        });
    }
    seen
}

#[cfg(test)]
mod tests {
    use stub_provider::event::End;

    use super::*;
    use crate::history::{
        EventKind, History, Submission,
        builder::{delay, tale},
    };

    fn slow(released_after: u64, end: End) -> History {
        tale("slow", 1)
            .ask(1, Some("k"))
            .suffer(delay(500))
            .wait(400)
            .ask(1, Some("k"))
            .wait(released_after)
            .of(1)
            .deliver()
            .answering(201, &[])
            .end(end)
            .of(2)
            .replay(1)
            .answer(201)
            .all_sent()
    }

    #[test]
    fn a_first_request_that_was_let_go_of_passes() {
        assert_eq!(
            check(&View::new(&slow(100, End::ClientClosed))),
            Observed::default()
        );
    }

    #[test]
    fn a_first_answer_that_is_taken_after_the_second_came_is_seen() {
        let history = slow(100, End::Answered);
        let seen = check(&View::new(&history));
        assert_eq!(
            seen.symptoms[0].kind,
            SymptomKind::WorkedOnTwice {
                faulted: true,
                several_workers: false
            }
        );
        assert_eq!(seen.symptoms[0].evidence.len(), 3);
    }

    #[test]
    fn a_second_request_that_was_given_up_before_it_came_decides_nothing() {
        // The one that was sent first comes last, and the client has long hung up.
        let overtaken = tale("overtaken", 1)
            .ask(1, Some("k"))
            .suffer(delay(500))
            .wait(400)
            .ask(1, Some("k"))
            .end(End::ClientClosed)
            .wait(100)
            .of(1)
            .deliver()
            .answer(201)
            .all_sent();
        let seen = check(&View::new(&overtaken));
        assert!(seen.symptoms.is_empty() && !seen.undecided.is_empty());
    }

    #[test]
    fn two_milliseconds_of_apparent_overlap_decide_nothing() {
        let seen = check(&View::new(&slow(0, End::Answered)));
        assert!(seen.symptoms.is_empty() && !seen.undecided.is_empty());
    }

    fn kinds(history: &History) -> Vec<SymptomKind> {
        check(&View::new(history)).kinds()
    }

    #[test]
    fn one_of_several_workers_is_told_from_a_single_one() {
        let mut history = slow(100, End::Answered);
        history.client.workers = 2;
        assert_eq!(
            kinds(&history),
            [SymptomKind::WorkedOnTwice {
                faulted: true,
                several_workers: true
            }]
        );
    }

    #[test]
    fn what_was_submitted_twice_or_cannot_be_told_apart_is_not_judged() {
        let mut twice = slow(100, End::Answered);
        for event in &mut twice.events {
            if let EventKind::Submitted { submission, .. } = &mut event.kind {
                *submission = Submission::Again;
            }
        }
        assert_eq!(kinds(&twice), []);
        let mut alike = slow(100, End::Answered);
        let mut twin = alike.intents[0].clone();
        twin.number = 2;
        twin.id = "its-twin".into();
        alike.intents.push(twin);
        assert_eq!(kinds(&alike), []);
    }

    /// Two requests for one intent without any fault: the second comes before the first's answer
    /// leaves, or so long after.
    fn quiet(workers: u32, first: u16, after: Option<u64>) -> History {
        let tale = tale("quiet", 1)
            .given(|h| h.client.workers = workers)
            .ask(1, Some("k"));
        let tale = match after {
            Some(millis) => tale.deliver().answer(first).wait(millis).ask(1, Some("k")),
            None => tale.ask(1, Some("k")).of(1).deliver().answer(first).of(2),
        };
        tale.replay(1).answer(201).all_sent()
    }

    #[test]
    fn without_any_fault_no_client_has_cause_to_let_go_of_the_first() {
        assert_eq!(
            kinds(&quiet(1, 201, None)),
            [SymptomKind::WorkedOnTwice {
                faulted: false,
                several_workers: false
            }]
        );
    }

    #[test]
    fn a_worker_that_asks_again_for_what_another_has_done_took_the_same_row() {
        assert_eq!(
            kinds(&quiet(2, 201, Some(50))),
            [SymptomKind::WorkedOnTwice {
                faulted: false,
                several_workers: true
            }]
        );
        // A single worker took it again by itself, and after an error there was cause to.
        assert_eq!(kinds(&quiet(1, 201, Some(50))), []);
        assert_eq!(kinds(&quiet(2, 503, Some(50))), []);
        // With a fault about, it may have been told to.
        let mut faulted = tale("faulted", 2)
            .given(|h| h.client.workers = 2)
            .ask(2, Some("l"))
            .refuse(503)
            .ask(2, Some("l"))
            .accept()
            .ask(1, Some("k"))
            .accept()
            .wait(50)
            .ask(1, Some("k"))
            .replay(3)
            .answer(201)
            .all_sent();
        faulted.client.workers = 2;
        assert_eq!(kinds(&faulted), []);
    }
}

//! Whether a finding rests on when the client did something while it was without a processor.

use crate::{
    bug_kind::BugKind,
    diagnosis::{Finding, Standing},
    history::view::View,
    intent::Outcome,
};

/// How much before a finding's first event the client's own time can have begun to run, in
/// microseconds.
const BEFORE_US: u64 = 500_000;
/// How long a client must have been without a processor for its timing to prove nothing, in
/// microseconds.
const STARVED_US: u64 = 150_000;

/// How long the client was without a processor while a finding came about that rests on when it
/// did what; `None` where that was too short to matter, or the finding rests on facts.
pub(super) fn doubt(finding: &Finding, view: &View<'_>) -> Option<u64> {
    let delivered_once = || {
        let once = |number| view.deliveries(number).len() < 2;
        match finding.intents.as_slice() {
            [] => view.intents().all(|i| once(i.number)),
            concerned => concerned.iter().all(|number| once(*number)),
        }
    };
    // Whoever is stopped before it has called may have been about to.
    let never_came = finding.kind == BugKind::LostMessage
        && view.timed_out.is_some()
        && finding.intents.iter().all(|n| {
            let belief = view.belief(*n).and_then(|belief| belief.outcome);
            view.tries(*n).is_empty() && belief.is_none_or(|b| b == Outcome::Pending)
        });
    let rests_on_time = never_came
        || finding.kind.rests_on_time()
        // Delivered once, where the time for it was over.
        || finding.kind == BugKind::DuplicateDelivery && delivered_once();
    if !rests_on_time {
        return None;
    }
    let times = || finding.evidence.iter().filter_map(|seq| view.time_of(*seq));
    let from = if never_came {
        0
    } else {
        times().min()?.saturating_sub(BEFORE_US)
    };
    let to = times().max()?;
    let waits = view.starved_us(from, to);
    let starved = match finding.kind {
        // Many waits are weighed against each other: small delays of each only add noise, which
        // hides the defect. Only a long one can make many requests come at once.
        BugKind::NoJitter | BugKind::NoBackoff => waits.max().unwrap_or(0),
        _ => waits.sum(),
    };
    (starved >= STARVED_US.max((to - from) / 4)).then_some(starved)
}

/// What a finding that proves nothing means for the scenario.
#[must_use]
pub fn doubtful(finding: &Finding) -> Option<String> {
    let Standing::Doubtful { starved_us } = finding.standing else {
        return None;
    };
    Some(format!(
        "it looks like {}, but the client was without a processor for {} ms meanwhile: run it on a quieter machine, or with fewer --jobs",
        finding.kind,
        starved_us / 1_000
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        history::{
            Event, EventKind, History,
            builder::{Tale, tale},
        },
        severity::Severity,
    };

    fn finding(kind: BugKind, evidence: &[u64]) -> Finding {
        Finding {
            kind,
            severity: Severity::Policy,
            scenario: "a".into(),
            intents: vec![1],
            evidence: evidence.to_vec(),
            attempts: Vec::new(),
            fault: None,
            detail: String::new(),
            or_narrower: false,
            standing: Standing::Counts,
        }
    }

    /// Two proofs at these times, in milliseconds, and spans without a processor that end at these.
    fn doubted(kind: BugKind, proofs: [u64; 2], starved: &[(u64, u64)]) -> bool {
        let mut history = tale("doubt", 1).settle();
        history.events.clear();
        let mut events: Vec<(u64, EventKind)> = starved
            .iter()
            .map(|(at, millis)| {
                let for_us = millis * 1_000;
                (at * 1_000, EventKind::Starved { for_us })
            })
            .collect();
        events.extend(proofs.map(|at| (at * 1_000, EventKind::Settled)));
        events.sort_by_key(|(at, _)| *at);
        let mut evidence = Vec::new();
        for (n, (at_us, kind)) in events.into_iter().enumerate() {
            let seq = n as u64 + 1;
            if matches!(kind, EventKind::Settled) {
                evidence.push(seq);
            }
            history.events.push(Event { seq, at_us, kind });
        }
        doubt(&finding(kind, &evidence), &View::new(&history)).is_some()
    }

    #[test]
    fn a_quarter_of_the_time_or_150_ms_is_too_long() {
        let ignored = BugKind::RetryAfterIgnored;
        // Half a second before the first proof counts as well: 2.4 s, of which 600 ms are a quarter.
        assert!(doubted(ignored, [1_000, 2_900], &[(2_000, 600)]));
        assert!(!doubted(ignored, [1_000, 2_900], &[(2_000, 599)]));
        // Half a second, of which 125 ms are a quarter, and too little.
        assert!(doubted(ignored, [1_000, 1_001], &[(1_000, 150)]));
        assert!(!doubted(ignored, [1_000, 1_001], &[(1_000, 149)]));
        assert!(doubted(ignored, [1_000, 1_001], &[(900, 75), (950, 75)]));
        assert!(!doubted(BugKind::NoKey, [1_000, 1_001], &[(1_000, 400)]));
    }

    #[test]
    fn of_waits_that_are_weighed_against_each_other_the_longest_delay_counts() {
        for kind in [BugKind::NoJitter, BugKind::NoBackoff] {
            assert!(!doubted(kind, [1_000, 1_001], &[(900, 75), (950, 75)]));
            assert!(doubted(kind, [1_000, 1_001], &[(950, 150)]));
        }
    }

    fn doubts(kind: BugKind, history: &History) -> bool {
        let last = history.events.len() as u64;
        doubt(&finding(kind, &[last]), &View::new(history)).is_some()
    }

    #[test]
    fn one_delivery_too_late_is_a_matter_of_time_and_two_are_not() {
        let delivered = |times: usize| {
            let told = tale("late", 2).starve(400);
            let told = (0..times).fold(told, |t: Tale, _| t.ask(1, Some("k")).accept());
            told.settle()
        };
        let kind = BugKind::DuplicateDelivery;
        assert!(doubts(kind, &delivered(1)));
        assert!(!doubts(kind, &delivered(2)));
        let of_none_alone = |history: &History| {
            let last = history.events.len() as u64;
            let finding = Finding {
                intents: Vec::new(),
                ..finding(kind, &[last])
            };
            doubt(&finding, &View::new(history)).is_some()
        };
        assert!(of_none_alone(&delivered(1)));
        assert!(!of_none_alone(&delivered(2)));
    }

    #[test]
    fn what_was_never_sent_may_have_been_about_to_be_since_the_beginning() {
        let never = |asked: bool, belief: Outcome| {
            let told = tale("never", 1).starve(2_000).wait(3_000);
            let told = if asked { told.ask(1, Some("k")) } else { told };
            told.believe(1, belief)
        };
        let lost = BugKind::LostMessage;
        assert!(doubts(lost, &never(false, Outcome::Pending).time_out()));
        assert!(!doubts(lost, &never(true, Outcome::Pending).time_out()));
        assert!(!doubts(lost, &never(false, Outcome::Dead).time_out()));
        assert!(!doubts(lost, &never(false, Outcome::Pending).settle()));
        let stuck = never(false, Outcome::Pending).time_out();
        assert!(!doubts(BugKind::Stuck, &stuck));
        assert!(!doubts(BugKind::NoKey, &stuck));
    }
}

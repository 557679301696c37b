//! Was anything sent after it had become useless?

use super::Bound;
use crate::{
    checks::{Observed, Symptom, SymptomKind},
    history::view::View,
};

/// What the check holds a client to: a request is on its way for a while after the decision.
pub(in crate::checks) const BOUND: Bound = Bound {
    proof: "a request on a connection that was opened (a further one: a request that arrived) after the message had expired",
    tolerance_us: 50_000,
};

/// Cites the submission and the request that came too late.
pub(in crate::checks) fn check(view: &View<'_>) -> Observed {
    let mut seen = Observed::default();
    let mut expires = false;
    for intent in view.intents() {
        let Some(at) = view.expires_at_us(intent.number) else {
            continue;
        };
        expires = true;
        let late = view.tries(intent.number).into_iter().find(|a| {
            // A connection opened in time may have been slow to carry its request.
            let opened = view
                .connection(a.provider, a.connection)
                .opened
                .filter(|_| a.nth_on_connection == 1)
                .map_or(a.arrived.at_us, |m| m.at_us.min(a.arrived.at_us));
            opened > at.saturating_add(BOUND.tolerance_us)
        });
        if let Some(late) = late {
            let mut evidence: Vec<u64> = view
                .submissions(intent.number)
                .first()
                .map(|s| s.began.seq)
                .into_iter()
                .collect();
            evidence.push(late.arrived.seq);
            seen.saw(Symptom {
                kind: SymptomKind::AttemptAfterExpiry,
                intent: Some(intent.number),
                evidence,
                attempts: vec![late.id],
                detail: format!(
                    "a request {} ms after the message had expired",
                    late.arrived.at_us.saturating_sub(at) / 1_000
                ),
            });
        }
    }
    if !expires {
        seen.open("no message expires");
    }
    seen
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::history::{EventKind, History, builder::tale};

    fn retried_after(millis: u64) -> History {
        // The expiry is written when the intent is submitted.
        tale("otp", 1)
            .given(|h| {
                h.events.clear();
                h.intents[0].expires_after = Some(Duration::from_secs(1));
            })
            .submit(1, crate::history::Submission::First, true)
            .ask(1, Some("k"))
            .refuse(503)
            .wait(millis)
            .ask(1, Some("k"))
            .accept()
            .all_sent()
    }

    #[test]
    fn a_request_in_time_passes() {
        assert_eq!(check(&View::new(&retried_after(500))), Observed::default());
    }

    #[test]
    fn a_request_after_the_expiry_is_seen() {
        let seen = check(&View::new(&retried_after(1_200)));
        assert_eq!(seen.symptoms[0].kind, SymptomKind::AttemptAfterExpiry);
        assert_eq!(seen.symptoms[0].attempts, [2]);
    }

    #[test]
    fn a_message_without_expiry_decides_nothing() {
        let history = tale("ever", 1).ask(1, Some("k")).accept().all_sent();
        assert!(!check(&View::new(&history)).undecided.is_empty());
    }

    /// The connection of the second request was opened so long after the expiry, in microseconds.
    fn opened_after_expiry(late_us: u64) -> History {
        let mut history = retried_after(1_200);
        let opened = history
            .events
            .iter()
            .rfind(|e| matches!(e.kind, EventKind::ConnectionOpened { .. }))
            .expect("a connection")
            .at_us;
        for event in &mut history.events {
            if let EventKind::Submitted { expires_at_us, .. } = &mut event.kind {
                *expires_at_us = Some(opened - late_us);
            }
        }
        history
    }

    #[test]
    fn a_request_may_be_on_its_way_for_as_long_as_is_tolerated_and_no_longer() {
        let seen = |late_us| check(&View::new(&opened_after_expiry(late_us)));
        assert_eq!(seen(50_000), Observed::default());
        assert_eq!(seen(50_001).symptoms.len(), 1);
    }

    #[test]
    fn a_connection_that_was_opened_in_time_may_be_slow_to_carry_its_first_request_only() {
        let mut slow = retried_after(1_200);
        for event in &mut slow.events {
            if matches!(
                event.kind,
                EventKind::ConnectionOpened { connection: 2, .. }
            ) {
                event.at_us = 500_000;
            }
        }
        assert_eq!(check(&View::new(&slow)), Observed::default());
        for event in &mut slow.events {
            if let EventKind::Attempt {
                attempt: 2,
                nth_on_connection,
                ..
            } = &mut event.kind
            {
                *nth_on_connection = 2;
            }
        }
        assert_eq!(check(&View::new(&slow)).symptoms.len(), 1);
    }
}

//! Does what the client believes at the end agree with what was delivered?

use super::{Observed, Symptom, SymptomKind, asked_us};
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
    asked_us(answer).is_some_and(|asked| mark.at_us.saturating_add(asked) > view.end_us)
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
mod tests;

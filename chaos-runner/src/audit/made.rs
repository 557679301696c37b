//! Exchanges made up for the tests of judgements.

use std::time::Duration;

use super::{
    effects::Listing,
    exchange::{Answer, Exchange, Outcome, Sent},
    promise::{Bound, InFlight, Missing, Promise, Quoting, Scope},
};

/// What the profile `v1` promises.
pub(super) fn promise() -> Promise {
    Promise {
        header: Some("idempotency-key".into()),
        quoting: Quoting::Either,
        empty_is_missing: true,
        max_length: Some(255),
        bound: Bound::Bytes,
        scope: Scope::Customer,
        repeats: true,
        keeps_refusals: true,
        keeps_failures: true,
        missing: Missing::Delivers,
        malformed: 400,
        mismatch: 422,
        used: 409,
        in_flight: InFlight::Waits,
        replay_mark: Some("idempotent-replayed".into()),
        retention: Duration::from_hours(24),
        refused: Some("+15005550001".into()),
    }
}

fn exchange(number: usize, outcome: Outcome) -> Exchange {
    let at = |more: u64| Duration::from_millis(10 * number as u64 + more);
    let heard = matches!(outcome, Outcome::Answered(_)).then(|| at(2));
    Exchange {
        number,
        what: format!("request {number}"),
        request: Sent {
            method: "POST".into(),
            target: "/v1/messages".into(),
            headers: vec![("idempotency-key".into(), "k".into())],
            body: b"{}".to_vec(),
        },
        began: at(0),
        written: Some(at(1)),
        heard,
        ended: at(3),
        outcome,
    }
}

pub(super) fn answer(status: u16, body: &str) -> Answer {
    Answer {
        status,
        counts: status,
        headers: vec![("content-type".into(), "application/json".into())],
        body: body.as_bytes().to_vec(),
        message: None,
    }
}

pub(super) fn answered(number: usize, answer: Answer) -> Exchange {
    exchange(number, Outcome::Answered(answer))
}

/// A 201 that names the message `id`.
pub(super) fn accepted(number: usize, id: &str) -> Exchange {
    let mut answer = answer(201, &format!("{{\"id\":\"{id}\"}}"));
    answer.message = Some(id.to_owned());
    answered(number, answer)
}

/// The same, marked as a stored answer.
pub(super) fn replayed(number: usize, id: &str) -> Exchange {
    marked(accepted(number, id))
}

/// With the mark of a stored answer.
pub(super) fn marked(mut exchange: Exchange) -> Exchange {
    if let Outcome::Answered(answer) = &mut exchange.outcome {
        answer
            .headers
            .push(("idempotent-replayed".into(), "true".into()));
    }
    exchange
}

/// An answer that refuses.
pub(super) fn refused(number: usize, status: u16) -> Exchange {
    answered(number, answer(status, "{\"message\":\"no\"}"))
}

/// A request whose answer never came.
pub(super) fn lost(number: usize) -> Exchange {
    exchange(number, Outcome::Unknown("the connection was closed".into()))
}

/// A request that was cut on purpose.
pub(super) fn cut(number: usize, seen: Option<Exchange>) -> Exchange {
    let seen = seen.and_then(|exchange| exchange.answer().cloned());
    exchange(number, Outcome::Cut("reset".into(), seen))
}

/// The exchange with other times, in milliseconds: when it was written and when it was heard.
pub(super) fn between(mut exchange: Exchange, written: u64, heard: u64) -> Exchange {
    exchange.written = Some(Duration::from_millis(written));
    exchange.heard = Some(Duration::from_millis(heard));
    exchange.ended = Duration::from_millis(heard + 1);
    exchange
}

/// What the provider lists.
pub(super) fn listing(number: usize, ids: &[&str]) -> Listing {
    Listing {
        exchange: answered(number, answer(200, "{}")),
        ids: Some(ids.iter().map(|id| (*id).to_owned()).collect()),
    }
}

//! What an attempt looked like from the client's side at a given time.
//!
//! Owns [`Reply`]. The provider's socket knows what left; only the faults on the way tell what
//! can have come to the client. Where that is open, the reply is ambiguous, never failed.

use stub_provider::{
    event::End,
    fault::{Garbling, Part, ProviderFault},
};

use super::{
    Answer,
    view::{AttemptView, View},
};
use crate::fault::{Action, Stream, ToxicKind};

/// What an attempt looked like from the client's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reply {
    /// A whole 2xx.
    Success,
    /// A 2xx whose head came and whose body did not, or makes no sense.
    BrokenSuccess,
    /// A passing error that says that nothing was accepted: 408, 425, 429, 503.
    Refused(u16),
    /// A server error that says nothing about acceptance: 500, 502, 504 and whatever 5xx came
    /// after acceptance, replays of it included.
    ServerError(u16),
    /// 409: a request under the same key is being worked on.
    InFlight,
    /// 307, 308 or another redirect.
    Redirect(u16),
    /// An error that will never change: 400, 401, 403, 404, 422 and the rest of the 4xx.
    Permanent(u16),
    /// Nobody knows: no answer, half a head, no HTTP, a reset, a close, a lost answer.
    Ambiguous,
}

/// Provider codes (Twilio's numbering) that say that a message can never be sent.
pub const PERMANENT_CODES: [u64; 8] = [21211, 21212, 21214, 21408, 21606, 21610, 21612, 21614];

impl Reply {
    /// Whether it says, truly or not, that nothing was accepted and another try may do.
    #[must_use]
    pub fn is_refusal(self) -> bool {
        matches!(self, Self::Refused(_))
    }
}

/// What `attempt` looked like from the client's side, once everything was over.
#[must_use]
pub fn reply(view: &View<'_>, attempt: &AttemptView<'_>) -> Reply {
    reply_by(view, attempt, u64::MAX)
}

/// What `attempt` had looked like from the client's side just before event `seq`. An answer that
/// had not left by then is none.
#[must_use]
pub fn reply_by(view: &View<'_>, attempt: &AttemptView<'_>, seq: u64) -> Reply {
    let Some((mark, answer)) = attempt.answer else {
        return Reply::Ambiguous;
    };
    if mark.seq > seq || lost_on_the_way(view, attempt, answer) {
        return Reply::Ambiguous;
    }
    let broken = broken_body(view, attempt, answer);
    match attempt.ended.map(|(_, end)| end) {
        Some(End::Answered | End::Truncated) | None => {}
        // A body that contradicts its Content-Length ends with the provider's own close.
        Some(End::Closed | End::Reset) if broken => {}
        Some(_) => return Reply::Ambiguous,
    }
    if broken {
        return if (200..300).contains(&answer.status) {
            Reply::BrokenSuccess
        } else {
            Reply::Ambiguous
        };
    }
    if attempt.ended.is_some_and(|(_, end)| end == End::Truncated) {
        return Reply::Ambiguous;
    }
    let accepted = attempt.delivered.is_some() || attempt.replayed.is_some();
    match answer.status {
        200..=299 => Reply::Success,
        300..=399 => Reply::Redirect(answer.status),
        408 | 425 | 429 | 503 if !accepted => Reply::Refused(answer.status),
        409 => Reply::InFlight,
        status @ 400..=499 => Reply::Permanent(status),
        status if has_permanent_code(answer) => Reply::Permanent(status),
        status => Reply::ServerError(status),
    }
}

/// Whether the answer bears a provider's code that says that the message can never be sent.
#[must_use]
pub fn has_permanent_code(answer: &Answer) -> bool {
    let Ok(json) = serde_json::from_slice::<serde_json::Value>(answer.body.as_bytes()) else {
        return false;
    };
    [json.get("code"), json.pointer("/error/code")]
        .into_iter()
        .flatten()
        .filter_map(serde_json::Value::as_u64)
        .any(|code| PERMANENT_CODES.contains(&code))
}

/// Whether a fault kept the answer, or its head, from the client.
fn lost_on_the_way(view: &View<'_>, attempt: &AttemptView<'_>, answer: &Answer) -> bool {
    view.actions_on(attempt).any(|action| match action {
        Action::Toxic(toxic) if toxic.stream == Stream::Downstream => match toxic.kind {
            ToxicKind::Timeout | ToxicKind::ResetPeer => true,
            ToxicKind::LimitData => {
                toxic.attributes.get("bytes").copied().unwrap_or(0) < head_len(answer)
            }
            // A slow answer: the client may have waited for it. A success that is followed by
            // another try was not waited for.
            ToxicKind::Latency | ToxicKind::Bandwidth | ToxicKind::Slicer => {
                (200..300).contains(&answer.status)
            }
            ToxicKind::SlowClose | ToxicKind::Noop => false,
        },
        Action::Provider(fault) => match fault {
            ProviderFault::Hang(_)
            | ProviderFault::Reset(_)
            | ProviderFault::Close(_)
            | ProviderFault::Crash(_) => true,
            ProviderFault::Truncate(cut) => cut.part == Part::Head,
            ProviderFault::Garble(garble) => garble.how == Garbling::NotHttp,
            _ => false,
        },
        _ => false,
    })
}

/// Whether the head came whole and the body did not, or does not parse.
fn broken_body(view: &View<'_>, attempt: &AttemptView<'_>, answer: &Answer) -> bool {
    view.actions_on(attempt).any(|action| match action {
        Action::Toxic(toxic) => {
            toxic.stream == Stream::Downstream
                && toxic.kind == ToxicKind::LimitData
                && toxic.attributes.get("bytes").copied().unwrap_or(0)
                    < head_len(answer) + answer.body.as_bytes().len() as u64
        }
        Action::Provider(ProviderFault::Truncate(cut)) => cut.part == Part::Body,
        Action::Provider(ProviderFault::Garble(garble)) => {
            matches!(garble.how, Garbling::BadJson | Garbling::WrongContentLength)
        }
        _ => false,
    })
}

/// About how long the head is on the wire, in bytes.
fn head_len(answer: &Answer) -> u64 {
    let fields: usize = answer
        .headers
        .iter()
        .map(|(name, value)| name.len() + value.len() + 4)
        .sum();
    ("HTTP/1.1 200 OK\r\n\r\n".len() + fields) as u64
}

//! Two requests for one intent, one after the other, and what lay between them.
//!
//! Owns [`Retry`], its [`Cause`] and what became of the key from one to the next. Whether that is
//! wrong is the checks' to say.

use std::fmt;

use stub_provider::event::End;

use super::{
    Submission,
    reply::{Reply, reply, reply_by},
    view::{AttemptView, Mark, View},
};

/// A wait from which on a refused request counts as retried late, in microseconds: what a key
/// derived from a clock in seconds does not survive.
pub const LATE_US: u64 = 900_000;

/// How long an answer must have been out, after a second request came, for the client to have
/// been there to take it, in microseconds. A client that hung up and asked again at once has
/// been seen to look busy for up to 2 ms.
pub const TAKEN_US: u64 = 10_000;

/// What lay between two requests for one intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// A passing error that said that nothing was accepted.
    Refusal,
    /// The same, and the client waited for [`LATE_US`] or longer.
    LateRefusal,
    /// A server error that leaves acceptance open.
    ServerError,
    /// 409: the first request was still in flight.
    InFlight,
    /// A redirect.
    Redirect,
    /// A 2xx with a broken body.
    BrokenSuccess,
    /// Nobody knows what became of the first.
    Ambiguous,
    /// A whole 2xx: there was no reason for a second.
    Success,
    /// An error that will never change.
    Permanent,
    /// The client's process was killed or terminated.
    Restart,
    /// A receipt came.
    Receipt,
    /// The intent was submitted again.
    SubmittedAgain,
    /// The second went to another provider.
    Failover,
    /// Both were worked on at once, proven by a handshake.
    Overlap,
    /// The provider had forgotten the key by then, as the client was told.
    Retention,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refusal => "after an error that said that nothing was accepted",
            Self::LateRefusal => "after a long wait",
            Self::ServerError => "after a server error",
            Self::InFlight => "after a 409 for a request in flight",
            Self::Redirect => "after a redirect",
            Self::BrokenSuccess => "after a 2xx with a broken body",
            Self::Ambiguous => "after an answer that never came",
            Self::Success => "after a whole 2xx",
            Self::Permanent => "after an answer that will never change",
            Self::Restart => "after a restart of the client",
            Self::Receipt => "after a receipt",
            Self::SubmittedAgain => "after a second submission",
            Self::Failover => "at another provider",
            Self::Overlap => "while the first was still being worked on",
            Self::Retention => "after the key's retention",
        })
    }
}

/// What became of the key from one request to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyMove {
    /// The second bears that of the first, or the one that the first had lost.
    Kept,
    /// Neither bears one, nor did any before.
    Keyless,
    /// The second bears none, though one before it did.
    Dropped,
    /// The second bears another, or the first one of the intent.
    Changed,
}

/// Two requests for one intent, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Retry<'v, 'h> {
    /// The first.
    pub from: &'v AttemptView<'h>,
    /// The second.
    pub to: &'v AttemptView<'h>,
    /// What lay between them.
    pub cause: Cause,
    /// What became of the key.
    pub key: KeyMove,
    /// Whether something below the client sent the second: its own count does not know of it.
    pub resend: bool,
}

impl Retry<'_, '_> {
    /// From the moment the first's answer left (its arrival, where it had none) to the arrival
    /// of the second, in microseconds.
    #[must_use]
    pub fn gap_us(&self) -> u64 {
        let left = self
            .from
            .answer
            .map_or(self.from.arrived.at_us, |(mark, _)| mark.at_us);
        self.to.arrived.at_us.saturating_sub(left)
    }

    /// The events that prove it.
    #[must_use]
    pub fn evidence(&self) -> Vec<u64> {
        vec![self.from.arrived.seq, self.to.arrived.seq]
    }

    /// The two requests.
    #[must_use]
    pub fn attempts(&self) -> Vec<u64> {
        vec![self.from.id, self.to.id]
    }
}

/// The requests for an intent in the order in which the client sent them. It is that of their
/// arrival, but for one that the client had given up before it came: the next overtook it.
fn as_sent<'v, 'h>(view: &'v View<'h>, intent: usize) -> Vec<&'v AttemptView<'h>> {
    let mut tries = view.tries(intent);
    tries.sort_by_cached_key(|a| {
        let given_up = a.answer.is_none()
            && a.nth_on_connection == 1
            && a.ended.is_some_and(|(over, end)| {
                matches!(end, End::ClientClosed | End::ClientReset)
                    && over.at_us.saturating_sub(a.arrived.at_us) < TAKEN_US
            });
        if !given_up {
            return a.arrived.seq;
        }
        let opened = view.connection(a.provider, a.connection).opened;
        opened.map_or(a.arrived.seq, |mark| mark.seq)
    });
    tries
}

/// Every retry of an intent, in the order of sending. None where nothing on the wire tells the
/// intent from another: which request was for which is then not known.
#[must_use]
pub fn retries<'v, 'h>(view: &'v View<'h>, intent: usize) -> Vec<Retry<'v, 'h>> {
    if view.alike(intent).len() > 1 {
        return Vec::new();
    }
    let tries = as_sent(view, intent);
    let mut all: Vec<Retry<'v, 'h>> = tries
        .windows(2)
        .enumerate()
        .map(|(nth, pair)| {
            let (from, to) = (pair[0], pair[1]);
            // One that was lost on the way is still the intent's.
            let before = tries[..=nth].iter().rev().find_map(|a| a.key);
            let key = match (before, to.key) {
                (Some(a), Some(b)) if a == b => KeyMove::Kept,
                (Some(_), None) => KeyMove::Dropped,
                (None, None) => KeyMove::Keyless,
                _ => KeyMove::Changed,
            };
            Retry {
                from,
                to,
                cause: cause(view, intent, from, to),
                key,
                resend: false,
            }
        })
        .collect();
    mark_resends(view, intent, tries.len(), &mut all);
    all
}

fn cause(view: &View<'_>, intent: usize, from: &AttemptView<'_>, to: &AttemptView<'_>) -> Cause {
    let again = view
        .submissions(intent)
        .iter()
        .any(|s| s.which != Submission::First && s.began.seq < to.arrived.seq);
    if again {
        return Cause::SubmittedAgain;
    }
    if from.provider != to.provider {
        return Cause::Failover;
    }
    if overlap(view, from, to) == Overlap::Proven {
        return Cause::Overlap;
    }
    if view
        .violence_between(intent, from.arrived.seq, to.arrived.seq)
        .is_some()
    {
        return Cause::Restart;
    }
    let seen = reply_by(view, from, to.arrived.seq);
    if seen == Reply::Success && receipt_between(view, from, to) {
        return Cause::Receipt;
    }
    if seen != Reply::Success && retention_passed(view, intent, from, to) {
        return Cause::Retention;
    }
    if seen != Reply::BrokenSuccess && perhaps_unread(view, from, to) {
        return Cause::Ambiguous;
    }
    match seen {
        Reply::Success => Cause::Success,
        Reply::BrokenSuccess => Cause::BrokenSuccess,
        Reply::Refused(_) => {
            let left = from.answer.map_or(0, |(mark, _)| mark.at_us);
            if to.arrived.at_us.saturating_sub(left) >= LATE_US {
                Cause::LateRefusal
            } else {
                Cause::Refusal
            }
        }
        Reply::ServerError(_) => Cause::ServerError,
        Reply::InFlight => Cause::InFlight,
        Reply::Redirect(_) => Cause::Redirect,
        Reply::Permanent(_) => Cause::Permanent,
        Reply::Ambiguous => Cause::Ambiguous,
    }
}

/// Whether the answer may have come when nobody read it any more: the client stood still, or had
/// hung up after about as long as it waits for an answer.
fn perhaps_unread(view: &View<'_>, from: &AttemptView<'_>, to: &AttemptView<'_>) -> bool {
    let between = |mark: &Mark| (from.arrived.seq..to.arrived.seq).contains(&mark.seq);
    if view.pauses.iter().any(between) {
        return true;
    }
    let Some(patience) = view.history.client.policy.read_timeout else {
        return false;
    };
    let connection = view.connection(from.provider, from.connection);
    let begun = match connection.opened {
        Some(opened) if from.nth_on_connection == 1 => opened,
        _ => from.arrived,
    };
    // On a machine that is short of time the client's own clock runs ahead of what the provider
    // sees of it.
    let long = patience.0.as_micros() * 2 / 3;
    connection.closed.is_some_and(|(closed, end)| {
        matches!(end, End::Answered | End::ClientClosed | End::ClientReset)
            && between(&closed)
            && u128::from(closed.at_us.saturating_sub(begun.at_us)) >= long
    })
}

fn receipt_between(view: &View<'_>, from: &AttemptView<'_>, to: &AttemptView<'_>) -> bool {
    let Some((_, message)) = from.delivered else {
        return false;
    };
    view.receipts
        .iter()
        .any(|r| r.message == message && (from.arrived.seq..to.arrived.seq).contains(&r.mark.seq))
}

fn retention_passed(
    view: &View<'_>,
    intent: usize,
    from: &AttemptView<'_>,
    to: &AttemptView<'_>,
) -> bool {
    let retention = view.history.provider.retention_us;
    if retention == 0 || from.key.is_none() {
        return false;
    }
    view.tries(intent)
        .iter()
        .find(|a| a.key == from.key && a.provider == from.provider)
        .is_some_and(|first| to.arrived.at_us > first.arrived.at_us + retention)
}

/// Whether two requests for one intent were worked on at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlap {
    /// The first was over before the second came, or the client had let go of it.
    No,
    /// The second came before the first was answered; whether the client still waited for the
    /// first is open.
    Open,
    /// The first's answer left after the second came, and the client took it.
    Proven,
}

/// Whether `second` came while the client still waited for `first`.
#[must_use]
pub fn overlap(view: &View<'_>, first: &AttemptView<'_>, second: &AttemptView<'_>) -> Overlap {
    let Some((left, _)) = first.answer else {
        return Overlap::No;
    };
    if left.seq < second.arrived.seq {
        return Overlap::No;
    }
    if first.connection == second.connection && first.provider == second.provider {
        return Overlap::No;
    }
    match first.ended {
        Some((_, End::Answered)) => {}
        _ => return Overlap::No,
    }
    if reply(view, first) == Reply::Ambiguous {
        return Overlap::No;
    }
    // A request that comes late may be one that the client had given up before it sent the first:
    // they can overtake each other on their connections.
    if let Some((over, End::ClientClosed | End::ClientReset)) = second.ended
        && over.at_us < left.at_us.saturating_add(TAKEN_US)
    {
        return Overlap::Open;
    }
    let connection = view.connection(first.provider, first.connection);
    let reused = view.used_after(first, left.seq);
    let late = left.at_us.saturating_sub(second.arrived.at_us) >= TAKEN_US;
    let kept_open = match connection.closed {
        Some((_, End::ClientReset | End::ClientClosed)) | None => false,
        Some((mark, _)) => mark.at_us.saturating_sub(left.at_us) >= TAKEN_US,
    };
    if reused || late || kept_open {
        Overlap::Proven
    } else {
        Overlap::Open
    }
}

/// How many requests for an intent the client counted itself, where it can be told apart from
/// what something below it sent: not across a restart, nor where it was submitted twice.
#[must_use]
pub fn own_count(view: &View<'_>, intent: usize) -> Option<u32> {
    if view.violence_on(intent).is_some() || view.submitted_again(intent) {
        return None;
    }
    let promised_one = view.history.client.policy.max_attempts == Some(1);
    let last = view.tries(intent).last().map_or(0, |a| a.arrived.seq);
    view.belief(intent)
        .filter(|b| b.mark.seq > last)
        .and_then(|b| b.attempts)
        .or_else(|| promised_one.then_some(1))
        .filter(|count| *count > 0)
}

/// How many requests for an intent were on the wire, hops of a redirect counted once.
#[must_use]
pub fn wire_count(retries: &[Retry<'_, '_>]) -> u32 {
    let hops = retries
        .iter()
        .filter(|r| r.cause == Cause::Redirect)
        .count();
    u32::try_from(retries.len() + 1 - hops).unwrap_or(u32::MAX)
}

/// Marks the retries of which the client's own count does not know: the quickest of those that
/// followed a broken connection.
fn mark_resends(view: &View<'_>, intent: usize, tries: usize, all: &mut [Retry<'_, '_>]) {
    let Some(own) = own_count(view, intent) else {
        return;
    };
    if tries == 0 {
        return;
    }
    let extra = wire_count(all).saturating_sub(own) as usize;
    let mut broken: Vec<usize> = (0..all.len())
        .filter(|n| matches!(all[*n].cause, Cause::Ambiguous | Cause::BrokenSuccess))
        .collect();
    broken.sort_by_key(|n| {
        all[*n]
            .to
            .arrived
            .at_us
            .saturating_sub(all[*n].from.ended.map_or(0, |(mark, _)| mark.at_us))
    });
    for n in broken.into_iter().take(extra) {
        all[n].resend = true;
    }
}

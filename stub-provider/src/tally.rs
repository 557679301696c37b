//! [`Tally`]: what is counted as it happens.
//!
//! Owns the counters and which of them an attempt moves. What they are called and how they are
//! shown is [`crate::admin`]'s. A count costs one relaxed addition.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{
    event::End,
    fault::RequestKind,
    record::{Attempt, Reached},
};

/// Why a request was not read whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnreadWhy {
    /// The client left in the middle.
    Disconnect,
    /// It took longer than the provider waits.
    Timeout,
    /// It is larger than allowed.
    TooLarge,
    /// It is not HTTP/1.1.
    Malformed,
}

impl UnreadWhy {
    pub(crate) const ALL: [(Self, &'static str); 4] = [
        (Self::Disconnect, "disconnect"),
        (Self::Timeout, "timeout"),
        (Self::TooLarge, "too-large"),
        (Self::Malformed, "malformed"),
    ];
}

/// Where an attempt stood when its client left.
pub(crate) const STAGES: [&str; 3] = ["before-accept", "after-accept", "answering"];
/// How a client can leave.
pub(crate) const LEAVINGS: [(End, &str); 2] = [
    (End::ClientClosed, "client-closed"),
    (End::ClientReset, "client-reset"),
];
/// The classes of answers.
pub(crate) const CLASSES: [&str; 4] = ["2xx", "3xx", "4xx", "5xx"];

/// A number of things.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn one_more(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one more: which one that is, from 1.
    pub(crate) fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn one_less(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Everything that is counted beside the records.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) connections: Count,
    pub(crate) open_connections: Count,
    pub(crate) faults: Count,
    pub(crate) ended: Count,
    pub(crate) unread: [Count; 4],
    pub(crate) lookups: Count,
    // From here on only requests that ask for a message to be sent.
    pub(crate) attempts: Count,
    pub(crate) keyless: Count,
    pub(crate) accepted: Count,
    pub(crate) replays: Count,
    pub(crate) mismatches: Count,
    pub(crate) answers: [Count; 4],
    pub(crate) left: [[Count; 2]; 3],
}

impl Tally {
    /// A request was read whole.
    pub(crate) fn arrived(&self, attempt: &Attempt) {
        match attempt.kind {
            RequestKind::Lookup => self.lookups.one_more(),
            RequestKind::Submit => {
                self.attempts.one_more();
                if !attempt.has_key {
                    self.keyless.one_more();
                }
            }
        }
    }

    /// An answer leaves, whole or in part.
    pub(crate) fn answering(&self, attempt: &Attempt, status: u16) {
        if attempt.kind == RequestKind::Submit
            && let Some(class) = usize::from(status / 100).checked_sub(2)
            && let Some(count) = self.answers.get(class)
        {
            count.one_more();
        }
    }

    /// An attempt is over.
    pub(crate) fn ended(&self, attempt: &Attempt, end: End) {
        self.ended.one_more();
        if attempt.kind == RequestKind::Submit
            && let Some(how) = LEAVINGS.iter().position(|(leaving, _)| *leaving == end)
        {
            let stage = match attempt.reached() {
                Reached::Arrived => 0,
                Reached::Accepted | Reached::Replayed => 1,
                Reached::Answering => 2,
            };
            self.left[stage][how].one_more();
        }
    }

    /// A request was not read whole.
    pub(crate) fn unread(&self, why: UnreadWhy) {
        self.unread[why as usize].one_more();
    }
}

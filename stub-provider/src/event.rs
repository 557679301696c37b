//! What the provider saw and did, in order.
//!
//! Owns the event types that a watcher in the same process reads: the attempts on the wire, what
//! became of each, and the deliveries. It decides nothing.

use std::{net::SocketAddr, sync::Arc, time::Instant};

use serde::{Deserialize, Serialize};

use crate::fault::{MessageStatus, RequestKind, Stage};

/// A request as it came, numbered in the order of arrival from 1 for each provider.
pub type AttemptId = u64;
/// A TCP connection, numbered in the order of acceptance from 1 for each provider.
pub type ConnectionId = u64;

/// One observed fact. `seq` is a total order over everything that one provider reports.
#[derive(Clone, Debug)]
pub struct Event {
    /// Position in the provider's order of events, from 1, without gaps.
    pub seq: u64,
    /// When it was seen, by the process's monotonic clock (never advanced by hand).
    pub at: Instant,
    /// What was seen.
    pub kind: EventKind,
}

/// A request, read whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Request {
    /// The method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Header names in lower case, with their values, in the order in which they came.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte (shown as text where it is UTF-8).
    pub body: Vec<u8>,
}

/// An answer as it was meant to leave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte.
    pub body: Vec<u8>,
}

/// What a request says, read with the help of the profile. `T` is a text, its own or borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading<T = String> {
    /// Submit or lookup.
    pub kind: RequestKind,
    /// The customer whose credential it bears.
    pub customer: T,
    /// The idempotency key; `None` where the request has none.
    pub key: Option<T>,
    /// The recipient; `None` where the request names none.
    pub to: Option<T>,
    /// The words of the message.
    pub text: Option<T>,
    /// Which intent it is for, by number; `None` for a stray.
    pub intent: Option<usize>,
    /// Which attempt (or lookup) of that intent it is, from 1; of its key where no intents are known.
    pub ordinal: u32,
}

impl<T: AsRef<str>> Reading<T> {
    /// The same, borrowed.
    #[must_use]
    pub fn borrowed(&self) -> Reading<&str> {
        Reading {
            kind: self.kind,
            customer: self.customer.as_ref(),
            key: self.key.as_ref().map(AsRef::as_ref),
            to: self.to.as_ref().map(AsRef::as_ref),
            text: self.text.as_ref().map(AsRef::as_ref),
            intent: self.intent,
            ordinal: self.ordinal,
        }
    }
}

impl Reading<&str> {
    /// The same, with texts of its own.
    #[must_use]
    pub fn owned(self) -> Reading {
        Reading {
            kind: self.kind,
            customer: self.customer.to_owned(),
            key: self.key.map(str::to_owned),
            to: self.to.map(str::to_owned),
            text: self.text.map(str::to_owned),
            intent: self.intent,
            ordinal: self.ordinal,
        }
    }
}

/// How an attempt or a connection ended, as the server's socket saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The whole answer was handed to the socket.
    Answered,
    /// The provider cut the answer short, on purpose.
    Truncated,
    /// The provider sent an RST, on purpose.
    Reset,
    /// The provider sent a FIN without an answer, on purpose.
    Closed,
    /// The client closed its side (FIN) before the answer was out.
    ClientClosed,
    /// The client's side sent an RST before the answer was out.
    ClientReset,
    /// The provider process was gone.
    Crashed,
    /// The provider shut down.
    Shutdown,
}

/// Each kind of fact.
#[derive(Clone, Debug)]
pub enum EventKind {
    /// A connection was accepted.
    ConnectionOpened {
        /// Its number.
        connection: ConnectionId,
        /// The address it came from (through a proxy: the proxy's).
        peer: SocketAddr,
    },
    /// A connection is over.
    ConnectionClosed {
        /// Its number.
        connection: ConnectionId,
        /// How; `Answered` for an orderly end after the last answer.
        end: End,
    },
    /// A request was read whole.
    Arrived {
        /// Its number.
        attempt: AttemptId,
        /// On which connection.
        connection: ConnectionId,
        /// Which request of that connection it is, from 1: above 1 the connection was reused.
        nth_on_connection: u32,
        /// The request.
        request: Arc<Request>,
        /// What it says.
        reading: Arc<Reading>,
    },
    /// A request that was never read whole: cut, too slow, too large or not HTTP.
    Unread {
        /// On which connection.
        connection: ConnectionId,
        /// How much of it came and why it ended, for people.
        reason: String,
    },
    /// The attempt waits at a stage until it is released.
    Held {
        /// Which attempt.
        attempt: AttemptId,
        /// Where.
        stage: Stage,
    },
    /// A fault acts on the attempt now.
    FaultFired {
        /// Which attempt; for a receipt fault: the attempt that was accepted.
        attempt: AttemptId,
        /// The rule's id.
        fault: u32,
    },
    /// The message is accepted and delivered: the phone buzzes.
    Delivered {
        /// By which attempt.
        attempt: AttemptId,
        /// The message's id.
        message: String,
    },
    /// A known key: the stored answer is returned, nothing is delivered.
    Replayed {
        /// Which attempt.
        attempt: AttemptId,
        /// The attempt whose answer it is.
        of: AttemptId,
    },
    /// The answer was handed to the socket, whole or in part.
    Answering {
        /// Which attempt.
        attempt: AttemptId,
        /// What was to leave.
        answer: Arc<Answer>,
    },
    /// The attempt is over.
    Ended {
        /// Which attempt.
        attempt: AttemptId,
        /// How.
        end: End,
    },
    /// A receipt was sent to the client.
    ReceiptSent {
        /// The message.
        message: String,
        /// The event's id, the same on every try.
        event_id: String,
        /// What it reports.
        status: MessageStatus,
        /// Which try, from 1.
        attempt: u32,
        /// The HTTP status that acknowledged it; `None`: nobody knows.
        answered: Option<u16>,
    },
    /// The provider is gone.
    Crashed,
    /// The provider is back.
    Restarted,
}

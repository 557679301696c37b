//! The pieces of an indexed history: an attempt with what became of it, a belief, a submission, a
//! connection.
//!
//! Owns the types; [`super::view`] fills them.

use stub_provider::{
    event::End,
    fault::{MessageStatus, RequestKind},
};

use super::{Answer, Process, Request, Submission};
use crate::intent::Outcome;

/// A fact about an attempt: the event's number and its time in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The event's `seq`.
    pub seq: u64,
    /// The event's `at_us`.
    pub at_us: u64,
}

/// One request that reached the provider, with what became of it.
#[derive(Clone, Debug)]
pub struct AttemptView<'h> {
    /// Its arrival.
    pub arrived: Mark,
    /// Its number.
    pub id: u64,
    /// Which provider.
    pub provider: u8,
    /// On which connection of that provider.
    pub connection: u64,
    /// Which request of that connection, from 1.
    pub nth_on_connection: u32,
    /// Submit or lookup.
    pub kind: RequestKind,
    /// Which intent; `None`: a stray.
    pub intent: Option<usize>,
    /// Which attempt of the intent, from 1.
    pub ordinal: u32,
    /// Whose credential it bears.
    pub customer: &'h str,
    /// The key.
    pub key: Option<&'h str>,
    /// The words.
    pub text: Option<&'h str>,
    /// The request.
    pub request: &'h Request,
    /// Its acceptance, and the message's id.
    pub delivered: Option<(Mark, &'h str)>,
    /// That a stored answer was returned, and the attempt whose answer it is.
    pub replayed: Option<(Mark, u64)>,
    /// That an answer was handed to the socket.
    pub answer: Option<(Mark, &'h Answer)>,
    /// How it ended.
    pub ended: Option<(Mark, End)>,
    /// The faults that acted on it.
    pub fired: Vec<(Mark, u32)>,
}

/// What the client believed of an intent at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Belief {
    /// When it was asked.
    pub mark: Mark,
    /// What it believed; `None`: it knows nothing of the intent.
    pub outcome: Option<Outcome>,
    /// How many attempts it counted itself.
    pub attempts: Option<u32>,
}

/// A submission of an intent at the client's front door.
#[derive(Clone, Debug)]
pub struct SubmissionView {
    /// Which.
    pub which: Submission,
    /// When it began.
    pub began: Mark,
    /// When the message becomes useless, in microseconds on the scale of the history.
    pub expires_at_us: Option<u64>,
    /// When it ended, and whether the client took the intent on.
    pub ended: Option<(Mark, bool)>,
}

/// Something that was done to a sending process from outside: a kill or a termination.
#[derive(Clone, Debug)]
pub struct Violence<'h> {
    /// When.
    pub mark: Mark,
    /// To which process.
    pub process: &'h Process,
}

/// A receipt that was sent to the client.
#[derive(Clone, Copy, Debug)]
pub struct ReceiptView<'h> {
    /// When.
    pub mark: Mark,
    /// Of which message.
    pub message: &'h str,
    /// What it reports.
    pub status: MessageStatus,
}

/// A connection at a provider.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConnectionView {
    /// When it was opened.
    pub opened: Option<Mark>,
    /// When and how it was closed.
    pub closed: Option<(Mark, End)>,
}

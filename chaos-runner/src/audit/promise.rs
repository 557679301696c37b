//! [`Promise`]: what a profile promises, in the words of the audit.
//!
//! Owns the one form of it that all judgements share, so that they are functions of plain data.
//! Reading it out of a profile is `api`'s.

use std::time::Duration;

/// What a provider promises about its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a promise of its own, kept or not"
)]
pub struct Promise {
    /// The header that bears the key, in lower case; `None`: it stands elsewhere.
    pub header: Option<String>,
    /// How a key in a header is written.
    pub quoting: Quoting,
    /// Whether an empty key is treated as none; else it is malformed.
    pub empty_is_missing: bool,
    /// The longest key, in bytes; `None`: all keys are of one shape.
    pub max_length: Option<usize>,
    /// Which requests a key stands for.
    pub bound: Bound,
    /// Among what a key is unique.
    pub scope: Scope,
    /// Whether a used key gets the stored answer; else it is refused with `used`.
    pub repeats: bool,
    /// Whether a refusal (4xx) is stored under its key; else it frees the key.
    pub keeps_refusals: bool,
    /// Whether a failure (5xx) is stored under its key; else it frees the key.
    pub keeps_failures: bool,
    /// What becomes of a request without a key.
    pub missing: Missing,
    /// The status of a malformed or too long key.
    pub malformed: u16,
    /// The status of a key that comes with another payload.
    pub mismatch: u16,
    /// The status of a used key where nothing is repeated.
    pub used: u16,
    /// What becomes of a request whose key is being worked on.
    pub in_flight: InFlight,
    /// The header that marks a stored answer, in lower case; its value is `true`.
    pub replay_mark: Option<String>,
    /// How long an answer is kept.
    pub retention: Duration,
    /// A recipient that is refused for good.
    pub refused: Option<String>,
}

/// How a key in a header is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quoting {
    /// As it is: quotes would be part of it.
    Bare,
    /// As a string of RFC 8941, in quotes.
    Quoted,
    /// Either way: both are the same key.
    Either,
}

/// Which requests a key stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Those with the same bytes.
    Bytes,
    /// Those that say the same, however it is written.
    Content,
    /// All that bear it.
    Nothing,
}

/// Among what a key is unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All requests of one customer.
    Customer,
    /// The requests of one customer to one operation.
    CustomerAndOperation,
}

/// What becomes of a request without a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// A new message each time.
    Delivers,
    /// It is refused with this status.
    Refused(u16),
}

/// What becomes of a request whose key is being worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InFlight {
    /// It waits for the first one's answer and repeats it.
    Waits,
    /// It is refused with this status.
    Refused(u16),
}

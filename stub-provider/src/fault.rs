//! What the provider is told to do wrong, and exactly where.
//!
//! Owns the words of provider and receipt faults as files and the admin API write them, and the
//! rule that aims one. Carrying a fault out is the server's; a fault on the network is the proxy's.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{attempts::Attempts, duration::Span};

/// A point in the life of an attempt at which a fault or a hold can act.
///
/// Everything up to `before-accept` leaves the message unaccepted; from `after-accept` on the
/// phone has buzzed, whatever the client gets to see.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// The request was read whole; nothing is decided yet.
    BeforeAccept,
    /// The message is accepted and delivered, the answer has not left yet.
    AfterAccept,
}

/// Which kind of request a fault is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RequestKind {
    /// A request that asks for a message to be sent.
    #[default]
    Submit,
    /// A GET that asks what became of one.
    Lookup,
}

/// One thing that the provider does wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProviderFault {
    /// Answers with a status of its own.
    Respond(Respond),
    /// Never answers, and keeps the connection open.
    Hang(Hang),
    /// Ends the connection with an RST.
    Reset(AtStage),
    /// Ends the connection with a FIN and no answer.
    Close(AtStage),
    /// Sends the beginning of the answer, then ends the connection.
    Truncate(Truncate),
    /// Answers with something that is not what it claims to be.
    Garble(Garble),
    /// Answers late, but well.
    Delay(Delay),
    /// Sends the client elsewhere, before acceptance.
    Redirect(Redirect),
    /// Works on the request for a while; meanwhile the same key is answered "in flight".
    InFlight(InFlight),
    /// The provider process is gone for a while.
    Crash(Crash),
    /// Too many requests: 429, before acceptance.
    RateLimit(RateLimit),
}

/// A fault that needs nothing but its stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct AtStage {
    /// Where it acts.
    pub stage: Stage,
}

/// `provider.respond`: an answer with a status of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Respond {
    /// Where it acts: before acceptance nothing is delivered, after it the message is.
    pub stage: Stage,
    /// The HTTP status, 200 to 599.
    #[schemars(range(min = 200, max = 599))]
    pub status: u16,
    /// The provider's own error code, for example 21211.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<u32>,
    /// The body, raw; absent: an error body in the profile's shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Headers beside it, raw.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// `Retry-After` in whole seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Span>,
    /// `Retry-After` as an HTTP-date this far in the future (rounded up to the second).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_date: Option<Span>,
    /// Whether later replays of the key return this answer rather than the true one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stored: bool,
}

/// `provider.rate-limit`: 429 before acceptance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RateLimit {
    /// `Retry-After` in whole seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Span>,
    /// `Retry-After` as an HTTP-date this far in the future (rounded up to the second).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_date: Option<Span>,
    /// `Retry-After` as it stands: negative, empty, words, a huge number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_raw: Option<String>,
}

/// `provider.hang`: no answer on an open connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Hang {
    /// Where it acts.
    pub stage: Stage,
}

/// `provider.delay`: a late answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Delay {
    /// Before acceptance: accepts late, even if the client has hung up. After it: only the answer is late.
    pub stage: Stage,
    /// How long.
    #[serde(rename = "for")]
    pub lasts: Span,
}

/// Which part of the answer is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Status line and headers.
    Head,
    /// The body; the head goes out whole, with the true Content-Length.
    Body,
}

/// How a connection is ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// An orderly FIN.
    #[default]
    Close,
    /// An RST.
    Reset,
}

/// `provider.truncate`: the beginning of the answer, then the end of the connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Truncate {
    /// Before acceptance: a success is promised that never was. After it: a true answer is cut.
    pub stage: Stage,
    /// Which part is cut.
    pub part: Part,
    /// How many bytes of that part go out.
    pub after: u32,
    /// How the connection ends then.
    #[serde(default)]
    pub ending: Ending,
}

/// In which way an answer is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Garbling {
    /// Bytes that are no HTTP at all.
    NotHttp,
    /// A 2xx with JSON that does not parse.
    BadJson,
    /// A Content-Length that the body does not have, then a FIN.
    WrongContentLength,
}

/// `provider.garble`: an answer that is not what it claims to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Garble {
    /// Where it acts.
    pub stage: Stage,
    /// In which way.
    pub how: Garbling,
}

/// `provider.redirect`: 307 or 308 to another path of the same provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Redirect {
    /// 307 or 308.
    pub status: u16,
}

/// `provider.in-flight`: the first request is worked on for a while and then accepted; an equal
/// key is answered 409 meanwhile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct InFlight {
    /// How long it is worked on.
    #[serde(rename = "for")]
    pub lasts: Span,
    /// `Retry-After` of the 409 in whole seconds; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Span>,
}

/// What a crashed provider still knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Memory {
    /// Keys and stored answers survive.
    Kept,
    /// Keys and stored answers are forgotten; what was delivered stays delivered.
    Lost,
}

/// `provider.crash`: connections are reset, connects refused, then it is back on the same port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Crash {
    /// Where it acts.
    pub stage: Stage,
    /// What it still knows afterwards.
    pub memory: Memory,
    /// How long connects are refused.
    #[serde(rename = "for")]
    pub lasts: Span,
}

/// What a receipt reports.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum MessageStatus {
    /// Taken over, not sent yet.
    Queued,
    /// Handed to the network.
    Sent,
    /// On the phone.
    Delivered,
    /// Given up by the network.
    Undelivered,
    /// Not delivered for as long as it was valid: it will not be any more.
    Expired,
}

impl MessageStatus {
    /// The word for it, in receipts and answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Sent => "sent",
            Self::Delivered => "delivered",
            Self::Undelivered => "undelivered",
            Self::Expired => "expired",
        }
    }

    /// The status of that word.
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        let all = [
            Self::Queued,
            Self::Sent,
            Self::Delivered,
            Self::Undelivered,
            Self::Expired,
        ];
        all.into_iter().find(|status| status.as_str() == word)
    }

    /// Whether nothing comes after it.
    #[must_use]
    pub fn is_last(self) -> bool {
        matches!(self, Self::Delivered | Self::Undelivered | Self::Expired)
    }
}

/// One thing that goes wrong with receipts. `event` names the receipt; absent: every one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReceiptFault {
    /// The same event is sent twice.
    Duplicate(OfReceipt),
    /// It comes late.
    Delay(ReceiptDelay),
    /// The last state (`delivered`, say) comes before the one before it (`sent`).
    Reorder(Nothing),
    /// It never comes.
    Drop(OfReceipt),
    /// It comes before the submit request is answered.
    BeforeResponse(OfReceipt),
    /// A forged copy with a wrong signature comes first, saying `undelivered`.
    BadSignature(OfReceipt),
    /// The client's endpoint cannot be reached for a while; the provider tries again.
    Down(ReceiptDown),
}

/// A fault without settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// Which receipt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct OfReceipt {
    /// The state it reports; absent: every receipt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<MessageStatus>,
}

/// `receipt.delay`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ReceiptDelay {
    /// The state it reports; absent: every receipt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<MessageStatus>,
    /// How late.
    #[serde(rename = "for")]
    pub lasts: Span,
}

/// `receipt.down`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ReceiptDown {
    /// For how long, from the first receipt that is due.
    #[serde(rename = "for")]
    pub lasts: Span,
}

/// What goes wrong: exactly one of the two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Wrong {
    /// With the answer to a request.
    Provider(ProviderFault),
    /// With the receipts of a message.
    Receipt(ReceiptFault),
}

/// One fault and exactly where it acts. A rule matches a request when all that it names matches.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FaultRule {
    /// Chosen by who sets the rule; named in every event that the rule causes.
    pub id: u32,
    /// Which attempts of the intent (for a lookup: which lookups of it), counted from 1. For a
    /// receipt fault: which accepted messages of the intent.
    pub attempts: Attempts,
    /// Only this intent, by its number in [`crate::intent::Intents`]; absent: each, counted apart.
    pub intent: Option<usize>,
    /// Only requests under this key; attempts are then counted by key.
    pub key: Option<String>,
    /// Only requests to this number.
    pub to: Option<String>,
    /// Submit requests or lookups.
    pub request: RequestKind,
    /// What goes wrong.
    pub wrong: Wrong,
}

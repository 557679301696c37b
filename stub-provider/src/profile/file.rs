//! The profile file as it is written: its tables, keys and words.
//!
//! Owns the raw types, whose documentation is the format's reference. What a file means is
//! `resolve`'s.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::either::{Code, InFlight, Missing};
use crate::{duration::Span, place::Place, quota::Quota};

/// A profile: everything in which one provider's API differs from another's. A path can hold
/// `{segments}`. A template holds `{gaps}`: in JSON a gap between quotes is text, and one outside
/// of quotes is a whole value (`null` where there is nothing); in XML every gap is text.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Profile")]
pub struct ProfileFile {
    /// A word to know it by.
    pub(super) name: String,
    /// What it speaks, in one line.
    pub(super) title: String,
    /// Where each rule is publicly documented, and what is said there.
    #[serde(default)]
    pub(super) sources: BTreeMap<String, SourceFile>,
    /// How a message is submitted, and how it is accepted.
    pub(super) submit: SubmitFile,
    /// How one asks what became of a message; absent: it cannot be asked.
    #[serde(default)]
    pub(super) lookup: LookupFile,
    /// The idempotency key; absent: there is none.
    #[serde(default)]
    pub(super) key: KeyFile,
    /// What is answered when a message is not accepted.
    #[serde(default)]
    pub(super) errors: ErrorsFile,
    /// Whom a request is from.
    #[serde(default)]
    pub(super) authentication: AuthenticationFile,
    /// What is reported about a message afterwards.
    #[serde(default)]
    pub(super) receipts: ReceiptsFile,
    /// What each customer may ask for; absent: as much as it likes.
    #[serde(default)]
    pub(super) limits: Quota,
    /// Numbers that are refused for good, beside those that every profile refuses; a number of
    /// those that stands here too is answered as it says here.
    #[serde(default)]
    pub(super) refused: Vec<RefusedFile>,
}

/// `sources`: where a rule is documented.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Source")]
pub(super) struct SourceFile {
    /// The page; absent: the provider does not document it.
    pub(super) url: Option<String>,
    /// What it says, in one sentence of one's own.
    pub(super) says: String,
}

/// `submit`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Submission")]
pub(super) struct SubmitFile {
    /// The path that messages are posted to.
    pub(super) path: String,
    /// Other paths that take the same requests: other operations of the same API.
    #[serde(default)]
    pub(super) also: Vec<String>,
    /// How a body is written.
    #[serde(default)]
    pub(super) encoding: BodyEncoding,
    /// A request as a client writes it, without key and credential: a template of `{to}`,
    /// `{from}`, `{text}` and `{customer}`.
    pub(super) request: String,
    /// Where the recipient's number stands.
    pub(super) recipient: Place,
    /// Where the sender stands; absent: nowhere.
    #[serde(default)]
    pub(super) sender: Option<Place>,
    /// Where the words stand.
    pub(super) text: Place,
    /// Where it says for how many whole seconds the message is worth delivering; absent: nowhere.
    #[serde(default)]
    pub(super) validity: Option<Place>,
    /// How numbers are written.
    #[serde(default)]
    pub(super) numbers: NumberForm,
    /// How answers are written, errors too.
    #[serde(default)]
    pub(super) answers: super::AnswerForm,
    /// The status of the answer that accepts a message.
    #[schemars(range(min = 200, max = 299))]
    pub(super) status: u16,
    /// The answer that accepts a message: a template of `{id}`, `{to}`, `{from}`, `{text}`,
    /// `{status}`, `{created}`, `{key}`, `{key_or_id}` and `{customer}`. Where keys are of
    /// recipients: the part of one recipient.
    pub(super) answer: String,
    /// Where keys are of recipients, the whole answer around `{messages}`.
    pub(super) list: Option<String>,
    /// Where the id stands in the whole answer.
    pub(super) id: Place,
    /// Where the status of a message stands in the whole answer, if it is not the answer's own.
    pub(super) result: Option<Place>,
    /// How `{created}` is written.
    #[serde(default)]
    pub(super) created: TimeForm,
    /// The provider's words for `{status}`, where they are not `accepted`, `queued`, `sent`,
    /// `delivered`, `undelivered` and `expired`.
    #[serde(default)]
    pub(super) statuses: BTreeMap<String, String>,
}

/// How a body is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BodyEncoding {
    /// `application/json`.
    #[default]
    Json,
    /// `application/x-www-form-urlencoded`.
    Form,
}

/// How numbers are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NumberForm {
    /// With a plus in front, as in E.164.
    #[default]
    Plus,
    /// Digits only.
    Digits,
}

/// How times are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TimeForm {
    /// `2026-03-01T12:00:00Z`.
    #[default]
    Rfc3339,
    /// `Sun, 01 Mar 2026 12:00:00 +0000`.
    Rfc2822,
    /// Seconds since 1970.
    Unix,
}

/// `lookup`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Lookup")]
pub(super) struct LookupFile {
    /// The path of one message, with `{id}` in it.
    pub(super) by_id: Option<String>,
    /// The answer about one message: a template as `submit.answer` is; absent: that one.
    pub(super) answer: Option<String>,
    /// The messages under a key.
    pub(super) by_key: Option<ListFile>,
    /// The messages to a number.
    pub(super) list: Option<ListFile>,
    /// One message in a list; absent: as `answer`.
    pub(super) item: Option<String>,
    /// Where the id stands in such an item; absent: as in the answer to a submission.
    pub(super) item_id: Option<Place>,
}

/// `lookup.by-key` and `lookup.list`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "List")]
pub(super) struct ListFile {
    /// The path.
    pub(super) path: String,
    /// The field of the query that names the key or the number.
    pub(super) field: String,
    /// The answer: a template around `{messages}`.
    pub(super) answer: String,
    /// Where in it the messages stand.
    pub(super) items: Place,
    /// The answer while a request is still being worked on; absent: as any other.
    pub(super) in_progress: Option<String>,
}

/// `key`: the idempotency key.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
#[schemars(rename = "Key")]
pub(super) struct KeyFile {
    /// Where it stands.
    pub(super) place: Place,
    /// How it is written in a header.
    pub(super) form: KeyForm,
    /// The characters it may have, as in `A-Za-z0-9_:-`; absent: any.
    pub(super) characters: Option<String>,
    /// Its shape.
    pub(super) shape: KeyShape,
    /// The least number of bytes. 0: a key that is there but empty counts as no key.
    pub(super) min_length: usize,
    /// The greatest number of bytes.
    pub(super) max_length: usize,
    /// What one key is of.
    pub(super) unit: KeyUnit,
    /// Among what it is unique.
    pub(super) scope: KeyScope,
    /// What it is bound to, beside method and path.
    pub(super) binds: Binds,
    /// What a later request under it gets.
    pub(super) replays: Replays,
    /// Answers that leave the key free, by class; absent: none of those that are replayed.
    pub(super) frees: Option<Vec<StatusClass>>,
    /// The header that marks a stored answer, with the value `true`.
    pub(super) replay_header: Option<String>,
    /// How long an answer is kept.
    pub(super) retention: Span,
}

impl Default for KeyFile {
    fn default() -> Self {
        Self {
            place: Place::None,
            form: KeyForm::default(),
            characters: None,
            shape: KeyShape::default(),
            min_length: 0,
            max_length: 255,
            unit: KeyUnit::default(),
            scope: KeyScope::default(),
            binds: Binds::default(),
            replays: Replays::default(),
            frees: None,
            replay_header: None,
            retention: Span::from_millis(24 * 60 * 60 * 1000),
        }
    }
}

/// How a key is written in a header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KeyForm {
    /// As it stands: quotes would be part of it.
    #[default]
    Bare,
    /// As a quoted string (RFC 8941 section 3.3.3); anything else is malformed.
    Quoted,
    /// Either; both are the same key.
    Either,
}

/// The shape of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KeyShape {
    /// Any.
    #[default]
    Any,
    /// A UUID: 8-4-4-4-12 hexadecimal digits.
    Uuid,
}

/// What one key is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KeyUnit {
    /// A request.
    #[default]
    Request,
    /// One recipient of a request, which can have several; the answer says of each how it went.
    Recipient,
}

/// Among what a key is unique.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KeyScope {
    /// All requests of one customer.
    #[default]
    Customer,
    /// The requests of one customer with one method to one path.
    CustomerAndOperation,
}

/// What a key is bound to, beside method and path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Binds {
    /// Every byte of the body.
    #[default]
    Bytes,
    /// What the body says: order and white space do not count.
    Content,
    /// Nothing, not even the path: any later request under the key is the first one again.
    Nothing,
}

/// What a later request under a key gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Replays {
    /// The stored answer, success or error.
    #[default]
    Everything,
    /// The stored answer, if it was a success; an error frees the key.
    Successes,
    /// A refusal: the key was used.
    Nothing,
}

/// A class of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum StatusClass {
    /// A refused request.
    #[serde(rename = "4xx")]
    Refused,
    /// A failure of the provider's own.
    #[serde(rename = "5xx")]
    Failed,
}

/// `errors`: one shape for all, and a row for each.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
#[schemars(rename = "Errors")]
pub(super) struct ErrorsFile {
    /// The shape of an error: a template of `{code}`, `{message}`, `{status}`, `{title}`,
    /// `{type}`, `{to}` and `{key}`; absent: problem details (RFC 9457).
    pub(super) body: Option<String>,
    /// Its content type; absent: with a `body` that of `submit.answers`, else
    /// `application/problem+json`.
    pub(super) content_type: Option<String>,
    /// The type of an error whose row has none; absent: `about:blank`, as RFC 9457 has it.
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    /// Where keys are of recipients, the part of the answer for one that failed.
    pub(super) recipient: Option<String>,
    /// A request without a key: `"deliver"` (a new message, each time) or a row.
    pub(super) missing: Missing,
    /// A key that cannot be one; absent: 400.
    pub(super) malformed: Option<RowFile>,
    /// A known key with another request; absent: 422.
    pub(super) mismatch: Option<RowFile>,
    /// A key whose first request is still being worked on: `"wait"` (for the first one's answer)
    /// or a row.
    pub(super) in_flight: InFlight,
    /// A key that was used, where nothing is replayed; absent: 409.
    pub(super) used: Option<RowFile>,
    /// A request without a credential where one is required; absent: 401.
    pub(super) unauthorised: Option<RowFile>,
    /// A request without recipient or words; absent: 400.
    pub(super) invalid: Option<RowFile>,
    /// A lookup that finds nothing; absent: 404.
    pub(super) not_found: Option<RowFile>,
    /// A number that is refused for good, with code and message of the number; absent: 400.
    pub(super) refused: Option<RowFile>,
}

/// One error.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Error")]
pub(super) struct RowFile {
    /// The status.
    #[schemars(range(min = 200, max = 599))]
    pub(super) status: u16,
    /// The provider's code.
    pub(super) code: Option<Code>,
    /// The error in words; absent: what is wrong, in general words.
    pub(super) message: Option<String>,
    /// Its title; absent: the status in words.
    pub(super) title: Option<String>,
    /// Its type, a word or a URL.
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    /// `Retry-After`, rounded up to whole seconds.
    pub(super) retry_after: Option<Span>,
    /// A shape of its own.
    pub(super) body: Option<String>,
}

/// `authentication`: whom a request is from.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
#[schemars(rename = "Authentication")]
pub(super) struct AuthenticationFile {
    /// Where the credential stands: `bearer`, `basic` (its user is the customer), or any place.
    pub(super) style: String,
    /// What stands in front of it at such a place, as in `App `.
    pub(super) prefix: String,
    /// Whether a request without one is refused.
    pub(super) required: bool,
    /// Whom a request without one is from.
    pub(super) customer: String,
}

impl Default for AuthenticationFile {
    fn default() -> Self {
        Self {
            style: "bearer".into(),
            prefix: String::new(),
            required: false,
            customer: "default".into(),
        }
    }
}

/// `receipts`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
#[schemars(rename = "Receipts")]
pub(super) struct ReceiptsFile {
    /// What is sent to these numbers never arrives; absent: to those of every profile.
    pub(super) undelivered_to: Option<Vec<String>>,
    /// What is sent to these numbers stays `sent` for as long as it is valid and is `expired`
    /// then; absent: to those of every profile.
    pub(super) expires_to: Option<Vec<String>>,
}

/// `refused`: a number that is refused for good.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Refused")]
pub(super) struct RefusedFile {
    /// The recipient; one of `to` and `from`.
    pub(super) to: Option<String>,
    /// The sender.
    pub(super) from: Option<String>,
    /// The provider's code.
    pub(super) code: Code,
    /// The error in words.
    pub(super) message: String,
}

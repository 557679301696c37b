//! Which intent a request is for.
//!
//! Owns the list of messages that the business wants sent and the match of a request against it:
//! by recipient, then by the code in its words, then by order. The idempotency key is never used
//! for this: what the key does is what is being judged.

/// One message that is expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedIntent {
    /// The recipient, in E.164.
    pub to: String,
    /// A word that stands in this message only (its one-time code). Two intents to one recipient
    /// may have the same one: then they are told apart by order and count.
    pub code: String,
    /// The customer on whose behalf it goes out.
    pub customer: String,
}

//! One SMS as the outbox holds it, the bytes that ask for it, and their fingerprint.
//!
//! The key is the outbox id, unless the caller insists on one; it is stored, with the
//! fingerprint of the payload, before any request is made. The bytes are built from the stored row alone, so that every
//! attempt, also one after a restart, sends the same ones.

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::clock::UnixMillis;
use crate::rule::Rule;

/// Where messages are submitted, below the provider's base URL.
pub const MESSAGES_PATH: &str = "/v1/messages";

/// Where a row stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Waits for its time.
    Pending,
    /// Claimed by a worker, under a lease.
    InProgress,
    /// The provider has accepted it.
    Sent,
    /// Given up and set aside for a person. The outbox claims nothing about delivery.
    Dead,
    /// It may have been accepted and nobody here knows.
    Unknown,
    /// Replaced by a newer challenge before any attempt was made.
    Cancelled,
}

impl Status {
    /// As the `status` column holds it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Sent => "sent",
            Self::Dead => "dead",
            Self::Unknown => "unknown",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What a worker does with a row when its time has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextStep {
    /// Submit it.
    Send,
    /// Ask the provider what became of it; no further submission.
    Ask,
}

impl NextStep {
    /// As the `next_step` column holds it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Ask => "ask",
        }
    }
}

/// A claimed outbox row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The outbox id.
    pub id: String,
    /// The idempotency key of every attempt: the outbox id, or what the caller gave.
    pub key: String,
    /// The business's own name for this SMS.
    pub intent: String,
    /// On whose account it is sent.
    pub customer: String,
    /// Where it goes, E.164.
    pub recipient: String,
    /// What it says.
    pub body: String,
    /// Of the request as it was first stored.
    pub fingerprint: String,
    /// Attempts begun so far.
    pub attempts: i64,
    /// Questions asked since it was given up.
    pub lookups: i64,
    /// When the first attempt began.
    pub first_attempt_at: Option<UnixMillis>,
    /// Some attempt may have reached the provider.
    pub touched: bool,
    /// Some attempt may have been *accepted* without our knowing.
    pub ambiguous: bool,
    /// A newer challenge for the same login has made it useless.
    pub superseded: bool,
    /// Which provider it is bound to: 1 or 2.
    pub provider: i64,
    /// What is to be done next.
    pub next_step: NextStep,
    /// The rule that stopped it, once one has.
    pub rule: Option<Rule>,
    /// When the business asked for it.
    pub created_at: UnixMillis,
    /// After this it is useless.
    pub expires_at: Option<UnixMillis>,
    /// Which claim this is; a later claim has a larger one.
    pub fence: i64,
    /// Until when the claim is ours.
    pub lease_until: UnixMillis,
}

impl Message {
    /// The request body of every attempt.
    #[must_use]
    pub fn request_body(&self) -> Vec<u8> {
        request_body(&self.recipient, &self.body)
    }

    /// Whether the row still says what it said when its key was stored. A key whose
    /// payload has changed must not be sent: the provider would refuse it, or worse,
    /// answer for the old text.
    #[must_use]
    pub fn is_intact(&self) -> bool {
        self.fingerprint == fingerprint(&self.customer, &self.recipient, &self.body)
    }
}

/// The JSON that is put on the wire: keys in one order, no white space.
#[must_use]
pub fn request_body(recipient: &str, body: &str) -> Vec<u8> {
    // A JSON string's text is defined to the byte by its serialiser; the object around
    // the two of them is written out here, so that nothing else can reorder it.
    let (to, body) = (Value::from(recipient), Value::from(body));
    format!(r#"{{"to":{to},"body":{body}}}"#).into_bytes()
}

/// SHA-256, in hex, of everything that the key stands for: method, path, customer and
/// the exact request body.
#[must_use]
pub fn fingerprint(customer: &str, recipient: &str, body: &str) -> String {
    let mut hash = Sha256::new();
    for part in [
        b"POST".as_slice(),
        MESSAGES_PATH.as_bytes(),
        customer.as_bytes(),
        &request_body(recipient, body),
    ] {
        // Lengths keep two different splits of the same bytes apart.
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(part);
    }
    hex(&hash.finalize())
}

/// Lower-case hexadecimal.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|nibble| DIGITS[usize::from(nibble)])
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_request_body_is_these_bytes() {
        assert_eq!(
            request_body("+12025550142", "Your code is 4711"),
            br#"{"to":"+12025550142","body":"Your code is 4711"}"#
        );
    }

    proptest! {
        #[test]
        fn equal_content_has_equal_bytes_and_fingerprint(to in ".{0,20}", body in ".{0,80}", customer in ".{0,10}") {
            prop_assert_eq!(request_body(&to, &body), request_body(&to, &body));
            prop_assert_eq!(fingerprint(&customer, &to, &body), fingerprint(&customer, &to, &body));
        }

        #[test]
        fn another_recipient_text_or_customer_has_another_fingerprint(
            a in (".{0,8}", ".{0,8}", ".{0,8}"), b in (".{0,8}", ".{0,8}", ".{0,8}")
        ) {
            let same = fingerprint(&a.0, &a.1, &a.2) == fingerprint(&b.0, &b.1, &b.2);
            prop_assert_eq!(same, a == b);
        }

        #[test]
        fn any_text_reads_back_from_the_request_body(to in ".{0,20}", body in ".{0,80}") {
            let value: serde_json::Value =
                serde_json::from_slice(&request_body(&to, &body)).expect("valid JSON");
            prop_assert_eq!(&value["to"], &serde_json::Value::from(to));
            prop_assert_eq!(&value["body"], &serde_json::Value::from(body));
        }
    }
}

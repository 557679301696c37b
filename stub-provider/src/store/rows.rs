//! What the provider knows, as a table has it, and back.
//!
//! Owns the forms of a request, an answer and a key in a row. What is in a row that cannot be read
//! is said, never guessed.

use std::sync::Arc;

use hyper::{
    Method, StatusCode,
    header::{self, HeaderName, HeaderValue},
};

use crate::{
    event::{End, Reading},
    fingerprint::Fingerprint,
    inbound::Inbound,
    kept::{Kept, Said},
    message::MessageId,
    record::{Attempt, Came, Progress, Reached},
    reply::Reply,
};

use super::disk::span;

/// An attempt as it stands in its table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AttemptRow {
    pub(super) id: i64,
    /// Microseconds of the provider's clock.
    pub(super) at: i64,
    pub(super) connection: i64,
    pub(super) nth_on_connection: i64,
    pub(super) method: String,
    pub(super) target: String,
    pub(super) headers: Vec<u8>,
    pub(super) body: Vec<u8>,
    pub(super) reading: String,
    pub(super) by_key: i64,
    pub(super) sender: Option<String>,
    pub(super) reached: String,
    pub(super) status: Option<i64>,
    pub(super) ended: Option<String>,
    pub(super) message: Option<i64>,
}

/// An [`AttemptRow`] from a row of either database, whose rows are of different types.
macro_rules! attempt_row {
    ($row:expr, $sender:expr) => {
        AttemptRow {
            id: $row.try_get("id")?,
            at: $row.try_get("at")?,
            connection: $row.try_get("connection")?,
            nth_on_connection: $row.try_get("nth_on_connection")?,
            method: $row.try_get("method")?,
            target: $row.try_get("target")?,
            headers: $row.try_get("headers")?,
            body: $row.try_get("body")?,
            reading: $row.try_get("reading")?,
            by_key: $row.try_get("by_key")?,
            sender: $sender,
            reached: $row.try_get("reached")?,
            status: $row.try_get("status")?,
            ended: $row.try_get("ended")?,
            message: $row.try_get("message")?,
        }
    };
}
pub(super) use attempt_row;

/// What a request says, as one text.
pub(super) fn reading(reading: &Reading<&str>) -> String {
    // It holds nothing that JSON cannot say.
    serde_json::to_string(reading).unwrap_or_default()
}

impl AttemptRow {
    /// The attempt; an error says which column cannot be read.
    pub(super) fn attempt(self) -> Result<Attempt, String> {
        let id = self.id;
        let wrong = |column: &str| format!("the {column} of attempt {id}");
        let method = Method::from_bytes(self.method.as_bytes()).map_err(|_| wrong("method"))?;
        let reading: Reading = serde_json::from_str(&self.reading).map_err(|_| wrong("reading"))?;
        let reading = reading.borrowed();
        let ended = self.ended.map(|word| End::from_word(&word).ok_or(word));
        let progress = Progress {
            reached: Reached::from_word(&self.reached).ok_or_else(|| wrong("reached"))?,
            status: self
                .status
                .map(u16::try_from)
                .transpose()
                .map_err(|_| wrong("status"))?,
            end: ended.transpose().map_err(|_| wrong("ended"))?,
            message: self.message.map(|number| MessageId(number.cast_unsigned())),
        };
        let came = Came {
            connection: self.connection.cast_unsigned(),
            nth_on_connection: u32::try_from(self.nth_on_connection)
                .map_err(|_| wrong("nth_on_connection"))?,
            at: span(self.at),
            request: Kept::again(
                &method,
                &self.target,
                &self.headers,
                &self.body,
                Said::of(&reading, self.sender.as_deref()),
            ),
        };
        let by_key = u32::try_from(self.by_key).map_err(|_| wrong("by_key"))?;
        let attempt = Attempt::again(self.id.cast_unsigned(), came, &reading, by_key);
        Ok(attempt.with_progress(progress))
    }
}

/// A message from a phone, as one text.
pub(super) fn inbound(message: &Inbound) -> String {
    // As above.
    serde_json::to_string(message).unwrap_or_default()
}

/// The headers of an answer, as `name: value` lines. No value can hold a line feed.
pub(super) fn headers(reply: &Reply) -> Vec<u8> {
    let mut lines = Vec::with_capacity(64);
    for (name, value) in reply.headers() {
        lines.extend_from_slice(name.as_str().as_bytes());
        lines.extend_from_slice(b": ");
        lines.extend_from_slice(value.as_bytes());
        lines.push(b'\n');
    }
    lines
}

/// An answer from its columns; `None` where they do not make one.
pub(super) fn reply(status: i64, headers: &[u8], body: Vec<u8>) -> Option<Arc<Reply>> {
    let mut all = Vec::new();
    for line in headers.split(|byte| *byte == b'\n') {
        if line.is_empty() {
            continue;
        }
        let colon = line.iter().position(|byte| *byte == b':')?;
        let name = HeaderName::from_bytes(&line[..colon]).ok()?;
        let value = HeaderValue::from_bytes(line.get(colon + 2..)?).ok()?;
        all.push((name, value));
    }
    // It is written first.
    let mut all = all.into_iter();
    let (first, content_type) = all.next()?;
    if first != header::CONTENT_TYPE {
        return None;
    }
    let status = StatusCode::from_u16(u16::try_from(status).ok()?).ok()?;
    let mut reply = Reply::of(status, content_type, body);
    for (name, value) in all {
        reply.push(name, value);
    }
    Some(Arc::new(reply))
}

/// A fingerprint from its column.
pub(super) fn fingerprint(bytes: &[u8]) -> Option<Fingerprint> {
    Some(Fingerprint::from_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, strategy::ValueTree as _};

    use super::*;
    use crate::fault::RequestKind;

    fn row(attempt: &Attempt) -> AttemptRow {
        let progress = attempt.progress();
        AttemptRow {
            id: attempt.id.cast_signed(),
            at: super::super::disk::micros(attempt.at()),
            connection: attempt.connection.cast_signed(),
            nth_on_connection: attempt.nth_on_connection.into(),
            method: attempt.request.method().to_owned(),
            target: attempt.request.target().to_owned(),
            headers: attempt.request.head(),
            body: attempt.request.body().to_vec(),
            reading: reading(&attempt.reading()),
            by_key: attempt.by_key.into(),
            sender: attempt.request.said().sender.map(str::to_owned),
            reached: progress.reached.word().to_owned(),
            status: progress.status.map(Into::into),
            ended: progress.end.map(|end| end.word().to_owned()),
            message: progress.message.map(|id| id.0.cast_signed()),
        }
    }

    fn word() -> impl Strategy<Value = Option<String>> {
        prop::option::of(any::<String>())
    }

    prop_compose! {
        fn any_row()(
            (id, at, connection, nth, by_key) in
                (0i64.., 0i64.., 0i64.., any::<u32>(), any::<u32>()),
            (customer, key, to, text, sender) in (any::<String>(), word(), word(), word(), word()),
            (target, body) in ("/[a-z/?=]{0,20}", any::<Vec<u8>>()),
            headers in prop::collection::vec("[a-z]{1,8}: [ -~]{0,20}\n", 0..4),
            (intent, ordinal, lookup) in (prop::option::of(0..9usize), any::<u32>(), any::<bool>()),
            reached in prop::sample::select(&["arrived", "accepted", "replayed", "answering"][..]),
            ended in prop::option::of(prop::sample::select(
                &["answered", "truncated", "reset", "closed", "client-closed", "client-reset",
                  "crashed", "shutdown"][..],
            )),
            (status, message) in (prop::option::of(100..999i64), prop::option::of(0i64..)),
        ) -> AttemptRow {
            let kind = if lookup { RequestKind::Lookup } else { RequestKind::Submit };
            AttemptRow {
                id, at, connection, nth_on_connection: nth.into(),
                method: "POST".into(), target, headers: headers.concat().into(), body,
                reading: reading(&Reading { kind, customer, key, to, text, intent, ordinal }.borrowed()),
                by_key: by_key.into(), sender, reached: reached.into(), status,
                ended: ended.map(Into::into), message,
            }
        }
    }

    proptest! {
        #[test]
        fn an_attempt_is_the_same_after_it_was_kept(kept in any_row()) {
            let attempt = kept.clone().attempt().expect("a row that can be read");
            prop_assert_eq!(row(&attempt), kept);
        }

        #[test]
        fn an_answer_is_the_same_after_it_was_kept(
            status in 100..999i64,
            names in prop::collection::vec(("[a-z][a-z-]{0,8}", "[!-~]([ -~]{0,9}[!-~])?"), 0..5),
            body: Vec<u8>,
        ) {
            let mut first = Reply::json(
                StatusCode::from_u16(u16::try_from(status).expect("small")).expect("a status"),
                body.clone(),
            );
            for (name, value) in &names {
                first = first.with(name.parse().expect("a name"), value);
            }
            let again = reply(status, &headers(&first), body).expect("an answer");
            prop_assert_eq!(first.seen(), again.seen());
            prop_assert_eq!(first.header_map(), again.header_map());
        }

        #[test]
        fn no_columns_make_the_reader_fail(status: i64, bytes: Vec<u8>, mut kept in any_row()) {
            let _ = reply(status, &bytes, bytes.clone());
            let _ = fingerprint(&bytes);
            kept.reading = String::from_utf8_lossy(&bytes).into_owned();
            prop_assert!(kept.attempt().is_err());
        }
    }

    #[test]
    fn a_word_that_is_not_known_is_said_with_its_attempt() {
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        let mut kept = any_row().new_tree(&mut runner).expect("a row").current();
        kept.id = 7;
        kept.reached = "elsewhere".into();
        assert_eq!(
            kept.attempt().err().as_deref(),
            Some("the reached of attempt 7")
        );
    }
}

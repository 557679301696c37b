//! What one attempt came to. Pure.
//!
//! The one question is whether the phone may buzz because of it. Only a whole 2xx that names the
//! message says yes, only a refusal says no; a lost answer says that nobody knows.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

/// What one attempt came to; with it, how long the provider wants to be left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The provider has the message, under this id.
    Accepted(String),
    /// It will not take it, now or later: the status.
    Refused(u16),
    /// Not taken this time, for certain.
    TurnedAway(Duration),
    /// It may have been taken.
    Lost(Duration),
}

/// A response that arrived whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// `Retry-After`, as sent.
    pub retry_after: Option<String>,
    /// `Location`, as sent.
    pub location: Option<String>,
    /// The body.
    pub body: Vec<u8>,
}

impl Reply {
    /// Where the same request is to be sent instead.
    #[must_use]
    pub fn redirect(&self) -> Option<&str> {
        self.location
            .as_deref()
            .filter(|_| matches!(self.status, 307 | 308))
    }

    /// What it means.
    #[must_use]
    pub fn answer(&self) -> Answer {
        let wait = self
            .retry_after
            .as_deref()
            .map_or(Duration::ZERO, |value| retry_after(value, Timestamp::now()));
        match self.status {
            // Half an answer is no success: the JSON must be whole and name the message.
            200..300 => self
                .message_id()
                .map_or(Answer::Lost(Duration::ZERO), Answer::Accepted),
            // It says that it has not begun.
            408 | 425 | 429 | 503 => Answer::TurnedAway(wait),
            // An attempt under this key is in flight, or it broke with the request in its hands.
            409 | 500.. => Answer::Lost(wait),
            status => Answer::Refused(status),
        }
    }

    fn message_id(&self) -> Option<String> {
        let json: Value = serde_json::from_slice(&self.body).ok()?;
        let id = json.get("id")?.as_str()?;
        (!id.is_empty()).then(|| id.to_owned())
    }
}

/// What a request that brought no response came to.
#[must_use]
pub fn of_error(error: &reqwest::Error) -> Answer {
    if error.is_connect() || error.is_builder() {
        // Not one byte has left.
        Answer::TurnedAway(Duration::ZERO)
    } else {
        Answer::Lost(Duration::ZERO)
    }
}

/// Reads `Retry-After` (RFC 9110, section 10.2.3): whole seconds or an HTTP-date. What is past,
/// negative or cannot be read asks for nothing.
#[must_use]
pub fn retry_after(value: &str, now: Timestamp) -> Duration {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // Too many digits are still a number: a huge one.
        return Duration::from_secs(value.parse().unwrap_or(u64::from(u32::MAX)));
    }
    jiff::fmt::rfc2822::parse(value)
        .ok()
        .and_then(|at| Duration::try_from(at.timestamp().duration_since(now)).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(status: u16, body: &str) -> Answer {
        Reply {
            status,
            retry_after: None,
            location: None,
            body: body.as_bytes().to_vec(),
        }
        .answer()
    }

    #[test]
    fn only_a_whole_2xx_that_names_the_message_is_accepted() {
        assert_eq!(
            reply(201, r#"{"id":"msg_1"}"#),
            Answer::Accepted("msg_1".to_owned())
        );
        for body in [
            "",
            r#"{"id":"ms"#,
            r#"{"id":""}"#,
            "{}",
            "null",
            r#"{"id":1}"#,
        ] {
            assert_eq!(reply(201, body), Answer::Lost(Duration::ZERO), "{body}");
        }
    }

    #[test]
    fn what_may_have_been_taken_is_not_refused() {
        for status in [409, 500, 502, 504] {
            assert_eq!(reply(status, ""), Answer::Lost(Duration::ZERO), "{status}");
        }
        for status in [408, 425, 429, 503] {
            assert_eq!(
                reply(status, ""),
                Answer::TurnedAway(Duration::ZERO),
                "{status}"
            );
        }
        for status in [400, 401, 403, 404, 422, 307] {
            assert_eq!(reply(status, ""), Answer::Refused(status));
        }
    }

    #[test]
    fn retry_after_is_seconds_or_a_date_and_else_nothing() {
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().expect("a time");
        for (value, seconds) in [
            ("2", 2),
            ("86400", 86_400),
            ("Sun, 01 Mar 2026 12:00:05 GMT", 5),
            ("Wed, 21 Oct 2015 07:28:00 GMT", 0),
            ("0", 0),
            ("-1", 0),
            ("soon", 0),
            ("", 0),
        ] {
            assert_eq!(
                retry_after(value, now),
                Duration::from_secs(seconds),
                "{value:?}"
            );
        }
        assert!(retry_after("99999999999999999999999", now) > Duration::from_hours(24));
    }
}

//! What one exchange with the provider means: definitive, recoverable, ambiguous or
//! throttled. Pure; what is done about it is the policy's part.
//!
//! The one question that matters is whether the phone may buzz because of this attempt.
//! Only a whole 2xx that names the message says yes, only a refusal says no, and a
//! request whose answer was lost says *nobody knows*, which is never read as no.

use serde_json::Value;

use crate::clock::UnixMillis;
use crate::retry_after;

/// What came back of one POST.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exchange {
    /// A whole response head arrived.
    Reply(Reply),
    /// No connection was made, so not one byte of the request left.
    NeverConnected(String),
    /// The request may have arrived; the answer did not.
    Lost(String),
}

/// A response whose head arrived whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The status code.
    pub status: u16,
    /// `Retry-After`, as sent.
    pub retry_after: Option<String>,
    /// `Location`, as sent.
    pub location: Option<String>,
    /// The body, or `None` where it broke off, timed out or was too long.
    pub body: Option<Vec<u8>>,
    /// When the head arrived.
    pub received: UnixMillis,
}

/// The five things an exchange can mean, and the redirect that means "not here".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Class {
    /// The provider has the message and names it.
    Accepted {
        /// The provider's name for it.
        provider_id: String,
    },
    /// The provider will not take it, now or later.
    Definitive,
    /// Not taken this time; a later try may succeed.
    Recoverable,
    /// Not taken because of a limit; a later try may succeed.
    Throttled,
    /// It may have been taken. Only the same key may be tried again.
    Ambiguous,
    /// 307 or 308: to be sent again, as it is, to this place.
    Redirected {
        /// `Location`, as sent.
        location: String,
    },
}

impl Class {
    /// As the `sms_attempt.state` column holds it.
    #[must_use]
    pub fn state(&self) -> &'static str {
        match self {
            Self::Accepted { .. } => "ACCEPTED",
            Self::Definitive => "REFUSED",
            Self::Recoverable => "RETRYABLE",
            Self::Throttled => "THROTTLED",
            Self::Ambiguous => "SUBMISSION_UNKNOWN",
            Self::Redirected { .. } => "REDIRECTED",
        }
    }
}

/// An exchange, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classified {
    /// What it means.
    pub class: Class,
    /// Why, in words for the log; holds no number, text or key.
    pub why: String,
    /// The status, where a head arrived.
    pub status: Option<u16>,
    /// The earliest moment at which the provider wants to be asked again.
    pub not_before: Option<UnixMillis>,
    /// The request may have reached the provider.
    pub touched: bool,
}

/// Provider codes that no retry can change (Twilio's numbering): invalid or unroutable
/// recipient, no permission for the region, opted out, not a mobile, sender not ours.
const PERMANENT_CODES: [i64; 8] = [21211, 21212, 21214, 21408, 21606, 21610, 21612, 21614];

/// The sender's queue is full: a limit, whatever status carries it.
const QUEUE_FULL: i64 = 21611;

/// Reads an exchange.
#[must_use]
pub fn classify(exchange: &Exchange) -> Classified {
    match exchange {
        Exchange::NeverConnected(why) => Classified {
            class: Class::Recoverable,
            why: format!("never connected: {why}"),
            status: None,
            not_before: None,
            touched: false,
        },
        Exchange::Lost(why) => Classified {
            class: Class::Ambiguous,
            why: format!("answer lost: {why}"),
            status: None,
            not_before: None,
            touched: true,
        },
        Exchange::Reply(reply) => {
            let (class, why) = read(reply);
            let not_before = reply
                .retry_after
                .as_deref()
                .and_then(|value| retry_after::not_before(value, reply.received));
            Classified {
                class,
                why,
                status: Some(reply.status),
                not_before,
                touched: true,
            }
        }
    }
}

fn read(reply: &Reply) -> (Class, String) {
    let status = reply.status;
    let json: Option<Value> = reply
        .body
        .as_deref()
        .and_then(|body| serde_json::from_slice(body).ok());
    if (200..300).contains(&status) {
        return match json.as_ref().and_then(message_id) {
            Some(provider_id) => (Class::Accepted { provider_id }, format!("{status}")),
            None if reply.body.is_none() => (
                Class::Ambiguous,
                format!("{status}, but the body did not arrive whole"),
            ),
            None => (
                Class::Ambiguous,
                format!("{status}, but the body names no message"),
            ),
        };
    }
    match json.as_ref().and_then(provider_code) {
        Some(code) if PERMANENT_CODES.contains(&code) => {
            return (
                Class::Definitive,
                format!("{status}, permanent provider code {code}"),
            );
        }
        Some(QUEUE_FULL) => {
            return (
                Class::Throttled,
                format!("{status}, provider code {QUEUE_FULL}: queue full"),
            );
        }
        _ => {}
    }
    match (status, &reply.location) {
        (307 | 308, Some(location)) => (
            Class::Redirected {
                location: location.clone(),
            },
            format!("{status}"),
        ),
        (307 | 308, None) => (
            Class::Definitive,
            format!("{status} without a Location leads nowhere"),
        ),
        (429, _) => (Class::Throttled, "429".to_owned()),
        // The provider says that it has not begun (408: it never got the whole request;
        // 425: too early; 503: unable to handle it).
        (408 | 425 | 503, _) => (Class::Recoverable, format!("{status}")),
        // An attempt under this key is still being worked on: neither final nor a refusal.
        (409, _) => (
            Class::Ambiguous,
            "409: an attempt under this key is in flight".to_owned(),
        ),
        (400..500, _) => (Class::Definitive, format!("{status}")),
        // It broke while it held the request, or a gateway lost sight of it.
        (500.., _) => (
            Class::Ambiguous,
            format!("{status}: it failed with the request in its hands"),
        ),
        // 300-304 and the like: the request was handled, and what of it is not said.
        _ => (
            Class::Ambiguous,
            format!("{status} is no answer to a submission"),
        ),
    }
}

/// The `id` of a message object; it must be there and say something.
#[must_use]
pub fn message_id(json: &Value) -> Option<String> {
    json.get("id")
        .and_then(Value::as_str)
        .filter(|id| !id.is_empty())
        .map(str::to_owned)
}

/// `code`, at the top or under `error`, as a number or as its digits.
fn provider_code(json: &Value) -> Option<i64> {
    let code = json
        .get("code")
        .or_else(|| json.get("error").and_then(|error| error.get("code")))?;
    code.as_i64()
        .or_else(|| code.as_str().and_then(|text| text.parse().ok()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reply(status: u16, body: Option<&str>) -> Reply {
        Reply {
            status,
            retry_after: None,
            location: None,
            body: body.map(|text| text.as_bytes().to_vec()),
            received: 0,
        }
    }

    fn class(status: u16, body: &str) -> Class {
        classify(&Exchange::Reply(reply(status, Some(body)))).class
    }

    #[test]
    fn a_whole_2xx_that_names_the_message_is_accepted() {
        for status in [200, 201, 202] {
            assert_eq!(
                class(status, r#"{"id":"msg_1","to":"x","status":"queued"}"#),
                Class::Accepted {
                    provider_id: "msg_1".to_owned()
                }
            );
        }
    }

    #[test]
    fn a_broken_2xx_is_ambiguous() {
        for body in [
            "",
            "{",
            r#"{"id":"msg_1""#,
            r#"{"id":""}"#,
            r#"{"id":7}"#,
            "{}",
            "[]",
            "ok",
            r#"{"id":"msg_1"}x"#,
        ] {
            assert_eq!(class(201, body), Class::Ambiguous, "{body}");
        }
        let cut = classify(&Exchange::Reply(reply(201, None)));
        assert_eq!(cut.class, Class::Ambiguous);
    }

    #[test]
    fn permanent_statuses_are_definitive() {
        for status in [400, 401, 402, 403, 404, 405, 410, 413, 415, 422, 451] {
            assert_eq!(class(status, "{}"), Class::Definitive, "{status}");
        }
    }

    #[test]
    fn permanent_provider_codes_are_definitive_under_any_status() {
        for code in PERMANENT_CODES {
            for status in [400, 404, 429, 500, 503] {
                for body in [
                    format!(r#"{{"code":{code}}}"#),
                    format!(r#"{{"code":"{code}"}}"#),
                    format!(r#"{{"error":{{"code":{code}}}}}"#),
                ] {
                    assert_eq!(class(status, &body), Class::Definitive, "{status} {body}");
                }
            }
        }
    }

    #[test]
    fn a_full_queue_is_throttling_even_as_a_400() {
        assert_eq!(class(400, r#"{"code":21611}"#), Class::Throttled);
        assert_eq!(class(429, ""), Class::Throttled);
    }

    #[test]
    fn the_provider_that_has_not_begun_can_be_tried_again() {
        for status in [408, 425, 503] {
            assert_eq!(class(status, ""), Class::Recoverable, "{status}");
        }
    }

    #[test]
    fn a_failure_with_the_request_in_hand_is_ambiguous() {
        for status in [409, 500, 501, 502, 504, 520, 599, 301, 302, 303, 304, 100] {
            assert_eq!(class(status, ""), Class::Ambiguous, "{status}");
        }
    }

    #[test]
    fn only_a_connection_never_made_leaves_the_provider_untouched() {
        let never = classify(&Exchange::NeverConnected("refused".to_owned()));
        assert_eq!((never.class, never.touched), (Class::Recoverable, false));
        let lost = classify(&Exchange::Lost("reset".to_owned()));
        assert_eq!((lost.class, lost.touched), (Class::Ambiguous, true));
    }

    #[test]
    fn a_307_or_308_names_where_to_go() {
        for status in [307, 308] {
            let mut redirect = reply(status, Some(""));
            assert_eq!(
                classify(&Exchange::Reply(redirect.clone())).class,
                Class::Definitive
            );
            redirect.location = Some("/elsewhere".to_owned());
            assert_eq!(
                classify(&Exchange::Reply(redirect)).class,
                Class::Redirected {
                    location: "/elsewhere".to_owned()
                }
            );
        }
    }

    proptest! {
        #[test]
        fn only_a_2xx_is_ever_taken_for_acceptance(
            status in 100u16..1000, body in proptest::option::of(".{0,60}"), id in "[a-z]{1,8}", named in any::<bool>()
        ) {
            let body = if named { Some(format!(r#"{{"id":"{id}"}}"#)) } else { body };
            let found = classify(&Exchange::Reply(reply(status, body.as_deref())));
            let accepted = matches!(found.class, Class::Accepted { .. });
            if named {
                prop_assert_eq!(accepted, (200..300).contains(&status));
            } else if accepted {
                prop_assert!((200..300).contains(&status));
            }
        }

        #[test]
        fn no_prefix_of_a_success_is_a_success(cut in 0usize..48) {
            let whole = r#"{"id":"msg_1","to":"+12025550142","status":"q"}"#;
            prop_assume!(cut < whole.len());
            prop_assert_eq!(class(201, &whole[..cut]), Class::Ambiguous);
        }

        #[test]
        fn a_lost_answer_is_never_definitive(why in ".{0,20}") {
            let found = classify(&Exchange::Lost(why));
            prop_assert_eq!(found.class, Class::Ambiguous);
            prop_assert!(found.touched);
        }
    }
}

//! The provider as seen over HTTP: one call is one request on the wire.
//!
//! No redirects, no retries: the library must do nothing that the outbox does not know
//! of. What an answer means is decided in `classify`.

use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, LOCATION, RETRY_AFTER};
use reqwest::{Method, Url, redirect, retry};
use serde_json::Value;

use crate::classify::{Exchange, Reply, message_id};
use crate::clock;
use crate::config::WorkerConfig;
use crate::message::{MESSAGES_PATH, Message};
use crate::policy::Found;

/// The largest answer that is read; a real one has a few hundred bytes.
const MAX_BODY: usize = 64 * 1024;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The providers, in the order in which they are asked.
#[derive(Debug, Clone)]
pub struct Providers {
    http: reqwest::Client,
    bases: Vec<Url>,
    read_timeout: Duration,
}

impl Providers {
    /// # Errors
    /// When the HTTP client cannot be made.
    pub fn new(config: &WorkerConfig) -> Result<Self, reqwest::Error> {
        let http = reqwest::Client::builder()
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .no_proxy()
            .connect_timeout(config.connect_timeout)
            .user_agent(concat!("outbox-worker/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(Self {
            http,
            bases: config.providers.clone(),
            read_timeout: config.read_timeout,
        })
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.bases.len()
    }

    /// Where submissions for this provider go. One that is no longer configured is
    /// asked at the first: its key is the same.
    #[must_use]
    pub fn submit_url(&self, provider: i64) -> Url {
        let base = usize::try_from(provider - 1)
            .ok()
            .and_then(|index| self.bases.get(index))
            .unwrap_or(&self.bases[0]);
        let mut url = base.clone();
        url.set_path(&format!(
            "{}{MESSAGES_PATH}",
            base.path().trim_end_matches('/')
        ));
        url.set_query(None);
        url
    }

    /// One submission: one POST of the stored bytes under the stored key. `at_most`
    /// bounds it below the read timeout, for a message that expires sooner.
    pub async fn submit(&self, message: &Message, url: Url, at_most: Duration) -> Exchange {
        let request = self
            .http
            .request(Method::POST, url)
            .bearer_auth(&message.customer)
            .header(IDEMPOTENCY_KEY, &message.key)
            .header(reqwest::header::CONTENT_TYPE, "application/json")
            .body(message.request_body())
            .timeout(self.read_timeout.min(at_most));
        let response = match request.send().await {
            Ok(response) => response,
            Err(error) if error.is_connect() || error.is_builder() => {
                return Exchange::NeverConnected(describe(&error));
            }
            Err(error) => return Exchange::Lost(describe(&error)),
        };
        let received = clock::now();
        Exchange::Reply(Reply {
            status: response.status().as_u16(),
            retry_after: header(response.headers(), &RETRY_AFTER),
            location: header(response.headers(), &LOCATION),
            body: whole_body(response).await,
            received,
        })
    }

    /// Asks the provider what it knows of the message's key.
    pub async fn look_up(&self, message: &Message) -> Found {
        let mut url = self.submit_url(message.provider);
        url.query_pairs_mut()
            .append_pair("idempotency_key", &message.key);
        let request = self
            .http
            .get(url)
            .bearer_auth(&message.customer)
            .timeout(self.read_timeout);
        let response = match request.send().await {
            Ok(response) => response,
            Err(error) => return Found::NoAnswer(describe(&error)),
        };
        let status = response.status().as_u16();
        if status == 404 {
            return Found::Nothing;
        }
        let body = whole_body(response).await;
        let json: Option<Value> = body.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        match json {
            Some(json) if status == 200 => found(&json),
            _ => Found::NoAnswer(format!("{status} without a readable message")),
        }
    }

    /// Where a redirect leads, if the message may be sent there: the same origin only,
    /// since the text, the number and the customer's credential go along.
    #[must_use]
    pub fn follow(from: &Url, location: &str) -> Option<Url> {
        let to = from.join(location).ok()?;
        (to.origin() == from.origin()).then_some(to)
    }
}

/// Reads a lookup's answer: one message, or a list of them.
fn found(json: &Value) -> Found {
    let message = match json.get("messages").or_else(|| json.get("data")) {
        Some(Value::Array(list)) => match list.first() {
            Some(first) => first,
            None => return Found::Nothing,
        },
        _ => json,
    };
    if message.get("status").and_then(Value::as_str) == Some("in_progress") {
        return Found::InProgress;
    }
    match message_id(message) {
        Some(provider_id) => Found::Message { provider_id },
        None => Found::NoAnswer("200 without a readable message".to_owned()),
    }
}

fn header(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let value = headers.get(name)?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}

/// The body, or `None` unless every byte of it arrived.
async fn whole_body(mut response: reqwest::Response) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.ok()? {
        if body.len() + chunk.len() > MAX_BODY {
            return None;
        }
        body.extend_from_slice(&chunk);
    }
    Some(body)
}

/// The innermost cause, without the URL, which may hold a key.
fn describe(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "timed out".to_owned();
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_lookup_reads_one_message_or_a_list() {
        let message = Found::Message {
            provider_id: "msg_1".to_owned(),
        };
        assert_eq!(found(&json!({"id": "msg_1", "status": "queued"})), message);
        assert_eq!(
            found(&json!({"messages": [{"id": "msg_1", "status": "sent"}]})),
            message
        );
        assert_eq!(found(&json!({"messages": []})), Found::Nothing);
        assert_eq!(found(&json!({"status": "in_progress"})), Found::InProgress);
        assert_eq!(
            found(&json!({"messages": [{"status": "in_progress"}]})),
            Found::InProgress
        );
        assert!(matches!(found(&json!({})), Found::NoAnswer(_)));
    }

    #[test]
    fn a_redirect_is_followed_to_the_same_origin_only() {
        let from = Url::parse("http://127.0.0.1:9090/v1/messages").expect("a URL");
        let to = |location| Providers::follow(&from, location).map(String::from);
        assert_eq!(
            to("/v2/messages").as_deref(),
            Some("http://127.0.0.1:9090/v2/messages")
        );
        assert_eq!(
            to("http://127.0.0.1:9090/x").as_deref(),
            Some("http://127.0.0.1:9090/x")
        );
        assert_eq!(to("http://127.0.0.1:9091/x"), None);
        assert_eq!(to("https://127.0.0.1:9090/x"), None);
        assert_eq!(to("//elsewhere.example/x"), None);
    }
}

//! A small honest client on reqwest: what an application awaits to send one SMS.
//!
//! [`Sender::send`] owns the attempts and the waits between them, [`answer`] what one attempt came
//! to, [`policy`] the numbers. It keeps nothing: an application that must survive a crash calls it
//! again for the same message, under the same key.

pub mod answer;
pub mod policy;

use std::time::{Duration, SystemTime};

use reqwest::{Url, header, redirect, retry};

use crate::{
    answer::{Answer, Reply},
    policy::Policy,
};

/// One SMS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The recipient, E.164.
    pub to: String,
    /// The text.
    pub body: String,
    /// On whose account it goes out.
    pub customer: String,
    /// Names the message in the business and never changes: the idempotency key of every attempt.
    pub key: String,
    /// After this moment it is useless.
    pub expires_at: Option<SystemTime>,
}

/// What is known at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The provider has it, under this id.
    Sent(String),
    /// Not sent, and not going to be; why.
    Dead(String),
    /// Some attempt may have been accepted, and nobody here knows; why it was given up.
    Unknown(String),
}

/// Sends messages. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Sender {
    http: reqwest::Client,
    messages: Url,
    policy: Policy,
}

/// How long before the expiry the last attempt begins: it takes a moment to arrive.
const EXPIRY_MARGIN: Duration = Duration::from_millis(50);
const HOPS: u32 = 3;

impl Sender {
    /// A sender to the provider at `base`.
    ///
    /// # Errors
    ///
    /// When the HTTP client cannot be made.
    pub fn new(base: &Url, policy: Policy) -> Result<Self, reqwest::Error> {
        // What the library does by itself, nobody can count.
        let http = reqwest::Client::builder()
            .retry(retry::never())
            .redirect(redirect::Policy::none())
            .no_proxy()
            .connect_timeout(policy.connect_timeout)
            .timeout(policy.read_timeout)
            .build()?;
        let mut messages = base.clone();
        messages.set_path(&format!(
            "{}/v1/messages",
            base.path().trim_end_matches('/')
        ));
        Ok(Self {
            http,
            messages,
            policy,
        })
    }

    /// Sends a message, trying again under its one key for as long as that can help.
    pub async fn send(&self, message: &Message) -> Outcome {
        let policy = &self.policy;
        // The bytes are made once: a provider may compare them under the key.
        let request = serde_json::json!({"to": message.to, "body": message.body}).to_string();
        let first = SystemTime::now();
        let mut maybe_accepted = false;
        for attempt in 1.. {
            if expires_by(message, SystemTime::now()) {
                return given_up(maybe_accepted, "expired");
            }
            let wait = match self.attempt(message, &request).await {
                Answer::Accepted(id) => return Outcome::Sent(id),
                // After a lost answer even a refusal proves nothing: it speaks for its own attempt.
                Answer::Refused(status) => {
                    return given_up(maybe_accepted, &format!("refused with {status}"));
                }
                Answer::TurnedAway(wait) => wait,
                Answer::Lost(wait) => {
                    maybe_accepted = true;
                    wait
                }
            };
            if attempt >= policy.max_attempts {
                return given_up(maybe_accepted, "no attempts left");
            }
            if wait > policy.retry_after_max {
                return given_up(maybe_accepted, "told to come back too late");
            }
            // Retry-After is a hard bound, and the jitter comes on top.
            let wait = wait + policy.pause(attempt, &mut rand::rng());
            let next = SystemTime::now() + wait;
            if expires_by(message, next) {
                return given_up(maybe_accepted, "expires before the next attempt");
            }
            let age = next.duration_since(first).unwrap_or_default();
            if age + policy.read_timeout > policy.key_retention {
                // A provider that has forgotten the key would send a second message.
                return given_up(
                    maybe_accepted,
                    "the key is forgotten before the next attempt",
                );
            }
            tokio::time::sleep(wait).await;
        }
        given_up(maybe_accepted, "no attempts left")
    }

    /// One attempt: one request, or one for each hop of a redirect.
    async fn attempt(&self, message: &Message, request: &str) -> Answer {
        let mut url = self.messages.clone();
        for hop in 0.. {
            let reply = match self.post(url.clone(), message, request).await {
                Ok(reply) => reply,
                Err(error) => return answer::of_error(&error),
            };
            // To the same origin only: the text, the number and the credential go along.
            let target = reply.redirect().and_then(|to| url.join(to).ok());
            match target.filter(|to| to.origin() == url.origin() && hop < HOPS) {
                Some(to) => url = to,
                None => return reply.answer(),
            }
        }
        Answer::Lost(Duration::ZERO)
    }

    async fn post(&self, url: Url, message: &Message, body: &str) -> Result<Reply, reqwest::Error> {
        let response = self
            .http
            .post(url)
            .bearer_auth(&message.customer)
            .header("idempotency-key", &message.key)
            .header(header::CONTENT_TYPE, "application/json")
            .body(body.to_owned())
            .send()
            .await?;
        let text = |name| {
            let value = response.headers().get(name);
            value.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        Ok(Reply {
            status: response.status().as_u16(),
            retry_after: text(header::RETRY_AFTER),
            location: text(header::LOCATION),
            // Under the same timeout: an answer that stops half-way is a lost one.
            body: response.bytes().await?.to_vec(),
        })
    }
}

fn expires_by(message: &Message, at: SystemTime) -> bool {
    message
        .expires_at
        .is_some_and(|expiry| at + EXPIRY_MARGIN >= expiry)
}

fn given_up(maybe_accepted: bool, why: &str) -> Outcome {
    if maybe_accepted {
        Outcome::Unknown(why.to_owned())
    } else {
        Outcome::Dead(why.to_owned())
    }
}

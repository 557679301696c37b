//! [`Exchange`]: one request to the provider and what came of it.
//!
//! Owns the record that judgements read and reports show. A lost answer is `Unknown`: it says
//! neither that something was sent nor that nothing was.

use std::time::Duration;

/// One request and what came of it. Times count from the beginning of the audit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// 1, 2, 3… in the order of the record.
    pub number: usize,
    /// What it is for, in a few words.
    pub what: String,
    /// What was sent.
    pub request: Sent,
    /// When the connection was asked for.
    pub began: Duration,
    /// When the last byte was handed to the socket; `None`: not all were.
    pub written: Option<Duration>,
    /// When the first byte of the answer was there.
    pub heard: Option<Duration>,
    /// When it was over.
    pub ended: Duration,
    /// What came of it.
    pub outcome: Outcome,
}

/// A request as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// The headers in their order. Credentials stand here as they were sent: reports hide them.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A whole answer.
    Answered(Answer),
    /// All or some of it went out and no whole answer came back: nobody knows what it did.
    Unknown(String),
    /// It did not go out whole: nothing can come of it.
    Unsent(String),
    /// The connection was cut on purpose, in the way that the text says; what of the answer was
    /// there by then.
    Cut(String, Option<Answer>),
}

/// A whole answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The status that counts: that of the message, where the body has one of its own.
    pub counts: u16,
    /// The headers in their order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte.
    pub body: Vec<u8>,
    /// The id of the message that it speaks of, where it accepts one.
    pub message: Option<String>,
}

impl Answer {
    /// Whether it accepts the message.
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.counts)
    }

    /// The value of a header; the name in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

impl Exchange {
    /// The answer, where a whole one is known.
    #[must_use]
    pub fn answer(&self) -> Option<&Answer> {
        match &self.outcome {
            Outcome::Answered(answer) | Outcome::Cut(_, Some(answer)) => Some(answer),
            Outcome::Unknown(_) | Outcome::Unsent(_) | Outcome::Cut(_, None) => None,
        }
    }

    /// Whether it is known to be accepted.
    #[must_use]
    pub fn succeeded(&self) -> bool {
        self.answer().is_some_and(Answer::is_success)
    }

    /// The message that its success speaks of.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        self.answer()
            .filter(|answer| answer.is_success())
            .and_then(|answer| answer.message.as_deref())
    }

    /// Whether nobody knows what it did: it went out, and no whole answer is known. A 5xx or a
    /// 408 is an answer that does not know either.
    #[must_use]
    pub fn is_ambiguous(&self) -> bool {
        match &self.outcome {
            Outcome::Answered(answer) | Outcome::Cut(_, Some(answer)) => {
                answer.counts >= 500 || answer.counts == 408
            }
            Outcome::Unknown(_) | Outcome::Cut(_, None) => true,
            Outcome::Unsent(_) => false,
        }
    }

    /// What came of it, in a few words: `201`, or why there is no answer.
    #[must_use]
    pub fn result(&self) -> String {
        match &self.outcome {
            Outcome::Answered(answer) => answer.counts.to_string(),
            Outcome::Unknown(why) => format!("no answer: {why}"),
            Outcome::Unsent(why) => format!("not sent: {why}"),
            Outcome::Cut(how, _) => format!("cut: {how}"),
        }
    }
}

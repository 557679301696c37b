//! [`ErrorRules`]: what is answered when a message is not accepted.
//!
//! Owns the shape of a provider's errors and a row for each kind of them. When which is given is
//! decided elsewhere.

use hyper::{
    StatusCode,
    header::{self, HeaderValue},
};

use super::either::Code;
use crate::{
    duration::Span,
    reply::Reply,
    template::{Filling, Template},
};

/// A provider's errors.
#[derive(Clone, Debug)]
pub(crate) struct ErrorRules {
    pub(crate) shape: Shape,
    /// The part for one recipient, where keys are of recipients.
    pub(crate) recipient: Option<Template>,
    /// The status of an answer about recipients.
    pub(crate) recipients_status: StatusCode,
    /// `None`: a message without a key is delivered.
    pub(crate) missing: Option<Row>,
    pub(crate) malformed: Row,
    pub(crate) mismatch: Row,
    /// `None`: it waits.
    pub(crate) in_flight: Option<Row>,
    pub(crate) used: Row,
    pub(crate) unauthorised: Row,
    pub(crate) invalid: Row,
    pub(crate) not_found: Row,
    pub(crate) refused: Row,
}

/// The shape of all errors.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// `None`: problem details (RFC 9457).
    pub(crate) body: Option<Template>,
    pub(crate) content_type: HeaderValue,
    /// The type of an error whose row has none.
    pub(crate) kind: Option<String>,
}

/// One error.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) status: StatusCode,
    pub(crate) code: Option<Code>,
    pub(crate) message: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) kind: Option<String>,
    pub(crate) retry_after: Option<Span>,
    pub(crate) body: Option<Template>,
}

/// Which message an error is about.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct About<'a> {
    pub(crate) to: Option<&'a str>,
    pub(crate) key: Option<&'a str>,
}

impl Row {
    /// A row with a status and nothing else.
    pub(crate) fn plain(status: StatusCode) -> Self {
        Self {
            status,
            code: None,
            message: None,
            title: None,
            kind: None,
            retry_after: None,
            body: None,
        }
    }

    /// The row with a code and words of its own.
    pub(crate) fn saying(&self, code: &Code, message: &str) -> Self {
        Self {
            code: Some(code.clone()),
            message: Some(message.to_owned()),
            ..self.clone()
        }
    }

    fn filling<'a>(
        &'a self,
        status: &'a str,
        message: &'a str,
        usual_kind: Option<&'a str>,
        about: About<'a>,
    ) -> Filling<'a> {
        Filling {
            code: self.code.as_ref().map(|code| code.0.as_str()),
            message: Some(self.message.as_deref().unwrap_or(message)),
            status: Some(status),
            title: Some(self.title.as_deref().unwrap_or_else(|| words(self.status))),
            kind: self.kind.as_deref().or(usual_kind),
            to: about.to,
            key: about.key,
            ..Filling::default()
        }
    }
}

impl ErrorRules {
    /// The answer of a row; `message` says what is wrong where the row does not.
    pub(crate) fn reply(&self, row: &Row, message: &str, about: About<'_>) -> Reply {
        let status = row.status.as_u16().to_string();
        let filling = row.filling(&status, message, self.shape.kind.as_deref(), about);
        let body = match row.body.as_ref().or(self.shape.body.as_ref()) {
            Some(template) => template.fill(&filling),
            None => problem(&filling),
        };
        let reply = Reply::of(row.status, self.shape.content_type.clone(), body);
        reply.retry_after(row.retry_after)
    }

    /// The answer of a row about one recipient: a part of the whole answer where keys are of
    /// recipients.
    pub(crate) fn of_recipient(&self, row: &Row, message: &str, about: About<'_>) -> Reply {
        let Some(template) = &self.recipient else {
            return self.reply(row, message, about);
        };
        let status = row.status.as_u16().to_string();
        let usual_kind = self.shape.kind.as_deref();
        let body = template.fill(&row.filling(&status, message, usual_kind, about));
        Reply::json(self.recipients_status, body)
    }

    /// An error that no row is for.
    pub(crate) fn other(&self, status: StatusCode, code: Option<Code>, message: &str) -> Reply {
        let row = Row {
            code,
            ..Row::plain(status)
        };
        self.reply(&row, message, About::default())
    }

    /// The shape in words.
    pub(super) fn in_words(&self) -> String {
        let content_type = self.shape.content_type.to_str().unwrap_or_default();
        match &self.shape.body {
            Some(_) => format!("`{content_type}`, in a shape of its own"),
            None => format!("`{content_type}`, problem details (RFC 9457)"),
        }
    }
}

fn words(status: StatusCode) -> &'static str {
    status.canonical_reason().unwrap_or("Error")
}

/// Problem details (RFC 9457), with the code beside them.
fn problem(filling: &Filling<'_>) -> String {
    let mut body = serde_json::Map::new();
    let number = |text: &str| text.parse::<u64>().map_or_else(|_| text.into(), Into::into);
    if let Some(kind) = filling.kind {
        body.insert("type".into(), kind.into());
    }
    if let Some(code) = filling.code {
        body.insert("code".into(), number(code));
    }
    body.insert("message".into(), filling.message.into());
    body.insert("status".into(), number(filling.status.unwrap_or_default()));
    body.insert("title".into(), filling.title.into());
    serde_json::Value::Object(body).to_string()
}

/// The content type of problem details.
pub(crate) const PROBLEM: HeaderValue = HeaderValue::from_static("application/problem+json");

/// The same answer with the challenge that a 401 needs.
pub(crate) fn challenged(reply: Reply, challenge: Option<&'static str>) -> Reply {
    match challenge {
        Some(challenge) => reply.with(header::WWW_AUTHENTICATE, challenge),
        None => reply,
    }
}

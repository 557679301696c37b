//! [`Reply`]: an answer before it is on the wire.
//!
//! Owns the shapes of answers (success, problem, JSON), `Retry-After` in its forms, and an
//! answer's raw bytes for the faults that cut or falsify it. Which answer is given is not decided
//! here.

use std::{sync::Arc, time::Duration};

use hyper::{
    HeaderMap, StatusCode,
    header::{self, HeaderName, HeaderValue},
};

use crate::{clock::Clock, duration::Span, event::Answer, profile::AnswerForm};

/// Status, headers and body. `Content-Length` and `Date` are added where it leaves. There is one
/// on record for each message: it is small.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    /// The status.
    pub(crate) status: StatusCode,
    media: Media,
    /// The other headers, where there are any.
    #[expect(
        clippy::box_collection,
        reason = "most answers have none, and a pointer is a third of a list"
    )]
    others: Option<Box<Vec<(HeaderName, HeaderValue)>>>,
    /// The body.
    pub(crate) body: Box<[u8]>,
}

/// What `Content-Type` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Media {
    Json,
    Problem,
    Xml,
    Text,
    /// It stands first among the other headers.
    Listed,
}

pub(crate) static JSON: HeaderValue = HeaderValue::from_static("application/json");
static PROBLEM: HeaderValue = HeaderValue::from_static("application/problem+json");
pub(crate) static XML: HeaderValue = HeaderValue::from_static("text/xml");
static TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

impl Media {
    fn value(self) -> Option<&'static HeaderValue> {
        match self {
            Self::Json => Some(&JSON),
            Self::Problem => Some(&PROBLEM),
            Self::Xml => Some(&XML),
            Self::Text => Some(&TEXT),
            Self::Listed => None,
        }
    }
}

impl Reply {
    fn new(status: StatusCode, media: Media, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            media,
            others: None,
            body: body.into().into_boxed_slice(),
        }
    }

    /// A JSON answer.
    pub(crate) fn json(status: StatusCode, body: impl Into<Vec<u8>>) -> Self {
        Self::new(status, Media::Json, body)
    }

    /// An answer of any kind.
    pub(crate) fn of(
        status: StatusCode,
        content_type: HeaderValue,
        body: impl Into<Vec<u8>>,
    ) -> Self {
        let known = [Media::Json, Media::Problem, Media::Xml, Media::Text];
        let is = |media: &Media| media.value() == Some(&content_type);
        let media = known.into_iter().find(is).unwrap_or(Media::Listed);
        let mut reply = Self::new(status, media, body);
        if media == Media::Listed {
            reply.push(header::CONTENT_TYPE, content_type);
        }
        reply
    }

    /// An answer of the profile's, written as its answers are.
    pub(crate) fn written(status: StatusCode, form: AnswerForm, body: impl Into<Vec<u8>>) -> Self {
        let media = match form {
            AnswerForm::Json => Media::Json,
            AnswerForm::Xml => Media::Xml,
        };
        Self::new(status, media, body)
    }

    /// A JSON answer from a value.
    pub(crate) fn value(status: StatusCode, value: &serde_json::Value) -> Self {
        Self::json(status, value.to_string())
    }

    /// Plain text.
    pub(crate) fn text(status: StatusCode, body: impl Into<Vec<u8>>) -> Self {
        Self::new(status, Media::Text, body)
    }

    /// An error in the shape of RFC 9457, with the provider's own code beside it.
    pub(crate) fn problem(status: StatusCode, code: Option<u32>, message: &str) -> Self {
        let mut body = serde_json::Map::new();
        if let Some(code) = code {
            body.insert("code".into(), code.into());
        }
        body.insert("message".into(), message.into());
        body.insert("status".into(), status.as_u16().into());
        body.insert(
            "title".into(),
            status.canonical_reason().unwrap_or("Error").into(),
        );
        let body = serde_json::Value::Object(body).to_string();
        Self::new(status, Media::Problem, body)
    }

    /// The same with one more header, or another `Content-Type`; a value that no header can hold is
    /// left out.
    pub(crate) fn with(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
            self.push(name, value);
        }
        self
    }

    /// The same with a header in place of those of its name; a value that no header can hold is
    /// left out.
    pub(crate) fn with_only(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
            self.remove(&name);
            self.push(name, value);
        }
        self
    }

    /// Adds a header; there is one `Content-Type` at any time.
    pub(crate) fn push(&mut self, name: HeaderName, value: HeaderValue) {
        if name == header::CONTENT_TYPE {
            self.remove(&name);
            self.media = Media::Listed;
            self.others.get_or_insert_default().insert(0, (name, value));
        } else {
            self.others.get_or_insert_default().push((name, value));
        }
    }

    fn remove(&mut self, name: &HeaderName) {
        if let Some(others) = &mut self.others {
            others.retain(|(known, _)| known != name);
        }
    }

    /// The same with `Retry-After` in whole seconds, rounded up.
    pub(crate) fn retry_after(self, wait: Option<Span>) -> Self {
        match wait {
            Some(Span(wait)) => self.with(header::RETRY_AFTER, &seconds_up(wait).to_string()),
            None => self,
        }
    }

    /// The same with `Retry-After` as an HTTP-date (RFC 9110 section 5.6.7), rounded up to the
    /// second.
    pub(crate) fn retry_after_date(self, wait: Option<Span>, clock: &Clock) -> Self {
        match wait {
            Some(Span(wait)) => {
                let at = clock.unix(clock.now().saturating_add(wait));
                self.with(header::RETRY_AFTER, &http_date(seconds_up(at)))
            }
            None => self,
        }
    }

    /// The headers in order, `Content-Type` first.
    pub(crate) fn headers(&self) -> impl Iterator<Item = (&HeaderName, &HeaderValue)> {
        let media = self.media.value();
        let others = self.others.iter().flat_map(|others| others.iter());
        media
            .map(|value| (&header::CONTENT_TYPE, value))
            .into_iter()
            .chain(others.map(|(name, value)| (name, value)))
    }

    /// The headers as a map, in order.
    pub(crate) fn header_map(&self) -> HeaderMap {
        let others = self.others.as_ref().map_or(0, |others| others.len());
        let mut map = HeaderMap::with_capacity(others + 3);
        for (name, value) in self.headers() {
            map.append(name.clone(), value.clone());
        }
        map
    }

    /// As a watcher reads it.
    pub(crate) fn seen(&self) -> Arc<Answer> {
        Arc::new(Answer {
            status: self.status.as_u16(),
            headers: self
                .headers()
                .map(|(name, value)| {
                    (
                        name.as_str().to_owned(),
                        String::from_utf8_lossy(value.as_bytes()).into_owned(),
                    )
                })
                .collect(),
            body: self.body.to_vec(),
        })
    }

    /// Status line and headers as bytes, the empty line included. `length` is what
    /// `Content-Length` says.
    pub(crate) fn head(&self, length: usize, clock: &Clock) -> Vec<u8> {
        let mut head = format!(
            "HTTP/1.1 {} {}\r\n",
            self.status.as_u16(),
            self.status.canonical_reason().unwrap_or("")
        )
        .into_bytes();
        for (name, value) in self.headers() {
            head.extend_from_slice(name.as_str().as_bytes());
            head.extend_from_slice(b": ");
            head.extend_from_slice(value.as_bytes());
            head.extend_from_slice(b"\r\n");
        }
        let date = http_date(clock.unix(clock.now()).as_secs());
        head.extend_from_slice(
            format!("content-length: {length}\r\ndate: {date}\r\n\r\n").as_bytes(),
        );
        head
    }
}

fn seconds_up(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

/// An IMF-fixdate. A time beyond the calendar shows as the calendar's last second.
fn http_date(unix: u64) -> String {
    let second = i64::try_from(unix)
        .ok()
        .and_then(|s| jiff::Timestamp::from_second(s).ok())
        .unwrap_or(jiff::Timestamp::MAX);
    second.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_whole_seconds_rounded_up() {
        let reply = Reply::problem(StatusCode::TOO_MANY_REQUESTS, None, "slow down")
            .retry_after(Some(Span::from_millis(1_001)));
        assert_eq!(reply.header_map()["retry-after"], "2");
    }

    #[test]
    fn there_is_one_content_type_and_it_comes_first() {
        let named = |reply: &Reply| -> Vec<(String, String)> {
            let all = reply.headers().map(|(name, value)| {
                let value = value.to_str().expect("text");
                (name.to_string(), value.to_owned())
            });
            all.collect()
        };
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let reply = Reply::json(StatusCode::OK, "{}").with(header::SERVER, "stub");
        let json = pair("content-type", "application/json");
        assert_eq!(named(&reply), [json, pair("server", "stub")]);
        let html = pair("content-type", "text/html");
        let other = reply
            .with(header::CONTENT_TYPE, "text/plain")
            .with_only(header::CONTENT_TYPE, "text/html")
            .with_only(header::SERVER, "other");
        assert_eq!(named(&other), [html.clone(), pair("server", "other")]);
        // What no header can hold takes nothing away.
        let same = other.with_only(header::CONTENT_TYPE, "text/\nhtml");
        assert_eq!(named(&same)[0], html);
        let known = Reply::of(StatusCode::OK, JSON.clone(), "{}");
        assert!(known.others.is_none());
    }

    #[test]
    fn dates_have_the_form_of_rfc_9110() {
        assert_eq!(http_date(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
    }

    #[test]
    fn the_head_is_what_a_parser_expects() {
        let reply = Reply::json(StatusCode::CREATED, "{}");
        let head = String::from_utf8(reply.head(2, &Clock::default())).expect("text");
        assert!(
            head.starts_with("HTTP/1.1 201 Created\r\ncontent-type: application/json\r\n"),
            "{head}"
        );
        assert!(head.contains("content-length: 2\r\n"), "{head}");
        assert!(head.ends_with("GMT\r\n\r\n"), "{head}");
    }
}

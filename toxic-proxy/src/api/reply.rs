//! Answers in the shapes of the original: JSON for what went well, a line of
//! text that holds JSON for what did not.

use http_body_util::Full;
use hyper::Response;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use serde::Serialize;

use super::Reply;
use crate::error::Error;

fn reply(status: u16, headers: &[(HeaderName, &'static str)], body: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(Full::new(body.into()));
    // Every status here is one of ours, and valid.
    *reply.status_mut() = hyper::StatusCode::from_u16(status).unwrap_or_default();
    for (name, value) in headers {
        reply
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    reply
}

pub(super) fn json(status: u16, body: &impl Serialize) -> Result<Reply, Error> {
    let body = serde_json::to_vec(body).map_err(|error| Error::BadRequest(error.to_string()))?;
    Ok(reply(status, &[(CONTENT_TYPE, "application/json")], body))
}

pub(super) fn version(version: &str) -> Reply {
    let body = format!("{{\"version\": \"{version}\"}}\n");
    reply(
        200,
        &[(CONTENT_TYPE, "application/json;charset=utf-8")],
        body,
    )
}

pub(super) fn no_content() -> Reply {
    reply(204, &[], Bytes::new())
}

pub(super) fn text(status: u16, line: &str) -> Reply {
    let headers = [
        (CONTENT_TYPE, "text/plain; charset=utf-8"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    reply(status, &headers, format!("{line}\n"))
}

pub(super) fn not_found() -> Reply {
    text(404, "404 page not found")
}

pub(super) fn method_not_allowed() -> Reply {
    reply(405, &[], Bytes::new())
}

pub(super) fn error(error: &Error) -> Reply {
    let body = serde_json::json!({ "error": error.to_string(), "status": error.status() });
    tracing::debug!(%error, "request refused");
    text(error.status(), &body.to_string())
}

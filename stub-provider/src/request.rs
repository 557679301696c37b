//! Reading a request's body within its limits.
//!
//! Owns the size limit and the copy-free case: a body that comes in one piece is kept as it is.

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};

/// Why a body was not read whole.
#[derive(Debug)]
pub(crate) enum Unread {
    /// It is larger than the limit.
    TooLarge,
    /// The connection broke off.
    Broken(hyper::Error),
}

/// Reads a body of at most `limit` bytes.
pub(crate) async fn read(mut body: Incoming, limit: usize) -> Result<Bytes, Unread> {
    if body.size_hint().lower() > limit as u64 {
        return Err(Unread::TooLarge);
    }
    let mut first: Option<Bytes> = None;
    let mut rest = BytesMut::new();
    let mut size = 0;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(Unread::Broken)?.into_data() else {
            continue;
        };
        size += data.len();
        if size > limit {
            return Err(Unread::TooLarge);
        }
        match &first {
            None => first = Some(data),
            Some(begin) => {
                if rest.is_empty() {
                    rest.extend_from_slice(begin);
                }
                rest.extend_from_slice(&data);
            }
        }
        if body.is_end_stream() {
            break;
        }
    }
    if rest.is_empty() {
        return Ok(first.unwrap_or_default());
    }
    Ok(rest.freeze())
}

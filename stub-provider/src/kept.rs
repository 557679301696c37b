//! [`Kept`]: a request as it is kept on record.
//!
//! Owns its compact form: one block of bytes in place of the parser's structures, so that a
//! record of a million requests stays small and the parser's buffers are free at once.

use std::sync::Arc;

use hyper::{HeaderMap, Method, Uri};

use crate::event::Request;

/// Method, target, headers and body of one request.
#[derive(Debug)]
pub(crate) struct Kept {
    method: Method,
    /// The target, the headers as `name: value` lines, the body.
    bytes: Box<[u8]>,
    target: u32,
    head: u32,
}

impl Kept {
    /// Keeps a request. Its limits keep it far below 4 GiB.
    pub(crate) fn new(method: Method, uri: &Uri, headers: &HeaderMap, body: &[u8]) -> Self {
        let target = uri.path_and_query().map_or(uri.path(), |all| all.as_str());
        let lines = headers
            .iter()
            .map(|(name, value)| name.as_str().len() + value.len() + 3)
            .sum::<usize>();
        let mut bytes = Vec::with_capacity(target.len() + lines + body.len());
        bytes.extend_from_slice(target.as_bytes());
        let target = bytes.len();
        for (name, value) in headers {
            bytes.extend_from_slice(name.as_str().as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value.as_bytes());
            // No header can hold a line feed.
            bytes.push(b'\n');
        }
        let head = bytes.len();
        bytes.extend_from_slice(body);
        Self {
            method,
            bytes: bytes.into_boxed_slice(),
            target: u32::try_from(target).unwrap_or(u32::MAX),
            head: u32::try_from(head).unwrap_or(u32::MAX),
        }
    }

    /// Takes up a request again that was kept before: what [`Kept::head`] and the others said.
    pub(crate) fn again(method: Method, target: &str, head: &[u8], body: &[u8]) -> Self {
        let bytes = [target.as_bytes(), head, body].concat();
        let end_of_head = target.len() + head.len();
        Self {
            method,
            bytes: bytes.into_boxed_slice(),
            target: u32::try_from(target.len()).unwrap_or(u32::MAX),
            head: u32::try_from(end_of_head).unwrap_or(u32::MAX),
        }
    }

    pub(crate) fn method(&self) -> &str {
        self.method.as_str()
    }

    /// Path and query.
    pub(crate) fn target(&self) -> &str {
        std::str::from_utf8(self.bytes.get(..self.target as usize).unwrap_or_default())
            .unwrap_or_default()
    }

    pub(crate) fn path(&self) -> &str {
        let target = self.target();
        target.split_once('?').map_or(target, |(path, _)| path)
    }

    pub(crate) fn body(&self) -> &[u8] {
        self.bytes.get(self.head as usize..).unwrap_or_default()
    }

    /// The headers as `name: value` lines.
    pub(crate) fn head(&self) -> &[u8] {
        let lines = self.bytes.get(self.target as usize..self.head as usize);
        lines.unwrap_or_default()
    }

    /// Names in lower case, values as text.
    pub(crate) fn headers(&self) -> Vec<(String, String)> {
        self.head()
            .split(|byte| *byte == b'\n')
            .filter_map(|line| {
                // No name can hold a colon.
                let colon = line.iter().position(|byte| *byte == b':')?;
                let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
                Some((text(&line[..colon]), text(&line[colon + 2..])))
            })
            .collect()
    }

    /// The value of the first header of that name, which is in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let mut all = self.headers().into_iter();
        all.find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// As a watcher reads it.
    pub(crate) fn seen(&self) -> Arc<Request> {
        Arc::new(Request {
            method: self.method().to_owned(),
            target: self.target().to_owned(),
            headers: self.headers(),
            body: self.body().to_vec(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_what_came() {
        let uri: Uri = "/v1/messages?a=b".parse().expect("a target");
        let mut headers = HeaderMap::new();
        for (name, value) in [("x-a", "1: 2"), ("x-empty", ""), ("x-a", "3")] {
            headers.append(name, value.parse().expect("a value"));
        }
        let kept = Kept::new(Method::POST, &uri, &headers, b"a\nb: c");
        assert_eq!(
            (kept.method(), kept.target(), kept.path()),
            ("POST", "/v1/messages?a=b", "/v1/messages")
        );
        assert_eq!(kept.body(), b"a\nb: c");
        let mut said = kept.headers();
        said.sort();
        let expected = [("x-a", "1: 2"), ("x-a", "3"), ("x-empty", "")];
        assert_eq!(said, expected.map(|(n, v)| (n.to_owned(), v.to_owned())));
    }
}

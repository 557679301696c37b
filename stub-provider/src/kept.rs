//! [`Kept`]: a request as it is kept on record.
//!
//! Owns its compact form: one block of bytes in place of the parser's structures and of a text for
//! each thing that was read from it, so that a record of a million requests stays small and the
//! parser's buffers are free at once.

use std::sync::Arc;

use hyper::{HeaderMap, Method, Uri};

use crate::event::{Reading, Request};

/// What was read from a request with the help of the profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Said<'a> {
    pub(crate) customer: &'a str,
    pub(crate) key: Option<&'a str>,
    pub(crate) to: Option<&'a str>,
    pub(crate) text: Option<&'a str>,
    pub(crate) sender: Option<&'a str>,
}

/// The parts of the block, in their order.
#[derive(Clone, Copy)]
enum Part {
    Method,
    Target,
    /// The headers as `name: value` lines.
    Head,
    Body,
    Customer,
    Key,
    To,
    Text,
    Sender,
}

const PARTS: usize = Part::Sender as usize + 1;

/// Method, target, headers and body of one request, and what was read from it.
#[derive(Debug)]
pub(crate) struct Kept {
    bytes: Box<[u8]>,
    /// Where each part ends; the next one begins there. A request's limits keep it far below 4 GiB.
    ends: [u32; PARTS],
    /// A bit for each part that the request does not have, which is not the same as an empty one.
    absent: u16,
}

/// A block in the making.
struct Block {
    bytes: Vec<u8>,
    ends: [u32; PARTS],
    absent: u16,
}

impl Block {
    fn with_room(bytes: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(bytes),
            ends: [0; PARTS],
            absent: 0,
        }
    }

    /// Whatever was added since the part before is this part.
    fn end(&mut self, part: Part) {
        self.ends[part as usize] = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
    }

    fn push(&mut self, part: Part, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.end(part);
    }

    fn finish(mut self, said: Said<'_>) -> Kept {
        self.push(Part::Customer, said.customer.as_bytes());
        for (part, text) in said.others() {
            if text.is_none() {
                self.absent |= 1 << part as u16;
            }
            self.push(part, text.unwrap_or_default().as_bytes());
        }
        Kept {
            bytes: self.bytes.into_boxed_slice(),
            ends: self.ends,
            absent: self.absent,
        }
    }
}

impl<'a> Said<'a> {
    /// The texts of a reading, and the sender's number where the request names one.
    pub(crate) fn of(reading: &Reading<&'a str>, sender: Option<&'a str>) -> Self {
        Self {
            customer: reading.customer,
            key: reading.key,
            to: reading.to,
            text: reading.text,
            sender,
        }
    }

    /// Everything but the customer, which is always known.
    fn others(self) -> [(Part, Option<&'a str>); 4] {
        [
            (Part::Key, self.key),
            (Part::To, self.to),
            (Part::Text, self.text),
            (Part::Sender, self.sender),
        ]
    }

    fn len(self) -> usize {
        let others = self.others().map(|(_, text)| text.map_or(0, str::len));
        self.customer.len() + others.iter().sum::<usize>()
    }
}

impl Kept {
    /// Keeps a request.
    pub(crate) fn new(
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        body: &[u8],
        said: Said<'_>,
    ) -> Self {
        let target = uri.path_and_query().map_or(uri.path(), |all| all.as_str());
        let lines = headers
            .iter()
            .map(|(name, value)| name.as_str().len() + value.len() + 3)
            .sum::<usize>();
        let room = method.as_str().len() + target.len() + lines + body.len() + said.len();
        let mut block = Block::with_room(room);
        block.push(Part::Method, method.as_str().as_bytes());
        block.push(Part::Target, target.as_bytes());
        for (name, value) in headers {
            block.bytes.extend_from_slice(name.as_str().as_bytes());
            block.bytes.extend_from_slice(b": ");
            block.bytes.extend_from_slice(value.as_bytes());
            // No header can hold a line feed.
            block.bytes.push(b'\n');
        }
        block.end(Part::Head);
        block.push(Part::Body, body);
        block.finish(said)
    }

    /// Takes up a request again that was kept before: what [`Kept::head`] and the others said.
    pub(crate) fn again(
        method: &Method,
        target: &str,
        head: &[u8],
        body: &[u8],
        said: Said<'_>,
    ) -> Self {
        let room = method.as_str().len() + target.len() + head.len() + body.len() + said.len();
        let mut block = Block::with_room(room);
        block.push(Part::Method, method.as_str().as_bytes());
        block.push(Part::Target, target.as_bytes());
        block.push(Part::Head, head);
        block.push(Part::Body, body);
        block.finish(said)
    }

    fn part(&self, part: Part) -> &[u8] {
        let place = part as usize;
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        let range = start as usize..self.ends[place] as usize;
        self.bytes.get(range).unwrap_or_default()
    }

    /// A part that was a text when it was added.
    fn text(&self, part: Part) -> &str {
        std::str::from_utf8(self.part(part)).unwrap_or_default()
    }

    fn text_if_any(&self, part: Part) -> Option<&str> {
        (self.absent & (1 << part as u16) == 0).then(|| self.text(part))
    }

    pub(crate) fn method(&self) -> &str {
        self.text(Part::Method)
    }

    /// Path and query.
    pub(crate) fn target(&self) -> &str {
        self.text(Part::Target)
    }

    pub(crate) fn path(&self) -> &str {
        let target = self.target();
        target.split_once('?').map_or(target, |(path, _)| path)
    }

    pub(crate) fn body(&self) -> &[u8] {
        self.part(Part::Body)
    }

    /// The headers as `name: value` lines.
    pub(crate) fn head(&self) -> &[u8] {
        self.part(Part::Head)
    }

    /// What was read from it.
    pub(crate) fn said(&self) -> Said<'_> {
        Said {
            customer: self.text(Part::Customer),
            key: self.text_if_any(Part::Key),
            to: self.text_if_any(Part::To),
            text: self.text_if_any(Part::Text),
            sender: self.sender(),
        }
    }

    /// The sender's number, where the request names one.
    pub(crate) fn sender(&self) -> Option<&str> {
        self.text_if_any(Part::Sender)
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
        let said = Said {
            customer: "acme",
            key: None,
            to: Some("+12025550142"),
            text: Some(""),
            sender: Some("+12025550100"),
        };
        let kept = Kept::new(&Method::POST, &uri, &headers, b"a\nb: c", said);
        assert_eq!(
            (kept.method(), kept.target(), kept.path()),
            ("POST", "/v1/messages?a=b", "/v1/messages")
        );
        assert_eq!(kept.body(), b"a\nb: c");
        assert_eq!(kept.said(), said);
        let mut lines = kept.headers();
        lines.sort();
        let expected = [("x-a", "1: 2"), ("x-a", "3"), ("x-empty", "")];
        assert_eq!(lines, expected.map(|(n, v)| (n.to_owned(), v.to_owned())));
        let again = Kept::again(&Method::POST, kept.target(), kept.head(), kept.body(), said);
        assert_eq!((again.seen(), again.said()), (kept.seen(), said));
    }
}

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

const TEXTS: usize = 5;

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

    fn texts(self) -> [Option<&'a str>; TEXTS] {
        [
            Some(self.customer),
            self.key,
            self.to,
            self.text,
            self.sender,
        ]
    }
}

/// Header names that stand in a record as one byte: those of HTTP's clients and of the profiles.
/// Records on disk have them in full, so that the list can change.
const NAMES: [&str; 16] = [
    "accept",
    "accept-encoding",
    "accept-language",
    "authorization",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "date",
    "host",
    "idempotency-key",
    "traceparent",
    "transfer-encoding",
    "user-agent",
    "x-request-id",
    "x-stub-tag",
];

/// What a name's place in [`NAMES`] is added to. No header name begins with such a byte.
const NAMED: u8 = 0x80;

/// Method, target, headers and body of one request, and what was read from it.
///
/// One block. First numbers, of seven bits a byte (LEB128): the lengths of method, target, headers
/// and body; then for each text of [`Said`] 0 where there is none, or else one more than its
/// length, and where it stands behind the numbers. Then the bytes: a text that stands in the
/// headers or the body as it was read is not there twice.
#[derive(Debug)]
pub(crate) struct Kept(Box<[u8]>);

/// A block, read.
struct Parts<'a> {
    method: &'a [u8],
    target: &'a [u8],
    head: &'a [u8],
    body: &'a [u8],
    texts: [Option<&'a [u8]>; TEXTS],
}

/// Seven bits a byte, the lowest first.
fn push_number(into: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        into.push(low_bits(number) | 0x80);
        number >>= 7;
    }
    into.push(low_bits(number));
}

fn low_bits(number: usize) -> u8 {
    (number & 0x7f).to_le_bytes()[0]
}

fn take_number(from: &mut &[u8]) -> usize {
    // Most are small.
    if let [byte @ ..0x80, rest @ ..] = from {
        *from = rest;
        return usize::from(*byte);
    }
    let mut number = 0;
    for shift in (0..usize::BITS).step_by(7) {
        let Some((byte, rest)) = from.split_first() else {
            break;
        };
        *from = rest;
        number |= usize::from(byte & 0x7f) << shift;
        if *byte < 0x80 {
            break;
        }
    }
    number
}

/// How a header's name stands in a record.
fn short(name: &str) -> Result<u8, &str> {
    let same = |known: &&str| known.len() == name.len() && *known == name;
    let known = NAMES.iter().position(same).ok_or(name)?;
    u8::try_from(known)
        .map(|known| NAMED | known)
        .map_err(|_| name)
}

/// Where everything will stand in a block that is yet to be written.
struct Plan<'a> {
    texts: [Option<&'a str>; TEXTS],
    places: [Option<usize>; TEXTS],
    end: usize,
}

impl<'a> Plan<'a> {
    fn new(said: Said<'a>) -> Self {
        Self {
            texts: said.texts(),
            places: [None; TEXTS],
            end: 0,
        }
    }

    /// Bytes that no text is a piece of.
    fn skip(&mut self, bytes: usize) {
        self.end += bytes;
    }

    /// Bytes that were read: whatever text is a piece of them, and not merely like one, stands here.
    fn read(&mut self, bytes: &[u8]) {
        for (text, place) in self.texts.iter().zip(&mut self.places) {
            if let Some(text) = text
                && let Some(start) = (text.as_ptr() as usize).checked_sub(bytes.as_ptr() as usize)
                && start + text.len() <= bytes.len()
            {
                *place = Some(self.end + start);
            }
        }
        self.end += bytes.len();
    }

    /// Writes the block, whose bytes but for the remaining texts `write` adds.
    fn finish(mut self, lengths: [usize; 4], write: impl FnOnce(&mut Vec<u8>)) -> Kept {
        let mut own = [None; TEXTS];
        for ((text, place), own) in self.texts.iter().zip(&mut self.places).zip(&mut own) {
            if let (Some(text), None) = (text, &place) {
                *own = Some(*text);
                *place = Some(self.end);
                self.end += text.len();
            }
        }
        let mut numbers = Vec::with_capacity(32);
        for length in lengths {
            push_number(&mut numbers, length);
        }
        for (text, place) in self.texts.iter().zip(self.places) {
            push_number(&mut numbers, text.map_or(0, |text| text.len() + 1));
            if let Some(place) = place {
                push_number(&mut numbers, place);
            }
        }
        let mut block = Vec::with_capacity(numbers.len() + self.end);
        block.extend_from_slice(&numbers);
        write(&mut block);
        for text in own.into_iter().flatten() {
            block.extend_from_slice(text.as_bytes());
        }
        Kept(block.into_boxed_slice())
    }
}

impl Kept {
    /// Keeps a request. A text of `said` that is borrowed from the headers or the body is not kept
    /// twice.
    pub(crate) fn new(
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        body: &[u8],
        said: Said<'_>,
    ) -> Self {
        let method = method.as_str();
        let target = uri.path_and_query().map_or(uri.path(), |all| all.as_str());
        let mut plan = Plan::new(said);
        plan.skip(method.len() + target.len());
        let before = plan.end;
        for (name, value) in headers {
            plan.skip(short(name.as_str()).map_or_else(|name| name.len() + 2, |_| 1));
            plan.read(value.as_bytes());
            plan.skip(1);
        }
        let head = plan.end - before;
        plan.read(body);
        plan.finish([method.len(), target.len(), head, body.len()], |block| {
            block.extend_from_slice(method.as_bytes());
            block.extend_from_slice(target.as_bytes());
            for (name, value) in headers {
                push_line(block, name.as_str(), value.as_bytes());
            }
            block.extend_from_slice(body);
        })
    }

    /// Takes up a request again that was kept before: what [`Kept::head`] and the others said.
    pub(crate) fn again(
        method: &Method,
        target: &str,
        head: &[u8],
        body: &[u8],
        said: Said<'_>,
    ) -> Self {
        let method = method.as_str();
        let mut lines = Vec::with_capacity(head.len());
        for (name, value) in head.split(|byte| *byte == b'\n').filter_map(line) {
            push_line(&mut lines, name, value);
        }
        let mut plan = Plan::new(said);
        plan.skip(method.len() + target.len() + lines.len() + body.len());
        let lengths = [method.len(), target.len(), lines.len(), body.len()];
        plan.finish(lengths, |block| {
            for part in [method.as_bytes(), target.as_bytes(), &lines, body] {
                block.extend_from_slice(part);
            }
        })
    }

    fn parts(&self) -> Parts<'_> {
        let mut rest = &*self.0;
        let mut lengths = [0; 4];
        for length in &mut lengths {
            *length = take_number(&mut rest);
        }
        let mut places = [const { None }; TEXTS];
        for place in &mut places {
            if let Some(length) = take_number(&mut rest).checked_sub(1) {
                let start = take_number(&mut rest);
                *place = Some(start..start + length);
            }
        }
        let mut texts = [None; TEXTS];
        for (text, place) in texts.iter_mut().zip(places) {
            *text = place.and_then(|place| rest.get(place));
        }
        let [method, target, head, body] = lengths;
        let mut take = |length| rest.split_off(..length).unwrap_or_default();
        Parts {
            method: take(method),
            target: take(target),
            head: take(head),
            body: take(body),
            texts,
        }
    }

    pub(crate) fn method(&self) -> &str {
        text(self.parts().method)
    }

    /// Path and query.
    pub(crate) fn target(&self) -> &str {
        text(self.parts().target)
    }

    pub(crate) fn path(&self) -> &str {
        let target = self.target();
        target.split_once('?').map_or(target, |(path, _)| path)
    }

    pub(crate) fn body(&self) -> &[u8] {
        self.parts().body
    }

    /// The headers as `name: value` lines.
    pub(crate) fn head(&self) -> Vec<u8> {
        let mut head = Vec::new();
        for (name, value) in self.lines() {
            head.extend_from_slice(name.as_bytes());
            head.extend_from_slice(b": ");
            head.extend_from_slice(value);
            head.push(b'\n');
        }
        head
    }

    /// What was read from it.
    pub(crate) fn said(&self) -> Said<'_> {
        let [customer, key, to, words, sender] = self.parts().texts;
        Said {
            customer: customer.map(text).unwrap_or_default(),
            key: key.map(text),
            to: to.map(text),
            text: words.map(text),
            sender: sender.map(text),
        }
    }

    fn lines(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let head = self.parts().head;
        head.split(|byte| *byte == b'\n').filter_map(line)
    }

    /// Names in lower case, values as text.
    pub(crate) fn headers(&self) -> Vec<(String, String)> {
        self.lines()
            .map(|(name, value)| (name.to_owned(), String::from_utf8_lossy(value).into_owned()))
            .collect()
    }

    /// The value of the first header of that name, which is in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let (_, value) = self.lines().find(|(known, _)| *known == name)?;
        Some(String::from_utf8_lossy(value).into_owned())
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

/// Bytes that were a text when they were kept.
fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

/// Adds a header. No value can hold a line feed.
fn push_line(block: &mut Vec<u8>, name: &str, value: &[u8]) {
    match short(name) {
        Ok(byte) => block.push(byte),
        Err(name) => {
            block.extend_from_slice(name.as_bytes());
            block.extend_from_slice(b": ");
        }
    }
    block.extend_from_slice(value);
    block.push(b'\n');
}

/// Name and value of a header, whichever way its name stands there.
fn line(line: &[u8]) -> Option<(&str, &[u8])> {
    let (first, rest) = line.split_first()?;
    if let Some(known) = first.checked_sub(NAMED) {
        return Some((NAMES.get(usize::from(known))?, rest));
    }
    // No name can hold a colon.
    let colon = line.iter().position(|byte| *byte == b':')?;
    Some((text(&line[..colon]), line.get(colon + 2..)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn headers(lines: &[(String, String)]) -> HeaderMap {
        let lines = lines.iter().map(|(name, value)| {
            let name: hyper::header::HeaderName = name.parse().expect("a name");
            (name, value.parse().expect("a value"))
        });
        lines.collect()
    }

    fn sorted(mut lines: Vec<(String, String)>) -> Vec<(String, String)> {
        lines.sort();
        lines
    }

    const _: () = assert!(NAMES.len() <= NAMED as usize);

    #[test]
    fn a_text_that_stands_in_the_request_is_kept_once() {
        let lines = [("idempotency-key".to_owned(), "\"key-1\"".to_owned())];
        let headers = headers(&lines);
        let body = br#"{"to":"+12025550142"}"#;
        let value = headers["idempotency-key"].to_str().expect("text");
        let said = Said {
            customer: "acme",
            key: Some(&value[1..6]),
            to: Some(text(&body[7..19])),
            text: None,
            sender: None,
        };
        let uri: Uri = "/v1/messages?a=b".parse().expect("a target");
        let kept = Kept::new(&Method::POST, &uri, &headers, body, said);
        assert_eq!((kept.said(), kept.path()), (said, "/v1/messages"));
        let numbers = 4 + 2 * 3 + 2;
        let head = "x\"key-1\"\n".len();
        let rest = "POST".len() + uri.to_string().len() + body.len() + "acme".len();
        assert_eq!(kept.0.len(), numbers + head + rest);
    }

    proptest! {
        #[test]
        fn what_is_kept_is_what_came(
            lines in prop::collection::vec(
                (
                    prop_oneof![prop::sample::select(&NAMES[..]).prop_map(str::to_owned), "[a-z-]{1,9}"],
                    "([!-~\u{a0}-\u{ff}]([ -~]{0,200}[!-~])?)?",
                ),
                0..6,
            ),
            body in prop::collection::vec(any::<u8>(), 0..400),
            customer in "\\PC{0,9}",
            others in prop::array::uniform4(prop::option::of("\\PC{0,200}")),
        ) {
            let [key, to, words, sender] = &others;
            let said = Said {
                customer: &customer,
                key: key.as_deref(),
                to: to.as_deref(),
                text: words.as_deref(),
                sender: sender.as_deref(),
            };
            let uri = Uri::from_static("/v1/messages?a=b");
            let headers = headers(&lines);
            let kept = Kept::new(&Method::POST, &uri, &headers, &body, said);
            prop_assert_eq!((kept.method(), kept.target()), ("POST", "/v1/messages?a=b"));
            prop_assert_eq!(kept.body(), &body[..]);
            prop_assert_eq!(kept.said(), said);
            prop_assert_eq!(sorted(kept.headers()), sorted(lines));
            let again = Kept::again(&Method::POST, kept.target(), &kept.head(), kept.body(), said);
            prop_assert_eq!((again.seen(), again.said()), (kept.seen(), said));
        }
    }
}

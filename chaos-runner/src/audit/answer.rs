//! Reading an answer of HTTP/1.1 from bytes as they came.
//!
//! Owns framing and its bounds. A judgement byte for byte needs the body exactly as it was sent,
//! so nothing here decodes, folds or repairs.

use super::exchange::Answer;

/// The most that the head of an answer may have.
const HEAD: usize = 64 * 1024;
/// The most that a body may have.
const BODY: usize = 1024 * 1024;
/// The most header lines.
const HEADERS: usize = 128;

/// How far the bytes so far lead.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// A whole answer.
    Whole(Answer),
    /// There must be more to come.
    More,
    /// Whole if the connection ends here: nothing else says how long the body is.
    UntilClose(Answer),
    /// It is not HTTP/1.1, or larger than anything that makes sense.
    Wrong(String),
}

/// Reads the final answer in `bytes`; interim ones (1xx) before it are read over.
pub(super) fn read(bytes: &[u8]) -> Read {
    let mut rest = bytes;
    loop {
        let mut lines = [httparse::EMPTY_HEADER; HEADERS];
        let mut head = httparse::Response::new(&mut lines);
        let length = match head.parse(rest) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) if rest.len() > HEAD => {
                return Read::Wrong(format!("its head has more than {HEAD} bytes"));
            }
            Ok(httparse::Status::Partial) => return Read::More,
            Err(error) => return Read::Wrong(format!("it is not HTTP/1.1 ({error})")),
        };
        let status = head.code.unwrap_or_default();
        let after = &rest[length..];
        if (100..200).contains(&status) {
            rest = after;
            continue;
        }
        let headers = head
            .headers
            .iter()
            .map(|line| {
                let value = String::from_utf8_lossy(line.value).into_owned();
                (line.name.to_ascii_lowercase(), value)
            })
            .collect();
        let answer = Answer {
            status,
            counts: status,
            headers,
            body: Vec::new(),
            message: None,
        };
        return body(answer, after);
    }
}

fn body(mut answer: Answer, bytes: &[u8]) -> Read {
    if matches!(answer.status, 204 | 304) {
        return Read::Whole(answer);
    }
    let chunked = answer
        .header("transfer-encoding")
        .is_some_and(|coding| coding.to_ascii_lowercase().contains("chunked"));
    if chunked {
        return match chunks(bytes) {
            Ok(Some(body)) => {
                answer.body = body;
                Read::Whole(answer)
            }
            Ok(None) => Read::More,
            Err(why) => Read::Wrong(why),
        };
    }
    let Some(length) = answer.header("content-length") else {
        if bytes.len() > BODY {
            return too_large();
        }
        answer.body = bytes.to_vec();
        return Read::UntilClose(answer);
    };
    let Ok(length) = length.trim().parse::<usize>() else {
        return Read::Wrong(format!("its Content-Length is `{length}`"));
    };
    if length > BODY {
        return too_large();
    }
    match bytes.get(..length) {
        Some(body) => {
            answer.body = body.to_vec();
            Read::Whole(answer)
        }
        None => Read::More,
    }
}

fn too_large() -> Read {
    Read::Wrong(format!("its body has more than {BODY} bytes"))
}

/// The body in chunks; `None`: there must be more to come.
fn chunks(mut bytes: &[u8]) -> Result<Option<Vec<u8>>, String> {
    let wrong = |_| "a chunk of its body has no length".to_owned();
    let mut body = Vec::new();
    loop {
        let (start, length) = match httparse::parse_chunk_size(bytes).map_err(wrong)? {
            httparse::Status::Complete(found) => found,
            httparse::Status::Partial => return Ok(None),
        };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > BODY - body.len() {
            return Err(format!("its body has more than {BODY} bytes"));
        }
        bytes = &bytes[start..];
        if length == 0 {
            // Trailers, which nothing here asks for, end with an empty line.
            let over = bytes.starts_with(b"\r\n") || bytes.windows(4).any(|w| w == b"\r\n\r\n");
            return Ok(over.then_some(body));
        }
        let Some(chunk) = bytes.get(..length + 2) else {
            return Ok(None);
        };
        let Some(data) = chunk.strip_suffix(b"\r\n") else {
            return Err("a chunk of its body is longer than it says".to_owned());
        };
        body.extend_from_slice(data);
        bytes = &bytes[length + 2..];
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn whole(bytes: &[u8]) -> Answer {
        match read(bytes) {
            Read::Whole(answer) => answer,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_body_is_as_long_as_its_length_says() {
        let answer = whole(b"HTTP/1.1 201 Created\r\nX-A: b\r\ncontent-length: 2\r\n\r\n{}rest");
        assert_eq!((answer.status, answer.body.as_slice()), (201, &b"{}"[..]));
        assert_eq!(answer.header("x-a"), Some("b"));
    }

    #[test]
    fn an_interim_answer_is_not_the_answer() {
        let answer = whole(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n");
        assert_eq!(answer.status, 204);
    }

    #[test]
    fn chunks_are_put_together() {
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        let text = format!("{head}2\r\n{{\"\r\n3;x=y\r\na\"}}\r\n0\r\n\r\n");
        assert_eq!(whole(text.as_bytes()).body, b"{\"a\"}");
        for end in head.len()..text.len() {
            assert_eq!(read(&text.as_bytes()[..end]), Read::More, "{end} bytes");
        }
        let wrong = format!("{head}2\r\nabc\r\n");
        assert!(matches!(read(wrong.as_bytes()), Read::Wrong(_)));
    }

    #[test]
    fn without_a_length_the_end_of_the_connection_is_the_end() {
        let read = read(b"HTTP/1.1 200 OK\r\n\r\nabc");
        assert!(matches!(read, Read::UntilClose(answer) if answer.body == b"abc"));
    }

    #[test]
    fn what_is_no_http_is_said_to_be_none() {
        assert!(matches!(read(b"SSH-2.0-x\r\n\r\n"), Read::Wrong(_)));
        let huge = b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n";
        assert!(matches!(read(huge), Read::Wrong(_)));
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_fail(bytes: Vec<u8>) {
            let _ = read(&bytes);
        }

        #[test]
        fn any_body_comes_through_in_any_chunks(
            parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 0..6)
        ) {
            let mut bytes = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
            for part in &parts {
                bytes.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
                bytes.extend_from_slice(part);
                bytes.extend_from_slice(b"\r\n");
            }
            bytes.extend_from_slice(b"0\r\n\r\n");
            prop_assert_eq!(whole(&bytes).body, parts.concat());
        }
    }
}

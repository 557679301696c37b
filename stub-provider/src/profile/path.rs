//! [`PathTemplate`]: a path with `{segments}`.
//!
//! Owns the notation, the match of a request's path and writing a path out. A path without
//! segments is compared as it is.

use std::fmt::Write as _;

/// A path, some of whose segments differ from request to request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathTemplate {
    source: String,
    /// Empty where the path is always the same.
    segments: Vec<Segment>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Fixed(String),
    Open {
        before: String,
        name: String,
        after: String,
    },
}

impl PathTemplate {
    /// Reads a path such as `/Accounts/{account}/Messages.json`.
    pub(crate) fn parse(source: &str) -> Result<Self, String> {
        let source = source.trim_end_matches('/');
        if !source.starts_with('/') || source.contains(['?', '#', ' ']) || !source.is_ascii() {
            return Err("a path starts with / and has neither ?, # nor spaces".into());
        }
        let own = [
            "/admin",
            "/metrics",
            "/healthz",
            "/redirected",
            "/openapi.json",
        ];
        if own
            .iter()
            .any(|own| source == *own || source.starts_with(&format!("{own}/")))
        {
            return Err(
                "/admin, /metrics, /healthz, /openapi.json and /redirected are the provider's own"
                    .into(),
            );
        }
        let mut segments = Vec::new();
        for part in source[1..].split('/') {
            segments.push(segment(part)?);
        }
        if segments.iter().all(|s| matches!(s, Segment::Fixed(_))) {
            segments.clear();
        }
        Ok(Self {
            source: source.to_owned(),
            segments,
        })
    }

    /// The path as the profile writes it.
    pub(crate) fn as_str(&self) -> &str {
        &self.source
    }

    /// Whether it has a segment of that name.
    pub(crate) fn has(&self, wanted: &str) -> bool {
        self.segments
            .iter()
            .any(|segment| matches!(segment, Segment::Open { name, .. } if name == wanted))
    }

    /// Whether a path is one of these.
    pub(crate) fn matches(&self, path: &str) -> bool {
        if self.segments.is_empty() {
            return path == self.source;
        }
        self.walk(path, |_, _| ())
    }

    /// The segment of that name in a path; `None` where the path is none of these.
    pub(crate) fn capture<'p>(&self, path: &'p str, wanted: &str) -> Option<&'p str> {
        let mut found = None;
        let matched = self.walk(path, |name, value| {
            if name == wanted {
                found = Some(value);
            }
        });
        found.filter(|_| matched)
    }

    fn walk<'p>(&self, path: &'p str, mut open: impl FnMut(&str, &'p str)) -> bool {
        let Some(path) = path.strip_prefix('/') else {
            return false;
        };
        let mut parts = path.split('/');
        for segment in &self.segments {
            let Some(part) = parts.next() else {
                return false;
            };
            match segment {
                Segment::Fixed(text) if text == part => {}
                Segment::Fixed(_) => return false,
                Segment::Open {
                    before,
                    name,
                    after,
                } => {
                    let value = part
                        .strip_prefix(before.as_str())
                        .and_then(|rest| rest.strip_suffix(after.as_str()))
                        .filter(|value| !value.is_empty());
                    let Some(value) = value else { return false };
                    open(name, value);
                }
            }
        }
        parts.next().is_none()
    }

    /// The path with every segment filled in.
    pub(crate) fn fill<'v>(&self, value: impl Fn(&str) -> &'v str) -> String {
        if self.segments.is_empty() {
            return self.source.clone();
        }
        let mut out = String::new();
        for segment in &self.segments {
            out.push('/');
            match segment {
                Segment::Fixed(text) => out.push_str(text),
                Segment::Open {
                    before,
                    name,
                    after,
                } => {
                    out.push_str(before);
                    push_segment(&mut out, value(name));
                    out.push_str(after);
                }
            }
        }
        out
    }
}

fn segment(part: &str) -> Result<Segment, String> {
    let Some((before, rest)) = part.split_once('{') else {
        if part.contains('}') {
            return Err(format!("a brace is not opened in `{part}`"));
        }
        return Ok(Segment::Fixed(part.to_owned()));
    };
    let (name, after) = rest
        .split_once('}')
        .ok_or_else(|| format!("a brace is not closed in `{part}`"))?;
    let word = |c: char| c.is_ascii_lowercase() || c == '_' || c == '-';
    if name.is_empty() || !name.chars().all(word) || after.contains(['{', '}']) {
        return Err(format!(
            "`{part}` should have one {{name}} of lower-case letters"
        ));
    }
    Ok(Segment::Open {
        before: before.to_owned(),
        name: name.to_owned(),
        after: after.to_owned(),
    })
}

/// Appends a value so that it stays one segment (RFC 3986 section 3.3).
fn push_segment(out: &mut String, value: &str) {
    for byte in value.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'+' | b':' => {
                out.push(char::from(byte));
            }
            _ => {
                // Writing to a string cannot fail.
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn path(source: &str) -> PathTemplate {
        PathTemplate::parse(source).expect("a path")
    }

    #[test]
    fn segments_match_and_are_filled_in() {
        let message = path("/2010-04-01/Accounts/{account}/Messages/{id}.json");
        let written = "/2010-04-01/Accounts/acme/Messages/msg_1.json";
        assert!(message.matches(written));
        assert_eq!(message.capture(written, "id"), Some("msg_1"));
        let filled = message.fill(|name| if name == "id" { "msg_1" } else { "acme" });
        assert_eq!(filled, written);
        for other in [
            "/2010-04-01/Accounts/acme/Messages.json",
            "/2010-04-01/Accounts//Messages/msg_1.json",
            "/2010-04-01/Accounts/acme/Messages/msg_1.json/more",
            "/2010-04-01/Accounts/acme/Messages/.json",
            "",
        ] {
            assert!(!message.matches(other), "{other}");
        }
        assert!(path("/v1/messages").matches("/v1/messages"));
        assert!(!path("/v1/messages").matches("/v1/messagesx"));
    }

    #[test]
    fn paths_that_cannot_work_are_refused() {
        for source in [
            "v1", "/", "/admin", "/admin/x", "/a?b", "/a b", "/{", "/}", "/{A}", "/{}", "/{a}{b}",
        ] {
            assert!(PathTemplate::parse(source).is_err(), "{source}");
        }
        assert!(PathTemplate::parse("/administration").is_ok());
    }

    proptest! {
        #[test]
        fn what_is_filled_in_is_found_again(id in "[a-zA-Z0-9_.~-]{1,12}") {
            let message = path("/m/{id}.json");
            let filled = message.fill(|_| &id);
            prop_assert_eq!(message.capture(&filled, "id"), Some(id.as_str()));
        }

        #[test]
        fn no_path_makes_them_fail(source: String, asked: String) {
            if let Ok(template) = PathTemplate::parse(&source) {
                template.matches(&asked);
            }
            path("/a/{id}").capture(&asked, "id");
        }
    }
}

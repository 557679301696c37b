//! [`Place`]: where in a request something stands.
//!
//! Owns the notation (`header:Idempotency-Key`, `json:message.to`, `xml:Message.Id`, `form:To`,
//! `query:to`, `none`) and reading the values at such places. A JSON or form body is read once for
//! all places that stand in it.

use std::{borrow::Cow, fmt, str::FromStr};

use hyper::{HeaderMap, header::HeaderName};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

mod form;
mod json;
mod quoted;
mod xml;

use json::JsonPlaces;

pub(crate) use form::{decode, form_fields};
pub(crate) use json::walk;
pub use quoted::{quoted, unquote};

/// Where a value stands in a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// In a header.
    Header(HeaderName),
    /// In the JSON body, along these member names. A number selects in an array; `*` is the
    /// element that is being read, of a request that carries several messages.
    Json(Vec<String>),
    /// In an XML body, along these element names, the outermost first. Only answers are XML.
    Xml(Vec<String>),
    /// In a form-encoded body.
    Form(String),
    /// In the query.
    Query(String),
    /// Nowhere.
    None,
}

/// Headers of the connection and of the request's framing (RFC 9110, sections 7.2, 7.6.1, 7.8 and
/// 10.1.1; RFC 9112, section 6), which no value can stand in.
const FRAMING: [&str; 10] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self::None);
        }
        let wrong = || {
            format!(
                "`{text}` is not a place in a request: write \"header:Name\", \"json:path.to.it\", \"form:field\", \"query:field\" or \"none\""
            )
        };
        let (kind, name) = text.split_once(':').ok_or_else(wrong)?;
        let name = name.trim();
        if name.is_empty() {
            return Err(wrong());
        }
        match kind {
            "header" => {
                let header = HeaderName::from_bytes(name.as_bytes())
                    .map_err(|_| format!("`{name}` cannot be the name of a header"))?;
                if FRAMING.contains(&header.as_str()) {
                    return Err(format!(
                        "`{name}` is HTTP's own: it says how a request travels, and bears nothing else"
                    ));
                }
                Ok(Self::Header(header))
            }
            "json" if name.split('.').all(|step| !step.is_empty()) => {
                Ok(Self::Json(name.split('.').map(Into::into).collect()))
            }
            "xml" if name.split('.').all(|step| !step.is_empty()) => {
                Ok(Self::Xml(name.split('.').map(Into::into).collect()))
            }
            "form" => Ok(Self::Form(name.into())),
            "query" => Ok(Self::Query(name.into())),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(name) => write!(f, "header:{name}"),
            Self::Json(path) => write!(f, "json:{}", path.join(".")),
            Self::Xml(path) => write!(f, "xml:{}", path.join(".")),
            Self::Form(field) => write!(f, "form:{field}"),
            Self::Query(field) => write!(f, "query:{field}"),
            Self::None => f.write_str("none"),
        }
    }
}

impl Serialize for Place {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Place {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for Place {
    fn schema_name() -> Cow<'static, str> {
        "Place".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^(header|json|xml|form|query):.+$|^none$",
            "description": "Where a value stands: `header:Name`, `json:path.to.it` (a number \
                selects in an array, `*` stands for each of its elements), `form:field`, \
                `query:field`, `none`, or in an answer `xml:Element.Inner`.",
            "examples": ["header:Idempotency-Key", "json:messages.0.to", "form:To"],
        })
    }
}

impl Place {
    /// The path to the array whose elements are read one after the other (`json:a.*.b`: to `a`).
    #[must_use]
    pub fn array(&self) -> Option<&[String]> {
        match self {
            Self::Json(path) => {
                let star = path.iter().position(|step| step == "*")?;
                Some(&path[..star])
            }
            _ => None,
        }
    }
}

/// A request, for reading values at places.
#[derive(Clone, Copy, Debug)]
pub struct Content<'a> {
    /// The headers.
    pub headers: &'a HeaderMap,
    /// The query, without the question mark.
    pub query: &'a str,
    /// The body.
    pub body: &'a [u8],
    /// Which element `*` is, from 0.
    pub element: usize,
}

/// Reads the values at `places`, in their order, as they stand there where nothing is escaped. A
/// value that is missing, or that is neither text nor a number, is `None`; so is everything in a
/// body that cannot be read.
#[must_use]
pub fn read<'a, const N: usize>(
    places: [&Place; N],
    content: &Content<'a>,
) -> [Option<Cow<'a, str>>; N] {
    let mut found = [const { None }; N];
    let mut json = false;
    let mut form = false;
    for (place, value) in places.iter().zip(&mut found) {
        match place {
            Place::Header(name) => {
                *value = content
                    .headers
                    .get(name)
                    .and_then(|v| std::str::from_utf8(v.as_bytes()).ok())
                    .map(Cow::Borrowed);
            }
            Place::Json(_) => json = true,
            Place::Xml(path) => *value = xml::text(content.body, path).map(Cow::Owned),
            Place::Form(_) => form = true,
            Place::Query(field) => {
                *value = form_fields(content.query.as_bytes())
                    .find_map(|(name, text)| (name == *field).then_some(text.into()));
            }
            Place::None => {}
        }
    }
    if json {
        let mut reader = serde_json::Deserializer::from_slice(content.body);
        let seen = reader.deserialize_map(JsonPlaces {
            places: &places,
            found: &mut found,
            element: content.element,
        });
        // A body that breaks off half-way says nothing at all.
        if seen.is_err() || reader.end().is_err() {
            for (place, value) in places.iter().zip(&mut found) {
                if matches!(place, Place::Json(_)) {
                    *value = None;
                }
            }
        }
    }
    if form {
        for (name, text) in form_fields(content.body) {
            for (place, value) in places.iter().zip(&mut found) {
                if matches!(place, Place::Form(field) if *field == name) {
                    *value = Some(text.clone().into());
                }
            }
        }
    }
    found
}

/// What `read` finds in a text, borrowed for as long as the text is.
pub(crate) fn part_of<'a>(
    text: Cow<'a, str>,
    read: impl for<'t> FnOnce(&'t str) -> Option<Cow<'t, str>>,
) -> Option<Cow<'a, str>> {
    match text {
        Cow::Borrowed(text) => read(text),
        Cow::Owned(text) => read(&text).map(|part| Cow::Owned(part.into_owned())),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use serde_json::Value;

    use super::{json::scalar, *};

    fn place(text: &str) -> Place {
        text.parse().expect("a place")
    }

    fn content<'a>(headers: &'a HeaderMap, body: &'a [u8]) -> Content<'a> {
        Content {
            headers,
            query: "",
            body,
            element: 0,
        }
    }

    fn one(text: &str, body: &str) -> Option<String> {
        let headers = HeaderMap::new();
        let [value] = read([&place(text)], &content(&headers, body.as_bytes()));
        value.map(Cow::into_owned)
    }

    #[test]
    fn every_notation_is_read_and_printed_back() {
        for text in [
            "header:idempotency-key",
            "json:a.b.0",
            "json:a.*.b",
            "xml:A.B",
            "form:To",
            "query:to",
            "none",
        ] {
            assert_eq!(place(text).to_string(), text);
        }
        for text in [
            "header",
            "header:",
            "header:a b",
            "json:",
            "json:a..b",
            "xml:A.",
            "cookie:x",
            "header:Content-Length",
            "header:host",
            "",
        ] {
            assert!(text.parse::<Place>().is_err(), "{text}");
        }
    }

    #[test]
    fn values_are_found_at_their_place_and_nowhere_else() {
        let body = r#"{"to":"+12025550142","n":{"to":[1,{"x":"deep"}]},"body":null}"#;
        assert_eq!(one("json:to", body).as_deref(), Some("+12025550142"));
        assert_eq!(one("json:n.to.0", body).as_deref(), Some("1"));
        assert_eq!(one("json:n.to.1.x", body).as_deref(), Some("deep"));
        assert_eq!(one("json:body", body), None);
        assert_eq!(one("json:n", body), None);
        assert_eq!(one("json:to", &body[..body.len() - 1]), None, "cut body");
        assert_eq!(one("json:to", &format!("{body} x")), None, "trailing words");
        assert_eq!(
            one("form:To", "From=x&To=%2B1202+555%zz").as_deref(),
            Some("+1202 555%zz")
        );
    }

    #[test]
    fn each_element_of_an_array_is_read_by_its_number() {
        let body = br#"{"all":[{"to":"+12025550142"},{"to":"+12025550143"}],"text":"hi"}"#;
        let headers = HeaderMap::new();
        let [to, text] = [place("json:all.*.to"), place("json:text")];
        for (element, number) in [Some("+12025550142"), Some("+12025550143"), None]
            .into_iter()
            .enumerate()
        {
            let content = Content {
                element,
                ..content(&headers, body)
            };
            let [found, words] = read([&to, &text], &content);
            assert_eq!((found.as_deref(), words.as_deref()), (number, Some("hi")));
        }
    }

    #[test]
    fn only_a_quoted_string_is_quoted() {
        for (raw, key) in [
            ("\"abc\"", Some("abc")),
            ("abc", None),
            ("\"abc", None),
            ("\"a\"b\"", None),
            ("\"ä\"", None),
            (r#""a\"b""#, Some("a\"b")),
        ] {
            assert_eq!(quoted(raw).as_deref(), key, "{raw}");
        }
    }

    #[test]
    fn keys_are_taken_bare_and_quoted() {
        for (raw, key) in [
            ("abc", "abc"),
            (" abc ", "abc"),
            ("\"abc\"", "abc"),
            (r#""a\"b\\c""#, r#"a"b\c"#),
            (r#""a\x""#, r#""a\x""#),
            ("\"abc", "\"abc"),
            ("\"", "\""),
            ("\"\"", ""),
        ] {
            assert_eq!(unquote(raw), key, "{raw}");
        }
    }

    proptest! {
        /// The quick way reads what reading the whole document would.
        #[test]
        fn a_value_is_what_the_document_says(number: i64, float: f64, text: String, flag: bool) {
            let body = serde_json::json!({
                "a": text, "b": number, "c": float, "d": flag, "e": [text, {"f": number}], "g": null,
            });
            let bytes = body.to_string().into_bytes();
            let body: Value = serde_json::from_slice(&bytes).expect("what was just written");
            for path in ["a", "b", "c", "d", "e", "e.0", "e.1.f", "g", "h"] {
                let headers = HeaderMap::new();
                let quick = read([&place(&format!("json:{path}"))], &content(&headers, &bytes));
                let steps: Vec<String> = path.split('.').map(Into::into).collect();
                prop_assert_eq!(&quick[0].clone().map(Cow::into_owned), &walk(&body, &steps, 0).and_then(scalar), "{}", path);
            }
        }

        #[test]
        fn no_body_no_query_and_no_key_makes_the_readers_fail(
            body: Vec<u8>, query: String, key: String, element: usize,
        ) {
            let headers = HeaderMap::new();
            let places = ["json:a.b", "json:a.*.b", "form:x", "query:x"].map(place);
            let [a, b, c, d] = &places;
            let content = Content { headers: &headers, query: &query, body: &body, element };
            let _ = read([a, b, c, d], &content);
            let _ = unquote(&key);
            let _ = quoted(&key);
        }

        #[test]
        fn a_quoted_key_is_the_key(key in "[ -~]{0,20}") {
            let written = format!("\"{}\"", key.replace('\\', "\\\\").replace('"', "\\\""));
            prop_assert_eq!(unquote(&written), key.as_str());
            let read = quoted(&written);
            prop_assert_eq!(read.as_deref(), Some(key.as_str()));
        }
    }
}

//! [`Template`]: a body with gaps for what differs from message to message.
//!
//! Owns the notation (`{id}`, `{to}`, …) and filling it in, as JSON, form-encoded or as XML. In JSON
//! a gap between quotes is text; one outside of quotes is a whole value: a text in quotes, a number
//! where the gap is one for numbers, `null` where there is nothing. In XML every gap is text, of an
//! element or of an attribute.

/// What a gap stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gap {
    /// The message's id.
    Id,
    /// The recipient.
    To,
    /// The sender.
    From,
    /// The words of the message.
    Text,
    /// What became of the message, in the provider's word; of an error: the HTTP status.
    Status,
    /// When the message was accepted.
    Created,
    /// The idempotency key.
    Key,
    /// The idempotency key, or the id where there is none.
    KeyOrId,
    /// The customer.
    Customer,
    /// The provider's code of an error.
    Code,
    /// An error in words.
    Message,
    /// An error's title.
    Title,
    /// An error's type.
    Type,
    /// Messages, one after the other.
    Messages,
}

const GAPS: [(&str, Gap); 14] = [
    ("id", Gap::Id),
    ("to", Gap::To),
    ("from", Gap::From),
    ("text", Gap::Text),
    ("status", Gap::Status),
    ("created", Gap::Created),
    ("key", Gap::Key),
    ("key_or_id", Gap::KeyOrId),
    ("customer", Gap::Customer),
    ("code", Gap::Code),
    ("message", Gap::Message),
    ("title", Gap::Title),
    ("type", Gap::Type),
    ("messages", Gap::Messages),
];

impl Gap {
    fn name(self) -> &'static str {
        GAPS.iter()
            .find(|(_, gap)| *gap == self)
            .map_or("", |(name, _)| name)
    }

    /// Whether digits are a number where the gap is a whole value.
    fn is_number(self) -> bool {
        matches!(self, Self::Status | Self::Created | Self::Code)
    }
}

/// What a request can hold.
pub(crate) const OF_REQUEST: &[Gap] = &[Gap::To, Gap::From, Gap::Text, Gap::Customer];
/// What an answer about one message can hold.
pub(crate) const OF_MESSAGE: &[Gap] = &[
    Gap::Id,
    Gap::To,
    Gap::From,
    Gap::Text,
    Gap::Status,
    Gap::Created,
    Gap::Key,
    Gap::KeyOrId,
    Gap::Customer,
];
/// What an answer about several messages can hold.
pub(crate) const OF_LIST: &[Gap] = &[Gap::Messages];
/// What an error can hold.
pub(crate) const OF_ERROR: &[Gap] = &[
    Gap::Code,
    Gap::Message,
    Gap::Status,
    Gap::Title,
    Gap::Type,
    Gap::To,
    Gap::Key,
];

/// How the values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Json,
    Form,
    Xml,
}

/// A body with gaps.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    pieces: Vec<Piece>,
    encoding: Encoding,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Gap {
        gap: Gap,
        /// Whether it is a whole JSON value, and not a part of a text.
        whole: bool,
    },
}

/// What fills the gaps.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Filling<'a> {
    pub(crate) id: Option<&'a str>,
    pub(crate) to: Option<&'a str>,
    pub(crate) from: Option<&'a str>,
    pub(crate) text: Option<&'a str>,
    pub(crate) status: Option<&'a str>,
    pub(crate) created: Option<&'a str>,
    pub(crate) key: Option<&'a str>,
    pub(crate) customer: Option<&'a str>,
    pub(crate) code: Option<&'a str>,
    pub(crate) message: Option<&'a str>,
    pub(crate) title: Option<&'a str>,
    pub(crate) kind: Option<&'a str>,
    pub(crate) messages: Option<&'a str>,
}

impl<'a> Filling<'a> {
    fn of(&self, gap: Gap) -> Option<&'a str> {
        match gap {
            Gap::Id => self.id,
            Gap::To => self.to,
            Gap::From => self.from,
            Gap::Text => self.text,
            Gap::Status => self.status,
            Gap::Created => self.created,
            Gap::Key => self.key,
            Gap::KeyOrId => self.key.or(self.id),
            Gap::Customer => self.customer,
            Gap::Code => self.code,
            Gap::Message => self.message,
            Gap::Title => self.title,
            Gap::Type => self.kind,
            Gap::Messages => self.messages,
        }
    }
}

impl Template {
    /// Reads a template. Braces around anything but lower-case letters are text, so JSON needs no
    /// escaping.
    pub(crate) fn parse(source: &str, encoding: Encoding, known: &[Gap]) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut rest = source;
        let mut text = String::new();
        let mut quotes = Quotes::default();
        while let Some(open) = rest.find('{') {
            let (before, after) = rest.split_at(open);
            quotes.pass(before);
            text.push_str(before);
            let inner = &after[1..];
            let name_end = inner
                .find(|c: char| !(c.is_ascii_lowercase() || c == '_'))
                .unwrap_or(inner.len());
            if name_end == 0 || !inner[name_end..].starts_with('}') {
                text.push('{');
                rest = inner;
                continue;
            }
            let name = &inner[..name_end];
            let gap = GAPS
                .iter()
                .find(|(known_name, gap)| *known_name == name && known.contains(gap))
                .map(|(_, gap)| *gap)
                .ok_or_else(|| unknown(name, known))?;
            pieces.push(Piece::Text(std::mem::take(&mut text)));
            pieces.push(Piece::Gap {
                gap,
                whole: encoding == Encoding::Json && !quotes.inside,
            });
            rest = &inner[name_end + 1..];
        }
        text.push_str(rest);
        pieces.push(Piece::Text(text));
        Ok(Self { pieces, encoding })
    }

    /// Whether it has such a gap.
    pub(crate) fn has(&self, wanted: Gap) -> bool {
        self.pieces
            .iter()
            .any(|piece| matches!(piece, Piece::Gap { gap, .. } if *gap == wanted))
    }

    /// The body for one message.
    pub(crate) fn fill(&self, with: &Filling<'_>) -> String {
        let mut out = String::with_capacity(128);
        for piece in &self.pieces {
            let (gap, whole) = match piece {
                Piece::Text(text) => {
                    out.push_str(text);
                    continue;
                }
                Piece::Gap { gap, whole } => (*gap, *whole),
            };
            match (with.of(gap), self.encoding) {
                (value, Encoding::Form) => push_form(&mut out, value.unwrap_or_default()),
                (value, Encoding::Xml) => push_xml(&mut out, value.unwrap_or_default()),
                (Some(value), _) if gap == Gap::Messages => out.push_str(value),
                (Some(value), _) if whole && gap.is_number() && is_number(value) => {
                    out.push_str(value);
                }
                (Some(value), _) if whole => {
                    out.push('"');
                    push_escaped(&mut out, value);
                    out.push('"');
                }
                (Some(value), _) => push_escaped(&mut out, value),
                (None, _) if whole && gap != Gap::Messages => out.push_str("null"),
                (None, _) => {}
            }
        }
        out
    }
}

fn unknown(name: &str, known: &[Gap]) -> String {
    let known: Vec<_> = known
        .iter()
        .map(|gap| format!("{{{}}}", gap.name()))
        .collect();
    format!(
        "`{{{name}}}` stands for nothing here: what can stand here is {}",
        known.join(", ")
    )
}

/// Whether the end of a JSON text lies inside a string.
#[derive(Default)]
struct Quotes {
    inside: bool,
    escaped: bool,
}

impl Quotes {
    fn pass(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                _ if self.escaped => self.escaped = false,
                '\\' if self.inside => self.escaped = true,
                '"' => self.inside = !self.inside,
                _ => {}
            }
        }
    }
}

/// Whether JSON takes the text for a whole number.
fn is_number(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 18
        && text.bytes().all(|b| b.is_ascii_digit())
        && (text.len() == 1 || !text.starts_with('0'))
}

/// Appends `value` as the inside of a JSON string.
fn push_escaped(out: &mut String, value: &str) {
    if !value.bytes().any(|b| b < 0x20 || b == b'"' || b == b'\\') {
        out.push_str(value);
        return;
    }
    let quoted = serde_json::Value::from(value).to_string();
    out.push_str(&quoted[1..quoted.len() - 1]);
}

/// Appends `value` as text that stands for itself in an element or an attribute. What XML 1.0 cannot
/// hold at all becomes U+FFFD.
fn push_xml(out: &mut String, value: &str) {
    for c in value.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            // As they are, a reader would make spaces or line feeds of them.
            '\t' => out.push_str("&#9;"),
            '\n' => out.push_str("&#10;"),
            '\r' => out.push_str("&#13;"),
            '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            _ => out.push(c),
        }
    }
}

/// Appends `value` form-encoded.
pub(crate) fn push_form(out: &mut String, value: &str) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in value.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'*' => {
                out.push(char::from(byte));
            }
            b' ' => out.push('+'),
            _ => {
                out.push('%');
                out.push(char::from(DIGITS[usize::from(byte >> 4)]));
                out.push(char::from(DIGITS[usize::from(byte & 15)]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::place::form_fields;

    fn json(source: &str, known: &[Gap]) -> Template {
        Template::parse(source, Encoding::Json, known).expect("a template")
    }

    #[test]
    fn a_gap_outside_of_quotes_is_a_whole_value() {
        let template = json(
            r#"{"code":{code},"key":{key},"to":"{to}","status":{status},"said":"\"{message}"}"#,
            OF_ERROR,
        );
        let body = template.fill(&Filling {
            code: Some("21211"),
            to: Some("+12025550142"),
            status: Some("queued"),
            message: Some("a \"word\""),
            ..Filling::default()
        });
        assert_eq!(
            body,
            r#"{"code":21211,"key":null,"to":"+12025550142","status":"queued","said":"\"a \"word\""}"#
                .replace("a \"word\"", "a \\\"word\\\"")
        );
    }

    #[test]
    fn what_cannot_be_filled_is_refused_with_what_can() {
        let said = Template::parse(r#"{"a":"{code}"}"#, Encoding::Json, OF_LIST);
        assert_eq!(
            said.expect_err("no such gap"),
            "`{code}` stands for nothing here: what can stand here is {messages}"
        );
        assert!(Template::parse(r#"{"a":{"b":1}}"#, Encoding::Json, OF_LIST).is_ok());
    }

    #[test]
    fn in_xml_every_gap_is_text_and_nothing_is_empty() {
        let source = r#"<E code="{code}"><M>{message}</M><K>{key}</K></E>"#;
        let template = Template::parse(source, Encoding::Xml, OF_ERROR).expect("a template");
        let body = template.fill(&Filling {
            code: Some("21211"),
            message: Some("\"5 < 6\" & \u{0}\r\n"),
            ..Filling::default()
        });
        assert_eq!(
            body,
            "<E code=\"21211\"><M>&quot;5 &lt; 6&quot; &amp; \u{fffd}&#13;&#10;</M><K></K></E>"
        );
    }

    proptest! {
        #[test]
        fn whatever_the_words_are_the_body_stays_xml_and_says_them(text: String) {
            let source = r#"<M words="{text}"><T>{text}</T></M>"#;
            let template = Template::parse(source, Encoding::Xml, OF_MESSAGE).expect("a template");
            let body = template.fill(&Filling { text: Some(&text), ..Filling::default() });
            let document = roxmltree::Document::parse(&body).expect("XML");
            let shown: String = text
                .chars()
                .map(|c| match c {
                    '\t' | '\n' | '\r' => c,
                    '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
                    _ => c,
                })
                .collect();
            let root = document.root_element();
            prop_assert_eq!(root.attribute("words"), Some(shown.as_str()));
            let inner = root.first_element_child().and_then(|node| node.text());
            prop_assert_eq!(inner.unwrap_or_default(), shown);
        }

        #[test]
        fn whatever_the_recipient_is_the_body_stays_json(to: String) {
            let template = json(r#"{"a":{"to":"{to}"},"b":{to}}"#, OF_MESSAGE);
            let body = template.fill(&Filling { to: Some(&to), ..Filling::default() });
            let back: serde_json::Value = serde_json::from_str(&body).expect("JSON");
            prop_assert_eq!(back["a"]["to"].as_str(), Some(to.as_str()));
            prop_assert_eq!(back["b"].as_str(), Some(to.as_str()));
        }

        #[test]
        fn whatever_the_words_are_the_form_says_them(text: String, to: String) {
            let template =
                Template::parse("To={to}&Body={text}", Encoding::Form, OF_REQUEST).expect("a template");
            let filling = Filling { text: Some(&text), to: Some(&to), ..Filling::default() };
            let body = template.fill(&filling);
            let fields: Vec<_> = form_fields(body.as_bytes()).collect();
            prop_assert_eq!(fields, [("To".to_owned(), to), ("Body".to_owned(), text)]);
        }

        #[test]
        fn no_text_makes_the_parser_fail(source: String) {
            for encoding in [Encoding::Json, Encoding::Form, Encoding::Xml] {
                let _ = Template::parse(&source, encoding, OF_MESSAGE);
            }
        }
    }
}

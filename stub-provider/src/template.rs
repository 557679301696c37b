//! [`Template`]: an answer's body with gaps for what differs from message to message.
//!
//! Owns the notation (`{id}`, `{to}`, `{status}`) and filling it in. Values are escaped for JSON.

/// A body with gaps.
#[derive(Clone, Debug)]
pub(crate) struct Template(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Id,
    To,
    Status,
}

/// What fills the gaps.
pub(crate) struct Filling<'a> {
    pub(crate) id: &'a str,
    pub(crate) to: &'a str,
    pub(crate) status: &'a str,
}

impl Template {
    /// Reads a template. Braces around anything but lower-case letters are text, so JSON needs no
    /// escaping.
    pub(crate) fn parse(source: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut rest = source;
        let mut text = String::new();
        while let Some(open) = rest.find('{') {
            let (before, after) = rest.split_at(open);
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
            let piece = match &inner[..name_end] {
                "id" => Piece::Id,
                "to" => Piece::To,
                "status" => Piece::Status,
                other => {
                    return Err(format!(
                        "`{{{other}}}` stands for nothing: an answer can hold {{id}}, {{to}} and {{status}}"
                    ));
                }
            };
            pieces.push(Piece::Text(std::mem::take(&mut text)));
            pieces.push(piece);
            rest = &inner[name_end + 1..];
        }
        text.push_str(rest);
        pieces.push(Piece::Text(text));
        Ok(Self(pieces))
    }

    /// The body for one message.
    pub(crate) fn fill(&self, with: &Filling<'_>) -> String {
        let mut out = String::with_capacity(128);
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Id => push_escaped(&mut out, with.id),
                Piece::To => push_escaped(&mut out, with.to),
                Piece::Status => push_escaped(&mut out, with.status),
            }
        }
        out
    }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn whatever_the_recipient_is_the_body_stays_json(to: String) {
            let template = Template::parse(r#"{"a":{"to":"{to}"}}"#).expect("a template");
            let body = template.fill(&Filling { id: "msg_1", to: &to, status: "queued" });
            let back: serde_json::Value = serde_json::from_str(&body).expect("JSON");
            prop_assert_eq!(back["a"]["to"].as_str(), Some(to.as_str()));
        }
    }
}

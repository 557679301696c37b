//! [`Span`]: a length of time as people write it (`"300ms"`, `"2s"`, `"24h"`).
//!
//! Owns parsing, printing and the schema of durations in TOML and JSON. It knows no clock.

use std::{borrow::Cow, fmt, str::FromStr, time::Duration};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A non-negative length of time, written as a friendly string: `"300ms"`, `"1m 30s"`, `"24h"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub Duration);

impl Span {
    /// A span of whole milliseconds.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(Duration::from_millis(millis))
    }
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let signed: jiff::SignedDuration = text.parse().map_err(|_| {
            format!("`{text}` is not a duration: write a number and a unit, as in \"300ms\", \"2s\" or \"24h\"")
        })?;
        Duration::try_from(signed)
            .map(Self)
            .map_err(|_| format!("`{text}` is negative: a duration here counts forward"))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::SignedDuration::try_from(self.0) {
            Ok(signed) => write!(f, "{signed:#}"),
            Err(_) => write!(f, "{:?}", self.0),
        }
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Span;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration such as \"300ms\" or \"2s\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Span, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

impl JsonSchema for Span {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A duration such as \"300ms\", \"2s\" or \"24h\".",
            "examples": ["300ms", "2s", "24h"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn friendly_strings_are_read_and_printed_back() {
        for text in ["300ms", "2s", "1m 30s", "24h"] {
            let span: Span = text.parse().expect("a friendly duration");
            assert_eq!(span.to_string().parse::<Span>(), Ok(span), "{text}");
        }
        assert_eq!("300ms".parse::<Span>(), Ok(Span::from_millis(300)));
    }

    #[test]
    fn a_bare_number_or_a_negative_duration_is_refused_with_the_form_that_is_right() {
        assert!(
            "300"
                .parse::<Span>()
                .expect_err("no unit")
                .contains("300ms")
        );
        assert!(
            "-2s"
                .parse::<Span>()
                .expect_err("negative")
                .contains("negative")
        );
    }
}

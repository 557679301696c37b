//! Values of a profile file that can be written in two ways.
//!
//! Owns a code, which is a number or a word, and what is a word or else a row of its own.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, value::MapAccessDeserializer},
};

use super::file::RowFile;

/// A provider's code of an error: a number or a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code(pub(crate) String);

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Code {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Code;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a code: a number or a word in quotes")
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Code, E> {
                Ok(Code(number.to_string()))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Code, E> {
                Ok(Code(number.to_string()))
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<Code, E> {
                Ok(Code(word.to_owned()))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for Code {
    fn schema_name() -> Cow<'static, str> {
        "Code".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A provider's code: a number or a word.",
            "anyOf": [{ "type": "integer" }, { "type": "string" }],
        })
    }
}

/// A word, or a row.
macro_rules! word_or_row {
    ($(#[$doc:meta])* $name:ident, $word:literal, $variant:ident, $expecting:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default)]
        pub(super) enum $name {
            #[default]
            $variant,
            Row(RowFile),
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl<'de> de::Visitor<'de> for Visitor {
                    type Value = $name;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expecting)
                    }

                    fn visit_str<E: de::Error>(self, word: &str) -> Result<$name, E> {
                        match word {
                            $word => Ok($name::$variant),
                            other => Err(E::unknown_variant(other, &[$word])),
                        }
                    }

                    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<$name, M::Error> {
                        RowFile::deserialize(MapAccessDeserializer::new(map)).map($name::Row)
                    }
                }
                deserializer.deserialize_any(Visitor)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "anyOf": [{ "type": "string", "const": $word }, generator.subschema_for::<RowFile>()],
                })
            }
        }
    };
}

word_or_row! {
    /// What a request without a key becomes.
    Missing, "deliver", Deliver, "\"deliver\" or a row such as { status = 400 }"
}
word_or_row! {
    /// What a request finds whose key is being worked on.
    InFlight, "wait", Wait, "\"wait\" or a row such as { status = 409 }"
}

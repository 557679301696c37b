//! [`Attempts`]: which attempts of an intent a rule is for.
//!
//! Owns the notation (`1`, `[1, 3]`, `"1..3"`, `"2.."`, `"all"`) and the question "is attempt
//! *k* one of them". Counting attempts is the ledger's.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A set of attempt numbers, counted from 1 for each intent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempts {
    /// Exactly these, in ascending order and without repeats.
    Exactly(Vec<u32>),
    /// From the first to the second, both included: `"1..3"`.
    Between(u32, u32),
    /// From this one on: `"2.."`.
    From(u32),
    /// Every attempt: `"all"`.
    All,
}

impl Attempts {
    /// The set of the one attempt `k`.
    #[must_use]
    pub fn only(k: u32) -> Self {
        Self::Exactly(vec![k])
    }

    /// Whether attempt `k` (counted from 1) is in the set.
    #[must_use]
    pub fn contains(&self, k: u32) -> bool {
        match self {
            Self::Exactly(list) => list.contains(&k),
            Self::Between(first, last) => (*first..=*last).contains(&k),
            Self::From(first) => k >= *first,
            Self::All => true,
        }
    }

    /// The lowest attempt in the set.
    #[must_use]
    pub fn first(&self) -> u32 {
        match self {
            Self::Exactly(list) => list.first().copied().unwrap_or(1),
            Self::Between(first, _) | Self::From(first) => *first,
            Self::All => 1,
        }
    }

    /// The highest attempt in the set, or `None` where the set is open.
    #[must_use]
    pub fn last(&self) -> Option<u32> {
        match self {
            Self::Exactly(list) => list.last().copied(),
            Self::Between(_, last) => Some(*last),
            Self::From(_) | Self::All => None,
        }
    }

    fn exactly(mut list: Vec<u32>) -> Result<Self, String> {
        if list.is_empty() {
            return Err("an empty list selects no attempt: name at least one".into());
        }
        if list.contains(&0) {
            return Err("attempts are counted from 1: there is no attempt 0".into());
        }
        list.sort_unstable();
        list.dedup();
        Ok(Self::Exactly(list))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` does not select attempts: write 1, [1, 3], \"1..3\" (inclusive), \"2..\" or \"all\""
            )
        };
        if text == "all" {
            return Ok(Self::All);
        }
        let Some((first, last)) = text.split_once("..") else {
            return Err(wrong());
        };
        let first: u32 = first.trim().parse().map_err(|_| wrong())?;
        if first == 0 {
            return Err("attempts are counted from 1: there is no attempt 0".into());
        }
        let last = last.trim();
        if last.is_empty() {
            return Ok(Self::From(first));
        }
        let last: u32 = last.parse().map_err(|_| wrong())?;
        if last < first {
            return Err(format!(
                "`{text}` runs backwards: write \"{last}..{first}\""
            ));
        }
        Ok(Self::Between(first, last))
    }
}

impl fmt::Display for Attempts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(list) => {
                let words: Vec<String> = list.iter().map(u32::to_string).collect();
                f.write_str(&words.join(", "))
            }
            Self::Between(first, last) => write!(f, "{first}..{last}"),
            Self::From(first) => write!(f, "{first}.."),
            Self::All => f.write_str("all"),
        }
    }
}

impl Serialize for Attempts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Exactly(list) if list.len() == 1 => serializer.serialize_u32(list[0]),
            Self::Exactly(list) => list.serialize(serializer),
            _ => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Attempts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Attempts;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an attempt number, a list of them, \"1..3\", \"2..\" or \"all\"")
            }

            fn visit_i64<E: de::Error>(self, k: i64) -> Result<Attempts, E> {
                let k = u32::try_from(k).map_err(|_| {
                    E::custom(format!(
                        "attempts are counted from 1: there is no attempt {k}"
                    ))
                })?;
                Attempts::exactly(vec![k]).map_err(E::custom)
            }

            fn visit_u64<E: de::Error>(self, k: u64) -> Result<Attempts, E> {
                self.visit_i64(i64::try_from(k).unwrap_or(i64::MAX))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Attempts, E> {
                Attempts::parse(text).map_err(E::custom)
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<Attempts, A::Error> {
                let mut list = Vec::new();
                while let Some(k) = seq.next_element()? {
                    list.push(k);
                }
                Attempts::exactly(list).map_err(de::Error::custom)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for Attempts {
    fn schema_name() -> Cow<'static, str> {
        "Attempts".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Which attempts of each intent: 1, [1, 3], \"1..3\" (inclusive), \"2..\" or \"all\".",
            "oneOf": [
                { "type": "integer", "minimum": 1 },
                { "type": "array", "items": { "type": "integer", "minimum": 1 }, "minItems": 1 },
                { "type": "string", "pattern": "^([1-9][0-9]*\\.\\.([1-9][0-9]*)?|all)$" },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Attempts, String> {
        serde_json::from_str(json).map_err(|e| e.to_string())
    }

    #[test]
    fn every_notation_selects_what_it_says() {
        let cases: [(&str, &[u32], &[u32]); 5] = [
            ("1", &[1], &[2]),
            ("[3, 1]", &[1, 3], &[2, 4]),
            ("\"1..3\"", &[1, 2, 3], &[4]),
            ("\"2..\"", &[2, 3, 1000], &[1]),
            ("\"all\"", &[1, 2, 1000], &[]),
        ];
        for (json, inside, outside) in cases {
            let set = read(json).expect("a notation of the reference");
            assert!(inside.iter().all(|k| set.contains(*k)), "{json}");
            assert!(!outside.iter().any(|k| set.contains(*k)), "{json}");
            let again = serde_json::to_string(&set).expect("serialisable");
            assert_eq!(read(&again).expect("what is written can be read"), set);
        }
    }

    #[test]
    fn what_selects_nothing_is_refused() {
        for json in [
            "0", "-1", "[]", "[0]", "\"3..1\"", "\"..3\"", "\"some\"", "1.5",
        ] {
            assert!(read(json).is_err(), "{json}");
        }
    }
}

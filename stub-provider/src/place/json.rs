//! Values in a JSON body.
//!
//! Owns walking it once for all places, and keeping nothing of what no place is for.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeSeed, IgnoredAny, MapAccess},
};
use serde_json::Value;

use super::Place;

/// Walks the outermost object once and keeps only the members that some place starts with.
pub(super) struct JsonPlaces<'a, 'de> {
    pub(super) places: &'a [&'a Place],
    pub(super) found: &'a mut [Option<Cow<'de, str>>],
    pub(super) element: usize,
}

impl<'de> de::Visitor<'de> for JsonPlaces<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some(wanted) = map.next_key_seed(Member(self.places))? {
            let Some((first, simple)) = wanted else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            if simple {
                self.found[first] = map.next_value::<Scalar>()?.0;
                continue;
            }
            // Several places, or one further inside: read the member whole.
            let content: Value = map.next_value()?;
            let Place::Json(chosen) = &self.places[first] else {
                continue;
            };
            for (place, slot) in self.places.iter().zip(self.found.iter_mut()) {
                if let Place::Json(path) = place
                    && path[0] == chosen[0]
                {
                    *slot = walk(&content, &path[1..], self.element)
                        .and_then(scalar)
                        .map(Cow::Owned);
                }
            }
        }
        Ok(())
    }
}

/// Which place a member of the outermost object is for: the first of them, and whether it is the
/// only one and the member itself is meant.
struct Member<'a>(&'a [&'a Place]);

impl<'de> DeserializeSeed<'de> for Member<'_> {
    type Value = Option<(usize, bool)>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl de::Visitor<'_> for Member<'_> {
    type Value = Option<(usize, bool)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member name")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<Self::Value, E> {
        let mut found = None;
        for (nth, place) in self.0.iter().enumerate() {
            if let Place::Json(path) = place
                && path[0] == name
            {
                found = match found {
                    None => Some((nth, path.len() == 1)),
                    Some((first, _)) => Some((first, false)),
                };
            }
        }
        Ok(found)
    }
}

/// Text or a number; anything else is read over.
struct Scalar<'de>(Option<Cow<'de, str>>);

impl<'de> Deserialize<'de> for Scalar<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Scalar<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON value")
            }

            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Scalar<'de>, E> {
                Ok(Scalar(Some(text.into())))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Scalar<'de>, E> {
                Ok(Scalar(Some(text.to_owned().into())))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Scalar<'de>, E> {
                Ok(Scalar(Some(number.to_string().into())))
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Scalar<'de>, E> {
                Ok(Scalar(Some(number.to_string().into())))
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Scalar<'de>, E> {
                Ok(Scalar(
                    Value::from(number)
                        .as_number()
                        .map(|number| number.to_string().into()),
                ))
            }

            fn visit_bool<E: de::Error>(self, _: bool) -> Result<Scalar<'de>, E> {
                Ok(Scalar(None))
            }

            fn visit_unit<E: de::Error>(self) -> Result<Scalar<'de>, E> {
                Ok(Scalar(None))
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<Scalar<'de>, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Scalar(None))
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Scalar<'de>, M::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Scalar(None))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// The value at a path; `*` is `element`.
pub(crate) fn walk<'v>(content: &'v Value, path: &[String], element: usize) -> Option<&'v Value> {
    path.iter().try_fold(content, |at, step| match at {
        Value::Array(items) if step == "*" => items.get(element),
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        other => other.get(step),
    })
}

pub(super) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

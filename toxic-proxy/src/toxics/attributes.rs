//! The settings of a toxic: the closed set of types, and how they are read
//! from JSON so that a wrong one is named instead of obeyed.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::{Bandwidth, Latency, LimitData, ResetPeer, Slicer, SlowClose, Timeout};

/// The type of a toxic together with its settings.
///
/// Serialises to the `attributes` object of Toxiproxy's JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attributes {
    /// Passes everything on.
    Noop,
    /// Delays data.
    Latency(Latency),
    /// Limits the rate.
    Bandwidth(Bandwidth),
    /// Delays the close.
    SlowClose(SlowClose),
    /// Swallows data, then closes.
    Timeout(Timeout),
    /// Aborts the connection.
    ResetPeer(ResetPeer),
    /// Cuts data into small pieces.
    Slicer(Slicer),
    /// Closes after a number of bytes.
    LimitData(LimitData),
}

/// Every type name, as it stands in JSON.
const TYPES: [&str; 8] = [
    "noop",
    "latency",
    "bandwidth",
    "slow_close",
    "timeout",
    "reset_peer",
    "slicer",
    "limit_data",
];

impl Attributes {
    /// The type's name in JSON.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Noop => "noop",
            Self::Latency(_) => "latency",
            Self::Bandwidth(_) => "bandwidth",
            Self::SlowClose(_) => "slow_close",
            Self::Timeout(_) => "timeout",
            Self::ResetPeer(_) => "reset_peer",
            Self::Slicer(_) => "slicer",
            Self::LimitData(_) => "limit_data",
        }
    }

    /// Whether there is a type of that name.
    pub(crate) fn is_type(name: &str) -> bool {
        TYPES.contains(&name)
    }

    /// Reads the attributes of a new toxic; `None` where the type is unknown.
    pub(crate) fn read(type_name: &str, json: Option<&Value>) -> Option<Result<Self, String>> {
        Self::is_type(type_name).then(|| Self::read_over(type_name, json, None))
    }

    /// These attributes, with those that the JSON names replaced.
    pub(crate) fn merge(&self, json: Option<&Value>) -> Result<Self, String> {
        Self::read_over(self.type_name(), json, Some(self))
    }

    fn read_over(
        type_name: &str,
        json: Option<&Value>,
        current: Option<&Self>,
    ) -> Result<Self, String> {
        let empty = Map::new();
        let map = match json {
            None | Some(Value::Null) => &empty,
            Some(Value::Object(map)) => map,
            Some(other) => {
                return Err(format!("attributes must be an object, not {}", kind(other)));
            }
        };
        let mut fields = Fields {
            type_name,
            left: map.iter().collect(),
            known: Vec::new(),
        };
        let read = match type_name {
            "latency" => {
                let current = current.and_then(|c| {
                    if let Self::Latency(a) = c {
                        Some(*a)
                    } else {
                        None
                    }
                });
                Self::Latency(Latency::read(&mut fields, current)?)
            }
            "bandwidth" => {
                let current = current.and_then(|c| {
                    if let Self::Bandwidth(a) = c {
                        Some(*a)
                    } else {
                        None
                    }
                });
                Self::Bandwidth(Bandwidth::read(&mut fields, current)?)
            }
            "slow_close" => {
                let current = current.and_then(|c| {
                    if let Self::SlowClose(a) = c {
                        Some(*a)
                    } else {
                        None
                    }
                });
                Self::SlowClose(SlowClose::read(&mut fields, current)?)
            }
            "timeout" => {
                let current = current.and_then(|c| {
                    if let Self::Timeout(a) = c {
                        Some(*a)
                    } else {
                        None
                    }
                });
                Self::Timeout(Timeout::read(&mut fields, current)?)
            }
            "reset_peer" => {
                let current = current.and_then(|c| {
                    if let Self::ResetPeer(a) = c {
                        Some(*a)
                    } else {
                        None
                    }
                });
                Self::ResetPeer(ResetPeer::read(&mut fields, current)?)
            }
            "slicer" => {
                let current = current.and_then(|c| {
                    if let Self::Slicer(a) = c {
                        Some(*a)
                    } else {
                        None
                    }
                });
                Self::Slicer(Slicer::read(&mut fields, current)?)
            }
            "limit_data" => {
                let current = current.and_then(|c| {
                    if let Self::LimitData(a) = c {
                        Some(*a)
                    } else {
                        None
                    }
                });
                Self::LimitData(LimitData::read(&mut fields, current)?)
            }
            _ => Self::Noop,
        };
        fields.finish()?;
        read.check()?;
        Ok(read)
    }

    /// Refuses settings that cannot work.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self {
            Self::Slicer(slicer) => slicer.check(),
            _ => Ok(()),
        }
    }
}

impl Serialize for Attributes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Noop => serializer.collect_map(std::iter::empty::<(&str, u64)>()),
            Self::Latency(latency) => latency.serialize(serializer),
            Self::Bandwidth(bandwidth) => bandwidth.serialize(serializer),
            Self::SlowClose(slow_close) => slow_close.serialize(serializer),
            Self::Timeout(timeout) => timeout.serialize(serializer),
            Self::ResetPeer(reset_peer) => reset_peer.serialize(serializer),
            Self::Slicer(slicer) => slicer.serialize(serializer),
            Self::LimitData(limit_data) => limit_data.serialize(serializer),
        }
    }
}

/// What kind of JSON value it is, for people.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The members of an `attributes` object that nobody has asked for yet.
pub(super) struct Fields<'a> {
    type_name: &'a str,
    left: Vec<(&'a String, &'a Value)>,
    known: Vec<&'static str>,
}

impl Fields<'_> {
    /// A whole number from 0 to 2^63 - 1; `None` where it is absent or null.
    /// Names match whatever their case, as they do in the original.
    pub(super) fn take(&mut self, name: &'static str) -> Result<Option<u64>, String> {
        self.known.push(name);
        let mut found = None;
        self.left.retain(|(key, value)| {
            let matches = key.eq_ignore_ascii_case(name);
            if matches {
                found = Some(*value);
            }
            !matches
        });
        match found {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Number(number)) => match number.as_u64() {
                Some(value) if i64::try_from(value).is_ok() => Ok(Some(value)),
                Some(_) => Err(format!("attributes.{name}: {number} is too large")),
                None if number.as_i64().is_some() => Err(format!(
                    "attributes.{name}: must not be negative, but is {number}"
                )),
                None => Err(format!(
                    "attributes.{name}: must be a whole number, not {number}"
                )),
            },
            Some(other) => Err(format!(
                "attributes.{name}: must be a whole number, not {}",
                kind(other)
            )),
        }
    }

    fn finish(self) -> Result<(), String> {
        let Some((key, _)) = self.left.first() else {
            return Ok(());
        };
        let known = if self.known.is_empty() {
            "none".to_owned()
        } else {
            self.known.join(", ")
        };
        Err(format!(
            "attributes.{key}: unknown attribute of {} (it has: {known})",
            self.type_name
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(type_name: &str, json: &Value) -> Result<Attributes, String> {
        Attributes::read(type_name, Some(json)).expect("the type exists")
    }

    #[test]
    fn absent_and_null_attributes_take_their_defaults() {
        let expected = Attributes::Latency(Latency {
            latency: 0,
            jitter: 0,
        });
        assert_eq!(read("latency", &json!({})), Ok(expected));
        assert_eq!(read("latency", &json!(null)), Ok(expected));
        assert_eq!(read("latency", &json!({ "jitter": null })), Ok(expected));
    }

    #[test]
    fn an_unknown_attribute_is_named_together_with_the_known_ones() {
        let error = read("latency", &json!({ "latancy": 5 })).expect_err("a slip of the pen");
        assert!(
            error.contains("attributes.latancy") && error.contains("latency, jitter"),
            "{error}"
        );
        assert!(read("noop", &json!({ "x": 1 })).is_err());
    }

    #[test]
    fn wrong_types_and_negative_numbers_are_refused() {
        for wrong in [
            json!(-1),
            json!(1.5),
            json!("10"),
            json!(true),
            json!([1]),
            json!(u64::MAX),
        ] {
            let error = read("bandwidth", &json!({ "rate": wrong })).expect_err("must be refused");
            assert!(error.starts_with("attributes.rate"), "{error}");
        }
        assert!(read("latency", &json!([1])).is_err());
    }

    #[test]
    fn a_merge_replaces_only_what_it_names() {
        let before = Attributes::Latency(Latency {
            latency: 100,
            jitter: 10,
        });
        assert_eq!(
            before.merge(Some(&json!({ "latency": 5 }))),
            Ok(Attributes::Latency(Latency {
                latency: 5,
                jitter: 10
            }))
        );
        assert_eq!(before.merge(None), Ok(before));
    }

    #[test]
    fn an_unknown_type_is_no_type() {
        assert!(Attributes::read("nope", None).is_none());
    }

    #[test]
    fn every_type_reads_back_what_it_writes() {
        let all = [
            Attributes::Noop,
            Latency {
                latency: 1,
                jitter: 2,
            }
            .into(),
            Bandwidth { rate: 3 }.into(),
            SlowClose { delay: 4 }.into(),
            Timeout { timeout: 5 }.into(),
            ResetPeer { timeout: 6 }.into(),
            Slicer {
                average_size: 70,
                size_variation: 8,
                delay: 9,
            }
            .into(),
            LimitData { bytes: 10 }.into(),
        ];
        assert_eq!(all.map(|a| a.type_name()), TYPES);
        for attributes in all {
            let json = serde_json::to_value(attributes).expect("attributes are JSON");
            assert_eq!(read(attributes.type_name(), &json), Ok(attributes));
        }
    }
}

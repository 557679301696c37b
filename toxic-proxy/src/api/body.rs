//! Reads the bodies of requests, as forgivingly as the original where that is
//! harmless (case of names, null, members it does not know) and strictly where
//! a wrong value would be obeyed.

use serde_json::{Map, Value};

use crate::error::Error;
use crate::proxy_info::{NewProxy, ProxyUpdate};
use crate::toxic::{Stream, Toxic};
use crate::toxics::Attributes;

/// The first JSON value of a body; anything after it is ignored.
fn first_value(bytes: &[u8]) -> Result<Value, Error> {
    match serde_json::Deserializer::from_slice(bytes)
        .into_iter::<Value>()
        .next()
    {
        Some(Ok(value)) => Ok(value),
        Some(Err(error)) => Err(Error::BadRequest(error.to_string())),
        None => Err(Error::BadRequest("EOF".to_owned())),
    }
}

fn wrong(name: &str, wanted: &str, value: &Value) -> Error {
    let found = crate::toxics::kind_of(value);
    Error::BadRequest(format!("{name}: must be {wanted}, not {found}"))
}

/// The members of a JSON object.
pub(crate) struct Members(Map<String, Value>);

impl Members {
    pub(super) fn of(bytes: &[u8]) -> Result<Self, Error> {
        Self::from_value(first_value(bytes)?)
    }

    pub(crate) fn from_value(value: Value) -> Result<Self, Error> {
        match value {
            Value::Object(members) => Ok(Self(members)),
            Value::Null => Ok(Self(Map::new())),
            other => Err(Error::BadRequest(format!(
                "must be an object, not {}",
                crate::toxics::kind_of(&other)
            ))),
        }
    }

    /// A member; names match exactly, or else whatever their case.
    fn get(&self, name: &str) -> Option<&Value> {
        let anyhow = || {
            self.0
                .iter()
                .find(|(key, _)| key.eq_ignore_ascii_case(name))
                .map(|(_, value)| value)
        };
        self.0
            .get(name)
            .or_else(anyhow)
            .filter(|value| !value.is_null())
    }

    fn string(&self, name: &str) -> Result<Option<String>, Error> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(wrong(name, "a string", other)),
        }
    }

    fn boolean(&self, name: &str) -> Result<Option<bool>, Error> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(*value)),
            Some(other) => Err(wrong(name, "true or false", other)),
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "toxicity has single precision in the API"
    )]
    fn toxicity(&self) -> Result<Option<f32>, Error> {
        match self.get("toxicity") {
            None => Ok(None),
            Some(Value::Number(number)) => Ok(number.as_f64().map(|value| value as f32)),
            Some(other) => Err(wrong("toxicity", "a number", other)),
        }
    }

    fn connection(&self) -> Result<Option<u64>, Error> {
        match self.get("connection") {
            None => Ok(None),
            Some(Value::Number(number)) if number.as_u64().is_some_and(|id| id > 0) => {
                Ok(number.as_u64())
            }
            Some(other) => Err(wrong("connection", "a whole number from 1 on", other)),
        }
    }

    /// A proxy to create, and whether it is a blackhole.
    pub(crate) fn new_proxy(&self) -> Result<(NewProxy, bool), Error> {
        let new = NewProxy {
            name: self.string("name")?.unwrap_or_default(),
            listen: self.string("listen")?.unwrap_or_default(),
            upstream: self.string("upstream")?.unwrap_or_default(),
            enabled: self.boolean("enabled")?.unwrap_or(true),
        };
        Ok((new, self.boolean("blackhole")?.unwrap_or(false)))
    }

    pub(super) fn proxy_update(&self) -> Result<ProxyUpdate, Error> {
        Ok(ProxyUpdate {
            listen: self.string("listen")?,
            upstream: self.string("upstream")?,
            enabled: self.boolean("enabled")?,
            blackhole: self.boolean("blackhole")?,
        })
    }

    pub(crate) fn toxic(&self) -> Result<Toxic, Error> {
        let stream: Stream = match self.string("stream")? {
            None => Stream::Downstream,
            Some(stream) => stream.parse()?,
        };
        let type_name = self.string("type")?.unwrap_or_default();
        let toxicity = self.toxicity()?.unwrap_or(1.0);
        let connection = self.connection()?;
        let name = self.string("name")?;
        let attributes = Attributes::read(&type_name, self.get("attributes"))
            .ok_or(Error::InvalidToxicType)?
            .map_err(Error::BadRequest)?;
        let toxic = Toxic {
            toxicity,
            connection,
            ..Toxic::new(stream, attributes)
        };
        Ok(match name {
            Some(name) if !name.is_empty() => toxic.named(name),
            _ => toxic,
        })
    }

    pub(super) fn change_toxic(&self, toxic: &mut Toxic) -> Result<(), Error> {
        toxic.attributes = toxic
            .attributes
            .merge(self.get("attributes"))
            .map_err(Error::BadRequest)?;
        toxic.toxicity = self.toxicity()?.unwrap_or(toxic.toxicity);
        Ok(())
    }

    /// The toxics of a proxy in a configuration file.
    pub(crate) fn toxics(&self) -> Result<Vec<Toxic>, Error> {
        match self.get("toxics") {
            None => Ok(Vec::new()),
            Some(Value::Array(all)) => all
                .iter()
                .map(|value| Self::from_value(value.clone())?.toxic())
                .collect(),
            Some(other) => Err(wrong("toxics", "a list", other)),
        }
    }
}

/// A list of objects.
pub(crate) fn list(bytes: &[u8]) -> Result<Vec<Members>, Error> {
    match first_value(bytes)? {
        Value::Array(all) => all.into_iter().map(Members::from_value).collect(),
        Value::Null => Ok(Vec::new()),
        other => Err(Error::BadRequest(format!(
            "must be a list, not {}",
            crate::toxics::kind_of(&other)
        ))),
    }
}

/// The proxies to populate with; their toxics are ignored.
pub(super) fn new_proxies(bytes: &[u8]) -> Result<Vec<NewProxy>, Error> {
    list(bytes)?
        .iter()
        .map(|members| members.new_proxy().map(|(new, _)| new))
        .collect()
}

//! A toxic as it is asked for and read back: name, type, stream, toxicity,
//! attributes, and the connection it is bound to.
//!
//! Owns the description and its JSON; what a toxic does is in [`crate::toxics`].

use std::fmt;
use std::str::FromStr;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::error::Error;
use crate::toxics::Attributes;

/// The direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stream {
    /// From the client to the upstream server.
    Upstream,
    /// From the upstream server to the client.
    Downstream,
}

impl Stream {
    /// The name used in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Upstream => "upstream",
            Self::Downstream => "downstream",
        }
    }
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Stream {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if text.eq_ignore_ascii_case("upstream") {
            Ok(Self::Upstream)
        } else if text.eq_ignore_ascii_case("downstream") {
            Ok(Self::Downstream)
        } else {
            Err(Error::InvalidStream)
        }
    }
}

/// A fault on one stream of a proxy, or of one of its connections.
///
/// Serialises to the JSON of Toxiproxy, plus `connection` where it is bound.
#[derive(Debug, Clone, PartialEq)]
pub struct Toxic {
    /// Unique on its proxy.
    pub name: String,
    /// The direction it acts on.
    pub stream: Stream,
    /// The share of connections it acts on, 0 to 1.
    pub toxicity: f32,
    /// The type of the toxic and its settings.
    pub attributes: Attributes,
    /// The connection it is bound to, counted from 1 in the order of
    /// acceptance since the proxy was created; `None` for every connection.
    pub connection: Option<u64>,
}

impl Toxic {
    /// A toxic for every connection, with toxicity 1 and Toxiproxy's default
    /// name, `<type>_<stream>`.
    #[must_use]
    pub fn new(stream: Stream, attributes: impl Into<Attributes>) -> Self {
        let attributes = attributes.into();
        Self {
            name: format!("{}_{stream}", attributes.type_name()),
            stream,
            toxicity: 1.0,
            attributes,
            connection: None,
        }
    }

    /// The same toxic under another name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The same toxic, acting on a share of the connections (0 to 1).
    #[must_use]
    pub fn with_toxicity(mut self, toxicity: f32) -> Self {
        self.toxicity = toxicity;
        self
    }

    /// The same toxic, bound to the proxy's `connection`-th accepted connection.
    #[must_use]
    pub fn bound_to(mut self, connection: u64) -> Self {
        self.connection = Some(connection);
        self
    }

    pub(crate) fn concerns(&self, connection: u64) -> bool {
        self.connection.is_none_or(|bound| bound == connection)
    }

    /// Refuses what cannot work.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.name.is_empty() {
            return Err(Error::MissingField("name".to_owned()));
        }
        if !(0.0..=1.0).contains(&self.toxicity) {
            return Err(Error::BadRequest(format!(
                "toxicity must be between 0 and 1, not {}",
                self.toxicity
            )));
        }
        if self.connection == Some(0) {
            return Err(Error::BadRequest(
                "connection: connections are counted from 1".to_owned(),
            ));
        }
        self.attributes.check().map_err(Error::BadRequest)
    }
}

/// Whole numbers without a decimal point, as Toxiproxy writes them.
struct Toxicity(f32);

impl Serialize for Toxicity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0 <= 0.0 {
            serializer.serialize_u8(0)
        } else if self.0 >= 1.0 {
            serializer.serialize_u8(1)
        } else {
            serializer.serialize_f32(self.0)
        }
    }
}

impl Serialize for Toxic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("attributes", &self.attributes)?;
        map.serialize_entry("name", &self.name)?;
        map.serialize_entry("type", self.attributes.type_name())?;
        map.serialize_entry("stream", self.stream.as_str())?;
        map.serialize_entry("toxicity", &Toxicity(self.toxicity))?;
        if let Some(connection) = self.connection {
            map.serialize_entry("connection", &connection)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toxics::Latency;

    #[test]
    fn json_of_an_unbound_toxic_is_toxiproxys_to_the_byte() {
        let toxic = Toxic::new(
            Stream::Downstream,
            Latency {
                latency: 100,
                jitter: 5,
            },
        );
        assert_eq!(
            serde_json::to_string(&toxic).expect("a toxic is JSON"),
            r#"{"attributes":{"latency":100,"jitter":5},"name":"latency_downstream","type":"latency","stream":"downstream","toxicity":1}"#
        );
    }

    #[test]
    fn a_bound_toxic_names_its_connection_beside_its_attributes() {
        let toxic = Toxic::new(Stream::Upstream, Attributes::Noop)
            .named("third")
            .with_toxicity(0.25)
            .bound_to(3);
        assert_eq!(
            serde_json::to_string(&toxic).expect("a toxic is JSON"),
            r#"{"attributes":{},"name":"third","type":"noop","stream":"upstream","toxicity":0.25,"connection":3}"#
        );
    }

    #[test]
    fn toxicity_outside_zero_to_one_is_refused() {
        for toxicity in [-0.1, 1.1, f32::NAN] {
            let toxic = Toxic::new(Stream::Upstream, Attributes::Noop).with_toxicity(toxicity);
            assert!(toxic.check().is_err(), "{toxicity} must be refused");
        }
    }
}

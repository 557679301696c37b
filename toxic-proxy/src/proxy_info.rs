//! A proxy as it is asked for, changed and read back, with its JSON.
//!
//! Owns the description; what a proxy does is in [`crate::proxy`].

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::error::Error;
use crate::toxic::Toxic;

/// A proxy that is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewProxy {
    /// Unique among the engine's proxies.
    pub name: String,
    /// `host:port`; port 0 takes a free one, an empty host every address. Empty as a whole: a free
    /// port of 127.0.0.1.
    pub listen: String,
    /// `host:port` of the server behind it.
    pub upstream: String,
    /// Whether it listens at once.
    pub enabled: bool,
}

impl NewProxy {
    /// An enabled proxy.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        listen: impl Into<String>,
        upstream: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            listen: listen.into(),
            upstream: upstream.into(),
            enabled: true,
        }
    }

    pub(crate) fn check(&self, place: &str) -> Result<(), Error> {
        if self.name.is_empty() {
            return Err(Error::MissingField(format!("name{place}")));
        }
        if self.upstream.is_empty() {
            return Err(Error::MissingField(format!("upstream{place}")));
        }
        Ok(())
    }
}

/// What to change of a proxy; `None` leaves a setting as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProxyUpdate {
    /// Listen elsewhere; closes all connections.
    pub listen: Option<String>,
    /// Another server behind it; closes all connections.
    pub upstream: Option<String>,
    /// Listen, or refuse connects and close all connections.
    pub enabled: Option<bool>,
    /// Leave new connects unanswered.
    pub blackhole: Option<bool>,
}

/// A proxy as it stands.
///
/// Serialises to the JSON of Toxiproxy, plus `blackhole` while that is on.
#[derive(Debug, Clone, PartialEq)]
pub struct ProxyInfo {
    /// Its name.
    pub name: String,
    /// The address it listens on; resolved once it has listened.
    pub listen: String,
    /// The server behind it, as given.
    pub upstream: String,
    /// Whether it listens.
    pub enabled: bool,
    /// Its toxics, upstream ones first, in the order in which they were added.
    pub toxics: Vec<Toxic>,
    /// Whether new connects are left unanswered.
    pub blackhole: bool,
}

impl Serialize for ProxyInfo {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.name)?;
        map.serialize_entry("listen", &self.listen)?;
        map.serialize_entry("upstream", &self.upstream)?;
        map.serialize_entry("enabled", &self.enabled)?;
        map.serialize_entry("toxics", &self.toxics)?;
        if self.blackhole {
            map.serialize_entry("blackhole", &true)?;
        }
        map.end()
    }
}

//! What can go wrong when someone asks the engine for something.
//!
//! Owns the wording and the HTTP status of each refusal; the first words of
//! each are Toxiproxy's, since clients match on them.

use std::io;

use thiserror::Error as ThisError;

/// Why the engine did not do what it was asked to do.
///
/// Nothing was changed when one of these is returned, unless its text says so.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// The request could not be read, or holds a value that makes no sense.
    #[error("bad request body: {0}")]
    BadRequest(String),
    /// A field without which nothing can be done is absent or empty.
    #[error("missing required field: {0}")]
    MissingField(String),
    /// No proxy of that name.
    #[error("proxy not found")]
    ProxyNotFound,
    /// A proxy of that name is there already.
    #[error("proxy already exists")]
    ProxyAlreadyExists,
    /// A stream other than upstream or downstream.
    #[error("stream was invalid, can be either upstream or downstream")]
    InvalidStream,
    /// A toxic type that does not exist.
    #[error("invalid toxic type")]
    InvalidToxicType,
    /// A toxic of that name is on the proxy already.
    #[error("toxic already exists")]
    ToxicAlreadyExists,
    /// No toxic of that name on the proxy.
    #[error("toxic not found")]
    ToxicNotFound,
    /// The body of a request is larger than the API reads.
    #[error("request body is larger than {0} bytes")]
    BodyTooLarge(usize),
    /// An address to listen on could not be used.
    #[error("listen tcp {address}: {reason}")]
    Listen {
        /// The address as asked for.
        address: String,
        /// What the operating system said.
        reason: String,
        /// The error itself.
        #[source]
        source: io::Error,
    },
    /// The blackhole of a proxy could not be switched.
    #[error("blackhole of proxy {proxy}: {source}")]
    Blackhole {
        /// The proxy.
        proxy: String,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
    /// A configuration file could not be read.
    #[error("config file {path}: {reason}")]
    Config {
        /// The file.
        path: String,
        /// What was wrong with it.
        reason: String,
    },
}

impl Error {
    pub(crate) fn listen(address: impl Into<String>, source: io::Error) -> Self {
        let reason = match source.kind() {
            io::ErrorKind::AddrInUse => "bind: address already in use".to_owned(),
            io::ErrorKind::AddrNotAvailable => "bind: cannot assign requested address".to_owned(),
            io::ErrorKind::PermissionDenied => "bind: permission denied".to_owned(),
            _ => source.to_string(),
        };
        Self::Listen {
            address: address.into(),
            reason,
            source,
        }
    }

    /// The status that the HTTP API answers with.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Self::BadRequest(_)
            | Self::MissingField(_)
            | Self::InvalidStream
            | Self::InvalidToxicType => 400,
            Self::ProxyNotFound | Self::ToxicNotFound => 404,
            Self::ProxyAlreadyExists | Self::ToxicAlreadyExists => 409,
            Self::BodyTooLarge(_) => 413,
            Self::Listen { .. } | Self::Blackhole { .. } | Self::Config { .. } => 500,
        }
    }
}

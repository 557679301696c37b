//! What travels along a link: chunks of data and the end of the stream.
//!
//! Owns the words that toxics and links share. Knows nothing of sockets.

use bytes::Bytes;
use tokio::time::Instant;

/// Bytes that were read from a socket in one go, or a part of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// The data.
    pub(crate) bytes: Bytes,
    /// When the data was received; latency counts from here.
    pub(crate) received: Instant,
}

/// How a stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The sender has finished; the other direction goes on (half-close).
    Fin,
    /// A toxic closes the connection in the orderly way, both directions.
    Close,
    /// The connection is aborted, both directions.
    Reset,
}

/// One thing on its way from a source to a sink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Item {
    /// Data.
    Data(Chunk),
    /// Nothing follows.
    End(End),
}

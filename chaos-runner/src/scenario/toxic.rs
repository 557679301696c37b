//! `toxic.<type>`: every Toxiproxy toxic with the attributes that it has, and no others.
//!
//! Owns the attributes' names and units, which are Toxiproxy's (2.12). What a toxic does is the
//! proxy's.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::file::RawFor;
use crate::fault::{Stream, Toxic, ToxicKind};

/// `toxic.<type>`, by Toxiproxy's names.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Toxic")]
pub(crate) enum RawToxic {
    /// Delays data.
    Latency(LatencyToxic),
    /// Limits the speed.
    Bandwidth(BandwidthToxic),
    /// Delays the close.
    SlowClose(SlowCloseToxic),
    /// Drops all data; closes after a time, or never.
    Timeout(TimeoutToxic),
    /// Resets the connection (RST).
    ResetPeer(ResetPeerToxic),
    /// Cuts data into small pieces.
    Slicer(SlicerToxic),
    /// Closes after a number of bytes.
    LimitData(LimitDataToxic),
    /// Does nothing.
    Noop(NoopToxic),
    /// Not a toxic but the proxy switched off: connects are refused for a while.
    Down(RawFor),
}

/// Declares a toxic's table and the table of its attributes.
macro_rules! toxics {
    ($($table:ident, $attributes:ident: $about:literal { $($(#[$meta:meta])* $field:ident: $ty:ty),* $(,)? })*) => {$(
        #[doc = $about]
        #[derive(Debug, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields)]
        pub(crate) struct $table {
            /// The direction that it acts on; absent: downstream.
            #[serde(default)]
            stream: Stream,
            /// The probability from 0 to 1 that it acts; absent: 1.
            #[serde(default = "always")]
            #[schemars(range(min = 0.0, max = 1.0))]
            toxicity: f64,
            /// The toxic's own attributes.
            attributes: $attributes,
        }

        #[doc = concat!("The attributes of ", $about)]
        #[derive(Debug, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $attributes {
            $($(#[$meta])* $field: $ty,)*
        }

        impl $table {
            fn resolve(&self, kind: ToxicKind) -> Toxic {
                Toxic {
                    kind,
                    stream: self.stream,
                    toxicity: self.toxicity,
                    attributes: BTreeMap::from([
                        $((stringify!($field).to_owned(), self.attributes.$field),)*
                    ]),
                }
            }
        }
    )*};
}

toxics! {
    LatencyToxic, LatencyAttributes: "`toxic.latency`." {
        /// Milliseconds.
        latency: u64,
        /// Milliseconds more or less.
        #[serde(default)]
        jitter: u64,
    }
    BandwidthToxic, BandwidthAttributes: "`toxic.bandwidth`." {
        /// KB a second; 0: nothing passes.
        rate: u64,
    }
    SlowCloseToxic, SlowCloseAttributes: "`toxic.slow_close`." {
        /// Milliseconds.
        delay: u64,
    }
    TimeoutToxic, TimeoutAttributes: "`toxic.timeout`." {
        /// Milliseconds until the connection is closed; 0: it stays open and silent.
        timeout: u64,
    }
    ResetPeerToxic, ResetPeerAttributes: "`toxic.reset_peer`." {
        /// Milliseconds until the reset; 0: at once.
        timeout: u64,
    }
    SlicerToxic, SlicerAttributes: "`toxic.slicer`." {
        /// Bytes in a piece.
        average_size: u64,
        /// Bytes more or less.
        #[serde(default)]
        size_variation: u64,
        /// Microseconds between pieces.
        #[serde(default)]
        delay: u64,
    }
    LimitDataToxic, LimitDataAttributes: "`toxic.limit_data`." {
        /// Bytes until the connection is closed.
        bytes: u64,
    }
}

/// `toxic.noop`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct NoopToxic {
    /// The direction that it does not act on.
    #[serde(default)]
    stream: Stream,
}

fn always() -> f64 {
    1.0
}

impl RawToxic {
    /// The key under `toxic`.
    pub(crate) fn name(&self) -> &'static str {
        self.kind().map_or("down", ToxicKind::as_str)
    }

    fn kind(&self) -> Option<ToxicKind> {
        Some(match self {
            Self::Latency(_) => ToxicKind::Latency,
            Self::Bandwidth(_) => ToxicKind::Bandwidth,
            Self::SlowClose(_) => ToxicKind::SlowClose,
            Self::Timeout(_) => ToxicKind::Timeout,
            Self::ResetPeer(_) => ToxicKind::ResetPeer,
            Self::Slicer(_) => ToxicKind::Slicer,
            Self::LimitData(_) => ToxicKind::LimitData,
            Self::Noop(_) => ToxicKind::Noop,
            Self::Down(_) => return None,
        })
    }

    /// The toxic itself; `None` for `down`, which is none.
    pub(crate) fn resolve(&self) -> Option<Toxic> {
        let kind = self.kind()?;
        Some(match self {
            Self::Latency(raw) => raw.resolve(kind),
            Self::Bandwidth(raw) => raw.resolve(kind),
            Self::SlowClose(raw) => raw.resolve(kind),
            Self::Timeout(raw) => raw.resolve(kind),
            Self::ResetPeer(raw) => raw.resolve(kind),
            Self::Slicer(raw) => raw.resolve(kind),
            Self::LimitData(raw) => raw.resolve(kind),
            Self::Noop(raw) => Toxic {
                kind,
                stream: raw.stream,
                toxicity: 1.0,
                attributes: BTreeMap::new(),
            },
            Self::Down(_) => return None,
        })
    }
}

//! `limit_data`: so many bytes pass, then the connection closes.

use serde::Serialize;
use tokio::time::Instant;

use super::Attributes;
use super::attributes::Fields;
use crate::item::{Chunk, End, Item};
use crate::schedule::Schedule;

/// Closes the connection after a number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LimitData {
    /// Bytes that pass on each connection, counted from when the toxic is
    /// added; 0 closes at the first chunk.
    pub bytes: u64,
}

impl From<LimitData> for Attributes {
    fn from(limit_data: LimitData) -> Self {
        Self::LimitData(limit_data)
    }
}

impl LimitData {
    pub(super) fn read(fields: &mut Fields<'_>, current: Option<Self>) -> Result<Self, String> {
        Ok(Self {
            bytes: fields
                .take("bytes")?
                .or(current.map(|c| c.bytes))
                .unwrap_or(0),
        })
    }
}

/// A `limit_data` toxic on one link.
#[derive(Debug)]
pub(crate) struct Limited {
    limit: LimitData,
    passed: u64,
}

impl Limited {
    pub(super) fn new(limit: LimitData) -> Self {
        Self { limit, passed: 0 }
    }

    pub(super) fn accept(&mut self, item: Item, now: Instant, out: &mut Schedule) -> bool {
        match item {
            Item::Data(Chunk {
                mut bytes,
                received,
            }) => {
                let left = self.limit.bytes.saturating_sub(self.passed);
                bytes.truncate(usize::try_from(left).unwrap_or(usize::MAX));
                self.passed += bytes.len() as u64;
                if !bytes.is_empty() {
                    out.at(now, Item::Data(Chunk { bytes, received }));
                }
                let reached = self.passed >= self.limit.bytes;
                if reached {
                    out.at(now, Item::End(End::Close));
                }
                reached
            }
            end @ Item::End(_) => {
                out.at(now, end);
                false
            }
        }
    }

    /// What has passed already still counts.
    pub(super) fn update(&mut self, limit: LimitData) {
        self.limit = limit;
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, Out, data};
    use super::*;

    #[test]
    fn exactly_so_many_bytes_pass_and_then_it_closes() {
        let mut bench = Bench::new(LimitData { bytes: 5 });
        assert!(!bench.send(b"abc"));
        assert!(bench.send(b"defg"));
        assert_eq!(
            bench.out(),
            [data(b"abc"), data(b"de"), Out::End(End::Close)]
        );
    }

    #[test]
    fn reaching_the_limit_exactly_closes_too() {
        let mut bench = Bench::new(LimitData { bytes: 3 });
        assert!(bench.send(b"abc"));
        assert_eq!(bench.out(), [data(b"abc"), Out::End(End::Close)]);
    }

    #[test]
    fn zero_closes_at_the_first_chunk_without_a_byte() {
        let mut bench = Bench::new(LimitData { bytes: 0 });
        assert_eq!(bench.out(), []);
        assert!(bench.send(b"abc"));
        assert_eq!(bench.out(), [Out::End(End::Close)]);
    }

    #[test]
    fn a_stream_that_ends_before_the_limit_is_left_alone() {
        let mut bench = Bench::new(LimitData { bytes: 10 });
        assert!(!bench.send(b"abc"));
        assert!(!bench.end(End::Fin));
        assert_eq!(bench.out(), [data(b"abc"), Out::End(End::Fin)]);
    }

    #[test]
    fn a_new_limit_counts_what_has_passed_already() {
        let mut bench = Bench::new(LimitData { bytes: 100 });
        bench.send(b"abcde");
        assert_eq!(bench.out(), [data(b"abcde")]);
        bench.update(LimitData { bytes: 7 });
        bench.send(b"fgh");
        assert_eq!(bench.out(), [data(b"fg"), Out::End(End::Close)]);
    }
}

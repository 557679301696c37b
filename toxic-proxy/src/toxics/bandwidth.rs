//! `bandwidth`: data leaves no faster than a rate.

use bytes::Bytes;
use serde::Serialize;
use tokio::time::{Duration, Instant};

use super::attributes::Fields;
use super::{Attributes, LONGEST};
use crate::item::{Chunk, Item};
use crate::schedule::Schedule;

/// How long a slice of a large chunk takes.
const SLICE_MS: u64 = 100;

/// Limits the rate at which data passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Bandwidth {
    /// Kilobytes (1000 bytes) a second, that is bytes a millisecond; 0 lets
    /// nothing pass until the toxic is updated or removed.
    pub rate: u64,
}

impl From<Bandwidth> for Attributes {
    fn from(bandwidth: Bandwidth) -> Self {
        Self::Bandwidth(bandwidth)
    }
}

impl Bandwidth {
    pub(super) fn read(fields: &mut Fields<'_>, current: Option<Self>) -> Result<Self, String> {
        // Without a rate nothing would ever pass, which nobody means who
        // merely forgot it.
        let rate = fields
            .take("rate")?
            .or(current.map(|c| c.rate))
            .ok_or("attributes.rate: missing (KB/s; 0 lets nothing pass)")?;
        Ok(Self { rate })
    }

    fn time_for(self, bytes: usize) -> Duration {
        let nanos = (bytes as u128) * 1_000_000 / u128::from(self.rate.max(1));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)).min(LONGEST)
    }
}

/// A bandwidth toxic on one link.
#[derive(Debug)]
pub(crate) struct Throttled {
    bandwidth: Bandwidth,
    /// Until when the line is taken by what was sent before.
    busy_until: Instant,
}

impl Throttled {
    pub(super) fn new(bandwidth: Bandwidth, now: Instant) -> Self {
        Self {
            bandwidth,
            busy_until: now,
        }
    }

    pub(super) fn accept(&mut self, item: Item, now: Instant, out: &mut Schedule) -> bool {
        let (mut bytes, received) = match item {
            Item::Data(Chunk { bytes, received }) => (bytes, received),
            end @ Item::End(_) => {
                if self.bandwidth.rate == 0 {
                    out.never(end);
                } else {
                    out.at(now, end);
                }
                return false;
            }
        };
        if self.bandwidth.rate == 0 {
            out.never(Item::Data(Chunk { bytes, received }));
            return true;
        }
        // Data that waited in line starts where the line became free, so that
        // a late timer costs no throughput.
        let mut due = self.busy_until.max(received.min(now));
        let slice =
            usize::try_from(self.bandwidth.rate.saturating_mul(SLICE_MS)).unwrap_or(usize::MAX);
        while !bytes.is_empty() {
            let piece: Bytes = bytes.split_to(bytes.len().min(slice));
            due += self.bandwidth.time_for(piece.len());
            out.at(
                due,
                Item::Data(Chunk {
                    bytes: piece,
                    received: due,
                }),
            );
        }
        self.busy_until = due;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, Out, data};
    use super::*;
    use crate::item::End;

    #[test]
    fn a_chunk_leaves_when_the_rate_allows() {
        let mut bench = Bench::new(Bandwidth { rate: 1 });
        assert!(bench.send(&[7; 50]));
        assert_eq!(bench.at_ms(49).out(), []);
        assert_eq!(bench.at_ms(50).out(), [data(&[7; 50])]);
    }

    #[test]
    fn a_large_chunk_leaves_in_slices_of_100_ms() {
        let mut bench = Bench::new(Bandwidth { rate: 1 });
        bench.send(&[7; 250]);
        assert_eq!(bench.at_ms(100).out(), [data(&[7; 100])]);
        assert_eq!(bench.at_ms(200).out(), [data(&[7; 100])]);
        assert_eq!(bench.at_ms(249).out(), []);
        assert_eq!(bench.at_ms(250).out(), [data(&[7; 50])]);
    }

    #[test]
    fn chunks_share_the_line() {
        let mut bench = Bench::new(Bandwidth { rate: 10 });
        bench.send(&[1; 100]);
        bench.send(&[2; 100]);
        assert_eq!(bench.at_ms(10).out(), [data(&[1; 100])]);
        assert_eq!(bench.at_ms(19).out(), []);
        assert_eq!(bench.at_ms(20).out(), [data(&[2; 100])]);
    }

    #[test]
    fn an_idle_line_saves_up_nothing() {
        let mut bench = Bench::new(Bandwidth { rate: 1 });
        bench.at_ms(1000).send(&[1; 10]);
        assert_eq!(bench.at_ms(1009).out(), []);
        assert_eq!(bench.at_ms(1010).out(), [data(&[1; 10])]);
    }

    #[test]
    fn rate_zero_holds_data_and_end_until_the_rate_is_raised() {
        let mut bench = Bench::new(Bandwidth { rate: 0 });
        assert!(bench.send(b"ab"));
        bench.end(End::Fin);
        assert_eq!(bench.at_ms(1_000_000).out(), []);
        bench.update(Bandwidth { rate: 1 });
        assert_eq!(
            bench.at_ms(1_000_002).out(),
            [data(b"ab"), Out::End(End::Fin)]
        );
    }

    #[test]
    fn a_new_rate_counts_for_what_is_still_held() {
        let mut bench = Bench::new(Bandwidth { rate: 1 });
        bench.send(&[7; 150]);
        assert_eq!(bench.at_ms(100).out(), [data(&[7; 100])]);
        bench.update(Bandwidth { rate: 50 });
        assert_eq!(bench.at_ms(101).out(), [data(&[7; 50])]);
    }

    #[test]
    fn removal_lets_everything_go_in_order() {
        let mut bench = Bench::new(Bandwidth { rate: 0 });
        bench.send(b"a");
        bench.end(End::Fin);
        assert_eq!(bench.withdraw(), [data(b"a"), Out::End(End::Fin)]);
    }
}

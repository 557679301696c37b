//! `slicer`: data leaves in small pieces with a pause after each.

use bytes::Bytes;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;
use tokio::time::Instant;

use super::attributes::Fields;
use super::{Attributes, micros};
use crate::item::{Chunk, Item};
use crate::schedule::Schedule;

/// Cuts data into pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Slicer {
    /// The size of a piece in bytes, on average; at least 1.
    pub average_size: u64,
    /// Up to this many bytes more or less; less than the average.
    pub size_variation: u64,
    /// Microseconds after each piece.
    pub delay: u64,
}

impl From<Slicer> for Attributes {
    fn from(slicer: Slicer) -> Self {
        Self::Slicer(slicer)
    }
}

impl Slicer {
    pub(super) fn read(fields: &mut Fields<'_>, current: Option<Self>) -> Result<Self, String> {
        Ok(Self {
            average_size: fields
                .take("average_size")?
                .or(current.map(|c| c.average_size))
                .ok_or("attributes.average_size: missing (bytes, at least 1)")?,
            size_variation: fields
                .take("size_variation")?
                .or(current.map(|c| c.size_variation))
                .unwrap_or(0),
            delay: fields
                .take("delay")?
                .or(current.map(|c| c.delay))
                .unwrap_or(0),
        })
    }

    pub(super) fn check(&self) -> Result<(), String> {
        if self.average_size == 0 {
            return Err("attributes.average_size: must be at least 1".to_owned());
        }
        if self.size_variation >= self.average_size {
            return Err(format!(
                "attributes.size_variation: must be less than average_size ({}), but is {}",
                self.average_size, self.size_variation
            ));
        }
        Ok(())
    }

    /// The size of the next piece; at least 1, since the variation is less
    /// than the average.
    fn piece(self, rng: &mut ChaCha8Rng) -> usize {
        let least = self.average_size - self.size_variation;
        let size = rng.random_range(least..=self.average_size.saturating_add(self.size_variation));
        usize::try_from(size).unwrap_or(usize::MAX)
    }
}

/// A slicer on one link.
#[derive(Debug)]
pub(crate) struct Slicing {
    slicer: Slicer,
    /// When the pause after the last piece is over.
    free: Instant,
}

impl Slicing {
    pub(super) fn new(slicer: Slicer, now: Instant) -> Self {
        Self { slicer, free: now }
    }

    pub(super) fn accept(
        &mut self,
        item: Item,
        now: Instant,
        rng: &mut ChaCha8Rng,
        out: &mut Schedule,
    ) -> bool {
        let mut due = self.free.max(now);
        match item {
            Item::Data(Chunk {
                mut bytes,
                received,
            }) => {
                let mut pieces = 0;
                while !bytes.is_empty() {
                    let size = self.slicer.piece(rng).min(bytes.len());
                    let piece: Bytes = bytes.split_to(size);
                    out.at(
                        due,
                        Item::Data(Chunk {
                            bytes: piece,
                            received,
                        }),
                    );
                    due += micros(self.slicer.delay);
                    pieces += 1;
                }
                self.free = due;
                pieces > 1 || self.slicer.delay > 0
            }
            end @ Item::End(_) => {
                out.at(due, end);
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, Out, data};
    use super::*;
    use crate::item::End;

    #[test]
    fn data_leaves_in_pieces_with_a_pause_after_each() {
        let mut bench = Bench::new(Slicer {
            average_size: 2,
            size_variation: 0,
            delay: 10_000,
        });
        assert!(bench.send(b"abcde"));
        bench.end(End::Fin);
        assert_eq!(bench.out(), [data(b"ab")]);
        assert_eq!(bench.at_ms(10).out(), [data(b"cd")]);
        assert_eq!(bench.at_ms(20).out(), [data(b"e")]);
        assert_eq!(bench.at_ms(30).out(), [Out::End(End::Fin)]);
    }

    #[test]
    fn sizes_vary_within_their_bounds() {
        let mut bench = Bench::new(Slicer {
            average_size: 100,
            size_variation: 30,
            delay: 0,
        });
        bench.send(&[7; 10_000]);
        let mut sizes: Vec<usize> = bench
            .out()
            .into_iter()
            .map(|out| {
                if let Out::Data(bytes) = out {
                    bytes.len()
                } else {
                    0
                }
            })
            .collect();
        assert_eq!(sizes.iter().sum::<usize>(), 10_000);
        sizes.pop();
        assert!(
            sizes.iter().all(|size| (70..=130).contains(size)),
            "{sizes:?}"
        );
        assert!(sizes.iter().min() < sizes.iter().max());
    }

    #[test]
    fn what_cannot_be_sliced_is_refused() {
        assert!(
            Slicer {
                average_size: 0,
                size_variation: 0,
                delay: 0
            }
            .check()
            .is_err()
        );
        assert!(
            Slicer {
                average_size: 5,
                size_variation: 5,
                delay: 0
            }
            .check()
            .is_err()
        );
        assert!(
            Slicer {
                average_size: 5,
                size_variation: 4,
                delay: 0
            }
            .check()
            .is_ok()
        );
    }

    #[test]
    fn removal_lets_the_rest_go_in_order() {
        let mut bench = Bench::new(Slicer {
            average_size: 2,
            size_variation: 0,
            delay: 10_000,
        });
        bench.send(b"abc");
        assert_eq!(bench.out(), [data(b"ab")]);
        assert_eq!(bench.withdraw(), [data(b"c")]);
    }
}

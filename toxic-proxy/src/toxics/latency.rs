//! `latency`: data leaves later than it came.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;
use tokio::time::Instant;

use super::attributes::Fields;
use super::{Attributes, millis};
use crate::item::Item;
use crate::schedule::Schedule;

/// Delays each chunk of data, counted from the time when it was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Latency {
    /// Milliseconds.
    pub latency: u64,
    /// Up to this many milliseconds more or less, uniformly.
    pub jitter: u64,
}

impl From<Latency> for Attributes {
    fn from(latency: Latency) -> Self {
        Self::Latency(latency)
    }
}

impl Latency {
    pub(super) fn read(fields: &mut Fields<'_>, current: Option<Self>) -> Result<Self, String> {
        Ok(Self {
            latency: fields
                .take("latency")?
                .or(current.map(|c| c.latency))
                .unwrap_or(0),
            jitter: fields
                .take("jitter")?
                .or(current.map(|c| c.jitter))
                .unwrap_or(0),
        })
    }

    pub(super) fn accept(
        self,
        item: Item,
        now: Instant,
        rng: &mut ChaCha8Rng,
        out: &mut Schedule,
    ) -> bool {
        match item {
            Item::Data(chunk) => {
                let jitter = i128::from(self.jitter);
                let shift = if jitter > 0 {
                    rng.random_range(-jitter..jitter)
                } else {
                    0
                };
                let delay = (i128::from(self.latency) + shift).max(0);
                let due = chunk.received + millis(u64::try_from(delay).unwrap_or(u64::MAX));
                out.at(due, Item::Data(chunk));
                delay > 0
            }
            end @ Item::End(_) => {
                out.at(now, end);
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
    fn data_leaves_when_its_time_has_come_and_not_before() {
        let mut bench = Bench::new(Latency {
            latency: 100,
            jitter: 0,
        });
        assert!(bench.send(b"a"));
        assert_eq!(bench.at_ms(99).out(), []);
        assert_eq!(bench.at_ms(100).out(), [data(b"a")]);
    }

    #[test]
    fn each_chunk_counts_from_its_own_arrival() {
        let mut bench = Bench::new(Latency {
            latency: 100,
            jitter: 0,
        });
        bench.send(b"a");
        bench.at_ms(60).send(b"b");
        assert_eq!(bench.at_ms(100).out(), [data(b"a")]);
        assert_eq!(bench.at_ms(160).out(), [data(b"b")]);
    }

    #[test]
    fn the_end_follows_the_data_and_is_not_delayed_itself() {
        let mut bench = Bench::new(Latency {
            latency: 100,
            jitter: 0,
        });
        bench.send(b"a");
        bench.end(End::Fin);
        assert_eq!(bench.at_ms(99).out(), []);
        assert_eq!(bench.at_ms(100).out(), [data(b"a"), Out::End(End::Fin)]);
    }

    #[test]
    fn jitter_stays_within_its_bounds_and_varies() {
        let mut seen = std::collections::BTreeSet::new();
        let mut bench = Bench::new(Latency {
            latency: 100,
            jitter: 20,
        });
        for _ in 0..200 {
            bench.send(b"x");
            let due = bench.next_ms().expect("scheduled");
            assert!((80..120).contains(&due), "{due}");
            seen.insert(due);
            bench.schedule.take_all();
        }
        assert!(seen.len() > 10, "only {} different delays", seen.len());
    }

    #[test]
    fn jitter_larger_than_the_latency_never_goes_back_in_time() {
        let mut bench = Bench::new(Latency {
            latency: 1,
            jitter: 50,
        });
        for _ in 0..100 {
            bench.send(b"x");
            bench.schedule.take_all();
        }
    }

    #[test]
    fn a_new_latency_counts_from_the_arrival_too() {
        let mut bench = Bench::new(Latency {
            latency: 1000,
            jitter: 0,
        });
        bench.send(b"a");
        bench.at_ms(100).update(Latency {
            latency: 150,
            jitter: 0,
        });
        assert_eq!(bench.at_ms(149).out(), []);
        assert_eq!(bench.at_ms(150).out(), [data(b"a")]);
    }

    #[test]
    fn removal_lets_everything_go_in_order() {
        let mut bench = Bench::new(Latency {
            latency: 1000,
            jitter: 0,
        });
        bench.send(b"a");
        bench.send(b"b");
        bench.end(End::Fin);
        assert_eq!(
            bench.withdraw(),
            [data(b"a"), data(b"b"), Out::End(End::Fin)]
        );
    }

    #[test]
    fn an_absurd_latency_does_not_overflow() {
        let mut bench = Bench::new(Latency {
            latency: u64::MAX,
            jitter: u64::MAX,
        });
        bench.send(b"a");
        assert_eq!(bench.at_ms(60_000).out(), []);
    }
}

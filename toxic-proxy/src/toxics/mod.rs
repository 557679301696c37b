//! The toxics: what each does to the items that pass.
//!
//! Every toxic turns an item into a schedule of items: a pure function of
//! bytes and time. Sockets, locks and the HTTP API are elsewhere. One toxic a
//! file; this one holds the closed set of them.

mod attributes;
mod bandwidth;
mod latency;
mod limit_data;
mod reset_peer;
mod slicer;
mod slow_close;
mod timeout;

use rand_chacha::ChaCha8Rng;
use tokio::time::{Duration, Instant};

pub use self::attributes::Attributes;
pub(crate) use self::attributes::kind as kind_of;
pub use self::bandwidth::Bandwidth;
pub use self::latency::Latency;
pub use self::limit_data::LimitData;
pub use self::reset_peer::ResetPeer;
pub use self::slicer::Slicer;
pub use self::slow_close::SlowClose;
pub use self::timeout::Timeout;

use self::bandwidth::Throttled;
use self::limit_data::Limited;
use self::reset_peer::Resetting;
use self::slicer::Slicing;
use self::timeout::Swallowing;
use crate::item::{End, Item};
use crate::schedule::Schedule;

/// How many chunks a latency toxic keeps on their way before it stops reading.
const LATENCY_CHUNKS: usize = 1024;

/// A year stands in for every longer time, so that no sum of times overflows.
const LONGEST: Duration = Duration::from_hours(365 * 24);

fn millis(value: u64) -> Duration {
    Duration::from_millis(value).min(LONGEST)
}

fn micros(value: u64) -> Duration {
    Duration::from_micros(value).min(LONGEST)
}

/// A toxic at work on one link, with what it remembers of that link.
#[derive(Debug)]
pub(crate) enum Working {
    Noop,
    Latency(Latency),
    Bandwidth(Throttled),
    SlowClose(SlowClose),
    Timeout(Swallowing),
    ResetPeer(Resetting),
    Slicer(Slicing),
    LimitData(Limited),
}

impl Working {
    /// Starts a toxic on a link.
    pub(crate) fn start(attributes: &Attributes, now: Instant) -> Self {
        match *attributes {
            Attributes::Noop => Self::Noop,
            Attributes::Latency(latency) => Self::Latency(latency),
            Attributes::Bandwidth(bandwidth) => Self::Bandwidth(Throttled::new(bandwidth, now)),
            Attributes::SlowClose(slow_close) => Self::SlowClose(slow_close),
            Attributes::Timeout(timeout) => Self::Timeout(Swallowing::new(timeout, now)),
            Attributes::ResetPeer(reset_peer) => Self::ResetPeer(Resetting::new(reset_peer)),
            Attributes::Slicer(slicer) => Self::Slicer(Slicing::new(slicer, now)),
            Attributes::LimitData(limit_data) => Self::LimitData(Limited::new(limit_data)),
        }
    }

    /// Takes an item in and schedules what comes of it. Returns whether the
    /// toxic acted on it, which proves that the fault fired.
    pub(crate) fn accept(
        &mut self,
        item: Item,
        now: Instant,
        rng: &mut ChaCha8Rng,
        out: &mut Schedule,
    ) -> bool {
        match self {
            Self::Noop => {
                out.at(now, item);
                false
            }
            Self::Latency(latency) => latency.accept(item, now, rng, out),
            Self::Bandwidth(throttled) => throttled.accept(item, now, out),
            Self::SlowClose(slow_close) => slow_close.accept(item, now, out),
            Self::Timeout(swallowing) => swallowing.accept(item, now, out),
            Self::ResetPeer(resetting) => resetting.accept(&item, now, out),
            Self::Slicer(slicing) => slicing.accept(item, now, rng, out),
            Self::LimitData(limited) => limited.accept(item, now, out),
        }
    }

    /// Whether the toxic takes another item while `waiting` are scheduled.
    pub(crate) fn has_room(&self, waiting: usize) -> bool {
        match self {
            Self::Latency(_) => waiting < LATENCY_CHUNKS,
            _ => waiting == 0,
        }
    }

    /// When the toxic acts although nothing arrives.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        match self {
            Self::Timeout(swallowing) => swallowing.deadline(),
            _ => None,
        }
    }

    /// The deadline has come. The toxic has acted.
    pub(crate) fn expire(&mut self, now: Instant, out: &mut Schedule) {
        if let Self::Timeout(swallowing) = self {
            swallowing.expire(now, out);
        }
    }

    /// The toxic is removed (or no longer applies): what it held and must now
    /// pass on, in order.
    pub(crate) fn withdraw(&mut self, out: &mut Schedule) -> Vec<Item> {
        match self {
            // What it swallowed is gone, and a stream with a hole in it must
            // not go on: the connections that it held are closed.
            Self::Timeout(_) => {
                out.take_all();
                vec![Item::End(End::Close)]
            }
            Self::ResetPeer(resetting) => {
                out.take_all();
                resetting.withdraw()
            }
            _ => out.take_all(),
        }
    }

    /// New attributes for a toxic at work. What it holds is treated anew, but
    /// nothing is counted twice.
    pub(crate) fn update(
        &mut self,
        attributes: &Attributes,
        now: Instant,
        rng: &mut ChaCha8Rng,
        out: &mut Schedule,
    ) {
        match (&mut *self, attributes) {
            (Self::Timeout(swallowing), Attributes::Timeout(timeout)) => {
                swallowing.update(*timeout, now);
            }
            (Self::LimitData(limited), Attributes::LimitData(limit_data)) => {
                limited.update(*limit_data);
            }
            (Self::ResetPeer(resetting), Attributes::ResetPeer(reset_peer)) => {
                resetting.update(*reset_peer, now, out);
            }
            _ => {
                let held = out.take_all();
                *self = Self::start(attributes, now);
                for item in held {
                    self.accept(item, now, rng, out);
                }
            }
        }
    }
}

#[cfg(test)]
mod testing {
    //! Words for the tests beside each toxic.

    use bytes::Bytes;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;
    use tokio::time::{Duration, Instant};

    use super::{Attributes, Working};
    use crate::item::{Chunk, End, Item};
    use crate::schedule::Schedule;

    /// One toxic on its own, with a clock that the test moves.
    pub(crate) struct Bench {
        pub(crate) toxic: Working,
        pub(crate) schedule: Schedule,
        rng: ChaCha8Rng,
        start: Instant,
        now: Instant,
    }

    impl Bench {
        pub(crate) fn new(attributes: impl Into<Attributes>) -> Self {
            let now = Instant::now();
            Self {
                toxic: Working::start(&attributes.into(), now),
                schedule: Schedule::default(),
                rng: ChaCha8Rng::seed_from_u64(1),
                start: now,
                now,
            }
        }

        pub(crate) fn at_ms(&mut self, ms: u64) -> &mut Self {
            self.now = self.start + Duration::from_millis(ms);
            self
        }

        pub(crate) fn send(&mut self, bytes: &[u8]) -> bool {
            let chunk = Chunk {
                bytes: Bytes::copy_from_slice(bytes),
                received: self.now,
            };
            self.toxic.accept(
                Item::Data(chunk),
                self.now,
                &mut self.rng,
                &mut self.schedule,
            )
        }

        pub(crate) fn end(&mut self, end: End) -> bool {
            self.toxic
                .accept(Item::End(end), self.now, &mut self.rng, &mut self.schedule)
        }

        pub(crate) fn update(&mut self, attributes: impl Into<Attributes>) {
            self.toxic.update(
                &attributes.into(),
                self.now,
                &mut self.rng,
                &mut self.schedule,
            );
        }

        pub(crate) fn withdraw(&mut self) -> Vec<Out> {
            self.toxic
                .withdraw(&mut self.schedule)
                .into_iter()
                .map(Out::from)
                .collect()
        }

        /// What may leave at the bench's time.
        pub(crate) fn out(&mut self) -> Vec<Out> {
            if self
                .toxic
                .deadline()
                .is_some_and(|deadline| deadline <= self.now)
            {
                self.toxic.expire(self.now, &mut self.schedule);
            }
            std::iter::from_fn(|| self.schedule.pop_due(self.now))
                .map(Out::from)
                .collect()
        }

        /// Milliseconds from the start to the next item.
        pub(crate) fn next_ms(&self) -> Option<u128> {
            self.schedule
                .next()
                .map(|due| due.saturating_duration_since(self.start).as_millis())
        }
    }

    /// An item without its times.
    #[derive(Debug, PartialEq, Eq)]
    pub(crate) enum Out {
        Data(Vec<u8>),
        End(End),
    }

    impl From<Item> for Out {
        fn from(item: Item) -> Self {
            match item {
                Item::Data(chunk) => Self::Data(chunk.bytes.to_vec()),
                Item::End(end) => Self::End(end),
            }
        }
    }

    pub(crate) fn data(bytes: &[u8]) -> Out {
        Out::Data(bytes.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{Bench, Out, data};
    use super::*;

    #[test]
    fn noop_passes_everything_at_once_and_never_counts_as_a_fault() {
        let mut bench = Bench::new(Attributes::Noop);
        assert!(!bench.send(b"hello"));
        assert!(!bench.end(End::Fin));
        assert_eq!(bench.out(), [data(b"hello"), Out::End(End::Fin)]);
    }
}

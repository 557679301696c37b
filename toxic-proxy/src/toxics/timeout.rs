//! `timeout`: data vanishes; the connection closes after a time, or never.

use serde::Serialize;
use tokio::time::Instant;

use super::attributes::Fields;
use super::{Attributes, millis};
use crate::item::{End, Item};
use crate::schedule::Schedule;

/// Swallows all data, and closes once nothing has come for a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Timeout {
    /// Milliseconds without data until the close; 0 for never: the connection
    /// stays open until the toxic is removed or an end closes it.
    pub timeout: u64,
}

impl From<Timeout> for Attributes {
    fn from(timeout: Timeout) -> Self {
        Self::Timeout(timeout)
    }
}

impl Timeout {
    pub(super) fn read(fields: &mut Fields<'_>, current: Option<Self>) -> Result<Self, String> {
        Ok(Self {
            timeout: fields
                .take("timeout")?
                .or(current.map(|c| c.timeout))
                .unwrap_or(0),
        })
    }
}

/// A timeout toxic on one link.
#[derive(Debug)]
pub(crate) struct Swallowing {
    timeout: Timeout,
    /// The toxic's start or the last chunk, whichever came later.
    last: Instant,
    over: bool,
}

impl Swallowing {
    pub(super) fn new(timeout: Timeout, now: Instant) -> Self {
        Self {
            timeout,
            last: now,
            over: false,
        }
    }

    pub(super) fn accept(&mut self, item: Item, now: Instant, out: &mut Schedule) -> bool {
        match item {
            Item::Data(_) => {
                self.last = now;
                true
            }
            end @ Item::End(_) => {
                self.over = true;
                out.at(now, end);
                false
            }
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        (self.timeout.timeout > 0 && !self.over).then(|| self.last + millis(self.timeout.timeout))
    }

    pub(super) fn expire(&mut self, now: Instant, out: &mut Schedule) {
        self.over = true;
        out.at(now, Item::End(End::Close));
    }

    pub(super) fn update(&mut self, timeout: Timeout, now: Instant) {
        self.timeout = timeout;
        self.last = now;
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, Out};
    use super::*;

    #[test]
    fn data_vanishes_and_the_connection_closes_after_the_time() {
        let mut bench = Bench::new(Timeout { timeout: 100 });
        assert!(bench.send(b"a"));
        assert_eq!(bench.at_ms(99).out(), []);
        assert_eq!(bench.at_ms(100).out(), [Out::End(End::Close)]);
        assert_eq!(bench.toxic.deadline(), None, "it closes once");
    }

    #[test]
    fn each_chunk_starts_the_time_again() {
        let mut bench = Bench::new(Timeout { timeout: 100 });
        bench.at_ms(80).send(b"a");
        assert_eq!(bench.at_ms(179).out(), []);
        assert_eq!(bench.at_ms(180).out(), [Out::End(End::Close)]);
    }

    #[test]
    fn zero_never_closes_by_itself() {
        let mut bench = Bench::new(Timeout { timeout: 0 });
        assert!(bench.send(b"a"));
        assert_eq!(bench.at_ms(1_000_000).out(), []);
        assert_eq!(bench.toxic.deadline(), None);
    }

    #[test]
    fn ends_pass_as_they_are() {
        for end in [End::Fin, End::Reset] {
            let mut bench = Bench::new(Timeout { timeout: 0 });
            assert!(!bench.end(end));
            assert_eq!(bench.out(), [Out::End(end)]);
        }
    }

    #[test]
    fn removal_closes_what_it_held() {
        let mut bench = Bench::new(Timeout { timeout: 0 });
        bench.send(b"a");
        assert_eq!(bench.withdraw(), [Out::End(End::Close)]);
    }

    #[test]
    fn an_update_starts_the_new_time_now() {
        let mut bench = Bench::new(Timeout { timeout: 0 });
        bench.send(b"a");
        bench.at_ms(500).update(Timeout { timeout: 10 });
        assert_eq!(bench.at_ms(509).out(), []);
        assert_eq!(bench.at_ms(510).out(), [Out::End(End::Close)]);
    }
}

//! `reset_peer`: the connection is aborted, with a true RST.

use serde::Serialize;
use tokio::time::Instant;

use super::attributes::Fields;
use super::{Attributes, millis};
use crate::item::{End, Item};
use crate::schedule::Schedule;

/// Aborts the connection once data or an end arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ResetPeer {
    /// Milliseconds from then to the RST.
    pub timeout: u64,
}

impl From<ResetPeer> for Attributes {
    fn from(reset_peer: ResetPeer) -> Self {
        Self::ResetPeer(reset_peer)
    }
}

impl ResetPeer {
    pub(super) fn read(fields: &mut Fields<'_>, current: Option<Self>) -> Result<Self, String> {
        Ok(Self {
            timeout: fields
                .take("timeout")?
                .or(current.map(|c| c.timeout))
                .unwrap_or(0),
        })
    }
}

/// A `reset_peer` toxic on one link.
#[derive(Debug)]
pub(crate) struct Resetting {
    reset_peer: ResetPeer,
    triggered: bool,
    /// The end that the RST takes the place of.
    replaced: Option<End>,
}

impl Resetting {
    pub(super) fn new(reset_peer: ResetPeer) -> Self {
        Self {
            reset_peer,
            triggered: false,
            replaced: None,
        }
    }

    pub(super) fn accept(&mut self, item: &Item, now: Instant, out: &mut Schedule) -> bool {
        if let Item::End(end) = item {
            self.replaced = Some(*end);
        }
        if !self.triggered {
            self.triggered = true;
            out.at(now + millis(self.reset_peer.timeout), Item::End(End::Reset));
        }
        true
    }

    /// The data that triggered the RST is gone; an end still counts.
    pub(super) fn withdraw(&mut self) -> Vec<Item> {
        self.replaced.take().map(Item::End).into_iter().collect()
    }

    pub(super) fn update(&mut self, reset_peer: ResetPeer, now: Instant, out: &mut Schedule) {
        self.reset_peer = reset_peer;
        if self.triggered {
            out.take_all();
            out.at(now + millis(reset_peer.timeout), Item::End(End::Reset));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, Out};
    use super::*;

    #[test]
    fn nothing_happens_until_something_arrives() {
        let mut bench = Bench::new(ResetPeer { timeout: 0 });
        assert_eq!(bench.at_ms(10_000).out(), []);
    }

    #[test]
    fn data_is_swallowed_and_answered_with_a_reset() {
        let mut bench = Bench::new(ResetPeer { timeout: 0 });
        assert!(bench.send(b"a"));
        assert_eq!(bench.out(), [Out::End(End::Reset)]);
    }

    #[test]
    fn an_orderly_end_becomes_a_reset_after_the_time() {
        let mut bench = Bench::new(ResetPeer { timeout: 50 });
        assert!(bench.end(End::Fin));
        assert_eq!(bench.at_ms(49).out(), []);
        assert_eq!(bench.at_ms(50).out(), [Out::End(End::Reset)]);
    }

    #[test]
    fn removal_before_the_time_calls_the_reset_off() {
        let mut bench = Bench::new(ResetPeer { timeout: 50 });
        bench.send(b"a");
        assert_eq!(bench.withdraw(), []);
        let mut bench = Bench::new(ResetPeer { timeout: 50 });
        bench.end(End::Fin);
        assert_eq!(bench.withdraw(), [Out::End(End::Fin)]);
    }

    #[test]
    fn an_update_moves_a_reset_that_is_due() {
        let mut bench = Bench::new(ResetPeer { timeout: 5000 });
        bench.send(b"a");
        bench.at_ms(10).update(ResetPeer { timeout: 5 });
        assert_eq!(bench.at_ms(14).out(), []);
        assert_eq!(bench.at_ms(15).out(), [Out::End(End::Reset)]);
    }
}

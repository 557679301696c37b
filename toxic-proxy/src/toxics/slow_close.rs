//! `slow_close`: the close comes later; data is not touched.

use serde::Serialize;
use tokio::time::Instant;

use super::attributes::Fields;
use super::{Attributes, millis};
use crate::item::Item;
use crate::schedule::Schedule;

/// Delays the end of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SlowClose {
    /// Milliseconds.
    pub delay: u64,
}

impl From<SlowClose> for Attributes {
    fn from(slow_close: SlowClose) -> Self {
        Self::SlowClose(slow_close)
    }
}

impl SlowClose {
    pub(super) fn read(fields: &mut Fields<'_>, current: Option<Self>) -> Result<Self, String> {
        Ok(Self {
            delay: fields
                .take("delay")?
                .or(current.map(|c| c.delay))
                .unwrap_or(0),
        })
    }

    pub(super) fn accept(self, item: Item, now: Instant, out: &mut Schedule) -> bool {
        match item {
            data @ Item::Data(_) => {
                out.at(now, data);
                false
            }
            end @ Item::End(_) => {
                out.at(now + millis(self.delay), end);
                self.delay > 0
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
    fn data_passes_at_once_and_the_end_after_the_delay() {
        let mut bench = Bench::new(SlowClose { delay: 300 });
        assert!(!bench.send(b"a"));
        assert_eq!(bench.out(), [data(b"a")]);
        assert!(bench.end(End::Fin));
        assert_eq!(bench.at_ms(299).out(), []);
        assert_eq!(bench.at_ms(300).out(), [Out::End(End::Fin)]);
    }

    #[test]
    fn removal_closes_at_once() {
        let mut bench = Bench::new(SlowClose { delay: 300 });
        bench.end(End::Reset);
        assert_eq!(bench.withdraw(), [Out::End(End::Reset)]);
    }
}

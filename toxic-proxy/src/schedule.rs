//! What a toxic has let go of, and when each item may leave.
//!
//! First in, first out: an item never overtakes the one before it, even when
//! its own time comes first.

use std::collections::VecDeque;

use tokio::time::Instant;

use crate::item::{End, Item};

/// Items in order, each with the time from which it may leave.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    waiting: VecDeque<(Option<Instant>, Item)>,
}

impl Schedule {
    /// Adds an item that may leave from `due` on.
    pub(crate) fn at(&mut self, due: Instant, item: Item) {
        self.waiting.push_back((Some(due), item));
    }

    /// Adds an item that stays until the toxic is updated or removed.
    pub(crate) fn never(&mut self, item: Item) {
        self.waiting.push_back((None, item));
    }

    /// The first item, if its time has come. For whatever follows, data counts
    /// as received when it leaves here.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<Item> {
        if !self.is_due(now) {
            return None;
        }
        let (due, mut item) = self.waiting.pop_front()?;
        if let (Some(due), Item::Data(chunk)) = (due, &mut item) {
            chunk.received = chunk.received.max(due);
        }
        Some(item)
    }

    /// Whether the first item may leave now.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.next().is_some_and(|due| due <= now)
    }

    /// Whether the first item is a reset.
    pub(crate) fn starts_with_reset(&self) -> bool {
        matches!(self.waiting.front(), Some((_, Item::End(End::Reset))))
    }

    /// When the first item may leave; `None` when empty or held for ever.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.waiting.front().and_then(|(due, _)| *due)
    }

    /// How many items wait.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Takes everything out, in order, whether due or not.
    pub(crate) fn take_all(&mut self) -> Vec<Item> {
        self.waiting.drain(..).map(|(_, item)| item).collect()
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use tokio::time::Duration;

    use super::*;
    use crate::item::Chunk;

    #[test]
    fn data_counts_as_received_when_it_leaves() {
        let now = Instant::now();
        let due = now + Duration::from_millis(100);
        let mut schedule = Schedule::default();
        schedule.at(
            due,
            Item::Data(Chunk {
                bytes: Bytes::from_static(b"a"),
                received: now,
            }),
        );
        assert_eq!(schedule.pop_due(now), None);
        let expected = Item::Data(Chunk {
            bytes: Bytes::from_static(b"a"),
            received: due,
        });
        assert_eq!(
            schedule.pop_due(due),
            Some(expected),
            "two latencies add up"
        );
    }

    #[test]
    fn nothing_overtakes_what_is_held_for_ever() {
        let now = Instant::now();
        let mut schedule = Schedule::default();
        schedule.never(Item::End(End::Fin));
        schedule.at(now, Item::End(End::Close));
        assert_eq!((schedule.pop_due(now), schedule.next()), (None, None));
        assert_eq!(
            schedule.take_all(),
            [Item::End(End::Fin), Item::End(End::Close)]
        );
    }
}

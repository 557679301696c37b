//! How much is kept: with a bound, the oldest attempts go when there are more.
//!
//! Owns what goes with an attempt: once no later attempt is under its key, what is known under that,
//! with the messages accepted. An attempt that is not over stays, and all that came after it.
//! A key that goes before its retention is over is counted and said, for a retry under it is a new
//! message then: the very thing that must not happen unseen.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::{
    arrival::counted_as,
    core::Core,
    ledger::Dropped,
    message::MessageId,
    record::{Arrivals, Attempt},
    tally::Count,
};

/// What was dropped so far.
#[derive(Debug, Default)]
pub(crate) struct Drops {
    pub(crate) attempts: Count,
    /// Keys whose answer would still have been replayed.
    pub(crate) early: Count,
    said: AtomicBool,
}

impl Core {
    /// Drops the oldest attempts until there are no more than are kept.
    pub(crate) fn drop_oldest(&self, arrivals: &mut Arrivals<'_>) {
        let Some(most) = self.limits.keep.filter(|_| !self.store.keeps()) else {
            return;
        };
        while arrivals.len() > most.get() {
            let Some(oldest) = arrivals.oldest() else {
                return;
            };
            if oldest.end().is_none() || !self.drop_known(oldest) {
                return;
            }
            let oldest = oldest.id;
            arrivals.take(oldest);
            self.drops.attempts.one_more();
        }
    }

    /// Drops what nothing but this attempt is known by. False where its key is still being worked
    /// on, though its client has gone.
    fn drop_known(&self, attempt: &Attempt) -> bool {
        let reading = attempt.reading();
        let Some(key) = self.key_of(attempt) else {
            let counted = counted_as(&reading).into_owned();
            let last = |_: &String, count: &u32| *count == attempt.by_key;
            if self.keyless.remove_if(&counted, last).is_some() {
                self.accepted.drop_of(&reading);
            }
            self.drop_messages(attempt.message());
            return true;
        };
        match self
            .ledger
            .drop_last(&key, attempt.by_key, self.clock.now())
        {
            Dropped::Busy => return false,
            // A lookup of the key still finds its message.
            Dropped::Later => {}
            Dropped::Unknown => self.drop_messages(attempt.message()),
            Dropped::Gone { early, messages } => {
                self.accepted.drop_of(&reading);
                self.drop_messages(messages);
                if early {
                    self.say_early();
                }
            }
        }
        true
    }

    fn drop_messages(&self, messages: impl IntoIterator<Item = MessageId>) {
        for message in messages {
            let Some(delivery) = self.records.drop_delivery(message) else {
                continue;
            };
            self.tries.drop_of(message);
            self.duplicates.drop_words(&delivery.by, delivery.at());
        }
    }

    fn say_early(&self) {
        self.drops.early.one_more();
        if !self.drops.said.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "--keep drops keys whose retention is not over: a retry under one of them is \
                 accepted as a new message. /metrics counts them \
                 (stub_provider_keys_dropped_early_total)"
            );
        }
    }
}

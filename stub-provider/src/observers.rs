//! [`Observers`]: who watches the provider.
//!
//! Owns the order of events and hands each to every watcher. With nobody watching an event costs
//! one load: it is not even made.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::event::{Event, EventKind};

/// Every watcher of one provider.
#[derive(Debug, Default)]
pub(crate) struct Observers {
    watched: AtomicBool,
    log: Mutex<Log>,
}

#[derive(Debug, Default)]
struct Log {
    seq: u64,
    watchers: Vec<UnboundedSender<Event>>,
}

impl Observers {
    /// A new watcher: gets every event from now on, in order.
    pub(crate) fn subscribe(&self) -> UnboundedReceiver<Event> {
        let (sender, receiver) = unbounded_channel();
        self.log().watchers.push(sender);
        self.watched.store(true, Ordering::Release);
        receiver
    }

    /// Whether anybody watches.
    pub(crate) fn watched(&self) -> bool {
        self.watched.load(Ordering::Acquire)
    }

    /// Reports a fact, if anybody watches.
    pub(crate) fn emit(&self, kind: impl FnOnce() -> EventKind) {
        if !self.watched() {
            return;
        }
        let kind = kind();
        let mut log = self.log();
        log.seq += 1;
        let event = Event {
            seq: log.seq,
            at: Instant::now(),
            kind,
        };
        log.watchers
            .retain(|watcher| watcher.send(event.clone()).is_ok());
        if log.watchers.is_empty() {
            self.watched.store(false, Ordering::Release);
        }
    }

    /// Ends every watcher's stream.
    pub(crate) fn close(&self) {
        self.log().watchers.clear();
        self.watched.store(false, Ordering::Release);
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

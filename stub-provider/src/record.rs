//! What is kept: every attempt on the wire and, apart from it, every delivery.
//!
//! Owns the two records. An attempt says what came and what became of it; a delivery is a fact:
//! one buzz of one phone. Neither is ever changed into the other.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU8, AtomicU16, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use hyper::{HeaderMap, Method, Uri};
use tokio::sync::Notify;

use crate::{
    event::{AttemptId, ConnectionId, End, Reading},
    fault::MessageStatus,
    kept::Kept,
    message::MessageId,
};

/// How far an attempt came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Reached {
    Arrived,
    Accepted,
    Replayed,
    Answering,
}

const REACHED: [(Reached, &str); 4] = [
    (Reached::Arrived, "arrived"),
    (Reached::Accepted, "accepted"),
    (Reached::Replayed, "replayed"),
    (Reached::Answering, "answering"),
];

const ENDS: [End; 8] = [
    End::Answered,
    End::Truncated,
    End::Reset,
    End::Closed,
    End::ClientClosed,
    End::ClientReset,
    End::Crashed,
    End::Shutdown,
];

/// One request, read whole, and what became of it.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) id: AttemptId,
    pub(crate) connection: ConnectionId,
    pub(crate) nth_on_connection: u32,
    /// The provider's clock.
    pub(crate) at: Duration,
    pub(crate) request: Kept,
    pub(crate) reading: Reading,
    /// The number among the requests under its key, or to its recipient where it has none.
    pub(crate) by_key: u32,
    /// The sender's number, where the request names one.
    pub(crate) sender: Option<String>,
    reached: AtomicU8,
    /// 0: not over yet; else one more than the place in [`ENDS`].
    end: AtomicU8,
    status: AtomicU16,
    message: OnceLock<MessageId>,
}

/// Everything about an attempt that is known when it arrives.
pub(crate) struct Arrival {
    pub(crate) connection: ConnectionId,
    pub(crate) nth_on_connection: u32,
    pub(crate) at: Duration,
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Attempt {
    pub(crate) fn new(
        id: AttemptId,
        came: Arrival,
        reading: Reading,
        by_key: u32,
        sender: Option<String>,
    ) -> Self {
        Self {
            id,
            connection: came.connection,
            nth_on_connection: came.nth_on_connection,
            at: came.at,
            request: Kept::new(came.method, &came.uri, &came.headers, &came.body),
            reading,
            by_key,
            sender,
            reached: AtomicU8::new(Reached::Arrived as u8),
            end: AtomicU8::new(0),
            status: AtomicU16::new(0),
            message: OnceLock::new(),
        }
    }

    pub(crate) fn reach(&self, stage: Reached) {
        self.reached.store(stage as u8, Ordering::Relaxed);
    }

    pub(crate) fn reached(&self) -> &'static str {
        let reached = self.reached.load(Ordering::Relaxed);
        REACHED
            .iter()
            .find(|(stage, _)| *stage as u8 == reached)
            .map_or("arrived", |(_, name)| name)
    }

    pub(crate) fn answering(&self, status: u16) {
        self.status.store(status, Ordering::Relaxed);
        self.reach(Reached::Answering);
    }

    pub(crate) fn status(&self) -> Option<u16> {
        Some(self.status.load(Ordering::Relaxed)).filter(|status| *status != 0)
    }

    /// The attempt is over; false where it was already.
    pub(crate) fn finish(&self, end: End) -> bool {
        let place = ENDS.iter().position(|known| *known == end).unwrap_or(0);
        let code = u8::try_from(place + 1).unwrap_or(1);
        self.end
            .compare_exchange(0, code, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    pub(crate) fn end(&self) -> Option<End> {
        let code = usize::from(self.end.load(Ordering::Acquire));
        ENDS.get(code.checked_sub(1)?).copied()
    }

    pub(crate) fn message(&self) -> Option<MessageId> {
        self.message.get().copied()
    }
}

/// One buzz of one phone.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    pub(crate) id: MessageId,
    /// The attempt that was accepted: recipient, words, key and customer stand in it.
    pub(crate) by: Arc<Attempt>,
    /// The provider's clock.
    pub(crate) at: Duration,
}

/// A status as clients see it.
pub(crate) fn status_word(status: MessageStatus) -> &'static str {
    match status {
        MessageStatus::Queued => "queued",
        MessageStatus::Sent => "sent",
        MessageStatus::Delivered => "delivered",
        MessageStatus::Undelivered => "undelivered",
    }
}

/// A list whose members keep their numbers when earlier ones are dropped.
#[derive(Debug)]
pub(crate) struct Numbered<T> {
    first: u64,
    items: Vec<T>,
}

impl<T: Clone> Numbered<T> {
    /// The number of the next member.
    pub(crate) fn next(&self) -> u64 {
        self.first + self.items.len() as u64
    }

    pub(crate) fn push(&mut self, item: T) {
        self.items.push(item);
    }

    fn get(&self, number: u64) -> Option<T> {
        let place = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.items.get(place).cloned()
    }

    fn clear(&mut self) {
        self.first = self.next();
        self.items.clear();
    }
}

/// Both records.
#[derive(Debug)]
pub(crate) struct Records {
    attempts: Mutex<Numbered<Arc<Attempt>>>,
    deliveries: Mutex<Numbered<Delivery>>,
    delivered: Notify,
}

impl Default for Records {
    fn default() -> Self {
        // Attempts are numbered from 1, messages from 0.
        let attempts = Numbered {
            first: 1,
            items: Vec::new(),
        };
        let deliveries = Numbered {
            first: 0,
            items: Vec::new(),
        };
        Self {
            attempts: Mutex::new(attempts),
            deliveries: Mutex::new(deliveries),
            delivered: Notify::new(),
        }
    }
}

impl Records {
    /// The attempts, for adding one: whoever holds this decides the order of arrival.
    pub(crate) fn arrivals(&self) -> MutexGuard<'_, Numbered<Arc<Attempt>>> {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every attempt so far.
    pub(crate) fn attempts(&self) -> Vec<Arc<Attempt>> {
        self.arrivals().items.clone()
    }

    /// The phone buzzes.
    pub(crate) fn deliver(&self, by: &Arc<Attempt>, at: Duration) -> Delivery {
        let delivery = {
            let mut list = self.list();
            let delivery = Delivery {
                id: MessageId(list.next()),
                by: by.clone(),
                at,
            };
            list.push(delivery.clone());
            delivery
        };
        // An attempt is accepted at most once.
        let _ = by.message.set(delivery.id);
        self.delivered.notify_waiters();
        delivery
    }

    /// Every delivery so far.
    pub(crate) fn deliveries(&self) -> Vec<Delivery> {
        self.list().items.clone()
    }

    /// How many attempts and deliveries are kept.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.arrivals().items.len(), self.list().items.len())
    }

    /// The delivery of a message.
    pub(crate) fn delivery(&self, id: MessageId) -> Option<Delivery> {
        self.list().get(id.0)
    }

    /// Signalled at each delivery.
    pub(crate) fn deliveries_changed(&self) -> &Notify {
        &self.delivered
    }

    /// Drops both records; numbers go on.
    pub(crate) fn clear(&self) {
        self.arrivals().clear();
        self.list().clear();
    }

    fn list(&self) -> MutexGuard<'_, Numbered<Delivery>> {
        self.deliveries
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

//! What is kept: every attempt on the wire and, apart from it, every delivery.
//!
//! Owns the two records. An attempt says what came and what became of it; a delivery is a fact:
//! one buzz of one phone. Neither is ever changed into the other.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use hyper::{HeaderMap, Method, Uri};
use tokio::sync::Notify;

use crate::{
    event::{AttemptId, ConnectionId, End, Reading},
    fault::RequestKind,
    kept::{Kept, Said},
    message::MessageId,
    numbered::{HasNumber, Numbered},
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

const ENDS: [(End, &str); 8] = [
    (End::Answered, "answered"),
    (End::Truncated, "truncated"),
    (End::Reset, "reset"),
    (End::Closed, "closed"),
    (End::ClientClosed, "client-closed"),
    (End::ClientReset, "client-reset"),
    (End::Crashed, "crashed"),
    (End::Shutdown, "shutdown"),
];

impl Reached {
    /// The word for it, as it is shown and kept.
    pub(crate) fn word(self) -> &'static str {
        let known = REACHED.iter().find(|(known, _)| *known == self);
        known.map_or("arrived", |(_, word)| word)
    }

    /// What a word stands for.
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        let known = REACHED.iter().find(|(_, known)| *known == word)?;
        Some(known.0)
    }
}

impl End {
    /// The word for it, as it is shown and kept.
    pub(crate) fn word(self) -> &'static str {
        let known = ENDS.iter().find(|(known, _)| *known == self);
        known.map_or("answered", |(_, word)| word)
    }

    /// What a word stands for.
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        let known = ENDS.iter().find(|(_, known)| *known == word)?;
        Some(known.0)
    }
}

/// One request, read whole, and what became of it. There are as many as there were requests: it
/// is small.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) id: AttemptId,
    pub(crate) connection: ConnectionId,
    pub(crate) nth_on_connection: u32,
    /// Microseconds of the provider's clock, as stores have it.
    at: u64,
    pub(crate) request: Kept,
    pub(crate) kind: RequestKind,
    /// As in its [`Reading`].
    pub(crate) ordinal: u32,
    intent: Option<u32>,
    /// Whether it has a key.
    pub(crate) has_key: bool,
    /// Whether it is counted under its key.
    pub(crate) keyed: bool,
    /// The number among the requests under its key, or to its recipient where it has none.
    pub(crate) by_key: u32,
    reached: AtomicU8,
    /// 0: not over yet; else one more than the place in [`ENDS`].
    end: AtomicU8,
    status: AtomicU16,
    /// 0: none; else one more than the message's number.
    message: AtomicU64,
}

/// How far an attempt has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) reached: Reached,
    pub(crate) status: Option<u16>,
    /// `None`: it is not over yet.
    pub(crate) end: Option<End>,
    pub(crate) message: Option<MessageId>,
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

/// Where, when and as what an attempt came.
pub(crate) struct Came {
    pub(crate) connection: ConnectionId,
    pub(crate) nth_on_connection: u32,
    pub(crate) at: Duration,
    pub(crate) request: Kept,
}

impl Attempt {
    /// An attempt that has no numbers yet.
    pub(crate) fn new(came: &Arrival, reading: &Reading<&str>, sender: Option<&str>) -> Self {
        let said = Said::of(reading, sender);
        let came = Came {
            connection: came.connection,
            nth_on_connection: came.nth_on_connection,
            at: came.at,
            request: Kept::new(&came.method, &came.uri, &came.headers, &came.body, said),
        };
        Self::again(0, came, reading, 0)
    }

    /// An attempt for tests, which says that and nothing more.
    #[cfg(test)]
    pub(crate) fn that_says(reading: &Reading<&str>) -> Self {
        let came = Arrival {
            connection: 1,
            nth_on_connection: 1,
            at: Duration::ZERO,
            method: Method::POST,
            uri: Uri::from_static("/v1/messages"),
            headers: HeaderMap::new(),
            body: Bytes::new(),
        };
        Self::new(&came, reading, None)
    }

    /// An attempt whose request is kept already.
    pub(crate) fn again(id: AttemptId, came: Came, reading: &Reading<&str>, by_key: u32) -> Self {
        Self {
            id,
            connection: came.connection,
            nth_on_connection: came.nth_on_connection,
            at: microseconds(came.at),
            request: came.request,
            kind: reading.kind,
            ordinal: reading.ordinal,
            intent: reading.intent.and_then(narrow),
            has_key: reading.key.is_some(),
            keyed: false,
            by_key,
            reached: AtomicU8::new(Reached::Arrived as u8),
            end: AtomicU8::new(0),
            status: AtomicU16::new(0),
            message: AtomicU64::new(0),
        }
    }

    /// The provider's clock, in whole microseconds.
    pub(crate) fn at(&self) -> Duration {
        Duration::from_micros(self.at)
    }

    /// What it says.
    pub(crate) fn reading(&self) -> Reading<&str> {
        let said = self.request.said();
        Reading {
            kind: self.kind,
            customer: said.customer,
            key: said.key,
            to: said.to,
            text: said.text,
            intent: self.intent(),
            ordinal: self.ordinal,
        }
    }

    /// As in its [`Reading`].
    pub(crate) fn intent(&self) -> Option<usize> {
        self.intent.map(|intent| intent as usize)
    }

    /// Its numbers, once it is in the order of arrival.
    pub(crate) fn number(
        &mut self,
        id: AttemptId,
        by_key: u32,
        intent: Option<usize>,
        ordinal: u32,
    ) {
        self.id = id;
        self.by_key = by_key;
        self.intent = intent.and_then(narrow);
        self.ordinal = ordinal;
    }

    /// The numbers that all replicas know it by.
    pub(crate) fn renumber(&mut self, id: AttemptId, by_key: u32) {
        if self.intent.is_none() {
            self.ordinal = by_key;
        }
        self.id = id;
        self.by_key = by_key;
    }

    /// The attempt as a store has kept it.
    pub(crate) fn with_progress(self, progress: Progress) -> Self {
        self.reach(progress.reached);
        self.status
            .store(progress.status.unwrap_or_default(), Ordering::Relaxed);
        if let Some(end) = progress.end {
            self.finish(end);
        }
        if let Some(message) = progress.message {
            self.accepted_as(message);
        }
        self
    }

    /// How far it has come by now.
    pub(crate) fn progress(&self) -> Progress {
        Progress {
            reached: self.reached(),
            status: self.status(),
            end: self.end(),
            message: self.message(),
        }
    }

    pub(crate) fn reach(&self, stage: Reached) {
        self.reached.store(stage as u8, Ordering::Relaxed);
    }

    pub(crate) fn reached(&self) -> Reached {
        let reached = self.reached.load(Ordering::Relaxed);
        let known = REACHED.iter().find(|(stage, _)| *stage as u8 == reached);
        known.map_or(Reached::Arrived, |(stage, _)| *stage)
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
        let place = ENDS
            .iter()
            .position(|(known, _)| *known == end)
            .unwrap_or(0);
        let code = u8::try_from(place + 1).unwrap_or(1);
        self.end
            .compare_exchange(0, code, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    pub(crate) fn end(&self) -> Option<End> {
        let code = usize::from(self.end.load(Ordering::Acquire));
        ENDS.get(code.checked_sub(1)?).map(|(end, _)| *end)
    }

    pub(crate) fn message(&self) -> Option<MessageId> {
        let number = self.message.load(Ordering::Acquire);
        number.checked_sub(1).map(MessageId)
    }

    /// An attempt is accepted at most once.
    fn accepted_as(&self, message: MessageId) {
        self.message.store(message.0 + 1, Ordering::Release);
    }
}

/// A list of intents that this does not hold would not fit into memory.
fn narrow(intent: usize) -> Option<u32> {
    u32::try_from(intent).ok()
}

fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// One buzz of one phone.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    pub(crate) id: MessageId,
    /// The attempt that was accepted: recipient, words, key and customer stand in it.
    pub(crate) by: Arc<Attempt>,
    /// Microseconds of the provider's clock, as stores have it.
    at: u64,
}

impl Delivery {
    pub(crate) fn new(id: MessageId, by: Arc<Attempt>, at: Duration) -> Self {
        let at = microseconds(at);
        Self { id, by, at }
    }

    /// The provider's clock, in whole microseconds.
    pub(crate) fn at(&self) -> Duration {
        Duration::from_micros(self.at)
    }
}

impl HasNumber for Arc<Attempt> {
    fn number(&self) -> u64 {
        self.id
    }
}

impl HasNumber for Delivery {
    fn number(&self) -> u64 {
        self.id.0
    }
}

/// The attempts, held by whoever decides the order of arrival.
pub(crate) type Arrivals<'r> = MutexGuard<'r, Numbered<Arc<Attempt>>>;

/// Both records.
#[derive(Debug)]
pub(crate) struct Records {
    attempts: Mutex<Numbered<Arc<Attempt>>>,
    deliveries: Mutex<Numbered<Delivery>>,
    delivered: Notify,
    cleared: AtomicU32,
}

impl Default for Records {
    fn default() -> Self {
        // Attempts are numbered from 1, messages from 0.
        Self {
            attempts: Mutex::new(Numbered::starting_at(1)),
            deliveries: Mutex::new(Numbered::starting_at(0)),
            delivered: Notify::new(),
            cleared: AtomicU32::new(0),
        }
    }
}

impl Records {
    /// The attempts, for adding one: whoever holds this decides the order of arrival.
    pub(crate) fn arrivals(&self) -> Arrivals<'_> {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every attempt so far.
    pub(crate) fn attempts(&self) -> Vec<Arc<Attempt>> {
        self.arrivals().iter().cloned().collect()
    }

    /// The attempt of that number.
    pub(crate) fn attempt(&self, id: AttemptId) -> Option<Arc<Attempt>> {
        self.arrivals().get(id).cloned()
    }

    /// The phone buzzes. With a `number` the record of it is kept elsewhere.
    pub(crate) fn deliver(
        &self,
        by: &Arc<Attempt>,
        at: Duration,
        number: Option<MessageId>,
    ) -> Delivery {
        let delivery = if let Some(id) = number {
            let by = by.clone();
            Delivery::new(id, by, at)
        } else {
            let mut list = self.list();
            let delivery = Delivery::new(MessageId(list.next()), by.clone(), at);
            list.push(delivery.clone());
            delivery
        };
        by.accepted_as(delivery.id);
        self.delivered.notify_waiters();
        delivery
    }

    /// Every delivery so far.
    pub(crate) fn deliveries(&self) -> Vec<Delivery> {
        self.list().iter().cloned().collect()
    }

    /// The deliveries from a number on.
    pub(crate) fn deliveries_from(&self, number: u64) -> Vec<Delivery> {
        self.list().from(number).cloned().collect()
    }

    /// How many attempts and deliveries are kept.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.arrivals().len(), self.list().len())
    }

    /// The delivery of a message.
    pub(crate) fn delivery(&self, id: MessageId) -> Option<Delivery> {
        self.list().get(id.0).cloned()
    }

    /// A delivery goes.
    pub(crate) fn drop_delivery(&self, id: MessageId) -> Option<Delivery> {
        self.list().take(id.0)
    }

    /// How often all was dropped.
    pub(crate) fn times_cleared(&self) -> u32 {
        self.cleared.load(Ordering::Acquire)
    }

    /// Signalled at each delivery, and when all is dropped.
    pub(crate) fn deliveries_changed(&self) -> &Notify {
        &self.delivered
    }

    /// Enters a delivery that a store has kept. They come in the order of their numbers.
    pub(crate) fn restore(&self, delivery: Delivery) {
        self.list().push(delivery);
    }

    /// The numbers that the next attempt and the next message get.
    pub(crate) fn next_numbers(&self) -> (AttemptId, u64) {
        (self.arrivals().next(), self.list().next())
    }

    /// From now on numbers are at least these.
    pub(crate) fn go_on_from(&self, attempt: AttemptId, message: u64) {
        let mut arrivals = self.arrivals();
        arrivals.skip_to(attempt);
        let mut list = self.list();
        list.skip_to(message);
    }

    /// Drops both records; numbers go on.
    pub(crate) fn clear(&self) {
        self.arrivals().clear();
        self.list().clear();
        self.cleared.fetch_add(1, Ordering::Release);
        self.delivered.notify_waiters();
    }

    fn list(&self) -> MutexGuard<'_, Numbered<Delivery>> {
        self.deliveries
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

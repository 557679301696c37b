//! [`Ledger`]: what is known about each idempotency key.
//!
//! Owns, for each customer's key: the fingerprint it is bound to, who works on it, the stored
//! answer, and how many requests came under it. One key has one owner at a time; whoever comes
//! meanwhile leaves a waker and asks again. It knows neither HTTP nor a runtime: an answer is
//! whatever the caller stores, time is a number that the caller reads from its clock.

use std::{hash::BuildHasherDefault, task::Waker, time::Duration};

use dashmap::{DashMap, Entry};

use crate::{
    duration::Span,
    event::AttemptId,
    fingerprint::Fingerprint,
    key::{Digest, Hashed},
    message::MessageId,
};

pub use crate::key::KeyId;

/// What a request finds under its key.
#[derive(Debug, PartialEq, Eq)]
pub enum Claim<A> {
    /// Nobody has it: the caller does now, until it settles or releases it.
    Won,
    /// Another attempt works on it.
    InFlight,
    /// Another attempt works on it, and equal keys are refused meanwhile.
    Refused(Refusal),
    /// It was answered.
    Stored {
        /// The stored answer.
        answer: A,
        /// The attempt whose answer it is.
        of: AttemptId,
        /// The message that was accepted with it, if any was.
        message: Option<MessageId>,
    },
    /// It is bound to another payload.
    Mismatch,
}

/// What a reconciling request finds under a key.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Whether an attempt is being worked on.
    pub in_flight: bool,
    /// Every message accepted under the key, in order.
    pub messages: Vec<MessageId>,
}

/// How equal keys are turned away while one is worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// `Retry-After` of the answer.
    pub retry_after: Option<Span>,
}

/// What became of a key one of whose requests was to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Dropped {
    /// Nothing was known under it.
    Unknown,
    /// It stays, since a later request came under it.
    Later,
    /// It stays, since it is being worked on.
    Busy,
    /// It is gone.
    Gone {
        /// Whether its answer would still have been replayed.
        early: bool,
        /// Every message accepted under it.
        messages: Vec<MessageId>,
    },
}

/// How a key was settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settled<A> {
    /// By which attempt.
    pub(crate) of: AttemptId,
    /// What it is bound to.
    pub(crate) fingerprint: Fingerprint,
    /// What replays return; `None`: nothing is replayed.
    pub(crate) answer: Option<A>,
    /// The message that was accepted, if any was.
    pub(crate) message: Option<MessageId>,
    /// When, by the provider's clock.
    pub(crate) at: Duration,
}

#[derive(Debug)]
enum State<A> {
    Vacant,
    Working {
        attempt: AttemptId,
    },
    Stored {
        answer: A,
        of: AttemptId,
        /// Whether the last message was accepted with it.
        accepted: bool,
    },
}

#[derive(Debug)]
struct Slot<A> {
    attempts: u32,
    /// Their list would not fit into memory if this did not.
    intent: Option<u32>,
    fingerprint: Fingerprint,
    state: State<A>,
    /// When the answer was stored, in nanoseconds: half of what a `Duration` takes.
    since: u64,
    message: Last,
    /// Whether a message was ever accepted under the key: the observer's knowledge, which no
    /// crash takes away.
    delivered: bool,
    /// What few keys have, kept apart so that the others stay small.
    rare: Option<Box<Rare>>,
}

/// The message that was accepted last, if any was, in the room of its number: one more than that, or
/// 0.
#[derive(Clone, Copy, Debug, Default)]
struct Last(u64);

impl Last {
    fn new(message: MessageId) -> Self {
        Self(message.0 + 1)
    }

    fn get(self) -> Option<MessageId> {
        self.0.checked_sub(1).map(MessageId)
    }
}

#[derive(Debug, Default)]
struct Rare {
    /// Set while an `in-flight` fault runs: equal keys are refused.
    refusing: Option<Refusal>,
    /// The messages before the last one.
    earlier: Vec<MessageId>,
    waiters: Vec<Waker>,
}

/// Parts of the table, each of which grows by itself: a request under one of a million keys waits
/// for thousands to be moved, not for all. A power of two.
const SHARDS: usize = 256;

/// Every key that was ever used. `A` is the stored answer, cheap to clone.
#[derive(Debug)]
pub struct Ledger<A> {
    slots: DashMap<Digest, Box<Slot<A>>, BuildHasherDefault<Hashed>>,
    retention: Duration,
}

impl<A: Clone> Ledger<A> {
    /// An empty ledger that keeps a stored answer for `retention`.
    #[must_use]
    pub fn new(retention: Duration) -> Self {
        Self {
            slots: DashMap::with_hasher_and_shard_amount(BuildHasherDefault::default(), SHARDS),
            retention,
        }
    }

    /// A request has come: counts it and claims the key if it is free. The number is its place
    /// among the requests under this key, from 1; it goes on counting past the retention.
    #[must_use]
    pub fn arrive(
        &self,
        id: &KeyId,
        fingerprint: Fingerprint,
        attempt: AttemptId,
        intent: Option<usize>,
        now: Duration,
    ) -> (u32, Claim<A>) {
        match self.slots.entry(id.digest()) {
            Entry::Vacant(place) => {
                place.insert(Box::new(Slot {
                    attempts: 1,
                    intent: narrow(intent),
                    fingerprint,
                    state: State::Working { attempt },
                    since: nanoseconds(now),
                    message: Last::default(),
                    delivered: false,
                    rare: None,
                }));
                (1, Claim::Won)
            }
            Entry::Occupied(mut place) => {
                let slot = place.get_mut();
                slot.attempts += 1;
                slot.intent = narrow(intent).or(slot.intent);
                let claim = slot.claim(fingerprint, attempt, now, self.retention);
                (slot.attempts, claim)
            }
        }
    }

    /// Asks again for a request that has arrived. Where the answer is [`Claim::InFlight`], `waker`
    /// is woken when it may have changed.
    #[must_use]
    pub fn claim(
        &self,
        id: &KeyId,
        fingerprint: Fingerprint,
        attempt: AttemptId,
        now: Duration,
        waker: &Waker,
    ) -> Claim<A> {
        let Some(mut slot) = self.slots.get_mut(&id.digest()) else {
            return self.arrive(id, fingerprint, attempt, None, now).1;
        };
        let claim = slot.claim(fingerprint, attempt, now, self.retention);
        if matches!(claim, Claim::InFlight) {
            let waiters = &mut slot.rare().waiters;
            if !waiters.iter().any(|waiter| waiter.will_wake(waker)) {
                waiters.push(waker.clone());
            }
        }
        claim
    }

    /// The owner is done: stores its answer (or nothing, where `answer` is `None`) and the message
    /// that was accepted with it, and lets the others go on. Without effect for whoever does not
    /// own the key. True where another message was accepted under the key before.
    pub fn settle(
        &self,
        id: &KeyId,
        attempt: AttemptId,
        answer: Option<A>,
        message: Option<MessageId>,
        now: Duration,
    ) -> bool {
        let mut again = false;
        let waiters = {
            let Some(mut slot) = self.slots.get_mut(&id.digest()) else {
                return again;
            };
            if !matches!(slot.state, State::Working { attempt: owner } if owner == attempt) {
                return again;
            }
            again = slot.settle(attempt, answer, message, now);
            slot.waiters()
        };
        waiters.into_iter().for_each(Waker::wake);
        again
    }

    /// The owner gives up without an answer: the key is free for the next one.
    pub fn release(&self, id: &KeyId, attempt: AttemptId) {
        // No message comes with it.
        let _ = self.settle(id, attempt, None, None, Duration::ZERO);
    }

    /// Replaces the stored answer, if there is one.
    pub fn restate(&self, id: &KeyId, replacement: A) {
        if let Some(mut slot) = self.slots.get_mut(&id.digest())
            && let State::Stored { answer, .. } = &mut slot.state
        {
            *answer = replacement;
        }
    }

    /// From now on equal keys are refused or no longer (`None`).
    pub fn refuse(&self, id: &KeyId, refusing: Option<Refusal>) {
        let waiters = {
            let Some(mut slot) = self.slots.get_mut(&id.digest()) else {
                return;
            };
            slot.rare().refusing = refusing;
            slot.waiters()
        };
        waiters.into_iter().for_each(Waker::wake);
    }

    /// Ends every refusal: whoever worked is gone.
    pub fn lift_refusals(&self) {
        for mut slot in self.slots.iter_mut() {
            if let Some(rare) = &mut slot.rare {
                rare.refusing = None;
            }
        }
    }

    /// What is known under a key; `None` where it was never used, or was forgotten.
    #[must_use]
    pub fn look(&self, id: &KeyId) -> Option<Known> {
        let slot = self.slots.get(&id.digest())?;
        let in_flight = matches!(slot.state, State::Working { .. }) || slot.refusing().is_some();
        let messages = slot.messages();
        (in_flight || !messages.is_empty()).then_some(Known {
            in_flight,
            messages,
        })
    }

    /// The intent of the last request under a key.
    #[must_use]
    pub fn intent(&self, id: &KeyId) -> Option<usize> {
        self.slots
            .get(&id.digest())?
            .intent
            .map(|intent| intent as usize)
    }

    /// Drops all that is known under a key, where its last request was the `nth`.
    pub(crate) fn drop_last(&self, id: &KeyId, nth: u32, now: Duration) -> Dropped {
        let Entry::Occupied(place) = self.slots.entry(id.digest()) else {
            return Dropped::Unknown;
        };
        let slot = place.get();
        if slot.attempts != nth {
            return Dropped::Later;
        }
        let early = match slot.state {
            State::Working { .. } => return Dropped::Busy,
            State::Stored { .. } => !slot.is_expired(now, self.retention),
            State::Vacant => false,
        };
        let messages = place.remove().messages();
        Dropped::Gone { early, messages }
    }

    /// Takes up a count of requests that a store has kept.
    pub(crate) fn recount(&self, id: &KeyId, attempts: u32) {
        let mut slot = self
            .slots
            .entry(id.digest())
            .or_insert_with(|| Box::new(Slot::vacant()));
        slot.attempts = slot.attempts.max(attempts);
    }

    /// How many keys have a stored answer.
    pub(crate) fn stored(&self) -> u64 {
        let answered = |slot: &Slot<A>| matches!(slot.state, State::Stored { .. });
        self.slots.iter().filter(|slot| answered(slot)).count() as u64
    }

    /// Takes up what a store has kept of a key: as [`Ledger::settle`] left it. They come in the
    /// order in which they were settled.
    pub(crate) fn restore(&self, id: &KeyId, settled: Settled<A>) {
        let mut slot = self
            .slots
            .entry(id.digest())
            .or_insert_with(|| Box::new(Slot::vacant()));
        slot.fingerprint = settled.fingerprint;
        // Counted when it happened.
        let _ = slot.settle(settled.of, settled.answer, settled.message, settled.at);
    }

    /// Loses every key, owner, answer and message; only the count of requests stays, since it is
    /// the observer's and not the provider's.
    pub fn forget(&self) {
        for mut slot in self.slots.iter_mut() {
            slot.state = State::Vacant;
            slot.message = Last::default();
            let rare = slot.rare.take().unwrap_or_default();
            rare.waiters.into_iter().for_each(Waker::wake);
        }
    }

    /// Loses everything, the counts too.
    pub fn clear(&self) {
        self.forget();
        self.slots.clear();
    }
}

/// As far as 584 years.
fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn narrow(intent: Option<usize>) -> Option<u32> {
    intent.and_then(|intent| u32::try_from(intent).ok())
}

impl<A: Clone> Slot<A> {
    fn vacant() -> Self {
        Self {
            attempts: 0,
            intent: None,
            fingerprint: Fingerprint::from_bytes([0; 32]),
            state: State::Vacant,
            since: 0,
            message: Last::default(),
            delivered: false,
            rare: None,
        }
    }

    fn is_expired(&self, now: Duration, retention: Duration) -> bool {
        now.saturating_sub(Duration::from_nanos(self.since)) >= retention
    }

    /// Every message accepted under the key, in order.
    fn messages(&self) -> Vec<MessageId> {
        let earlier = self.rare.iter().flat_map(|rare| &rare.earlier);
        earlier.copied().chain(self.message.get()).collect()
    }

    /// True where another message was accepted before this one.
    fn settle(
        &mut self,
        of: AttemptId,
        answer: Option<A>,
        message: Option<MessageId>,
        now: Duration,
    ) -> bool {
        self.state = match answer {
            Some(answer) => State::Stored {
                answer,
                of,
                accepted: message.is_some(),
            },
            None => State::Vacant,
        };
        self.since = nanoseconds(now);
        let Some(message) = message else {
            return false;
        };
        let before = std::mem::replace(&mut self.message, Last::new(message));
        if let Some(before) = before.get() {
            self.rare().earlier.push(before);
        }
        std::mem::replace(&mut self.delivered, true)
    }

    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    fn refusing(&self) -> Option<Refusal> {
        self.rare.as_ref()?.refusing
    }

    fn waiters(&mut self) -> Vec<Waker> {
        self.rare
            .as_mut()
            .map(|rare| std::mem::take(&mut rare.waiters))
            .unwrap_or_default()
    }

    fn claim(
        &mut self,
        fingerprint: Fingerprint,
        attempt: AttemptId,
        now: Duration,
        retention: Duration,
    ) -> Claim<A> {
        if matches!(self.state, State::Stored { .. }) && self.is_expired(now, retention) {
            self.state = State::Vacant;
        }
        match &self.state {
            State::Vacant => {
                self.fingerprint = fingerprint;
                self.state = State::Working { attempt };
                Claim::Won
            }
            State::Working { attempt: owner } if *owner == attempt => Claim::Won,
            State::Working { .. } | State::Stored { .. } if self.fingerprint != fingerprint => {
                Claim::Mismatch
            }
            State::Working { .. } => match self.refusing() {
                Some(refusal) => Claim::Refused(refusal),
                None => Claim::InFlight,
            },
            State::Stored {
                answer,
                of,
                accepted,
            } => match self.refusing() {
                Some(refusal) => Claim::Refused(refusal),
                None => Claim::Stored {
                    answer: answer.clone(),
                    of: *of,
                    message: self.message.get().filter(|_| *accepted),
                },
            },
        }
    }
}

#[cfg(test)]
mod tests;

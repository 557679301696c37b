//! [`Ledger`]: what is known about each idempotency key.
//!
//! Owns, for each customer's key: the fingerprint it is bound to, who works on it, the stored
//! answer, and how many requests came under it. One key has one owner at a time; whoever comes
//! meanwhile leaves a waker and asks again. It knows neither HTTP nor a runtime: an answer is
//! whatever the caller stores, time is a number that the caller reads from its clock.

use std::{task::Waker, time::Duration};

use dashmap::{DashMap, Entry};

use crate::{duration::Span, event::AttemptId, fingerprint::Fingerprint, message::MessageId};

/// A key in the scope of its customer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyId(Box<str>);

impl KeyId {
    /// The key `key` of `customer`.
    #[must_use]
    pub fn new(customer: &str, key: &str) -> Self {
        // Neither part can hold a NUL where it came from a header; where it came from a body, the
        // length in front keeps two pairs from running together.
        let mut text = String::with_capacity(customer.len() + key.len() + 9);
        crate::message::push_hex(&mut text, customer.len() as u64);
        text.drain(..12);
        text.push_str(customer);
        text.push_str(key);
        Self(text.into_boxed_str())
    }
}

/// What a request finds under its key.
#[derive(Debug, PartialEq, Eq)]
pub enum Claim<A> {
    /// Nobody has it: the caller does now, until it settles or releases it.
    Won,
    /// Another attempt works on it.
    InFlight,
    /// Another attempt works on it, and equal keys are refused meanwhile.
    Refused {
        /// `Retry-After` of the refusal.
        retry_after: Option<Span>,
    },
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

#[derive(Debug)]
enum State<A> {
    Vacant,
    Working {
        attempt: AttemptId,
    },
    Stored {
        answer: A,
        of: AttemptId,
        message: Option<MessageId>,
    },
}

#[derive(Debug)]
struct Slot<A> {
    attempts: u32,
    intent: Option<usize>,
    fingerprint: Fingerprint,
    state: State<A>,
    /// When the answer was stored.
    since: Duration,
    /// Set while an `in-flight` fault runs: equal keys are refused.
    refusing: Option<Option<Span>>,
    message: Option<MessageId>,
    earlier: Vec<MessageId>,
    waiters: Vec<Waker>,
}

/// Every key that was ever used. `A` is the stored answer, cheap to clone.
#[derive(Debug)]
pub struct Ledger<A> {
    slots: DashMap<KeyId, Slot<A>>,
    retention: Duration,
}

impl<A: Clone> Ledger<A> {
    /// An empty ledger that keeps a stored answer for `retention`.
    #[must_use]
    pub fn new(retention: Duration) -> Self {
        Self {
            slots: DashMap::new(),
            retention,
        }
    }

    /// A request has come: counts it and claims the key if it is free. The number is its place
    /// among the requests under this key, from 1; it goes on counting past the retention.
    pub fn arrive(
        &self,
        id: KeyId,
        fingerprint: Fingerprint,
        attempt: AttemptId,
        intent: Option<usize>,
        now: Duration,
    ) -> (u32, Claim<A>) {
        match self.slots.entry(id) {
            Entry::Vacant(place) => {
                place.insert(Slot {
                    attempts: 1,
                    intent,
                    fingerprint,
                    state: State::Working { attempt },
                    since: now,
                    refusing: None,
                    message: None,
                    earlier: Vec::new(),
                    waiters: Vec::new(),
                });
                (1, Claim::Won)
            }
            Entry::Occupied(mut place) => {
                let slot = place.get_mut();
                slot.attempts += 1;
                slot.intent = intent.or(slot.intent);
                let claim = slot.claim(fingerprint, attempt, now, self.retention);
                (slot.attempts, claim)
            }
        }
    }

    /// Asks again for a request that has arrived. Where the answer is [`Claim::InFlight`], `waker`
    /// is woken when it may have changed.
    pub fn claim(
        &self,
        id: &KeyId,
        fingerprint: Fingerprint,
        attempt: AttemptId,
        now: Duration,
        waker: &Waker,
    ) -> Claim<A> {
        let Some(mut slot) = self.slots.get_mut(id) else {
            return self.arrive(id.clone(), fingerprint, attempt, None, now).1;
        };
        let claim = slot.claim(fingerprint, attempt, now, self.retention);
        if matches!(claim, Claim::InFlight) && !slot.waiters.iter().any(|w| w.will_wake(waker)) {
            slot.waiters.push(waker.clone());
        }
        claim
    }

    /// The owner is done: stores its answer (or nothing, where `answer` is `None`) and the message
    /// that was accepted with it, and lets the others go on. Without effect for whoever does not
    /// own the key.
    pub fn settle(
        &self,
        id: &KeyId,
        attempt: AttemptId,
        answer: Option<A>,
        message: Option<MessageId>,
        now: Duration,
    ) {
        let waiters = {
            let Some(mut slot) = self.slots.get_mut(id) else {
                return;
            };
            if !matches!(slot.state, State::Working { attempt: owner } if owner == attempt) {
                return;
            }
            slot.state = match answer {
                Some(answer) => State::Stored {
                    answer,
                    of: attempt,
                    message,
                },
                None => State::Vacant,
            };
            slot.since = now;
            if message.is_some() {
                let before = std::mem::replace(&mut slot.message, message);
                slot.earlier.extend(before);
            }
            std::mem::take(&mut slot.waiters)
        };
        waiters.into_iter().for_each(Waker::wake);
    }

    /// The owner gives up without an answer: the key is free for the next one.
    pub fn release(&self, id: &KeyId, attempt: AttemptId) {
        self.settle(id, attempt, None, None, Duration::ZERO);
    }

    /// Replaces the stored answer, if there is one.
    pub fn restate(&self, id: &KeyId, replacement: A) {
        if let Some(mut slot) = self.slots.get_mut(id)
            && let State::Stored { answer, .. } = &mut slot.state
        {
            *answer = replacement;
        }
    }

    /// From now on equal keys are refused (`Some`, with its `Retry-After`), or no longer (`None`).
    pub fn refuse(&self, id: &KeyId, refusing: Option<Option<Span>>) {
        let waiters = {
            let Some(mut slot) = self.slots.get_mut(id) else {
                return;
            };
            slot.refusing = refusing;
            std::mem::take(&mut slot.waiters)
        };
        waiters.into_iter().for_each(Waker::wake);
    }

    /// Ends every refusal: whoever worked is gone.
    pub fn lift_refusals(&self) {
        for mut slot in self.slots.iter_mut() {
            slot.refusing = None;
        }
    }

    /// What is known under a key; `None` where it was never used, or was forgotten.
    #[must_use]
    pub fn look(&self, id: &KeyId) -> Option<Known> {
        let slot = self.slots.get(id)?;
        let in_flight = matches!(slot.state, State::Working { .. }) || slot.refusing.is_some();
        let messages: Vec<_> = slot.earlier.iter().copied().chain(slot.message).collect();
        (in_flight || !messages.is_empty()).then_some(Known {
            in_flight,
            messages,
        })
    }

    /// The intent of the last request under a key.
    #[must_use]
    pub fn intent(&self, id: &KeyId) -> Option<usize> {
        self.slots.get(id)?.intent
    }

    /// Loses every key, owner, answer and message; only the count of requests stays, since it is
    /// the observer's and not the provider's.
    pub fn forget(&self) {
        for mut slot in self.slots.iter_mut() {
            slot.state = State::Vacant;
            slot.message = None;
            slot.earlier.clear();
            slot.refusing = None;
            slot.waiters.drain(..).for_each(Waker::wake);
        }
    }

    /// Loses everything, the counts too.
    pub fn clear(&self) {
        self.forget();
        self.slots.clear();
    }
}

impl<A: Clone> Slot<A> {
    fn claim(
        &mut self,
        fingerprint: Fingerprint,
        attempt: AttemptId,
        now: Duration,
        retention: Duration,
    ) -> Claim<A> {
        let expired = matches!(self.state, State::Stored { .. })
            && now.saturating_sub(self.since) >= retention;
        if expired {
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
            State::Working { .. } => match self.refusing {
                Some(retry_after) => Claim::Refused { retry_after },
                None => Claim::InFlight,
            },
            State::Stored {
                answer,
                of,
                message,
            } => match self.refusing {
                Some(retry_after) => Claim::Refused { retry_after },
                None => Claim::Stored {
                    answer: answer.clone(),
                    of: *of,
                    message: *message,
                },
            },
        }
    }
}

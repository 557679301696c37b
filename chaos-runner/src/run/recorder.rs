//! The one writer of a [`History`].
//!
//! Owns the order of events, the scale of time, and the numbering of attempts over both
//! providers of a lab. It decides nothing.

use std::{collections::HashMap, time::Instant};

use stub_provider::event as wire;

use crate::history::{Answer, Event, EventKind, Payload, Request};

/// Collects the events of one lab.
#[derive(Debug)]
pub struct Recorder {
    opened: Instant,
    events: Vec<Event>,
    attempts: HashMap<(u8, wire::AttemptId), u64>,
}

impl Recorder {
    /// Starts an empty record; times count from now.
    pub fn new() -> Self {
        Self {
            opened: Instant::now(),
            events: Vec::new(),
            attempts: HashMap::new(),
        }
    }

    /// Microseconds from the opening of the lab to `at`.
    pub fn micros(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.opened).as_micros()).unwrap_or(u64::MAX)
    }

    /// Records a fact that was seen just now.
    pub fn record(&mut self, kind: EventKind) {
        self.record_at(Instant::now(), kind);
    }

    /// Records a fact that was seen at `at`.
    pub fn record_at(&mut self, at: Instant, kind: EventKind) {
        let event = Event {
            seq: self.events.len() as u64 + 1,
            at_us: self.micros(at),
            kind,
        };
        self.events.push(event);
    }

    /// The number that an attempt at a provider has in the history.
    pub fn attempt(&mut self, provider: u8, id: wire::AttemptId) -> u64 {
        let next = self.attempts.len() as u64 + 1;
        *self.attempts.entry((provider, id)).or_insert(next)
    }

    /// Records what a provider saw.
    pub fn observe(&mut self, provider: u8, event: &wire::Event) {
        let kind = self.translate(provider, &event.kind);
        self.record_at(event.at, kind);
    }

    fn translate(&mut self, provider: u8, kind: &wire::EventKind) -> EventKind {
        match kind {
            wire::EventKind::ConnectionOpened { connection, .. } => EventKind::ConnectionOpened {
                provider,
                connection: *connection,
            },
            wire::EventKind::ConnectionClosed { connection, end } => EventKind::ConnectionClosed {
                provider,
                connection: *connection,
                end: *end,
            },
            wire::EventKind::Arrived {
                attempt,
                connection,
                nth_on_connection,
                request,
                reading,
            } => {
                EventKind::Attempt {
                    attempt: self.attempt(provider, *attempt),
                    provider,
                    connection: *connection,
                    nth_on_connection: *nth_on_connection,
                    kind: reading.kind,
                    // Intents count from 0 at the provider, from 1 for people.
                    intent: reading.intent.map(|index| index + 1),
                    ordinal: reading.ordinal,
                    customer: reading.customer.clone(),
                    key: reading.key.clone(),
                    to: reading.to.clone(),
                    text: reading.text.clone(),
                    request: Request {
                        method: request.method.clone(),
                        target: request.target.clone(),
                        headers: request.headers.clone(),
                        body: Payload::new(&request.body),
                    },
                }
            }
            wire::EventKind::Unread { connection, reason } => EventKind::Unread {
                provider,
                connection: *connection,
                reason: reason.clone(),
            },
            wire::EventKind::Held { attempt, stage } => EventKind::Held {
                attempt: self.attempt(provider, *attempt),
                stage: *stage,
            },
            wire::EventKind::FaultFired { attempt, fault } => {
                let attempt = self.attempt(provider, *attempt);
                EventKind::FaultFired {
                    fault: *fault,
                    attempt: Some(attempt),
                    intent: self.intent_of(attempt),
                }
            }
            wire::EventKind::Delivered { attempt, message } => EventKind::Delivered {
                attempt: self.attempt(provider, *attempt),
                message: message.clone(),
            },
            wire::EventKind::Replayed { attempt, of } => EventKind::Replayed {
                attempt: self.attempt(provider, *attempt),
                of: self.attempt(provider, *of),
            },
            wire::EventKind::Answering { attempt, answer } => EventKind::Answering {
                attempt: self.attempt(provider, *attempt),
                answer: Answer {
                    status: answer.status,
                    headers: answer.headers.clone(),
                    body: Payload::new(&answer.body),
                },
            },
            wire::EventKind::Ended { attempt, end } => EventKind::Ended {
                attempt: self.attempt(provider, *attempt),
                end: *end,
            },
            wire::EventKind::ReceiptSent {
                message,
                event_id,
                status,
                attempt,
                answered,
            } => EventKind::Receipt {
                message: message.clone(),
                event_id: event_id.clone(),
                status: *status,
                attempt: *attempt,
                answered: *answered,
            },
            wire::EventKind::Crashed => EventKind::ProviderCrashed { provider },
            wire::EventKind::Restarted => EventKind::ProviderRestarted { provider },
        }
    }

    /// The intent that an attempt is for, as recorded.
    pub fn intent_of(&self, wanted: u64) -> Option<usize> {
        self.events
            .iter()
            .rev()
            .find_map(|event| match &event.kind {
                EventKind::Attempt {
                    attempt, intent, ..
                } if *attempt == wanted => Some(*intent),
                _ => None,
            })?
    }

    /// The record, complete.
    pub fn finish(self) -> Vec<Event> {
        self.events
    }
}

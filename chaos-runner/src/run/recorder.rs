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
    /// Which intent each attempt is for, by its number here.
    intents: HashMap<u64, Option<usize>>,
}

impl Recorder {
    /// Starts an empty record; times count from now.
    pub fn new() -> Self {
        Self {
            opened: Instant::now(),
            events: Vec::new(),
            attempts: HashMap::new(),
            intents: HashMap::new(),
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
                let attempt = self.attempt(provider, *attempt);
                // Intents count from 0 at the provider, from 1 for people.
                let intent = reading.intent.map(|index| index + 1);
                self.intents.insert(attempt, intent);
                EventKind::Attempt {
                    attempt,
                    provider,
                    connection: *connection,
                    nth_on_connection: *nth_on_connection,
                    kind: reading.kind,
                    intent,
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
    pub fn intent_of(&self, attempt: u64) -> Option<usize> {
        self.intents.get(&attempt).copied().flatten()
    }

    /// The record, complete.
    pub fn finish(self) -> Vec<Event> {
        self.events
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use stub_provider::fault::RequestKind;

    use super::*;

    fn arrived(attempt: u64, intent: Option<usize>) -> wire::EventKind {
        wire::EventKind::Arrived {
            attempt,
            connection: 1,
            nth_on_connection: 1,
            request: Arc::new(wire::Request {
                method: "POST".into(),
                target: "/v1/messages".into(),
                headers: Vec::new(),
                body: Vec::new(),
            }),
            reading: Arc::new(wire::Reading {
                kind: RequestKind::Submit,
                customer: "default".into(),
                key: None,
                to: None,
                text: None,
                intent,
                ordinal: 1,
            }),
        }
    }

    fn event(kind: wire::EventKind, at: Instant) -> wire::Event {
        wire::Event { seq: 1, at, kind }
    }

    #[test]
    fn attempts_are_numbered_over_both_providers_in_the_order_of_arrival() {
        let mut recorder = Recorder::new();
        let now = Instant::now();
        recorder.observe(1, &event(arrived(1, Some(0)), now));
        recorder.observe(2, &event(arrived(1, Some(1)), now));
        recorder.observe(1, &event(arrived(2, None), now));
        // The same attempt keeps its number, whatever is told of it.
        let held = wire::EventKind::Held {
            attempt: 1,
            stage: stub_provider::fault::Stage::AfterAccept,
        };
        recorder.observe(2, &event(held, now));
        let numbers = [(1, 1), (2, 1), (1, 2)].map(|(side, id)| recorder.attempt(side, id));
        assert_eq!(numbers, [1, 2, 3]);
        // From 0 at the provider, from 1 for people.
        assert_eq!(
            [1, 2, 3].map(|n| recorder.intent_of(n)),
            [Some(1), Some(2), None]
        );
        let events = recorder.finish();
        assert!(matches!(events[3].kind, EventKind::Held { attempt: 2, .. }));
    }

    #[test]
    fn events_are_in_the_order_in_which_they_were_told_and_keep_their_own_time() {
        let mut recorder = Recorder::new();
        let start = recorder.opened;
        let ms = Duration::from_millis;
        let before = start.checked_sub(ms(5)).expect("the machine has been up");
        recorder.record_at(start + ms(20), EventKind::Settled);
        // A provider's event is told a moment after it has happened.
        recorder.observe(1, &event(wire::EventKind::Crashed, start + ms(5)));
        // Before the lab was open there is no time.
        recorder.observe(1, &event(wire::EventKind::Restarted, before));
        let told: Vec<(u64, u64)> = recorder
            .finish()
            .iter()
            .map(|event| (event.seq, event.at_us))
            .collect();
        assert_eq!(told, [(1, 20_000), (2, 5_000), (3, 0)]);
    }
}

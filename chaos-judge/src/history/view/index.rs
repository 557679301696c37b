//! Making a [`View`]: one pass over the events of a history.

use hashbrown::{HashMap, hash_map::Entry};

use super::{
    AttemptView, Belief, ConnectionView, Mark, ReceiptView, SubmissionView, View, Violence,
};
use crate::history::{Event, EventKind, History, Process};

impl<'h> View<'h> {
    /// Indexes `history`.
    #[must_use]
    pub fn new(history: &'h History) -> Self {
        let last = history.events.last();
        let mut view = Self {
            history,
            attempts: Vec::new(),
            violence: Vec::new(),
            pauses: Vec::new(),
            receipts: Vec::new(),
            fired: Vec::new(),
            applied: Vec::new(),
            started: Vec::new(),
            starved: Vec::new(),
            timed_out: None,
            end_us: last.map_or(0, |e| e.at_us),
            last_seq: last.map_or(0, |e| e.seq),
            by_id: HashMap::new(),
            by_intent: HashMap::new(),
            by_fault: HashMap::new(),
            last_on: HashMap::new(),
            numbered: HashMap::with_capacity(history.intents.len()),
            alike: Vec::new(),
            faults: HashMap::new(),
            last_start_us: 0,
            worker_started: false,
            beliefs: HashMap::new(),
            submissions: HashMap::new(),
            connections: HashMap::new(),
        };
        let mut groups = HashMap::with_capacity(history.intents.len());
        for intent in &history.intents {
            let group = match groups.entry((&*intent.to, &*intent.body, &*intent.customer)) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(place) => {
                    view.alike.push(Vec::new());
                    *place.insert(view.alike.len() - 1)
                }
            };
            view.alike[group].push(intent.number);
            view.numbered.insert(intent.number, (intent, group));
        }
        for fault in &history.faults {
            view.faults.entry(fault.id).or_insert(fault);
        }
        for event in &history.events {
            view.note(event);
        }
        view
    }

    fn note(&mut self, event: &'h Event) {
        let mark = Mark {
            seq: event.seq,
            at_us: event.at_us,
        };
        match &event.kind {
            EventKind::Submitted { .. } | EventKind::SubmitEnded { .. } => {
                self.note_submission(mark, &event.kind);
            }
            EventKind::ProcessSignalled {
                process,
                signal,
                fault: Some(_),
            } if signal == "kill" || signal == "terminate" => {
                self.violence.push(Violence { mark, process });
            }
            EventKind::ProcessSignalled { signal, .. } if signal == "pause" => {
                self.pauses.push(mark);
            }
            EventKind::ProcessStarted { process, .. } => {
                self.started.push((mark, process));
                self.last_start_us = self.last_start_us.max(mark.at_us);
                self.worker_started |= matches!(process, Process::Worker(_));
            }
            EventKind::ConnectionOpened {
                provider,
                connection,
            } => {
                self.connection_entry(*provider, *connection).opened = Some(mark);
            }
            EventKind::ConnectionClosed {
                provider,
                connection,
                end,
            } => {
                self.connection_entry(*provider, *connection).closed = Some((mark, *end));
            }
            EventKind::FaultApplied { fault, .. } => self.applied.push((mark, *fault)),
            EventKind::FaultFired {
                fault,
                attempt,
                intent,
            } => {
                self.by_fault
                    .entry(*fault)
                    .or_default()
                    .push(self.fired.len());
                self.fired.push((mark, *fault, *attempt, *intent));
                if let Some(found) = attempt.and_then(|id| self.attempt_entry(id)) {
                    found.fired.push((mark, *fault));
                }
            }
            EventKind::Receipt {
                message, status, ..
            } => self.receipts.push(ReceiptView {
                mark,
                message,
                status: *status,
            }),
            EventKind::Believed {
                intent,
                outcome,
                attempts,
            } => self.beliefs.entry(*intent).or_default().push(Belief {
                mark,
                outcome: Some(*outcome),
                attempts: *attempts,
            }),
            EventKind::Forgotten { intent } => {
                self.beliefs.entry(*intent).or_default().push(Belief {
                    mark,
                    outcome: None,
                    attempts: None,
                });
            }
            EventKind::Starved { for_us } => self.starved.push((mark, *for_us)),
            EventKind::TimedOut { .. } => self.timed_out = Some(mark),
            other => self.note_attempt(mark, other),
        }
    }

    fn note_submission(&mut self, mark: Mark, kind: &EventKind) {
        match kind {
            EventKind::Submitted {
                intent,
                submission,
                expires_at_us,
            } => self
                .submissions
                .entry(*intent)
                .or_default()
                .push(SubmissionView {
                    which: *submission,
                    began: mark,
                    expires_at_us: *expires_at_us,
                    ended: None,
                }),
            EventKind::SubmitEnded {
                intent,
                submission,
                accepted,
                ..
            } => {
                let open = self
                    .submissions
                    .get_mut(intent)
                    .and_then(|all| all.iter_mut().rev().find(|s| s.which == *submission));
                if let Some(open) = open {
                    // A submit command that was killed and started again ends more than once:
                    // what it said last holds, and a yes is never taken back.
                    let before = open.ended.is_some_and(|(_, yes)| yes);
                    open.ended = Some((mark, before || *accepted));
                }
            }
            _ => {}
        }
    }

    fn note_attempt(&mut self, mark: Mark, kind: &'h EventKind) {
        match kind {
            EventKind::Attempt {
                attempt,
                provider,
                connection,
                nth_on_connection,
                kind,
                intent,
                ordinal,
                customer,
                key,
                text,
                request,
                ..
            } => {
                self.by_id.insert(*attempt, self.attempts.len());
                if let Some(intent) = intent {
                    self.by_intent
                        .entry(*intent)
                        .or_default()
                        .push(self.attempts.len());
                }
                self.last_on.insert((*provider, *connection), mark.seq);
                self.attempts.push(AttemptView {
                    arrived: mark,
                    id: *attempt,
                    provider: *provider,
                    connection: *connection,
                    nth_on_connection: *nth_on_connection,
                    kind: *kind,
                    intent: *intent,
                    ordinal: *ordinal,
                    customer,
                    key: key.as_deref(),
                    text: text.as_deref(),
                    request,
                    delivered: None,
                    replayed: None,
                    answer: None,
                    ended: None,
                    fired: Vec::new(),
                });
            }
            EventKind::Delivered { attempt, message } => {
                if let Some(found) = self.attempt_entry(*attempt) {
                    found.delivered = Some((mark, message));
                }
            }
            EventKind::Replayed { attempt, of } => {
                if let Some(found) = self.attempt_entry(*attempt) {
                    found.replayed = Some((mark, *of));
                }
            }
            EventKind::Answering { attempt, answer } => {
                if let Some(found) = self.attempt_entry(*attempt) {
                    found.answer = Some((mark, answer));
                }
            }
            EventKind::Ended { attempt, end } => {
                if let Some(found) = self.attempt_entry(*attempt) {
                    found.ended = Some((mark, *end));
                }
            }
            _ => {}
        }
    }

    fn attempt_entry(&mut self, id: u64) -> Option<&mut AttemptView<'h>> {
        let at = *self.by_id.get(&id)?;
        self.attempts.get_mut(at)
    }

    fn connection_entry(&mut self, provider: u8, connection: u64) -> &mut ConnectionView {
        self.connections.entry((provider, connection)).or_default()
    }
}

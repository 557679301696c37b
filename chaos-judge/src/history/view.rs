//! A history, indexed once for every check: attempts with what became of them, what the client
//! believes at the end, what was done to its processes.
//!
//! Owns [`View`] and what can be asked of it; `index` makes it. It adds no fact and judges nothing;
//! how an answer looks to the client is [`super::reply`]'s.

mod index;

use hashbrown::HashMap;
use stub_provider::fault::RequestKind;

pub use super::observed::{
    AttemptView, Belief, ConnectionView, Mark, ReceiptView, SubmissionView, Violence,
};
use super::{History, Process, Submission};
use crate::{fault::Action, intent::Intent, plan::PlannedFault};

/// A history with its indexes.
#[derive(Clone, Debug)]
pub struct View<'h> {
    /// The history.
    pub history: &'h History,
    /// Every request, lookups included, in the order of arrival.
    pub attempts: Vec<AttemptView<'h>>,
    /// What was done to the client's sending processes.
    pub violence: Vec<Violence<'h>>,
    /// When one of the client's processes was made to stand still.
    pub pauses: Vec<Mark>,
    /// The receipts.
    pub receipts: Vec<ReceiptView<'h>>,
    /// Faults that acted: when, which, on which attempt, for which intent.
    pub fired: Vec<(Mark, u32, Option<u64>, Option<usize>)>,
    /// Faults that were put in place: when and which.
    pub applied: Vec<(Mark, u32)>,
    /// When one of the client's processes was started, and which.
    pub started: Vec<(Mark, &'h Process)>,
    /// When the client had been without a processor, and for how long, in microseconds.
    pub starved: Vec<(Mark, u64)>,
    /// When the time limit was reached.
    pub timed_out: Option<Mark>,
    /// The time of the last event, in microseconds.
    pub end_us: u64,
    /// The `seq` of the last event.
    pub last_seq: u64,
    by_id: HashMap<u64, usize>,
    /// Of each intent, its requests, by their place in `attempts`.
    by_intent: HashMap<usize, Vec<usize>>,
    /// Of each fault, when it acted, by the place in `fired`.
    by_fault: HashMap<u32, Vec<usize>>,
    /// The last request on each connection.
    last_on: HashMap<(u8, u64), u64>,
    /// Each intent by its number, and which of `alike` it is in.
    numbered: HashMap<usize, (&'h Intent, usize)>,
    alike: Vec<Vec<usize>>,
    faults: HashMap<u32, &'h PlannedFault>,
    last_start_us: u64,
    worker_started: bool,
    beliefs: HashMap<usize, Vec<Belief>>,
    submissions: HashMap<usize, Vec<SubmissionView>>,
    connections: HashMap<(u8, u64), ConnectionView>,
}

impl<'h> View<'h> {
    /// The attempt with this number.
    #[must_use]
    pub fn attempt(&self, id: u64) -> Option<&AttemptView<'h>> {
        self.attempts.get(*self.by_id.get(&id)?)
    }

    /// The intents, in the order of submission.
    pub fn intents(&self) -> impl Iterator<Item = &'h Intent> + use<'h> {
        self.history.intents.iter()
    }

    /// The intent with this number.
    #[must_use]
    pub fn intent(&self, number: usize) -> Option<&'h Intent> {
        self.numbered.get(&number).map(|(intent, _)| *intent)
    }

    /// The intents that nothing on the wire tells from this one (same recipient, same words),
    /// itself included. They are judged by count. There are none where the intent is unknown.
    #[must_use]
    pub fn alike(&self, intent: usize) -> &[usize] {
        let group = self.numbered.get(&intent).map(|(_, group)| *group);
        let alike = group.and_then(|group| self.alike.get(group));
        alike.map_or(&[], Vec::as_slice)
    }

    /// Every request of an intent, lookups included, in the order of arrival.
    pub fn requests(&self, intent: usize) -> impl Iterator<Item = &AttemptView<'h>> {
        self.by_intent
            .get(&intent)
            .into_iter()
            .flatten()
            .filter_map(|at| self.attempts.get(*at))
    }

    /// The submit requests of an intent, in the order of arrival.
    #[must_use]
    pub fn tries(&self, intent: usize) -> Vec<&AttemptView<'h>> {
        self.requests(intent)
            .filter(|a| a.kind == RequestKind::Submit)
            .collect()
    }

    /// The requests that made the phone of an intent buzz.
    #[must_use]
    pub fn deliveries(&self, intent: usize) -> Vec<&AttemptView<'h>> {
        self.requests(intent)
            .filter(|a| a.delivered.is_some())
            .collect()
    }

    /// Everything that the client was seen to believe of an intent, in order.
    #[must_use]
    pub fn beliefs(&self, intent: usize) -> &[Belief] {
        self.beliefs.get(&intent).map_or(&[], Vec::as_slice)
    }

    /// What the client believes of an intent at the end.
    #[must_use]
    pub fn belief(&self, intent: usize) -> Option<Belief> {
        self.beliefs(intent).last().copied()
    }

    /// How many attempts the client counted for an intent at the end, where it tells.
    #[must_use]
    pub fn own_count(&self, intent: usize) -> Option<u32> {
        self.beliefs(intent).iter().rev().find_map(|b| b.attempts)
    }

    /// The submissions of an intent.
    #[must_use]
    pub fn submissions(&self, intent: usize) -> &[SubmissionView] {
        self.submissions.get(&intent).map_or(&[], Vec::as_slice)
    }

    /// Whether the intent was submitted more than once.
    #[must_use]
    pub fn submitted_again(&self, intent: usize) -> bool {
        self.submissions(intent)
            .iter()
            .any(|s| s.which != Submission::First)
    }

    /// Whether the client said yes to the intent at its front door. Where no submission was
    /// seen to end, nobody knows, and the answer is no.
    #[must_use]
    pub fn taken_on(&self, intent: usize) -> bool {
        self.submissions(intent)
            .iter()
            .any(|s| s.ended.is_some_and(|(_, accepted)| accepted))
    }

    /// When the intent's message becomes useless, in microseconds.
    #[must_use]
    pub fn expires_at_us(&self, intent: usize) -> Option<u64> {
        self.submissions(intent)
            .iter()
            .find_map(|s| s.expires_at_us)
    }

    /// A connection.
    #[must_use]
    pub fn connection(&self, provider: u8, connection: u64) -> ConnectionView {
        self.connections
            .get(&(provider, connection))
            .copied()
            .unwrap_or_default()
    }

    /// Whether a process that works on `intent` was killed or terminated in the span of events.
    #[must_use]
    pub fn violence_between(
        &self,
        intent: usize,
        after: u64,
        before: u64,
    ) -> Option<&Violence<'h>> {
        self.violence.iter().find(|v| {
            (after..before).contains(&v.mark.seq)
                && match v.process {
                    Process::Worker(_) => true,
                    Process::Submit(of) => *of == intent,
                    Process::Setup => false,
                }
        })
    }

    /// Whether a process that works on `intent` was ever killed or terminated.
    #[must_use]
    pub fn violence_on(&self, intent: usize) -> Option<&Violence<'h>> {
        self.violence_between(intent, 0, u64::MAX)
    }

    /// The fault with this id.
    #[must_use]
    pub fn fault(&self, id: u32) -> Option<&'h PlannedFault> {
        self.faults.get(&id).copied()
    }

    /// What the faults that acted on an attempt were.
    pub fn actions_on(&self, attempt: &AttemptView<'h>) -> impl Iterator<Item = &'h Action> {
        attempt
            .fired
            .iter()
            .filter_map(|(_, id)| self.fault(*id))
            .map(|f| &f.action)
            .collect::<Vec<_>>()
            .into_iter()
    }

    /// How long the client was without a processor, each time that overlaps a span of time; all
    /// in microseconds.
    pub fn starved_us(&self, from_us: u64, to_us: u64) -> impl Iterator<Item = u64> {
        self.starved
            .iter()
            .filter(move |(mark, for_us)| {
                mark.at_us >= from_us && mark.at_us.saturating_sub(*for_us) <= to_us
            })
            .map(|(_, for_us)| *for_us)
    }

    /// When an event was seen, in microseconds.
    #[must_use]
    pub fn time_of(&self, seq: u64) -> Option<u64> {
        let events = &self.history.events;
        let place = events.binary_search_by_key(&seq, |event| event.seq).ok()?;
        Some(events[place].at_us)
    }

    /// When a fault acted, on which attempt, for which intent.
    pub fn fired_by(
        &self,
        fault: u32,
    ) -> impl Iterator<Item = &(Mark, u32, Option<u64>, Option<usize>)> {
        self.by_fault
            .get(&fault)
            .into_iter()
            .flatten()
            .filter_map(|at| self.fired.get(*at))
    }

    /// Whether a request came on the connection of `attempt` after event `seq`.
    #[must_use]
    pub fn used_after(&self, attempt: &AttemptView<'_>, seq: u64) -> bool {
        self.last_on
            .get(&(attempt.provider, attempt.connection))
            .is_some_and(|last| *last > seq)
    }

    /// Whether any declared fault acted.
    #[must_use]
    pub fn any_fault_fired(&self) -> bool {
        !self.fired.is_empty()
    }

    /// How long nothing had happened to an intent when the history ended, in microseconds: no
    /// request, no submission, no start of a process that could have sent it. A request for
    /// another intent is a sign of work too: a client that is busy may have yet to come to it.
    #[must_use]
    pub fn idle_us(&self, intent: usize) -> u64 {
        let requests = self
            .attempts
            .iter()
            .map(|a| a.ended.map_or(a.arrived.at_us, |(m, _)| m.at_us));
        let submissions = self
            .submissions(intent)
            .iter()
            .map(|s| s.ended.map_or(s.began.at_us, |(m, _)| m.at_us));
        let last = requests
            .chain(submissions)
            .max()
            .unwrap_or(0)
            .max(self.last_start_us);
        self.end_us.saturating_sub(last)
    }

    /// Whether the client was in a position to send: its worker, where it has one, was started,
    /// and it had said yes to the intent.
    #[must_use]
    pub fn could_send(&self, intent: usize) -> bool {
        self.taken_on(intent) && (self.worker_started || self.history.client.workers == 0)
            || !self.tries(intent).is_empty()
    }
}

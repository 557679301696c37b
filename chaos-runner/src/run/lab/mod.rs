//! The lab: one scenario with a provider, a network, a work directory and client processes of
//! its own.
//!
//! Owns the loop that waits for whatever happens next and answers it, and the promise that
//! everything is healed and ended on every way out. What an observation means for the faults is in
//! [`faults`] (which uses [`toxics`], [`links`], [`blocks`] and [`disturb`]), the client is in [`client`], [`processes`] and [`submissions`], and the question
//! whether anything is still due is in [`settle`].

mod blocks;
mod client;
mod disturb;
mod faults;
mod inbox;
mod links;
mod open;
mod processes;
mod settle;
mod submissions;
mod toxics;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, atomic::AtomicU64},
    time::{Duration, Instant},
};

use stub_provider::{Provider, event as wire, fault::Stage};
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;
use toxic_proxy::ConnectionEvent;

pub use self::open::goes_one_by_one;
use self::{
    blocks::Block,
    client::{Client, Probe},
    inbox::Inbox,
    settle::Subjects,
    submissions::{Job, SubmitEnd},
};
use super::{
    database::Disturbance,
    error::Error,
    guardian::Guardian,
    nemesis::Live,
    network::{Link, Network},
    outcome::Belief,
    ports::{Claimed, Ports},
    process::Exit,
    recorder::Recorder,
    rest::Rest,
    starvation::Starvation,
    threads,
    timers::{Due, Timers},
};
use crate::{
    client_file::ClientFile,
    fault::ToxicKind,
    history::{Event, EventKind, Process},
    intent::Outcome,
    plan::{Plan, PlannedFault},
};

/// What every lab of a run shares. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Shared {
    /// The client under test.
    pub client: Arc<ClientFile>,
    /// The engine.
    pub network: Network,
    /// Where its parts listen.
    pub ports: Ports,
    /// Ends what a killed runner would leave.
    pub guardian: Arc<Guardian>,
    /// The run's name, a word.
    pub run: String,
    /// The directory of the run.
    pub directory: PathBuf,
    /// Cancelled when the run is to stop.
    pub cancel: CancellationToken,
    /// How many messages the client has finished with, over all labs.
    pub finished: Arc<AtomicU64>,
}

/// What came of a lab.
#[derive(Debug)]
pub struct Record {
    /// What was seen.
    pub events: Vec<Event>,
    /// How many workers ran.
    pub workers: u32,
    /// How long the provider remembered keys.
    pub retention: Duration,
    /// Whether intents went one by one after all (on an engine whose toxics cover a proxy).
    pub one_by_one: bool,
    /// Whether the run was interrupted before the lab was through.
    pub interrupted: bool,
}

/// Something that the loop has to answer.
#[derive(Debug)]
enum Signal {
    Provider(usize, wire::Event),
    Connection(usize, ConnectionEvent),
    ProcessEnded(Process, u32, Exit),
    SubmitEnded(Job, SubmitEnd),
    Ready(Result<(), String>),
    Probed(Box<Probe>, Result<Option<Vec<Belief>>, Error>, Duration),
}

/// One provider and the way to it.
#[derive(Debug)]
struct Side {
    provider: Provider,
    link: Link,
    /// Where each of the provider's open connections comes from.
    peers: HashMap<u64, SocketAddr>,
    /// How the link is cut now.
    down: Option<Down>,
    /// The provider's and the link's.
    _ports: [Claimed; 2],
}

/// How a link is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Down {
    Refused,
    Silent,
}

/// A toxic that is or was in place.
#[derive(Debug)]
struct PlacedToxic {
    fault: u32,
    side: usize,
    name: String,
    kind: ToxicKind,
    /// The attempt that it is for; `None`: it was in place before the connection.
    attempt: Option<(u64, Option<usize>)>,
    /// The provider's connection that the attempt came on.
    connection: Option<u64>,
    fired: bool,
    /// Whether it was taken away again. It is kept here even so: that it acted may be told later.
    healed: bool,
}

/// A held attempt that waits for a process to be gone.
#[derive(Debug)]
struct Waiting {
    process: Process,
    side: usize,
    id: u64,
    stage: Stage,
}

/// A process that was sent SIGKILL by a fault, and is not known to be gone.
#[derive(Debug)]
struct Kills {
    process: Process,
    fault: u32,
    attempt: Option<u64>,
    intent: usize,
}

/// One scenario's run.
struct Lab {
    plan: Arc<Plan>,
    /// Those of its faults that are ours to carry out.
    faults: Arc<[PlannedFault]>,
    shared: Shared,
    client: Client,
    /// For the client's own server.
    _port: Claimed,
    sides: Vec<Side>,
    recorder: Recorder,
    inbox: Inbox,
    signals: UnboundedSender<Signal>,
    timers: Timers,
    one_by_one: bool,
    jobs: VecDeque<Job>,
    /// The proxy's connections that the client has left and that are not closed yet: what it sent
    /// may still be on its way.
    closing: BTreeSet<(usize, u64)>,
    /// Attempts that have arrived and not ended, by number in the history.
    live: BTreeMap<u64, Live>,
    /// The intents of which a request has been seen.
    seen: BTreeSet<usize>,
    toxics: Vec<PlacedToxic>,
    waiting: Vec<Waiting>,
    blocks: Vec<Block>,
    kills: Vec<Kills>,
    /// Kills that have acted: fault, attempt and intent.
    killed: Vec<(u32, Option<u64>, usize)>,
    disturbances: Vec<(u32, Disturbance)>,
    beliefs: BTreeMap<usize, (Outcome, Option<u32>)>,
    subjects: Subjects,
    /// Where the last look for an intent that is not final ended, from 0.
    last_open: usize,
    /// Process faults that have been carried out, so that none is twice at one place.
    done: Vec<(u32, Option<usize>)>,
    /// Until when the provider is waited for, once everything else is settled.
    provider_until: Option<Instant>,
    last_activity: Instant,
    starvation: Starvation,
    /// Of the client, while a link is cut that it has not tried yet.
    rest: Rest,
}

/// From here on a wait for a processor is worth a word.
const NOTED: Duration = Duration::from_millis(5);

/// The number of a side's provider in a history.
fn provider_number(side: usize) -> u8 {
    u8::try_from(side + 1).unwrap_or(u8::MAX)
}

/// Runs one scenario.
///
/// # Errors
///
/// When the harness could not do its work; what the client does wrong is in the record.
pub async fn run(plan: Arc<Plan>, shared: Shared) -> Result<Record, Error> {
    let mut lab = Lab::open(plan, shared).await?;
    let result = lab.drive().await;
    let interrupted = lab.shared.cancel.is_cancelled();
    let closed = lab.close().await;
    result?;
    let mut record = closed?;
    record.interrupted = interrupted;
    Ok(record)
}

impl Lab {
    async fn drive(&mut self) -> Result<(), Error> {
        self.arm().await?;
        self.begin().await?;
        // The client's time counts from here: setting up is not its doing.
        let began = Instant::now();
        self.last_activity = began;
        let limit = began + self.client.limit();
        let idle = self.client.idle_limit(&self.plan);
        loop {
            self.submit_next()?;
            if self.is_settled() {
                self.recorder.record(EventKind::Settled);
                break;
            }
            let now = Instant::now();
            let give_up = if self.client.comes_up() {
                // Whoever looks whether it is ready has a time limit and tells of it.
                now + idle
            } else if self.client.takes_on() || self.client.starts_sending(&self.seen) {
                limit
            } else {
                limit.min(self.last_activity + idle)
            };
            if now >= give_up {
                // Who only lacked a processor, or is at work, has not stopped.
                if now < limit && !self.has_stopped() {
                    continue;
                }
                let limit = give_up.saturating_duration_since(began);
                let limit_us = u64::try_from(limit.as_micros()).unwrap_or(u64::MAX);
                self.recorder.record(EventKind::TimedOut { limit_us });
                break;
            }
            let wake = self.timers.next().map_or(give_up, |next| next.min(give_up));
            tokio::select! {
                biased;
                () = self.shared.cancel.cancelled() => return Ok(()),
                signal = self.inbox.recv() => self.answer(signal).await?,
                () = tokio::time::sleep_until(wake.into()) => {
                    while let Some(due) = self.timers.take_due(Instant::now()) {
                        self.carry_out(due).await?;
                    }
                }
            }
        }
        self.wind_down().await
    }

    /// Answers one thing that happened.
    async fn answer(&mut self, signal: Signal) -> Result<(), Error> {
        if !matches!(signal, Signal::Probed(..)) {
            self.last_activity = Instant::now();
            self.want_probe(Duration::from_millis(2));
            self.look_at_starvation();
        }
        match signal {
            Signal::Provider(side, event) => self.on_provider(side, event).await,
            Signal::Connection(side, event) => self.on_connection(side, &event).await,
            Signal::ProcessEnded(process, nth, exit) => self.on_process_ended(process, nth, exit),
            Signal::SubmitEnded(job, end) => self.on_submit_ended(job.intent, job.submission, end),
            Signal::Ready(ready) => self.on_ready(ready),
            Signal::Probed(probe, beliefs, took) => {
                self.client.probe = Some(*probe);
                self.client.looked(took);
                self.on_beliefs(beliefs?.unwrap_or_default());
                Ok(())
            }
        }
    }

    /// Whether the client has done nothing for as long as it may. The time in which it was without a
    /// processor does not count, and one that has something to do now is given a moment for it.
    fn has_stopped(&mut self) -> bool {
        let mut more = self.look_at_starvation();
        let running = self.client.running.values();
        let processes = running.map(|(process, _)| process.id());
        if threads::of(processes).into_keys().any(threads::is_at_work) {
            more = more.max(NOTED);
        }
        self.last_activity += more;
        more < NOTED
    }

    /// Notes how long the client has been without a processor since the last look.
    fn look_at_starvation(&mut self) -> Duration {
        let now = Instant::now();
        if !self.starvation.is_due(now) {
            return Duration::ZERO;
        }
        let running = self.client.running.values();
        let starved = self
            .starvation
            .look(running.map(|(process, _)| process.id()), now);
        if starved >= NOTED {
            let for_us = u64::try_from(starved.as_micros()).unwrap_or(u64::MAX);
            self.recorder.record(EventKind::Starved { for_us });
        }
        starved
    }

    async fn carry_out(&mut self, due: Due) -> Result<(), Error> {
        match due {
            Due::CountRest { rested, at_last } => self.count_rest(rested, at_last).await,
            Due::HealLink { side, fault } => self.heal_link(side, fault).await,
            Due::HealDatabase { fault } => self.heal_database(fault).await,
            Due::Unblock { fault } => self.unblock(fault),
            Due::Start(process) => self.start(&process),
            Due::Continue { process, fault } => self.let_continue(&process, fault),
            Due::Probe => {
                self.probe();
                Ok(())
            }
        }
    }

    /// Records what a provider saw and does what is due there.
    async fn on_provider(&mut self, index: usize, event: wire::Event) -> Result<(), Error> {
        let provider = provider_number(index);
        self.recorder.observe(provider, &event);
        match event.kind {
            wire::EventKind::ConnectionOpened { connection, peer } => {
                self.sides[index].peers.insert(connection, peer);
                Ok(())
            }
            wire::EventKind::ConnectionClosed { connection, end } => {
                // A provider that closes after its answer leaves it to the toxics on its way. On a
                // real server they would meet the next connection too.
                if end != wire::End::Answered || self.shared.network.covers_whole_proxy() {
                    self.heal_connection(index, connection).await?;
                }
                self.sides[index].peers.remove(&connection);
                Ok(())
            }
            wire::EventKind::Arrived {
                attempt,
                connection,
                reading,
                ..
            } => {
                let number = self.recorder.attempt(provider, attempt);
                self.seen.extend(reading.intent.map(|i| i + 1));
                self.live.insert(
                    number,
                    Live {
                        side: index,
                        id: attempt,
                        connection,
                        intent: reading.intent.map(|i| i + 1),
                        ordinal: reading.ordinal,
                        kind: reading.kind,
                    },
                );
                Ok(())
            }
            wire::EventKind::Held { attempt, stage } => self.on_held(index, attempt, stage).await,
            wire::EventKind::Ended { attempt, end } => {
                let number = self.recorder.attempt(provider, attempt);
                match self.live.remove(&number) {
                    Some(live) => self.on_attempt_ended(number, live, end).await,
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}

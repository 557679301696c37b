//! The client under test as one lab sees it: what its file says, filled in, and what runs.
//!
//! Owns the bookkeeping only. Starting and ending processes is [`super::processes`], submitting
//! is [`super::submissions`].

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use stub_provider::duration::Span;
use tokio_util::task::AbortOnDropHandle;

use super::Job;
use crate::{
    client_file::{ClientFile, CommandLine, OutcomeProbe, Until, Values},
    history::Process,
    intent::Outcome,
    plan::Plan,
    run::{
        error::Error,
        guardian::RUN_VARIABLE,
        outcome::{self, Belief, SqlProbe},
        process::{Invocation, Running},
    },
};

/// What a slow start or a busy machine may add to what a client promises.
const IDLE: Duration = Duration::from_secs(5);

/// A look that takes no longer costs nothing worth counting.
const SHORT_LOOK: Duration = Duration::from_millis(5);

/// How many messages a client may be handed for each time limit that its file gives.
const HANDFUL: u32 = 100;

/// How long a command that tells the outcomes may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// How the client's outcomes are asked for.
#[derive(Debug)]
pub(super) enum Probe {
    /// By a query.
    Sql(SqlProbe),
    /// By a command that prints JSON lines.
    Command(Invocation, BTreeMap<String, Outcome>),
    /// Not at all: the exit code of the submit command says it.
    ExitCode,
}

impl Probe {
    /// Asks once; `None`: there is no answer.
    pub(super) async fn ask(&mut self) -> Result<Option<Vec<Belief>>, Error> {
        match self {
            Self::Sql(probe) => probe.ask().await,
            Self::Command(what, words) => {
                let command = what.to_string();
                let asked = tokio::process::Command::new(&what.program)
                    .args(&what.arguments)
                    .current_dir(&what.directory)
                    .envs(&what.env)
                    .stdin(Stdio::null())
                    .kill_on_drop(true)
                    .output();
                let output = tokio::time::timeout(PATIENCE, asked)
                    .await
                    .map_err(|_| Error::Outcome {
                        what: command.clone(),
                        why: format!("did not end within {}", Span(PATIENCE)),
                    })?
                    .map_err(Error::start(what, "[outcome]"))?;
                if !output.status.success() {
                    tracing::debug!(command, status = %output.status, "no outcome yet");
                    return Ok(None);
                }
                outcome::beliefs(&String::from_utf8_lossy(&output.stdout), words, &command)
                    .map(Some)
            }
            Self::ExitCode => Ok(None),
        }
    }
}

/// How far the workers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Workers {
    /// Not started.
    ToCome,
    /// Started, and not known to be ready.
    Starting,
    /// Ready.
    Ready,
}

/// What the client file says, filled in for one lab, and what runs of it.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) file: Arc<ClientFile>,
    pub(super) values: Values,
    env: BTreeMap<String, String>,
    directory: PathBuf,
    pub(super) workers: u32,
    /// How many messages it is handed.
    intents: u32,
    /// What runs, with how often each has been started.
    pub(super) running: BTreeMap<Process, (Running, u32)>,
    pub(super) starts: BTreeMap<Process, u32>,
    /// Second submissions that run; no fault is for them.
    pub(super) repeats: Vec<Running>,
    /// Submissions under way.
    pub(super) submitting: Vec<Job>,
    pub(super) accepted: BTreeSet<usize>,
    pub(super) turned_away: BTreeSet<usize>,
    /// How far the workers are.
    pub(super) workers_are: Workers,
    /// How long the last look took.
    look_took: Duration,
    /// Whether a message was taken on that a worker that exits by itself may not have seen.
    pub(super) has_news: bool,
    pub(super) looking: Option<AbortOnDropHandle<()>>,
    pub(super) winding_down: bool,
    /// `None` while a look is under way.
    pub(super) probe: Option<Probe>,
    /// Processes that are stopped until their answer has left.
    pub(super) stopped: BTreeSet<Process>,
    /// Processes that a fault has ended, with the pause before each is started again.
    pub(super) restarting: BTreeMap<Process, Duration>,
    /// Links that are cut from the start: side, fault, for how long.
    pub(super) links_to_heal: Vec<(usize, u32, Duration)>,
}

impl Client {
    /// The client with `values` filled in and `env` beside what its file says.
    pub(super) fn new(
        file: Arc<ClientFile>,
        plan: &Plan,
        run: &str,
        values: Values,
        mut env: BTreeMap<String, String>,
        directory: PathBuf,
    ) -> Self {
        env.insert(RUN_VARIABLE.to_owned(), run.to_owned());
        env.extend(values.environment());
        if let Some(callback) = &file.callback {
            env.insert("SMS_CALLBACK_URL".into(), callback.render(&values));
        }
        for (name, template) in &file.env {
            env.insert(name.clone(), template.render(&values));
        }
        let workers = file
            .worker
            .as_ref()
            .map_or(0, |worker| plan.workers.unwrap_or(worker.workers));
        let mut client = Self {
            file,
            values,
            env,
            directory,
            workers,
            intents: u32::try_from(plan.intents.len()).unwrap_or(u32::MAX),
            running: BTreeMap::new(),
            starts: BTreeMap::new(),
            repeats: Vec::new(),
            submitting: Vec::new(),
            accepted: BTreeSet::new(),
            turned_away: BTreeSet::new(),
            workers_are: Workers::ToCome,
            look_took: Duration::ZERO,
            has_news: false,
            looking: None,
            winding_down: false,
            probe: None,
            stopped: BTreeSet::new(),
            restarting: BTreeMap::new(),
            links_to_heal: Vec::new(),
        };
        client.probe = Some(client.make_probe());
        client
    }

    fn make_probe(&self) -> Probe {
        let words = self.file.words.clone();
        match &self.file.outcome {
            OutcomeProbe::Sql { url, query } => Probe::Sql(SqlProbe::new(
                url.render(&self.values),
                query.render(&self.values),
                words,
            )),
            OutcomeProbe::Command(command) => {
                Probe::Command(self.invocation(command, &self.values), words)
            }
            OutcomeProbe::ExitCode(_) => Probe::ExitCode,
        }
    }

    /// A command of the client file with `values` in place.
    pub(super) fn invocation(&self, command: &CommandLine, values: &Values) -> Invocation {
        let (program, arguments) = command.render(&self.file.dir, values);
        let mut env = self.env.clone();
        env.extend(values.environment());
        Invocation {
            program,
            arguments,
            directory: self.file.dir.clone(),
            env,
            stdin: None,
        }
    }

    pub(super) fn has_workers(&self) -> bool {
        self.file.worker.is_some()
    }

    /// Whether the client tells when its workers are ready, and they stay.
    pub(super) fn says_when_ready(&self) -> bool {
        let worker = self.file.worker.as_ref();
        worker.is_some_and(|worker| worker.ready.is_some() && worker.until == Until::Settled)
    }

    /// Whether the workers exit by themselves when there is nothing left to do.
    pub(super) fn runs_until_exit(&self) -> bool {
        let worker = self.file.worker.as_ref();
        worker.is_some_and(|worker| worker.until == Until::Exit)
    }

    /// Whether the workers have been started, be it long ago.
    pub(super) fn workers_started(&self) -> bool {
        self.workers_are != Workers::ToCome
    }

    /// Whether the workers are ready to be knocked at.
    pub(super) fn is_ready(&self) -> bool {
        self.workers_are == Workers::Ready
    }

    /// Whether workers run of which nobody knows yet whether they are ready.
    pub(super) fn comes_up(&self) -> bool {
        self.workers_are == Workers::Starting
    }

    /// Whether a message is being handed over to a client whose workers send it. That may take
    /// as long as a process takes to start, which says nothing of the workers.
    pub(super) fn takes_on(&self) -> bool {
        self.has_workers() && !self.submitting.is_empty()
    }

    /// Whether a command sends by itself that has not been seen at the provider yet: it may be slow
    /// to start.
    pub(super) fn starts_sending(&self, seen: &BTreeSet<usize>) -> bool {
        let unseen = |job: &Job| !seen.contains(&job.intent);
        !self.has_workers() && self.submitting.iter().any(unseen)
    }

    /// Whether a process is one of those that send.
    fn sends(&self, process: &Process) -> bool {
        matches!(process, Process::Worker(_)) == self.has_workers()
    }

    /// The processes that send, as far as they run.
    pub(super) fn senders(&self) -> impl Iterator<Item = i32> {
        let running = self.running.iter();
        running
            .filter(|(process, _)| self.sends(process))
            .map(|(_, (running, _))| running.id())
    }

    /// Whether any of them has been started, be it that it has ended.
    pub(super) fn senders_have_started(&self) -> bool {
        self.starts.keys().any(|process| self.sends(process))
    }

    /// Whether the exit code of a command that has not ended would say what became of an intent.
    pub(super) fn would_have_told(&self, intent: usize) -> bool {
        !self.asks_for_outcomes() && self.submitting.iter().any(|job| job.intent == intent)
    }

    /// Whether an intent was submitted and never taken on.
    pub(super) fn refused(&self, intent: usize) -> bool {
        self.turned_away.contains(&intent) && !self.accepted.contains(&intent)
    }

    /// Whether the processes that must end by themselves have ended, and none is to come back.
    pub(super) fn is_through(&self) -> bool {
        let runs_on = |process: &Process| matches!(process, Process::Worker(_));
        self.restarting.is_empty()
            && match &self.file.worker {
                Some(worker) if worker.until == Until::Exit => {
                    self.workers_started() && !self.running.keys().any(runs_on)
                }
                Some(_) => self.workers_started(),
                None => true,
            }
    }

    /// Whether there is anything to ask for outcomes.
    pub(super) fn asks_for_outcomes(&self) -> bool {
        !matches!(self.file.outcome, OutcomeProbe::ExitCode(_))
    }

    /// How long until the next look while outcomes are not final: a query is cheap, a command
    /// is a process.
    pub(super) fn probe_interval(&self) -> Duration {
        match self.file.outcome {
            OutcomeProbe::Sql { .. } => Duration::from_millis(15),
            _ => Duration::from_millis(150),
        }
    }

    /// Notes how long a look took.
    pub(super) fn looked(&mut self, took: Duration) {
        self.look_took = took;
    }

    /// How long to leave the client alone between two looks, where one takes long: its database
    /// holds thousands of rows.
    pub(super) fn probe_pause(&self) -> Duration {
        if self.look_took < SHORT_LOOK {
            Duration::ZERO
        } else {
            (self.look_took * 10).min(Duration::from_millis(500))
        }
    }

    pub(super) fn database_url(&self) -> Option<String> {
        self.file
            .database
            .as_ref()
            .map(|url| url.render(&self.values))
    }

    /// The longest that the scenario may take: what the file says, and as much again for every
    /// hundred messages.
    pub(super) fn limit(&self) -> Duration {
        let told = self
            .file
            .worker
            .as_ref()
            .map_or(self.file.submit_timeout, |worker| worker.timeout);
        told * (1 + self.intents / HANDFUL)
    }

    /// How long nothing may happen before the client is taken to have stopped: well above
    /// everything that it promises and that the scenario can make it wait for.
    pub(super) fn idle_limit(&self, plan: &Plan) -> Duration {
        let policy = &self.file.policy;
        let (Some(backoff), Some(read_timeout)) = (&policy.backoff, policy.read_timeout) else {
            return self.limit();
        };
        let lease = policy.lease.map_or(Duration::ZERO, |lease| lease.0);
        let promised = backoff.cap.0 + read_timeout.0 + lease;
        (2 * promised + plan.longest_wait() + IDLE).min(self.limit())
    }

    /// Ends every process at once.
    pub(super) fn end(&mut self) {
        // Dropping one kills its group.
        self.running.clear();
        self.repeats.clear();
    }

    /// Where a process's output goes, without the suffix.
    pub(super) fn output(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

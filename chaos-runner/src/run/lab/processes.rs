//! The client's processes: setup, workers, and the submit commands once they run.
//!
//! Owns their start, their signals, their end and their restart. What to submit, and when, is
//! [`super::submissions`].

use std::time::{Duration, Instant};

use nix::sys::signal::Signal as Kill;
use stub_provider::duration::Span;
use tokio_util::task::AbortOnDropHandle;

use super::{Lab, Signal, client::Workers, submissions::SubmitEnd};
use crate::{
    client_file::Until,
    history::{EventKind, Process, Submission},
    run::{
        error::Error,
        process::{Exit, Invocation, Running},
        ready,
        timers::Due,
    },
};

/// How often a worker that ends by itself is started again, as a service manager would.
const RESTARTS: u32 = 5;
/// How long before a worker that ended by itself is started again.
const RESTART_PAUSE: Duration = Duration::from_millis(100);
/// How long a worker may take to be ready.
const READY_WITHIN: Duration = Duration::from_secs(30);

impl Lab {
    pub(super) async fn setup(&mut self) -> Result<(), Error> {
        let Some(command) = &self.client.file.setup else {
            return Ok(());
        };
        let what = self.client.invocation(command, &self.client.values);
        let output = self.client.output("setup");
        let (send, ended) = tokio::sync::oneshot::channel();
        let _running = Running::start(&what, &output, &self.shared.guardian, move |exit| {
            // Nobody waits any more when the run was interrupted.
            let _unheard = send.send(exit);
        })
        .map_err(Error::start(&what, "[setup]"))?;
        let limit = self.client.limit();
        let how = tokio::select! {
            () = self.shared.cancel.cancelled() => return Ok(()),
            exit = ended => match exit.unwrap_or(None) {
                Some(0) => return Ok(()),
                exit => ended_with(exit),
            },
            () = tokio::time::sleep(limit) => format!("did not end within {}", Span(limit)),
        };
        Err(Error::Setup {
            how,
            output: output.with_extension("stderr").display().to_string(),
        })
    }

    /// Starts the workers, once.
    pub(super) fn start_workers(&mut self) -> Result<(), Error> {
        if self.client.workers_started() {
            return Ok(());
        }
        self.client.workers_are = Workers::Starting;
        let Some(ready) = self
            .client
            .file
            .worker
            .as_ref()
            .map(|worker| worker.ready.clone())
        else {
            self.client.workers_are = Workers::Ready;
            return Ok(());
        };
        for number in 1..=self.client.workers {
            self.start(&Process::Worker(number))?;
        }
        match ready {
            Some(ready) => {
                let output = self.client.output("worker-1");
                let (values, signals) = (self.client.values.clone(), self.signals.clone());
                let within = READY_WITHIN.min(self.client.limit());
                let looking = tokio::spawn(async move {
                    let ready = ready::wait(&ready, &values, &output, within).await;
                    // Nobody listens once the lab is closed.
                    let _unheard = signals.send(Signal::Ready(ready));
                });
                self.client.looking = Some(AbortOnDropHandle::new(looking));
            }
            None => self.client.workers_are = Workers::Ready,
        }
        if self.workers_come_first() {
            // There is nothing that they could send yet.
            return Ok(());
        }
        self.start_link_timers();
        self.submitted_faults(None)
    }

    /// The workers are ready, or were not in time.
    pub(super) fn on_ready(&mut self, ready: Result<(), String>) -> Result<(), Error> {
        self.client.workers_are = Workers::Ready;
        ready.map_err(|why| self.not_ready(1, why))
    }

    fn not_ready(&self, worker: u32, why: String) -> Error {
        let output = self.client.output(&format!("worker-{worker}"));
        Error::NotReady {
            worker,
            why,
            output: output.with_extension("stderr").display().to_string(),
        }
    }

    /// A worker that has ended and is not kept up is not ready any more; if it was the last
    /// one, nobody ever will be.
    fn on_worker_over(&mut self, worker: u32, exit: Exit) -> Result<(), Error> {
        let is_worker = |process: &Process| matches!(process, Process::Worker(_));
        if self.client.is_ready() || self.client.running.keys().any(is_worker) {
            return Ok(());
        }
        if self.client.runs_until_exit() {
            // Its turn is over, and it may have been too short to be seen.
            self.client.workers_are = Workers::Ready;
            self.client.looking = None;
            return Ok(());
        }
        let why = format!("{} before it was ready", ended_with(exit));
        Err(self.not_ready(worker, why))
    }

    /// Starts a process, for the first time or again.
    pub(super) fn start(&mut self, process: &Process) -> Result<(), Error> {
        self.client.restarting.remove(process);
        match process {
            Process::Worker(number) => {
                let Some(worker) = &self.client.file.worker else {
                    return Ok(());
                };
                let mut what = self.client.invocation(&worker.command, &self.client.values);
                what.env.insert("CHAOS_WORKER".into(), number.to_string());
                self.spawn(process, &what, &format!("worker-{number}"), "[worker]")
            }
            Process::Submit(intent) => self.submit_first(*intent, false),
            Process::Setup => Ok(()),
        }
    }

    pub(super) fn spawn(
        &mut self,
        process: &Process,
        what: &Invocation,
        name: &str,
        table: &'static str,
    ) -> Result<(), Error> {
        let nth = self.client.starts.get(process).copied().unwrap_or(0) + 1;
        self.client.starts.insert(process.clone(), nth);
        let (signals, ended) = (self.signals.clone(), process.clone());
        let output = self.client.output(name);
        let running = Running::start(what, &output, &self.shared.guardian, move |exit| {
            // Nobody listens once the lab is closed.
            let _unheard = signals.send(Signal::ProcessEnded(ended, nth, exit));
        })
        .map_err(Error::start(what, table))?;
        self.client.running.insert(process.clone(), (running, nth));
        self.recorder.record(EventKind::ProcessStarted {
            process: process.clone(),
            nth,
        });
        Ok(())
    }

    /// Sends a signal to a process of the client. Returns whether it was there to take it.
    pub(super) fn signal(
        &mut self,
        process: &Process,
        signal: Kill,
        word: &str,
        fault: Option<u32>,
    ) -> Result<bool, Error> {
        let Some((running, _)) = self.client.running.get(process) else {
            return Ok(false);
        };
        let taken = running
            .signal(signal)
            .map_err(Error::io(format!("sending {word} to the client")))?;
        if taken {
            self.recorder.record(EventKind::ProcessSignalled {
                process: process.clone(),
                signal: word.to_owned(),
                fault,
            });
        }
        Ok(taken)
    }

    /// Lets a stopped process go on.
    pub(super) fn let_continue(&mut self, process: &Process, fault: u32) -> Result<(), Error> {
        self.signal(process, Kill::SIGCONT, "continue", Some(fault))?;
        self.recorder.record(EventKind::FaultHealed { fault });
        Ok(())
    }

    /// Asks (or tells) every process to end.
    pub(super) fn stop_processes(&mut self, signal: Kill, word: &str) -> Result<(), Error> {
        for process in self.client.running.keys().cloned().collect::<Vec<_>>() {
            self.signal(&process, signal, word, None)?;
        }
        Ok(())
    }

    /// A process is gone: lets go what waited for it, and starts it again where that is due.
    pub(super) fn on_process_ended(
        &mut self,
        process: Process,
        nth: u32,
        exit: Exit,
    ) -> Result<(), Error> {
        if self
            .client
            .running
            .get(&process)
            .is_some_and(|(_, running)| *running == nth)
        {
            self.client.running.remove(&process);
        }
        self.recorder.record(EventKind::ProcessEnded {
            process: process.clone(),
            exit,
        });
        self.on_killed(&process, exit)?;
        let (gone, waiting): (Vec<_>, Vec<_>) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition(|held| held.process == process);
        self.waiting = waiting;
        for held in gone {
            let waits_on = self
                .waiting
                .iter()
                .any(|other| (other.side, other.id) == (held.side, held.id));
            if !waits_on {
                self.release(held.side, held.id, held.stage);
            }
        }
        if self.client.winding_down {
            return Ok(());
        }
        if let Some(pause) = self.client.restarting.get(&process) {
            self.timers.at(Instant::now() + *pause, Due::Start(process));
            return Ok(());
        }
        match process {
            Process::Submit(intent) => {
                self.on_submit_ended(intent, Submission::First, SubmitEnd::Command(exit))?;
            }
            Process::Worker(number) => {
                let is_kept_up = self
                    .client
                    .file
                    .worker
                    .as_ref()
                    .is_some_and(|worker| worker.restart && worker.until == Until::Settled);
                if is_kept_up && nth <= RESTARTS {
                    self.timers
                        .at(Instant::now() + RESTART_PAUSE, Due::Start(process));
                } else if std::mem::take(&mut self.client.has_news) {
                    self.start(&process)?;
                } else {
                    self.on_worker_over(number, exit)?;
                }
            }
            Process::Setup => {}
        }
        Ok(())
    }

    /// Runs the workers that exit by themselves again, now that there is something new for them:
    /// at once, or when the one that runs is through.
    pub(super) fn work_again(&mut self) -> Result<(), Error> {
        if !self.client.runs_until_exit() || !self.client.workers_started() {
            return Ok(());
        }
        self.client.has_news = true;
        for number in 1..=self.client.workers {
            let process = Process::Worker(number);
            if !self.client.running.contains_key(&process)
                && !self.client.restarting.contains_key(&process)
            {
                self.client.has_news = false;
                self.start(&process)?;
            }
        }
        Ok(())
    }
}

fn ended_with(exit: Exit) -> String {
    exit.map_or("ended by a signal".into(), |code| {
        format!("ended with exit code {code}")
    })
}

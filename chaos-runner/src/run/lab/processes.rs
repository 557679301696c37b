//! The client's processes: setup, workers, and the submit commands once they run.
//!
//! Owns their start, their signals, their end and their restart. What to submit, and when, is
//! [`super::submissions`].

use std::time::{Duration, Instant};

use nix::sys::signal::Signal as Kill;
use tokio_util::task::AbortOnDropHandle;

use super::{Lab, Signal, submissions::SubmitEnd};
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
        let exit = ended.await.unwrap_or(None);
        if exit == Some(0) {
            return Ok(());
        }
        let how = exit.map_or("a signal".into(), |code| format!("exit code {code}"));
        Err(Error::Setup {
            how,
            output: output.with_extension("stderr").display().to_string(),
        })
    }

    /// Starts the workers, once.
    pub(super) fn start_workers(&mut self) -> Result<(), Error> {
        if self.client.workers_started {
            return Ok(());
        }
        self.client.workers_started = true;
        let Some(ready) = self
            .client
            .file
            .worker
            .as_ref()
            .map(|worker| worker.ready.clone())
        else {
            self.client.ready = true;
            return Ok(());
        };
        for number in 1..=self.client.workers {
            self.start(&Process::Worker(number))?;
        }
        match ready {
            Some(ready) => {
                let output = self.client.output("worker-1");
                let (values, signals) = (self.client.values.clone(), self.signals.clone());
                let looking = tokio::spawn(async move {
                    let ready = ready::wait(&ready, &values, &output, READY_WITHIN).await;
                    // Nobody listens once the lab is closed.
                    let _unheard = signals.send(Signal::Ready(ready));
                });
                self.client.looking = Some(AbortOnDropHandle::new(looking));
            }
            None => self.client.ready = true,
        }
        self.start_link_timers();
        self.submitted_faults(None)
    }

    /// The workers are ready, or were not in time.
    pub(super) fn on_ready(&mut self, ready: Result<(), String>) -> Result<(), Error> {
        self.client.ready = true;
        ready.map_err(|why| {
            let output = self.client.output("worker-1").with_extension("stderr");
            Error::NotReady {
                worker: 1,
                why,
                output: output.display().to_string(),
            }
        })
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

    /// Sends a signal to a process of the client.
    pub(super) fn signal(
        &mut self,
        process: &Process,
        signal: Kill,
        word: &str,
        fault: Option<u32>,
    ) -> Result<(), Error> {
        if let Some((running, _)) = self.client.running.get(process) {
            running
                .signal(signal)
                .map_err(Error::io(format!("sending {word} to the client")))?;
            self.recorder.record(EventKind::ProcessSignalled {
                process: process.clone(),
                signal: word.to_owned(),
                fault,
            });
        }
        Ok(())
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
    pub(super) fn on_process_ended(&mut self, process: Process, nth: u32, exit: Exit) {
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
            return;
        }
        if let Some(pause) = self.client.restarting.get(&process) {
            self.timers.at(Instant::now() + *pause, Due::Start(process));
            return;
        }
        match process {
            Process::Submit(intent) => {
                self.on_submit_ended(intent, Submission::First, SubmitEnd::Command(exit));
            }
            Process::Worker(_) => {
                let is_kept_up = self
                    .client
                    .file
                    .worker
                    .as_ref()
                    .is_some_and(|worker| worker.restart && worker.until == Until::Settled);
                if is_kept_up && nth <= RESTARTS {
                    self.timers
                        .at(Instant::now() + RESTART_PAUSE, Due::Start(process));
                }
            }
            Process::Setup => {}
        }
    }
}

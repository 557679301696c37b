//! The client's front door: handing the intents over, as its caller does, well or badly.
//!
//! Owns which submission is made when, and the submit faults. The processes of submit commands
//! are [`super::processes`]'.

use std::{sync::Arc, time::Instant};

use jiff::Timestamp;
use nix::sys::signal::Signal as Kill;

use super::{Lab, Signal};
use crate::{
    client_file::{CommandLine, IntentValues, OutcomeProbe, Submit, Values},
    fault::{Action, ClientFault, ClientProcess, ClientStage, SubmitFault},
    history::{EventKind, Process, Submission},
    intent::Intent,
    run::{
        error::Error,
        front_door, nemesis,
        process::{Exit, Invocation, Running},
    },
};

/// How many submissions are under way at once: fewer than would starve each other of a processor.
const AT_ONCE: usize = 8;
/// The same where there are many messages, most of which wait for their answers.
const AT_ONCE_OF_MANY: usize = 16;
/// From how many messages on there are many.
const MANY: usize = 64;

/// One submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Job {
    /// Which intent.
    pub(super) intent: usize,
    /// Which submission of it.
    pub(super) submission: Submission,
}

/// How a submission ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SubmitEnd {
    /// A command ended.
    Command(Exit),
    /// The client's server answered with this status, or nobody knows.
    Http(Option<u16>),
}

impl Lab {
    /// Sets the client up and lets it begin.
    pub(super) async fn begin(&mut self) -> Result<(), Error> {
        self.setup().await?;
        if self.shared.cancel.is_cancelled() {
            return Ok(());
        }
        self.jobs = self
            .plan
            .intents
            .iter()
            .map(|intent| Job {
                intent: intent.number,
                submission: Submission::First,
            })
            .collect();
        if matches!(self.client.file.submit, Submit::Stdin(_)) {
            // One command takes them all.
            self.jobs.truncate(1);
        }
        // A server must be up before anyone can knock; else the intents wait in the client's
        // own store when the worker comes, so that it starts from the same point every time.
        if self.workers_come_first() {
            self.start_workers()?;
        }
        if !self.client.has_workers() {
            self.start_link_timers();
        }
        Ok(())
    }

    /// Makes the submissions that are due; after the last one, starts the workers.
    pub(super) fn submit_next(&mut self) -> Result<(), Error> {
        while let Some(job) = self.jobs.front().copied() {
            if self.client.submitting.len() >= self.at_once() || !self.may_submit(job) {
                return Ok(());
            }
            self.jobs.pop_front();
            match job.submission {
                Submission::First => self.submit_with_faults(job.intent)?,
                Submission::Again | Submission::Conflicting => self.repeat(job)?,
            }
        }
        if self.client.submitting.is_empty() && !self.client.workers_started() {
            self.start_workers()?;
        }
        Ok(())
    }

    fn at_once(&self) -> usize {
        if self.plan.intents.len() >= MANY {
            AT_ONCE_OF_MANY
        } else {
            AT_ONCE
        }
    }

    /// Whether the workers are up before the first intent is handed over. A link that is cut from
    /// the start is cut for a time, which a client that is still starting would sleep through: where
    /// the client says when it is ready, its time begins with something to send.
    pub(super) fn workers_come_first(&self) -> bool {
        self.one_by_one
            || matches!(self.client.file.submit, Submit::Http(_))
            || (self.client.says_when_ready() && nemesis::cuts_from_the_start(&self.plan))
    }

    /// A repeat comes when the first is through; with one by one, an intent when those before
    /// it are settled.
    fn may_submit(&self, job: Job) -> bool {
        let under_way = |other: &Job| other.intent == job.intent;
        if job.submission != Submission::First {
            return !self.client.submitting.iter().any(under_way)
                && !self
                    .client
                    .restarting
                    .contains_key(&Process::Submit(job.intent));
        }
        if self.workers_come_first() && !self.client.is_ready() {
            return false;
        }
        !self.one_by_one || (self.is_quiet() && (1..job.intent).all(|before| self.is_final(before)))
    }

    /// Submits an intent for the first time, with whatever its caller does wrong.
    fn submit_with_faults(&mut self, intent: usize) -> Result<(), Error> {
        let faults = Arc::clone(&self.faults);
        let mut abandoned = false;
        let mut at_once = false;
        for fault in faults.iter() {
            let Action::Submit(submit) = &fault.action else {
                continue;
            };
            if fault.intent.is_some_and(|wanted| wanted != intent) {
                continue;
            }
            match submit {
                SubmitFault::Duplicate(_) => {
                    self.jobs.push_front(Job {
                        intent,
                        submission: Submission::Again,
                    });
                }
                SubmitFault::Conflict(_) => {
                    self.jobs.push_front(Job {
                        intent,
                        submission: Submission::Conflicting,
                    });
                }
                SubmitFault::Abandon(_) => {
                    abandoned = true;
                    self.jobs.push_front(Job {
                        intent,
                        submission: Submission::Again,
                    });
                }
                SubmitFault::Concurrent(_) => at_once = true,
            }
            let kind = EventKind::FaultFired {
                fault: fault.id,
                attempt: None,
                intent: Some(intent),
            };
            self.recorder.record(kind);
        }
        self.submit_first(intent, abandoned)?;
        if at_once {
            self.repeat(Job {
                intent,
                submission: Submission::Again,
            })?;
        }
        Ok(())
    }

    /// Submits an intent; its command is the process that faults are for.
    pub(super) fn submit_first(&mut self, intent: usize, abandoned: bool) -> Result<(), Error> {
        let job = Job {
            intent,
            submission: Submission::First,
        };
        let Some(values) = self.note_submission(job) else {
            return Ok(());
        };
        match self.client.file.submit.clone() {
            Submit::Http(http) => {
                self.knock(job, http, values, abandoned);
                Ok(())
            }
            Submit::Command(command) | Submit::Stdin(command) => {
                let mut what = self.submit_invocation(&command, &values);
                if self.killed_at_once(intent) {
                    what = what.stopped_at_first();
                }
                let process = Process::Submit(intent);
                self.spawn(&process, &what, &format!("submit-{intent}"), "[submit]")?;
                if abandoned {
                    self.signal(&process, Kill::SIGKILL, "kill", None)?;
                    Ok(())
                } else {
                    self.submitted_faults(Some(intent))
                }
            }
        }
    }

    /// Submits an intent once more, by a fault.
    fn repeat(&mut self, job: Job) -> Result<(), Error> {
        let Some(values) = self.note_submission(job) else {
            return Ok(());
        };
        match self.client.file.submit.clone() {
            Submit::Http(http) => {
                self.knock(job, http, values, false);
                Ok(())
            }
            Submit::Command(command) | Submit::Stdin(command) => {
                let what = self.submit_invocation(&command, &values);
                let output = self.client.output(&format!("submit-{}-repeat", job.intent));
                let signals = self.signals.clone();
                let running = Running::start(&what, &output, &self.shared.guardian, move |exit| {
                    let end = SubmitEnd::Command(exit);
                    // Nobody listens once the lab is closed.
                    let _unheard = signals.send(Signal::SubmitEnded(job, end));
                })
                .map_err(Error::start(&what, "[submit]"))?;
                self.client.repeats.push(running);
                Ok(())
            }
        }
    }

    /// Records that a submission begins, and fills its values in.
    fn note_submission(&mut self, job: Job) -> Option<Values> {
        let plan = Arc::clone(&self.plan);
        let intent = plan.intents.get(job.intent.checked_sub(1)?)?;
        let now = Instant::now();
        let handed = if matches!(self.client.file.submit, Submit::Stdin(_)) {
            plan.intents.as_slice()
        } else {
            std::slice::from_ref(intent)
        };
        for handed in handed {
            let expires_at_us = handed
                .expires_after
                .map(|after| self.recorder.micros(now + after));
            self.recorder.record_at(
                now,
                EventKind::Submitted {
                    intent: handed.number,
                    submission: job.submission,
                    expires_at_us,
                },
            );
        }
        self.client.submitting.push(job);
        let values = match job.submission {
            Submission::Conflicting => {
                IntentValues::new(&with_other_words(intent), Timestamp::now())
            }
            Submission::First | Submission::Again => IntentValues::new(intent, Timestamp::now()),
        };
        Some(Values {
            intent: Some(values),
            ..self.client.values.clone()
        })
    }

    fn submit_invocation(&self, command: &CommandLine, values: &Values) -> Invocation {
        let mut what = self.client.invocation(command, values);
        if matches!(self.client.file.submit, Submit::Stdin(_)) {
            let now = Timestamp::now();
            let line = |intent| format!("{}\n", IntentValues::new(intent, now).json_line());
            what.stdin = Some(self.plan.intents.iter().map(line).collect());
        }
        what
    }

    fn knock(
        &mut self,
        job: Job,
        http: crate::client_file::HttpSubmit,
        values: Values,
        abandoned: bool,
    ) {
        let signals = self.signals.clone();
        tokio::spawn(async move {
            let status = front_door::knock(&http, &values, abandoned).await;
            // Nobody listens once the lab is closed.
            let _unheard = signals.send(Signal::SubmitEnded(job, SubmitEnd::Http(status)));
        });
    }

    /// Whether a command that only hands an intent over is to be killed as soon as it runs. On a
    /// busy machine it could be through before the signal comes.
    fn killed_at_once(&self, intent: usize) -> bool {
        let one_for_all = matches!(self.client.file.submit, Submit::Stdin(_));
        self.client.has_workers()
            && (1..=self.plan.intents.len())
                .filter(|number| one_for_all || *number == intent)
                .flat_map(|n| {
                    nemesis::due_before_arrival(&self.plan.faults, ClientStage::Submitted, n)
                })
                .any(|fault| {
                    matches!(&fault.action, Action::Client(ClientFault::Kill(at))
                        if at.process == ClientProcess::Submit)
                        && !self.done.contains(&(fault.id, Some(intent)))
                })
    }

    /// Does to the client what a fault wants between submission and connect: to the submit
    /// command of `intent` once it runs, or to the workers once they do.
    pub(super) fn submitted_faults(&mut self, intent: Option<usize>) -> Result<(), Error> {
        let faults = Arc::clone(&self.faults);
        if faults.is_empty() {
            return Ok(());
        }
        let sends_itself = !self.client.has_workers();
        let only = intent.filter(|_| !matches!(self.client.file.submit, Submit::Stdin(_)));
        for number in only.map_or(1..=self.plan.intents.len(), |number| number..=number) {
            for fault in nemesis::due_before_arrival(&faults, ClientStage::Submitted, number) {
                let Action::Client(client) = &fault.action else {
                    continue;
                };
                let at_submit = sends_itself || client.process() == ClientProcess::Submit;
                let place = (fault.id, intent);
                // Workers that came first may have been handed others only.
                let handed_over = intent.is_some()
                    || !self.workers_come_first()
                    || self.client.accepted.contains(&number);
                if at_submit == intent.is_some() && handed_over && !self.done.contains(&place) {
                    self.done.push(place);
                    self.client_fault(fault, client, None, None)?;
                }
            }
        }
        Ok(())
    }

    /// A submission is through.
    pub(super) fn on_submit_ended(
        &mut self,
        intent: usize,
        submission: Submission,
        end: SubmitEnd,
    ) -> Result<(), Error> {
        let job = Job { intent, submission };
        self.client.submitting.retain(|other| *other != job);
        let (exit, status, accepted) = match (end, &self.client.file.submit) {
            (SubmitEnd::Http(status), Submit::Http(http)) => (
                None,
                status,
                status.is_some_and(|status| http.accepts(status)),
            ),
            (SubmitEnd::Http(status), _) => (None, status, false),
            (SubmitEnd::Command(exit), _) => (exit, None, exit == Some(0)),
        };
        let intents: Vec<usize> = if matches!(self.client.file.submit, Submit::Stdin(_)) {
            self.plan
                .intents
                .iter()
                .map(|intent| intent.number)
                .collect()
        } else {
            vec![intent]
        };
        for intent in intents {
            self.recorder.record(EventKind::SubmitEnded {
                intent,
                submission,
                exit,
                status,
                accepted,
            });
            if accepted {
                self.client.accepted.insert(intent);
            } else {
                self.client.turned_away.insert(intent);
            }
            let outcome = match &self.client.file.outcome {
                OutcomeProbe::ExitCode(codes) => Some(codes.outcome(exit)),
                _ => None,
            };
            if let Some(outcome) = outcome {
                self.believe(intent, outcome, None);
            }
        }
        if accepted {
            if self.client.has_workers() && self.workers_come_first() {
                self.start_link_timers();
                self.submitted_faults(None)?;
            }
            self.work_again()?;
        }
        Ok(())
    }
}

/// The same intent with other words: what a caller must not get away with.
fn with_other_words(intent: &Intent) -> Intent {
    Intent {
        body: format!("{} (changed)", intent.body),
        ..intent.clone()
    }
}

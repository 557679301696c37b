//! What is done to the client itself: its processes and its database.
//!
//! Owns the process faults and the database faults. When they are due is [`super::faults`]'.

use std::time::Instant;

use nix::sys::signal::Signal as Kill;
use stub_provider::fault::Stage;

use super::{Kills, Lab, Waiting};
use crate::{
    client_file::Submit,
    fault::{ClientFault, ClientProcess, DatabaseFault},
    history::{EventKind, Process},
    plan::PlannedFault,
    run::{database, error::Error, nemesis::Live, process::Exit, timers::Due},
};

impl Lab {
    /// Does something to the client's processes. Returns whether the held attempt must wait for
    /// a process to be gone.
    pub(super) fn client_fault(
        &mut self,
        fault: &PlannedFault,
        client: &ClientFault,
        attempt: Option<(u64, Live)>,
        held: Option<Stage>,
    ) -> Result<bool, Error> {
        let intent = attempt
            .and_then(|(_, live)| live.intent)
            .or(fault.intent)
            .unwrap_or(1);
        let processes = self.processes(client.process(), intent);
        if processes.is_empty() {
            let text = format!(
                "fault {}: the process that it is for does not run",
                fault.id
            );
            self.recorder.record(EventKind::Remark { text });
            self.unblock(fault.id)?;
            return Ok(false);
        }
        let mut waits = false;
        let mut acted = false;
        for process in processes {
            let (signal, word) = match client {
                ClientFault::Kill(_) => (Kill::SIGKILL, "kill"),
                ClientFault::Terminate(_) => (Kill::SIGTERM, "terminate"),
                ClientFault::Pause(_) => (Kill::SIGSTOP, "pause"),
            };
            if !self.signal(&process, signal, word, Some(fault.id))? {
                self.too_late(fault.id);
                continue;
            }
            if self.client.stopped.remove(&process) && !matches!(client, ClientFault::Pause(_)) {
                self.resume(&process)?;
            }
            if !matches!(client, ClientFault::Kill(_)) {
                acted = true;
            }
            match client {
                ClientFault::Kill(at) => {
                    self.client
                        .restarting
                        .insert(process.clone(), at.restart_after.0);
                    self.kills.push(Kills {
                        process: process.clone(),
                        fault: fault.id,
                        attempt: attempt.map(|(number, _)| number),
                        intent,
                    });
                    // What the client could still do with the answer, it must not.
                    if let (Some((_, live)), Some(stage)) = (attempt, held) {
                        self.waiting.push(Waiting {
                            process,
                            side: live.side,
                            id: live.id,
                            stage,
                        });
                        waits = true;
                    }
                }
                ClientFault::Terminate(at) => {
                    self.client.restarting.insert(process, at.restart_after.0);
                }
                ClientFault::Pause(pause) => {
                    let due = Due::Continue {
                        process,
                        fault: fault.id,
                    };
                    self.timers.at(Instant::now() + pause.lasts.0, due);
                    self.unblock_after(fault.id, pause.lasts.0);
                }
            }
        }
        if acted {
            self.recorder.record(EventKind::FaultFired {
                fault: fault.id,
                attempt: attempt.map(|(number, _)| number),
                intent: Some(intent),
            });
        }
        Ok(waits)
    }

    /// Stops the client while its answer is still held, so that it has done nothing with it when
    /// the answer has left and the fault comes.
    pub(super) fn stop_before_answer(
        &mut self,
        client: &ClientFault,
        live: &Live,
    ) -> Result<(), Error> {
        let Some(intent) = live.intent else {
            return Ok(());
        };
        for process in self.processes(client.process(), intent) {
            if let Some((running, _)) = self.client.running.get(&process) {
                running
                    .signal(Kill::SIGSTOP)
                    .map_err(Error::io("stopping the client"))?;
                self.client.stopped.insert(process);
            }
        }
        Ok(())
    }

    /// Lets go on whoever was stopped for an answer that never left.
    pub(super) fn resume_all(&mut self) -> Result<(), Error> {
        for process in std::mem::take(&mut self.client.stopped) {
            self.resume(&process)?;
        }
        Ok(())
    }

    /// Lets a process that was stopped for its answer go on, so that it sees a signal.
    fn resume(&self, process: &Process) -> Result<(), Error> {
        match self.client.running.get(process) {
            Some((running, _)) => running
                .signal(Kill::SIGCONT)
                .map(|_| ())
                .map_err(Error::io("letting the client go on")),
            None => Ok(()),
        }
    }

    /// A process is gone: if it was to be killed, its exit says whether it was. One that ended
    /// by itself before the signal came is not run again, and the fault has not acted.
    pub(super) fn on_killed(&mut self, process: &Process, exit: Exit) -> Result<(), Error> {
        let (of_it, others): (Vec<_>, Vec<_>) = std::mem::take(&mut self.kills)
            .into_iter()
            .partition(|kill| kill.process == *process);
        // Of several workers that one fault kills, the first says that it acted.
        self.kills = others;
        for kill in of_it {
            if !self.kills.iter().any(|other| other.fault == kill.fault) {
                self.unblock_unopened(kill.fault)?;
            }
            if exit.is_some() {
                self.client.restarting.remove(process);
                self.too_late(kill.fault);
                continue;
            }
            let place = (kill.fault, kill.attempt, kill.intent);
            if !self.killed.contains(&place) {
                self.killed.push(place);
                self.recorder.record(EventKind::FaultFired {
                    fault: kill.fault,
                    attempt: kill.attempt,
                    intent: Some(kill.intent),
                });
            }
        }
        Ok(())
    }

    fn too_late(&mut self, fault: u32) {
        let text = format!("fault {fault}: the process had ended by itself before it came");
        self.recorder.record(EventKind::Remark { text });
    }

    /// The processes that a fault is for, among those that run.
    fn processes(&self, whom: ClientProcess, intent: usize) -> Vec<Process> {
        // A command that reads all messages at once is that of each of them.
        let all_at_once = matches!(self.client.file.submit, Submit::Stdin(_));
        let hands_over = |number: usize| all_at_once || number == intent;
        self.client
            .running
            .keys()
            .filter(|process| match (whom, process) {
                (ClientProcess::Sender, Process::Worker(_)) => true,
                (ClientProcess::Sender, Process::Submit(number)) => {
                    !self.client.has_workers() && hands_over(*number)
                }
                (ClientProcess::Submit, Process::Submit(number)) => hands_over(*number),
                _ => false,
            })
            .cloned()
            .collect()
    }

    /// Disturbs the client's database.
    pub(super) async fn disturb(
        &mut self,
        fault: &PlannedFault,
        database: &DatabaseFault,
        attempt: Option<u64>,
        intent: Option<usize>,
    ) -> Result<(), Error> {
        let Some(url) = self.client.database_url() else {
            let text = format!("fault {}: the client file names no [database]", fault.id);
            self.recorder.record(EventKind::Remark { text });
            return Ok(());
        };
        if self.disturbances.iter().any(|(id, _)| *id == fault.id) {
            return Ok(());
        }
        let (disturbance, lasts) = match database {
            DatabaseFault::Lock(at) => (database::lock(&url).await?, at.lasts.0),
            DatabaseFault::Down(at) => (database::down(&url).await?, at.lasts.0),
        };
        self.disturbances.push((fault.id, disturbance));
        self.timers.at(
            Instant::now() + lasts,
            Due::HealDatabase { fault: fault.id },
        );
        self.recorder.record(EventKind::FaultFired {
            fault: fault.id,
            attempt,
            intent,
        });
        Ok(())
    }

    /// Gives the client its database back.
    pub(super) async fn heal_database(&mut self, fault: u32) -> Result<(), Error> {
        if let Some(index) = self.disturbances.iter().position(|(id, _)| *id == fault) {
            let (fault, disturbance) = self.disturbances.swap_remove(index);
            disturbance.heal().await?;
            self.recorder.record(EventKind::FaultHealed { fault });
        }
        Ok(())
    }
}

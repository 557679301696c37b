//! What is done to the client itself: its processes and its database.
//!
//! Owns the process faults and the database faults. When they are due is [`super::faults`]'.

use std::time::Instant;

use nix::sys::signal::Signal as Kill;
use stub_provider::fault::Stage;

use super::{Lab, Waiting};
use crate::{
    fault::{ClientFault, ClientProcess, DatabaseFault},
    history::{EventKind, Process},
    plan::PlannedFault,
    run::{database, error::Error, nemesis::Live, timers::Due},
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
            return Ok(false);
        }
        let mut waits = false;
        for process in processes {
            let (signal, word) = match client {
                ClientFault::Kill(_) => (Kill::SIGKILL, "kill"),
                ClientFault::Terminate(_) => (Kill::SIGTERM, "terminate"),
                ClientFault::Pause(_) => (Kill::SIGSTOP, "pause"),
            };
            self.signal(&process, signal, word, Some(fault.id))?;
            match client {
                ClientFault::Kill(at) => {
                    self.client
                        .restarting
                        .insert(process.clone(), at.restart_after.0);
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
                }
            }
        }
        self.recorder.record(EventKind::FaultFired {
            fault: fault.id,
            attempt: attempt.map(|(number, _)| number),
            intent: Some(intent),
        });
        Ok(waits)
    }

    /// The processes that a fault is for, among those that run.
    fn processes(&self, whom: ClientProcess, intent: usize) -> Vec<Process> {
        self.client
            .running
            .keys()
            .filter(|process| match (whom, process) {
                (ClientProcess::Sender, Process::Worker(_)) => true,
                (ClientProcess::Sender, Process::Submit(number)) => {
                    !self.client.has_workers() && *number == intent
                }
                (ClientProcess::Submit, Process::Submit(number)) => *number == intent,
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

//! Putting faults in place and taking them away, at exactly their attempt.
//!
//! Owns everything that the harness itself does to network, processes and database. The
//! provider's own faults are rules that it carries out by itself ([`super::super::nemesis`]).

use std::time::Instant;

use nix::sys::signal::Signal as Kill;
use stub_provider::{event::End, fault::Stage};
use toxic_proxy::ConnectionEvent;

use super::{Down, Lab, PlacedToxic, Waiting};
use crate::{
    fault::{Action, ClientFault, ClientProcess, ClientStage, DatabaseFault, Toxic},
    history::{EventKind, Process},
    plan::{Place, PlannedFault},
    run::{
        database,
        error::Error,
        nemesis::{self, Live},
        timers::Due,
    },
};

impl Lab {
    /// Puts in place what must be there before the client starts.
    pub(super) async fn arm(&mut self) -> Result<(), Error> {
        for side in 0..self.sides.len() {
            for rule in nemesis::provider_rules(&self.plan, side) {
                self.sides[side].provider.add_fault(rule);
            }
            for hold in nemesis::holds(&self.plan, side) {
                self.sides[side].provider.hold(
                    hold.stage,
                    stub_provider::HoldRule {
                        intent: hold.intent,
                        attempts: hold.attempts,
                        request: hold.request,
                    },
                );
            }
            let plan = std::sync::Arc::clone(&self.plan);
            for fault in &plan.faults {
                let (Action::Toxic(toxic), Place::Connection(k)) = (&fault.action, &fault.place)
                else {
                    continue;
                };
                if nemesis::is_at(fault, side) {
                    self.add_toxic(side, fault.id, toxic, None, Some(u64::from(*k)))
                        .await?;
                }
            }
            self.cut_link(side, 1).await?;
            if !nemesis::due_before_arrival(&plan, ClientStage::Connected, 1).is_empty() {
                self.watch_next_connection(side, 1)?;
            }
        }
        Ok(())
    }

    /// An attempt stands still at a stage: puts its faults in place, then lets go.
    pub(super) async fn on_held(&mut self, number: u64, stage: Stage) -> Result<(), Error> {
        let Some(live) = self.live.get(&number).copied() else {
            return Ok(());
        };
        if stage == Stage::BeforeAccept {
            self.heal_before(&live, number).await?;
        }
        let plan = std::sync::Arc::clone(&self.plan);
        let mut waits = false;
        for fault in nemesis::due_at_hold(&plan, &live, stage) {
            match &fault.action {
                Action::Toxic(toxic) => {
                    self.add_toxic(live.side, fault.id, toxic, Some((number, live)), None)
                        .await?;
                }
                Action::Client(client) => {
                    waits |= self.client_fault(fault, client, Some((number, live)), Some(stage))?;
                }
                Action::Database(database) => {
                    self.disturb(fault, database, Some(number), live.intent)
                        .await?;
                }
                _ => {}
            }
        }
        if !waits {
            self.release(live.side, live.id, stage);
        }
        Ok(())
    }

    /// Lets a held attempt go.
    pub(super) fn release(&mut self, side: usize, id: u64, stage: Stage) {
        let provider = u8::try_from(side + 1).unwrap_or(u8::MAX);
        let attempt = self.recorder.attempt(provider, id);
        self.recorder.record(EventKind::Released { attempt, stage });
        self.sides[side].provider.release(id, stage);
    }

    /// An attempt is over: what its end shows, and what is due after its answer.
    pub(super) async fn on_attempt_ended(
        &mut self,
        number: u64,
        live: Live,
        end: End,
    ) -> Result<(), Error> {
        if self.shared.network.covers_whole_proxy() {
            // A real server does not say which toxic acted: one that was in force when the
            // answer left did.
            for index in 0..self.toxics.len() {
                if self.toxics[index]
                    .attempt
                    .is_some_and(|(attempt, _)| attempt == number)
                {
                    self.fired(index);
                }
            }
        }
        if matches!(end, End::ClientClosed | End::ClientReset) {
            self.heal_connection(live.side, live.connection).await?;
        }
        if end == End::Answered {
            let plan = std::sync::Arc::clone(&self.plan);
            for fault in nemesis::due_when_answered(&plan, &live) {
                match &fault.action {
                    Action::Client(client) => {
                        self.client_fault(fault, client, Some((number, live)), None)?;
                    }
                    Action::Database(database) => {
                        self.disturb(fault, database, Some(number), live.intent)
                            .await?;
                    }
                    _ => {}
                }
            }
        }
        if let Some(connection) = self.at_proxy(live.side, live.connection) {
            self.cut_link(live.side, connection + 1).await?;
        }
        Ok(())
    }

    /// What the proxy saw.
    pub(super) async fn on_connection(
        &mut self,
        side: usize,
        event: &ConnectionEvent,
    ) -> Result<(), Error> {
        match event {
            ConnectionEvent::Opened { id, .. } => self.stop_at_connect(side, *id),
            ConnectionEvent::ToxicHit { toxic, .. } => {
                self.toxic_hit(side, toxic);
                Ok(())
            }
            ConnectionEvent::Unreachable { id, .. } | ConnectionEvent::Closed { id, .. } => {
                // On a real server a toxic that waited for this connection covers the next too.
                if self.shared.network.covers_whole_proxy() {
                    let waiting = self.toxics.iter().position(|live| {
                        !live.healed && live.side == side && live.attempt.is_none() && *id == 1
                    });
                    if let Some(index) = waiting {
                        self.fired(index);
                        self.heal(index).await?;
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The proxy's number of a provider's connection. Asked only once a request has come on it:
    /// the provider can see a connection before the proxy has noted that it is open.
    fn at_proxy(&self, side: usize, connection: u64) -> Option<u64> {
        let side = &self.sides[side];
        self.shared
            .network
            .connection(&side.link, *side.peers.get(&connection)?)
    }

    async fn add_toxic(
        &mut self,
        side: usize,
        fault: u32,
        toxic: &Toxic,
        attempt: Option<(u64, Live)>,
        connection: Option<u64>,
    ) -> Result<(), Error> {
        let network = self.shared.network.clone();
        let at = match attempt {
            Some((number, _)) => format!("a{number}"),
            None => "c".into(),
        };
        let bound = match attempt {
            _ if network.covers_whole_proxy() => None,
            Some((_, live)) => self.at_proxy(side, live.connection),
            None => connection,
        };
        if bound.is_none() && !network.covers_whole_proxy() {
            let text = "the connection of an attempt is gone before its toxic was in place".into();
            self.recorder.record(EventKind::Remark { text });
            return Ok(());
        }
        let name = network
            .add_toxic(
                &self.sides[side].link,
                &format!("fault-{fault}-{at}"),
                toxic,
                bound,
            )
            .await?;
        self.recorder.record(EventKind::FaultApplied {
            fault,
            attempt: attempt.map(|(number, _)| number),
        });
        self.toxics.push(PlacedToxic {
            fault,
            side,
            name,
            attempt: attempt.map(|(number, live)| (number, live.intent)),
            connection: attempt.map(|(_, live)| live.connection),
            fired: false,
            healed: false,
        });
        Ok(())
    }

    fn toxic_hit(&mut self, side: usize, name: &str) {
        let hit = |toxic: &PlacedToxic| toxic.side == side && toxic.name == name;
        if let Some(index) = self.toxics.iter().position(hit) {
            self.fired(index);
        }
    }

    /// Asks the proxies once more which toxics acted: what they tell may still be on its way.
    pub(super) fn last_hits(&mut self) {
        for side in 0..self.sides.len() {
            for name in self.shared.network.hits(&self.sides[side].link) {
                self.toxic_hit(side, &name);
            }
        }
    }

    fn fired(&mut self, index: usize) {
        let toxic = &mut self.toxics[index];
        if !std::mem::replace(&mut toxic.fired, true) {
            let kind = EventKind::FaultFired {
                fault: toxic.fault,
                attempt: toxic.attempt.map(|(attempt, _)| attempt),
                intent: toxic.attempt.and_then(|(_, intent)| intent),
            };
            self.recorder.record(kind);
        }
    }

    /// Takes a toxic away.
    async fn heal(&mut self, index: usize) -> Result<(), Error> {
        let toxic = &mut self.toxics[index];
        toxic.healed = true;
        let link = &self.sides[toxic.side].link;
        self.shared.network.remove_toxic(link, &toxic.name).await?;
        self.recorder
            .record(EventKind::FaultHealed { fault: toxic.fault });
        Ok(())
    }

    /// A connection is over, and with it the toxics on it.
    pub(super) async fn heal_connection(
        &mut self,
        side: usize,
        connection: u64,
    ) -> Result<(), Error> {
        let over = |toxic: &PlacedToxic| {
            !toxic.healed && toxic.side == side && toxic.connection == Some(connection)
        };
        while let Some(index) = self.toxics.iter().position(over) {
            self.heal(index).await?;
        }
        Ok(())
    }

    /// The next request on a connection (or, on a real server, any) is at the provider: toxics of
    /// earlier attempts have done their work.
    async fn heal_before(&mut self, live: &Live, number: u64) -> Result<(), Error> {
        let whole = self.shared.network.covers_whole_proxy();
        let over = |toxic: &PlacedToxic| {
            !toxic.healed
                && toxic.side == live.side
                && toxic.attempt.is_some_and(|(attempt, _)| attempt != number)
                && (whole || toxic.connection == Some(live.connection))
        };
        while let Some(index) = self.toxics.iter().position(over) {
            self.heal(index).await?;
        }
        Ok(())
    }

    /// Cuts the link where a fault is aimed at connection `k`.
    async fn cut_link(&mut self, side: usize, k: u64) -> Result<(), Error> {
        let plan = std::sync::Arc::clone(&self.plan);
        for fault in nemesis::at_connection(&plan, side, k) {
            let (lasts, down) = match &fault.action {
                Action::Down(span) => (span.0, Down::Refused),
                Action::Blackhole(span) => (span.0, Down::Silent),
                _ => continue,
            };
            if self.done.contains(&(fault.id, Some(side))) {
                continue;
            }
            self.done.push((fault.id, Some(side)));
            let network = self.shared.network.clone();
            let link = &self.sides[side].link;
            match down {
                Down::Refused => network.set_down(link, true).await?,
                Down::Silent => network.set_blackhole(link, true).await?,
            }
            self.sides[side].down = Some(down);
            self.recorder.record(EventKind::FaultApplied {
                fault: fault.id,
                attempt: None,
            });
            if k == 1 {
                // The time runs from when the client can try; it is started later.
                self.client.links_to_heal.push((side, fault.id, lasts));
            } else {
                self.timers.at(
                    Instant::now() + lasts,
                    Due::HealLink {
                        side,
                        fault: fault.id,
                    },
                );
            }
        }
        Ok(())
    }

    /// The client can try from now on: links that are cut from the start heal after their time.
    pub(super) fn start_link_timers(&mut self) {
        for (side, fault, lasts) in std::mem::take(&mut self.client.links_to_heal) {
            self.timers
                .at(Instant::now() + lasts, Due::HealLink { side, fault });
        }
    }

    /// Takes connects again.
    pub(super) async fn heal_link(&mut self, side: usize, fault: u32) -> Result<(), Error> {
        let network = self.shared.network.clone();
        let down = self.sides[side].down.take();
        let link = &self.sides[side].link;
        match down {
            Some(Down::Refused) => network.set_down(link, false).await?,
            Some(Down::Silent) => network.set_blackhole(link, false).await?,
            None => return Ok(()),
        }
        self.recorder.record(EventKind::FaultHealed { fault });
        Ok(())
    }

    /// Lets nothing pass on the side's connection `k`, so that the client can be stopped there.
    fn watch_next_connection(&mut self, side: usize, k: u64) -> Result<(), Error> {
        let plan = std::sync::Arc::clone(&self.plan);
        for fault in nemesis::due_before_arrival(&plan, ClientStage::Connected, 1) {
            self.at_connect.push((fault.id, side, k));
        }
        self.shared
            .network
            .block_upstream(&self.sides[side].link, k)
    }

    fn stop_at_connect(&mut self, side: usize, id: u64) -> Result<(), Error> {
        let plan = std::sync::Arc::clone(&self.plan);
        for (fault, at_side, k) in self.at_connect.clone() {
            if (at_side, k) != (side, id) {
                continue;
            }
            if let Some(fault) = plan.faults.iter().find(|planned| planned.id == fault)
                && let Action::Client(client) = &fault.action
            {
                self.client_fault(fault, client, None, None)?;
            }
        }
        Ok(())
    }

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

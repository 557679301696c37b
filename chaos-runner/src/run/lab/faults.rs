//! Which fault is due at what was just seen, at exactly its attempt.
//!
//! Owns the way from an observation to the faults that the harness itself puts in place: toxics
//! ([`super::toxics`]), cut links ([`super::links`]), blocked connections ([`super::blocks`]), processes and database
//! ([`super::disturb`]). The provider's own faults are rules that it carries out by itself
//! ([`super::super::nemesis`]).

use stub_provider::{
    event::{AttemptId, End},
    fault::Stage,
};
use toxic_proxy::{ConnectionEvent, Peer};

use super::{Lab, provider_number};
use crate::{
    fault::{Action, ClientStage},
    history::EventKind,
    plan::Place,
    run::{
        error::Error,
        nemesis::{self, Live},
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
            let faults = std::sync::Arc::clone(&self.faults);
            for fault in faults.iter() {
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
            self.watch_connections(side)?;
        }
        Ok(())
    }

    /// An attempt stands still at a stage: puts its faults in place, then lets go.
    pub(super) async fn on_held(
        &mut self,
        side: usize,
        id: AttemptId,
        stage: Stage,
    ) -> Result<(), Error> {
        let number = self.recorder.attempt(provider_number(side), id);
        let Some(live) = self.live.get(&number).copied() else {
            // Its client has hung up already. The provider goes on all the same, and whoever
            // comes with the same key must not wait for it for ever.
            self.release(side, id, stage);
            return Ok(());
        };
        if stage == Stage::BeforeAccept {
            self.heal_before(&live, number).await?;
        }
        let faults = std::sync::Arc::clone(&self.faults);
        let mut waits = false;
        for fault in nemesis::due_at_hold(&faults, &live, stage) {
            match &fault.action {
                Action::Toxic(toxic) => {
                    self.add_toxic(live.side, fault.id, toxic, Some((number, live)), None)
                        .await?;
                }
                Action::Client(client)
                    if nemesis::client_stage(&fault.action) == Some(ClientStage::Answered) =>
                {
                    self.stop_before_answer(client, &live)?;
                }
                Action::Client(client) => {
                    waits |= self.client_fault(fault, client, Some((number, live)), Some(stage))?;
                }
                Action::Database(database)
                    if nemesis::client_stage(&fault.action) != Some(ClientStage::Answered) =>
                {
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
        let attempt = self.recorder.attempt(provider_number(side), id);
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
            let faults = std::sync::Arc::clone(&self.faults);
            for fault in nemesis::due_when_answered(&faults, &live) {
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
        if end != End::Answered {
            self.resume_all()?;
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
            ConnectionEvent::Opened { id, .. } => self.stop_at_connect(side, *id).await,
            ConnectionEvent::ToxicHit { toxic, .. } => {
                self.toxic_hit(side, toxic);
                Ok(())
            }
            ConnectionEvent::PeerEnded {
                id,
                peer: Peer::Client,
                ..
            } => {
                self.closing.insert((side, *id));
                self.discard_blocked(side, *id)
            }
            ConnectionEvent::Unreachable { id, .. } | ConnectionEvent::Closed { id, .. } => {
                self.closing.remove(&(side, *id));
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
}

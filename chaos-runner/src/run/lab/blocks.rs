//! Connections on which nothing passes to the provider while the client is being stopped.
//!
//! Owns the promise that a client which is stopped between its start and its request has sent
//! none, however quick it was. What it had sent by then is lost with it; a client that was only
//! paused, and waits on, is heard when it has had the time to say whether it does.

use std::time::{Duration, Instant};

use super::Lab;
use crate::{
    fault::{Action, ClientFault, ClientProcess, ClientStage},
    plan::PlannedFault,
    run::{error::Error, nemesis, timers::Due},
};

/// How long a client that goes on may take to hang up, where its patience is at an end.
const GRACE: Duration = Duration::from_millis(200);

/// A blocked connection, and the fault that it is blocked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    fault: u32,
    side: usize,
    connection: u64,
}

impl Lab {
    /// Blocks the connections at which something is to happen to the client.
    pub(super) fn watch_connections(&mut self, side: usize) -> Result<(), Error> {
        let faults = std::sync::Arc::clone(&self.faults);
        for (fault, k) in nemesis::due_when_connected(&faults, side) {
            self.block(fault, side, k)?;
        }
        // Of several messages the first connection is not known to be that of the one meant.
        if self.plan.intents.len() == 1 {
            for fault in nemesis::due_before_arrival(&faults, ClientStage::Submitted, 1) {
                if matches!(
                    &fault.action,
                    Action::Client(client @ (ClientFault::Kill(_) | ClientFault::Pause(_)))
                        if client.process() == ClientProcess::Sender
                ) {
                    self.block(fault, side, 1)?;
                }
            }
        }
        Ok(())
    }

    fn block(&mut self, fault: &PlannedFault, side: usize, connection: u64) -> Result<(), Error> {
        let forever = matches!(fault.action, Action::Client(ClientFault::Kill(_)));
        self.shared
            .network
            .block_upstream(&self.sides[side].link, connection, forever)?;
        self.blocks.push(Block {
            fault: fault.id,
            side,
            connection,
        });
        Ok(())
    }

    /// A connection is open: does to the client what is due at it.
    pub(super) async fn stop_at_connect(&mut self, side: usize, id: u64) -> Result<(), Error> {
        let faults = std::sync::Arc::clone(&self.faults);
        let due = nemesis::due_when_connected(&faults, side);
        for (fault, _) in due.into_iter().filter(|(_, k)| *k == id) {
            match &fault.action {
                Action::Client(client) => {
                    self.client_fault(fault, client, None, None)?;
                    if matches!(client, ClientFault::Terminate(_)) {
                        self.unblock(fault.id)?;
                    }
                }
                Action::Database(database) => {
                    self.disturb(fault, database, None, None).await?;
                    self.unblock(fault.id)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The client stands still for `lasts`: its connections are let go on when it has gone on.
    pub(super) fn unblock_after(&mut self, fault: u32, lasts: Duration) {
        if self.blocks.iter().any(|block| block.fault == fault) {
            self.timers
                .at(Instant::now() + lasts + GRACE, Due::Unblock { fault });
        }
    }

    /// Lets everything pass again that was blocked for a fault.
    pub(super) fn unblock(&mut self, fault: u32) -> Result<(), Error> {
        for block in self.blocks.extract_if(.., |block| block.fault == fault) {
            self.shared
                .network
                .unblock_upstream(&self.sides[block.side].link, block.connection)?;
        }
        Ok(())
    }

    /// Whom a fault was to kill is gone: the connections that it had not opened are for whoever
    /// comes after it.
    pub(super) fn unblock_unopened(&mut self, fault: u32) -> Result<(), Error> {
        let network = self.shared.network.clone();
        let opened =
            |block: &Block| network.has_opened(&self.sides[block.side].link, block.connection);
        if self
            .blocks
            .iter()
            .any(|block| block.fault == fault && opened(block))
        {
            return Ok(());
        }
        self.unblock(fault)
    }

    /// The client has hung up on a connection: what waits on it never arrives.
    pub(super) fn discard_blocked(&mut self, side: usize, connection: u64) -> Result<(), Error> {
        let is_it = |block: &Block| (block.side, block.connection) == (side, connection);
        let Some(place) = self.blocks.iter().position(is_it) else {
            return Ok(());
        };
        self.blocks.remove(place);
        self.shared
            .network
            .discard_upstream(&self.sides[side].link, connection)
    }
}

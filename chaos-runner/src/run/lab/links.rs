//! A link that is cut: connects refused or not answered, and a connection on which nothing passes.
//!
//! Owns the faults that keep a request from arriving.

use std::time::Instant;

use super::{Down, Lab};
use crate::{
    fault::{Action, ClientStage},
    history::EventKind,
    run::{error::Error, nemesis, timers::Due},
};

impl Lab {
    /// Cuts the link where a fault is aimed at connection `k`.
    pub(super) async fn cut_link(&mut self, side: usize, k: u64) -> Result<(), Error> {
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
    pub(super) fn watch_next_connection(&mut self, side: usize, k: u64) -> Result<(), Error> {
        let plan = std::sync::Arc::clone(&self.plan);
        for fault in nemesis::due_before_arrival(&plan, ClientStage::Connected, 1) {
            self.at_connect.push((fault.id, side, k));
        }
        self.shared
            .network
            .block_upstream(&self.sides[side].link, k)
    }

    pub(super) fn stop_at_connect(&mut self, side: usize, id: u64) -> Result<(), Error> {
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
}

//! A link that is cut: connects refused or not answered, and a connection on which nothing passes.
//!
//! Owns the faults that keep a request from arriving.

use std::time::{Duration, Instant};

use super::{Down, Lab};
use crate::{
    fault::Action,
    history::EventKind,
    run::{error::Error, nemesis, rest::WATCH, timers::Due},
};

/// How long a link is cut at most, by a client that never rests.
const RESTS_WITHIN: Duration = Duration::from_secs(30);

impl Lab {
    /// Cuts the link where a fault is aimed at connection `k`.
    pub(super) async fn cut_link(&mut self, side: usize, k: u64) -> Result<(), Error> {
        let faults = std::sync::Arc::clone(&self.faults);
        for fault in nemesis::at_connection(&faults, side, k) {
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
            if network.has_opened(link, k) {
                self.missed_connection(fault.id, k);
                continue;
            }
            match down {
                Down::Refused => network.set_down(link, true).await?,
                Down::Silent => network.set_blackhole(link, true).await?,
            }
            self.sides[side].down = Some(down);
            if network.has_opened(&self.sides[side].link, k) {
                self.missed_connection(fault.id, k);
                self.heal_link(side, fault.id).await?;
                continue;
            }
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

    /// The client was quicker than its fault: what is put in place now would hit another
    /// connection, and would not be what the scenario says.
    fn missed_connection(&mut self, fault: u32, k: u64) {
        let text = format!("fault {fault}: connection {k} was open before it was in place");
        self.recorder.record(EventKind::Remark { text });
    }

    /// The client can try from now on: links that are cut from the start heal after their time.
    pub(super) fn start_link_timers(&mut self) {
        if !self.client.links_to_heal.is_empty() {
            let now = Instant::now();
            let rested = Duration::ZERO;
            let at_last = now + RESTS_WITHIN;
            self.timers.at(now, Due::CountRest { rested, at_last });
        }
    }

    /// Heals the links that are cut from the start whose time is over. It runs only while the client
    /// waits for something: one that is slow to start, or has no processor, would sleep through it.
    pub(super) async fn count_rest(
        &mut self,
        rested: Duration,
        at_last: Instant,
    ) -> Result<(), Error> {
        let now = Instant::now();
        let senders: Vec<i32> = self.client.senders().collect();
        // Those that have ended wait for nothing any more.
        let over = now >= at_last || (senders.is_empty() && self.client.senders_have_started());
        let rested = rested + self.rest.look(senders, now);
        let is_due = |link: &(usize, u32, Duration)| over || link.2 <= rested;
        let due: Vec<_> = self
            .client
            .links_to_heal
            .extract_if(.., |l| is_due(l))
            .collect();
        for (side, fault, _) in due {
            self.heal_link(side, fault).await?;
        }
        if !self.client.links_to_heal.is_empty() {
            let next = now + WATCH;
            self.timers.at(next, Due::CountRest { rested, at_last });
        }
        Ok(())
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
}

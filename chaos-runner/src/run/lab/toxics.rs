//! Toxics: put in place at a held attempt or ahead of a connection, and taken away.
//!
//! Owns which toxics are in place, that each is told to have acted once, and when each goes. Which
//! attempt wants which is [`super::faults`]'.

use super::{Lab, PlacedToxic};
use crate::{
    fault::Toxic,
    history::EventKind,
    run::{error::Error, nemesis::Live},
};

impl Lab {
    /// The proxy's number of a provider's connection. Asked only once a request has come on it:
    /// the provider can see a connection before the proxy has noted that it is open.
    pub(super) fn at_proxy(&self, side: usize, connection: u64) -> Option<u64> {
        let side = &self.sides[side];
        self.shared
            .network
            .connection(&side.link, *side.peers.get(&connection)?)
    }

    pub(super) async fn add_toxic(
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
            kind: toxic.kind,
            attempt: attempt.map(|(number, live)| (number, live.intent)),
            connection: attempt.map(|(_, live)| live.connection),
            fired: false,
            healed: false,
        });
        Ok(())
    }

    pub(super) fn toxic_hit(&mut self, side: usize, name: &str) {
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

    pub(super) fn fired(&mut self, index: usize) {
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
    pub(super) async fn heal(&mut self, index: usize) -> Result<(), Error> {
        let toxic = &mut self.toxics[index];
        toxic.healed = true;
        let link = &self.sides[toxic.side].link;
        let network = &self.shared.network;
        network.end_toxic(link, &toxic.name, toxic.kind).await?;
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
    pub(super) async fn heal_before(&mut self, live: &Live, number: u64) -> Result<(), Error> {
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
}

//! Opening and closing a lab.
//!
//! Owns the order in which its parts come up, and that all of them go down again whatever
//! happened in between.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};

use nix::sys::signal::Signal as Kill;
use stub_provider::{Config, ExpectedIntent, Intents, Provider, duration::Span};

use super::{
    Lab, Record, Shared, Side, Signal, client::Client, inbox::Inbox, provider_number,
    settle::Subjects,
};
use crate::{
    client_file::{LabValues, Values},
    fault::Action,
    history::{Event, EventKind},
    plan::{Need, Plan, PlannedFault},
    run::{
        directory, error::Error, nemesis, network::Network, recorder::Recorder, rest::Rest,
        starvation::Starvation, timers::Timers,
    },
};

/// How long a client may take to stop when it is asked to.
const GRACE: Duration = Duration::from_secs(5);

impl Lab {
    pub(super) async fn open(plan: Arc<Plan>, shared: Shared) -> Result<Self, Error> {
        let directory = directory::of_scenario(&shared.directory, &plan.name);
        let work_dir = directory.join("work");
        std::fs::create_dir_all(&work_dir)
            .map_err(Error::io(format!("creating {}", work_dir.display())))?;
        let word = lab_word(&shared.run, &plan.name);
        let port = shared.ports.take()?;
        let file = Arc::clone(&shared.client);
        let values = Values {
            lab: LabValues {
                lab: word.clone(),
                work_dir: work_dir.display().to_string(),
                port: port.addr.port(),
                seed: plan.seed,
            },
            intent: None,
        };
        let intents = Intents::new(plan.intents.iter().map(expected).collect());
        // A receipt settles an attempt as well as its answer does: where a scenario is not about
        // receipts, there are none, and the answer decides.
        let wants_receipts = plan.needs.contains(&Need::Callback);
        let callback = file
            .callback
            .as_ref()
            .filter(|_| wants_receipts)
            .map(|url| url.render(&values));
        let (signals, mut inbox) = Inbox::new();
        let mut sides = Vec::new();
        for index in 0..if plan.failover { 2 } else { 1 } {
            let opened = open_side(
                index,
                &plan,
                &shared,
                &intents,
                callback.clone(),
                &word,
                &mut inbox,
            )
            .await;
            match opened {
                Ok(side) => sides.push(side),
                Err(error) => {
                    close_sides(&shared, sides).await?;
                    return Err(error);
                }
            }
        }
        let mut env = BTreeMap::from([(
            "SMS_KEY_RETENTION".to_owned(),
            Span(sides[0].provider.retention()).to_string(),
        )]);
        if callback.is_some() {
            env.insert(
                "SMS_WEBHOOK_SECRET".into(),
                Config::default().webhook_secret,
            );
        }
        for (index, side) in sides.iter().enumerate() {
            let name = if index == 0 {
                "SMS_API_BASE"
            } else {
                "SMS_API_BASE_2"
            };
            env.insert(name.into(), format!("http://{}", side.link.addr));
        }
        let client = Client::new(file, &plan, &shared.run, values, env, directory);
        let one_by_one = goes_one_by_one(&plan, &shared.network);
        Ok(Self {
            client,
            _port: port,
            sides,
            recorder: Recorder::new(),
            inbox,
            signals,
            timers: Timers::default(),
            one_by_one,
            jobs: VecDeque::new(),
            closing: BTreeSet::new(),
            live: BTreeMap::new(),
            seen: BTreeSet::new(),
            toxics: Vec::new(),
            waiting: Vec::new(),
            blocks: Vec::new(),
            kills: Vec::new(),
            killed: Vec::new(),
            disturbances: Vec::new(),
            beliefs: BTreeMap::new(),
            subjects: Subjects::of(&plan.intents),
            last_open: 0,
            done: Vec::new(),
            provider_until: None,
            last_activity: Instant::now(),
            starvation: Starvation::default(),
            rest: Rest::default(),
            faults: nemesis::own(&plan).into(),
            plan,
            shared,
        })
    }

    /// Asks the client to stop, waits until it has, and asks for its outcomes once more.
    pub(super) async fn wind_down(&mut self) -> Result<(), Error> {
        self.client.winding_down = true;
        for side in &self.sides {
            side.provider.release_all();
        }
        for (fault, disturbance) in std::mem::take(&mut self.disturbances) {
            disturbance.heal().await?;
            self.recorder.record(EventKind::FaultHealed { fault });
        }
        self.stop_processes(Kill::SIGTERM, "terminate")?;
        let deadline = Instant::now() + GRACE;
        while !self.client.running.is_empty() {
            tokio::select! {
                signal = self.inbox.recv() => self.answer(signal).await?,
                () = tokio::time::sleep_until(deadline.into()) => {
                    self.stop_processes(Kill::SIGKILL, "kill")?;
                    break;
                }
            }
        }
        self.last_hits();
        self.last_look().await
    }

    /// Ends and closes everything; the record is complete afterwards.
    pub(super) async fn close(mut self) -> Result<Record, Error> {
        // Dropping a process kills its group.
        self.client.end();
        for (_, disturbance) in std::mem::take(&mut self.disturbances) {
            disturbance.heal().await?;
        }
        let retention = self.sides[0].provider.retention();
        for side in &self.sides {
            side.provider.release_all();
        }
        let shared = self.shared.clone();
        let sides = std::mem::take(&mut self.sides);
        let closed = close_sides(&shared, sides).await;
        while let Some(signal) = self.inbox.try_recv() {
            if let Signal::Provider(index, event) = signal {
                self.recorder.observe(provider_number(index), &event);
            }
        }
        closed?;
        let events: Vec<Event> = self.recorder.finish();
        Ok(Record {
            events,
            workers: self.client.workers,
            retention,
            one_by_one: self.one_by_one,
            interrupted: false,
        })
    }
}

/// Whether each message is submitted only when the one before is settled: as the scenario says,
/// or because the engine's toxics would touch the others too.
#[must_use]
pub fn goes_one_by_one(plan: &Plan, network: &Network) -> bool {
    let is_toxic = |fault: &PlannedFault| matches!(fault.action, Action::Toxic(_));
    let touches_others = network.covers_whole_proxy() && plan.faults.iter().any(is_toxic);
    plan.one_by_one || (touches_others && plan.intents.len() > 1)
}

async fn open_side(
    index: usize,
    plan: &Plan,
    shared: &Shared,
    intents: &Intents,
    callback: Option<String>,
    word: &str,
    inbox: &mut Inbox,
) -> Result<Side, Error> {
    let ports = [shared.ports.take()?, shared.ports.take()?];
    let config = Config {
        listen: ports[0].addr,
        profile: Arc::clone(&shared.client.profile),
        retention: plan.retention,
        seed: plan.seed.wrapping_add(index as u64),
        intents: intents.clone(),
        callback,
        ..Config::default()
    };
    let provider = Provider::start(config)
        .await
        .map_err(|error| Error::Provider(error.to_string()))?;
    let seen = provider.subscribe();
    let name = format!("{word}-{}", index + 1);
    match shared
        .network
        .open(&name, ports[1].addr, provider.addr())
        .await
    {
        Ok((link, connections)) => {
            inbox.listen(seen, connections);
            Ok(Side {
                provider,
                link,
                peers: HashMap::new(),
                down: None,
                _ports: ports,
            })
        }
        Err(error) => {
            provider.stop().await;
            Err(error)
        }
    }
}

async fn close_sides(shared: &Shared, sides: Vec<Side>) -> Result<(), Error> {
    let mut result = Ok(());
    for side in sides {
        let closed = shared.network.close(&side.link).await;
        side.provider.stop().await;
        result = result.and(closed);
    }
    result
}

fn expected(intent: &crate::intent::Intent) -> ExpectedIntent {
    ExpectedIntent {
        to: intent.to.clone(),
        code: intent.code.clone(),
        customer: intent.customer.clone(),
    }
}

/// A word that no other lab has, fit to name a database by: `<run>_<scenario>`.
fn lab_word(run: &str, scenario: &str) -> String {
    let tail: String = scenario
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '_'
            }
        })
        .take(36)
        .collect();
    // Names that agree in their first 36 characters are told apart by their sum.
    let sum = scenario.bytes().fold(0_u32, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(byte.into())
    });
    format!("{run}_{tail}_{sum:08x}")
}

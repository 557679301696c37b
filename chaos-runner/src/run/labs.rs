//! What the labs of a run share, and a plan carried out in one.
//!
//! Owns the engine, the guardian, the ports and the directory of a run from its start to its end,
//! and the way from a plan to its [`History`]. Which plans, and when, is [`super::suite`]'s and the
//! exploration's.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    pin::Pin,
    sync::{Arc, atomic::Ordering},
};

use tokio_util::sync::CancellationToken;

use super::{
    directory,
    error::Error,
    guardian::Guardian,
    lab::{self, Record, Shared},
    network::Network,
    ports::Ports,
};
use crate::{
    client_file::{ClientFile, Submit},
    fault::{Action, ClientProcess, DatabaseFault},
    history::{ClientFacts, FORMAT, History, ProviderFacts},
    plan::Plan,
};

/// The labs of a run. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Labs(Shared);

impl Labs {
    /// Starts what they share, and makes the directory of the run below `base`.
    ///
    /// # Errors
    ///
    /// When the engine or the guardian cannot start, or the directory cannot be made.
    pub async fn open(
        client: Arc<ClientFile>,
        seed: u64,
        toxiproxy: Option<SocketAddr>,
        base: &Path,
        cancel: &CancellationToken,
    ) -> Result<Self, Error> {
        let network = Network::start(seed, toxiproxy).await?;
        // A word that begins with a letter, as names in databases must.
        let run = format!("r{}", std::process::id());
        Ok(Self(Shared {
            client,
            network,
            ports: Ports::new(std::process::id()),
            guardian: Arc::new(Guardian::start(&run).map_err(Error::io("starting the guardian"))?),
            run,
            directory: directory::create(base, jiff::Timestamp::now())?,
            // A run that fails stops its labs, and is not interrupted for that.
            cancel: cancel.child_token(),
            finished: Arc::default(),
        }))
    }

    /// Ends what they share.
    ///
    /// # Errors
    ///
    /// When something of ours is left on a real server.
    pub async fn close(&self) -> Result<(), Error> {
        self.0.network.finish(&self.0.run).await
    }

    /// The engine's name.
    #[must_use]
    pub fn engine(&self) -> String {
        self.0.network.name()
    }

    /// Where the run leaves what it saw.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.0.directory
    }

    /// Where a scenario of the run leaves what it saw.
    #[must_use]
    pub fn directory_of(&self, scenario: &str) -> PathBuf {
        directory::of_scenario(&self.0.directory, scenario)
    }

    /// How many messages the client has finished with so far.
    #[must_use]
    pub fn finished(&self) -> u64 {
        self.0.finished.load(Ordering::Relaxed)
    }

    /// Whether the run is to stop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.cancel.is_cancelled()
    }

    /// Stops every lab; each puts everything back first.
    pub fn stop(&self) {
        self.0.cancel.cancel();
    }

    /// Whether the client and the engine have what a plan needs.
    ///
    /// # Errors
    ///
    /// What they lack, for the skip.
    pub fn can_run(&self, plan: &Plan) -> Result<(), String> {
        can_run(plan, &self.0)
    }

    /// Carries a plan out. `None`: the run was interrupted before it was through. An error: the
    /// harness could not do its work; what the client does wrong is in the history.
    #[must_use]
    pub fn observe(&self, plan: Arc<Plan>) -> Observing {
        Box::pin(observe(plan, self.0.clone()))
    }
}

/// A plan that is being carried out.
pub type Observing = Pin<Box<dyn Future<Output = Result<Option<History>, Error>> + Send>>;

async fn observe(plan: Arc<Plan>, shared: Shared) -> Result<Option<History>, Error> {
    let record = lab::run(Arc::clone(&plan), shared.clone()).await?;
    Ok((!record.interrupted).then(|| history(&plan, &shared, record)))
}

fn history(plan: &Plan, shared: &Shared, record: Record) -> History {
    let client = &shared.client;
    History {
        format: FORMAT,
        tool: env!("CARGO_PKG_VERSION").into(),
        scenario: plan.name.clone(),
        title: plan.title.clone(),
        file: plan.file.clone(),
        tags: plan.tags.clone(),
        seed: plan.seed,
        engine: shared.network.name(),
        client: ClientFacts {
            name: client.name.clone(),
            policy: client.policy.clone(),
            workers: record.workers,
            tells_outcome: client.tells_outcome(),
            tells_attempts: client.tells_outcome(),
        },
        provider: ProviderFacts {
            profile: client.profile.name().to_owned(),
            has_key: client.profile.has_key(),
            retention_us: u64::try_from(record.retention.as_micros()).unwrap_or(u64::MAX),
        },
        intents: plan.intents.clone(),
        one_by_one: record.one_by_one,
        faults: plan.faults.clone(),
        expect: plan.expect.clone(),
        events: record.events,
    }
}

fn can_run(plan: &Plan, shared: &Shared) -> Result<(), String> {
    for need in &plan.needs {
        shared.client.has(*need)?;
    }
    let database_goes_down = plan
        .faults
        .iter()
        .any(|fault| matches!(fault.action, Action::Database(DatabaseFault::Down(_))));
    if database_goes_down && !shared.client.has_database_server() {
        return Err("the client's database is a file, which cannot be down".into());
    }
    let kills_the_submission = plan.faults.iter().any(|fault| {
        matches!(&fault.action, Action::Client(client) if client.process() == ClientProcess::Submit)
    });
    if kills_the_submission && matches!(shared.client.submit, Submit::Http(_)) {
        return Err("the client is handed its messages by HTTP: no submit command to kill".into());
    }
    if lab::goes_one_by_one(plan, &shared.network)
        && matches!(shared.client.submit, Submit::Stdin(_))
    {
        return Err("a client that reads all messages at once cannot take them one by one".into());
    }
    shared.network.can(plan)
}

//! [`Provider`]: a running provider, and what it is started with.
//!
//! Owns the public handle: start, watch, fault, hold, release, stop.

use std::{net::SocketAddr, num::NonZeroUsize, sync::Arc, time::Duration};

use tokio::{sync::mpsc::UnboundedReceiver, task::JoinHandle};

use crate::{
    clock::Clock,
    core::{Core, Parts},
    event::{AttemptId, Event},
    fault::{FaultRule, Stage},
    hold::HoldRule,
    intent::Intents,
    life::LifeTimes,
    profile::Profile,
    quota::Quota,
    server,
    store::{Store, StoreConfig, StoreError},
    webhook::{WebhookTimes, Webhooks},
};

/// What is bounded, and how far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a request's body.
    pub body_bytes: usize,
    /// Bytes of a request's head; at least 8192.
    pub head_bytes: usize,
    /// Headers of a request.
    pub headers: usize,
    /// From the first byte of a request (or the start of the connection) to its last.
    pub read_timeout: Duration,
    /// Open connections; more wait in the system's backlog.
    pub connections: usize,
    /// How long a stop waits for what is under way.
    pub grace: Duration,
    /// Attempts that a provider in memory alone keeps, with their deliveries and keys; the oldest
    /// go first. `None`: all.
    pub keep: Option<NonZeroUsize>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 256 * 1024,
            head_bytes: 64 * 1024,
            headers: 100,
            read_timeout: Duration::from_secs(30),
            connections: 10_000,
            grace: Duration::from_millis(500),
            keep: None,
        }
    }
}

/// What a provider is started with.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where it listens; port 0 is one that is free.
    pub listen: SocketAddr,
    /// Which API it speaks.
    pub profile: Arc<Profile>,
    /// How long a stored answer is kept, in place of what the profile says.
    pub retention: Option<Duration>,
    /// Decides message ids and the noise of garbled answers.
    pub seed: u64,
    /// The messages that are expected. Providers that are given clones count attempts together.
    pub intents: Intents,
    /// Where receipts go.
    pub callback: Option<String>,
    /// Whether receipts may leave this machine.
    pub allow_remote_callback: bool,
    /// What receipts are signed with.
    pub webhook_secret: String,
    /// How long a message stays in each state.
    pub life: LifeTimes,
    /// How webhooks (receipts, inbound messages) are sent.
    pub webhooks: WebhookTimes,
    /// What each customer may ask for, in place of what the profile says.
    pub quota: Quota,
    /// What is bounded.
    pub limits: Limits,
    /// The clock that it lives by.
    pub clock: Clock,
    /// Where it keeps what it knows.
    pub store: StoreConfig,
}

impl Default for Config {
    /// A `v1` provider on a free port of the loopback interface.
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            profile: Profile::v1(),
            retention: None,
            seed: 0,
            intents: Intents::default(),
            callback: None,
            allow_remote_callback: false,
            webhook_secret: "stub-provider".into(),
            life: LifeTimes::default(),
            webhooks: WebhookTimes::default(),
            quota: Quota::default(),
            limits: Limits::default(),
            clock: Clock::default(),
            store: StoreConfig::Memory,
        }
    }
}

/// Why a provider cannot start, or cannot do what it is told.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address cannot be listened on.
    #[error("cannot listen on {addr}: {source}{}", hint(source))]
    Listen {
        /// The address.
        addr: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// Receipts cannot go there.
    #[error("receipts cannot go to `{url}`: {why}")]
    Callback {
        /// Where.
        url: String,
        /// Why not.
        why: String,
    },
    /// What it knows cannot be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn hint(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            "; another program has the port: stop it, or choose another with --listen"
        }
        std::io::ErrorKind::PermissionDenied => "; ports below 1024 need a privilege",
        _ => "",
    }
}

/// A running provider. Dropping it stops it without waiting.
pub struct Provider {
    core: Arc<Core>,
    addr: SocketAddr,
    server: Option<JoinHandle<()>>,
    /// Whoever keeps what is to be kept.
    keeper: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for Provider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Provider")
            .field("addr", &self.addr)
            .finish_non_exhaustive()
    }
}

impl Provider {
    /// Starts a provider on the current runtime, with everything that its store has kept. It
    /// accepts connections once this returns.
    ///
    /// # Errors
    ///
    /// Where the address cannot be listened on, the callback is not allowed, or the store cannot
    /// be used.
    pub async fn start(config: Config) -> Result<Self, Error> {
        let webhooks = Webhooks::new(
            config.webhook_secret,
            config.allow_remote_callback,
            config.webhooks,
        );
        webhooks.set_callback(config.callback.as_deref())?;
        let fail = |source| Error::Listen {
            addr: config.listen,
            source,
        };
        let (store, opened) = Store::open(config.store, &config.profile, config.seed).await?;
        let core = Arc::new(Core::new(Parts {
            retention: config
                .retention
                .unwrap_or_else(|| config.profile.retention()),
            quota: config.quota.or(config.profile.quota),
            profile: config.profile,
            intents: config.intents,
            seed: config.seed,
            limits: config.limits,
            life: config.life,
            webhooks,
            clock: config.clock,
            store,
        }));
        let keeper = opened.recover(&core).await?;
        let listener = server::open(config.listen).map_err(fail)?;
        let addr = listener.local_addr().map_err(fail)?;
        let server = tokio::spawn(server::run(core.clone(), listener, addr));
        Ok(Self {
            core,
            addr,
            server: Some(server),
            keeper: Some(tokio::spawn(keeper.run())),
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Its base URL, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Every event from now on, in order. Called before there is traffic, nothing is missed.
    #[must_use]
    pub fn subscribe(&self) -> UnboundedReceiver<Event> {
        self.core.observers.subscribe()
    }

    /// Puts a fault in force.
    pub fn add_fault(&self, rule: FaultRule) {
        self.core.add_fault(rule, false);
    }

    /// From now on an attempt that matches waits at the stage until it is released.
    pub fn hold(&self, stage: Stage, rule: HoldRule) {
        self.core.hold(stage, rule);
    }

    /// Lets an attempt go on from a stage, now or as soon as it comes there.
    pub fn release(&self, attempt: AttemptId, stage: Stage) {
        self.core.holds.release(attempt, stage);
    }

    /// Lets every attempt go on and holds none from now on.
    pub fn release_all(&self) {
        self.core.lift_holds();
    }

    /// How long a stored answer is kept.
    #[must_use]
    pub fn retention(&self) -> Duration {
        self.core.retention
    }

    /// The clock that it lives by.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.core.clock
    }

    /// Whether anything can still come of what was asked: a request is being worked on (though
    /// its client may have hung up), or a receipt is still to come or not acknowledged yet.
    #[must_use]
    pub fn has_work_under_way(&self) -> bool {
        !self.core.work.is_empty() || self.core.webhooks.under_way()
    }

    /// Stops: refuses new connections, lets what is under way come to its end within the grace
    /// period, cuts the rest.
    pub async fn stop(mut self) {
        self.core.lift_holds();
        self.core.stopping.cancel();
        if let Some(server) = self.server.take() {
            // It only fails where it panicked, which the runtime has reported.
            let _ = server.await;
        }
        self.core.store.close();
        if let Some(keeper) = self.keeper.take() {
            // As above.
            let _ = keeper.await;
        }
        self.core.observers.close();
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.core.lift_holds();
        self.core.stopping.cancel();
        self.core.store.close();
    }
}

//! The loop that sends: sweeps, claims, lets deliveries run side by side, and sleeps
//! until the next row is due. What happens to one claimed row is `delivery`'s part.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{self, JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::clock::{self, UnixMillis};
use crate::config::WorkerConfig;
use crate::delivery::Delivery;
use crate::message::Message;
use crate::provider::Providers;
use crate::store::{Schedule, Store, StoreError};

/// How long a database that refuses is left alone.
const DATABASE_PAUSE: Duration = Duration::from_millis(100);

/// When the worker ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// Never; only when it is told to.
    Stopped,
    /// When nothing is pending and nothing is claimed.
    Drained,
    /// When what was due at the start has been done once; retries are left for later.
    Passed,
}

/// Runs until told to stop, or until there is nothing left of what it is to do. A stop
/// lets the attempts that have begun end, and claims nothing more.
///
/// # Errors
/// When the HTTP client cannot be made. A database that fails is waited for.
pub async fn run(
    store: Store,
    config: WorkerConfig,
    until: Until,
    stop: CancellationToken,
) -> Result<(), reqwest::Error> {
    let delivery = Arc::new(Delivery {
        providers: Providers::new(&config)?,
        store: store.clone(),
        config: config.clone(),
    });
    reopen(&delivery).await;
    let started = clock::now();
    let horizon = || match until {
        Until::Passed => started,
        Until::Stopped | Until::Drained => clock::now(),
    };
    let mut running = Running::default();
    while !stop.is_cancelled() {
        let free = config.concurrency - running.tasks.len();
        let schedule = match round(&delivery, &mut running, free.min(config.batch), horizon()).await
        {
            Ok(schedule) => schedule,
            Err(error) => {
                warn!(%error, "the outbox cannot be used; trying again");
                tokio::select! {
                    () = tokio::time::sleep(DATABASE_PAUSE.max(config.poll)) => {}
                    () = stop.cancelled() => {}
                }
                continue;
            }
        };
        let done = match until {
            Until::Stopped => false,
            Until::Drained => schedule.is_empty(),
            Until::Passed => schedule.next_due.is_none_or(|due| due > started),
        };
        if done && running.tasks.is_empty() {
            break;
        }
        let pause = pause(schedule, &config, running.tasks.len() < config.concurrency);
        tokio::select! {
            true = running.next() => {}
            () = tokio::time::sleep(pause) => {}
            () = stop.cancelled() => {}
        }
    }
    if !running.tasks.is_empty() {
        info!(
            in_flight = running.tasks.len(),
            "stopping: letting attempts end"
        );
    }
    while running.next().await {}
    store.close().await;
    Ok(())
}

/// A message that nobody could tell about when it was given up may be known by now.
async fn reopen(delivery: &Delivery) {
    let now = clock::now();
    let since = now.saturating_sub(clock::millis(delivery.config.policy.key_retention));
    match delivery.store.ask_again(since, now).await {
        Ok(0) => {}
        Ok(messages) => info!(messages, "asking again about what is unknown"),
        Err(error) => warn!(%error, "the unknown messages could not be looked at"),
    }
}

/// One look at the table: what is stale goes back, what was due by `horizon` is taken.
async fn round(
    delivery: &Arc<Delivery>,
    running: &mut Running,
    limit: usize,
    horizon: UnixMillis,
) -> Result<Schedule, StoreError> {
    let store = &delivery.store;
    let config = &delivery.config;
    let mut schedule = store.schedule().await?;
    let now = clock::now();
    if schedule.next_lease_end.is_some_and(|end| end <= now) {
        for intent in store.sweep(now, &running.live()).await? {
            warn!(
                intent,
                "a claim outlived its lease; the message goes on under its key"
            );
        }
        schedule = store.schedule().await?;
    }
    if limit > 0 && schedule.next_due.is_some_and(|due| due <= horizon) {
        let lease_until = now.saturating_add(clock::millis(config.lease));
        for message in store
            .claim(&config.worker_id, horizon, lease_until, limit)
            .await?
        {
            running.spawn(delivery, message);
        }
        schedule = store.schedule().await?;
    }
    Ok(schedule)
}

/// Until the next row is due or the next lease ends, but never longer than the poll:
/// another process may have put something in.
fn pause(schedule: Schedule, config: &WorkerConfig, can_claim: bool) -> Duration {
    let due = schedule.next_due.filter(|_| can_claim);
    let now = clock::now();
    // One that has ended and is not swept belongs to a delivery that runs here.
    let lease_end = schedule.next_lease_end.filter(|end| *end > now);
    let next = due.into_iter().chain(lease_end).min();
    next.map_or(config.poll, |at| clock::until(at, now).min(config.poll))
}

/// The deliveries that run, and the row of each.
#[derive(Default)]
struct Running {
    tasks: JoinSet<()>,
    rows: HashMap<task::Id, String>,
}

impl Running {
    fn spawn(&mut self, delivery: &Arc<Delivery>, message: Message) {
        let row = message.id.clone();
        let handle = self.tasks.spawn(Arc::clone(delivery).deliver(message));
        self.rows.insert(handle.id(), row);
    }

    /// Waits until one ends; false where none runs.
    async fn next(&mut self) -> bool {
        match self.tasks.join_next_with_id().await {
            None => return false,
            Some(Ok((task, ()))) => self.rows.remove(&task),
            Some(Err(error)) => {
                // Its claim runs out and is swept, as if the process had died.
                warn!(%error, "a delivery did not end properly");
                self.rows.remove(&error.id())
            }
        };
        true
    }

    fn live(&self) -> HashSet<String> {
        self.rows.values().cloned().collect()
    }
}

//! Where what a provider knows is kept beyond its process.
//!
//! Owns the choice and the questions that the rest asks of it. The ledger and the records stay in
//! memory and know nothing of it: a decision is made there, then it is concluded here, and only
//! then is the key settled and the attempt answered.

use std::{path::PathBuf, sync::Arc, time::Duration};

use crate::{
    accept::Conclusion,
    clock::Clock,
    core::Core,
    event::AttemptId,
    inbound::Inbound,
    ledger::KeyId,
    message::MessageId,
    profile::Profile,
    receipt::Tried,
    record::{Attempt, Delivery},
    reply::Reply,
};

mod disk;
mod queue;
mod recover;
mod rows;
mod shared;
mod wal;
mod writer;

use disk::Database;
use queue::{Entry, Queue};
use shared::Which;
pub(crate) use shared::{Owned, Owning, Shared};
use writer::Writer;

/// Where a provider keeps what it knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StoreConfig {
    /// In its memory alone.
    #[default]
    Memory,
    /// In a directory too: what was answered survives the end of the process at any instant.
    Disk {
        /// The directory; made where it is not there yet.
        dir: PathBuf,
        /// Whether it survives the end of the machine's power as well.
        fsync: bool,
    },
    /// In a `PostgreSQL` database that other providers share: together they are one provider.
    Shared {
        /// `postgres://user:password@host:port/database`.
        url: String,
        /// How many keys this one decides at once, each on a connection of its own; others wait.
        connections: u32,
    },
}

/// Why a store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process has it.
    #[error("`{}` is in use by another provider; give this one a directory of its own", dir.display())]
    InUse {
        /// The directory.
        dir: PathBuf,
    },
    /// It was made by a provider of another kind.
    #[error(
        "`{place}` was made with {what} `{theirs}`, and this provider has `{ours}`; \
         start it with that one, or give it another place to keep things"
    )]
    Other {
        /// Where.
        place: String,
        /// What differs.
        what: &'static str,
        /// What the store was made with.
        theirs: String,
        /// What the provider has.
        ours: String,
    },
    /// The system refuses it.
    #[error("`{}` cannot be used: {source}", path.display())]
    System {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The database refuses it.
    #[error("the store at `{place}` cannot be used ({during}): {source}")]
    Database {
        /// Where.
        place: String,
        /// What was being done.
        during: &'static str,
        /// Why.
        source: sqlx::Error,
    },
    /// Something in it cannot be read as what it should be.
    #[error("the store at `{place}` is damaged: {what}")]
    Damaged {
        /// Where.
        place: String,
        /// What cannot be read.
        what: String,
    },
}

/// Whether something was kept, nobody knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lost;

/// The store could not be asked, or said no: nothing was kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refused;

/// Why a decision was not kept.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unkept {
    /// It was not, for certain.
    Refused,
    /// Nobody knows.
    Unknown,
}

impl From<Lost> for Unkept {
    fn from(_: Lost) -> Self {
        Self::Unknown
    }
}

impl From<Refused> for Unkept {
    fn from(_: Refused) -> Self {
        Self::Refused
    }
}

/// What a provider found in its store when it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recovered {
    /// Keys with a stored answer.
    pub(crate) keys: u64,
    pub(crate) deliveries: u64,
    pub(crate) attempts: u64,
    /// Attempts whose end was not on record.
    pub(crate) cut_off: u64,
    /// Bytes of the log that did not count.
    pub(crate) torn: u64,
}

/// Where one provider keeps what it knows.
pub(crate) enum Store {
    Memory,
    Disk(Disk),
    Shared(Shared),
}

/// What the provider sees of the store on its disk.
pub(crate) struct Disk {
    pub(crate) dir: PathBuf,
    pub(crate) fsync: bool,
    recovered: std::sync::OnceLock<Recovered>,
    queue: Arc<Queue>,
}

impl Store {
    /// Opens the store; what is in it is read by [`Opened::recover`].
    pub(crate) async fn open(
        config: StoreConfig,
        profile: &Profile,
        seed: u64,
    ) -> Result<(Self, Opened), StoreError> {
        match config {
            StoreConfig::Memory => Ok((Self::Memory, Opened::Nothing)),
            StoreConfig::Disk { dir, fsync } => {
                let database = Database::open(&dir, fsync, profile.name(), seed).await?;
                let disk = Disk {
                    dir,
                    fsync,
                    recovered: std::sync::OnceLock::new(),
                    queue: Arc::default(),
                };
                Ok((Self::Disk(disk), Opened::Disk(Box::new(database))))
            }
            StoreConfig::Shared { url, connections } => {
                let (shared, keeper) =
                    Shared::open(&url, connections, profile.name(), seed).await?;
                Ok((Self::Shared(shared), Opened::Shared(keeper)))
            }
        }
    }

    /// Whether anything is kept beyond the process: then every request takes the long way.
    pub(crate) fn keeps(&self) -> bool {
        !matches!(self, Self::Memory)
    }

    /// Whether what is known is known to all replicas and kept by none of them.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Self::Shared(_))
    }

    /// Whether it has failed, so that nothing can be accepted any more.
    pub(crate) fn failed(&self) -> bool {
        match self {
            // A shared one is asked anew each time.
            Self::Memory | Self::Shared(_) => false,
            Self::Disk(disk) => disk.queue.failed(),
        }
    }

    /// An attempt has arrived; counted under `key`, where it has one.
    pub(crate) fn arrived(&self, attempt: &Arc<Attempt>, key: Option<&KeyId>) {
        if let Self::Disk(disk) = self {
            disk.queue
                .push(Entry::Arrived(attempt.clone(), key.cloned()));
        }
    }

    /// An attempt is over.
    pub(crate) fn ended(&self, attempt: &Arc<Attempt>) {
        match self {
            Self::Memory => {}
            Self::Disk(disk) => disk.queue.push(Entry::Ended(attempt.clone())),
            Self::Shared(shared) => shared.changed(attempt),
        }
    }

    /// Returns once the attempt, and everything before it, is on record.
    pub(crate) async fn noted(&self, attempt: &Arc<Attempt>) -> Result<(), Lost> {
        match self {
            // A shared one has it since it arrived.
            Self::Memory | Self::Shared(_) => Ok(()),
            Self::Disk(disk) => {
                disk.queue
                    .wait_for(|done| Entry::Noted(attempt.clone(), done))
                    .await
            }
        }
    }

    /// Keeps a decision, then publishes it; on a disk, whatever becomes of the caller meanwhile.
    /// Among replicas `owned` is what entitles to it.
    pub(crate) async fn conclude(
        &self,
        core: &Arc<Core>,
        conclusion: Box<Conclusion>,
        owned: Option<Owned>,
    ) -> Result<(), Unkept> {
        match self {
            Self::Memory => {
                conclusion.publish(core, false);
                Ok(())
            }
            Self::Disk(disk) => {
                let core = core.clone();
                disk.queue
                    .wait_for(|done| Entry::Concluded(core, conclusion, done))
                    .await?;
                Ok(())
            }
            Self::Shared(shared) => {
                // Without a transaction of its own nothing entitles it to a decision.
                let owned = owned.ok_or(Unkept::Refused)?;
                let again = shared.conclude(owned, &conclusion, core.naming).await?;
                conclusion.publish(core, again);
                Ok(())
            }
        }
    }

    /// It was tried to tell the client about a message. Among replicas only the one that accepted
    /// it knows.
    pub(crate) fn told(&self, message: MessageId, tried: &Tried) {
        if let Self::Disk(disk) = self {
            disk.queue.push(Entry::Told(message, tried.clone()));
        }
    }

    /// Keeps what a phone has sent. Among replicas only the one that heard it knows.
    pub(crate) async fn heard(&self, message: &Inbound, at: Duration) -> Result<(), Unkept> {
        match self {
            Self::Memory | Self::Shared(_) => Ok(()),
            Self::Disk(disk) => {
                let text = rows::inbound(message);
                disk.queue
                    .wait_for(|done| Entry::Heard(text, at, done))
                    .await?;
                Ok(())
            }
        }
    }

    /// Keeps that the stored answer of a key is another one from now on.
    pub(crate) async fn restated(&self, key: &KeyId, reply: &Arc<Reply>) -> Result<(), Unkept> {
        match self {
            Self::Shared(shared) => Ok(shared.restated(key, reply).await?),
            Self::Memory => Ok(()),
            Self::Disk(disk) => {
                let (key, reply) = (key.clone(), reply.clone());
                disk.queue
                    .wait_for(|done| Entry::Restated(key, reply, done))
                    .await?;
                Ok(())
            }
        }
    }

    /// Keeps that no key is known any more.
    pub(crate) async fn forgotten(&self) -> Result<(), Unkept> {
        match self {
            Self::Memory => Ok(()),
            Self::Disk(disk) => Ok(disk.queue.wait_for(Entry::Forgotten).await?),
            Self::Shared(shared) => Ok(shared.forgotten().await?),
        }
    }

    /// Keeps that nothing is known any more, but for the numbers of the next attempt and message.
    pub(crate) async fn cleared(&self, (attempt, message): (AttemptId, u64)) -> Result<(), Unkept> {
        match self {
            Self::Shared(shared) => Ok(shared.cleared().await?),
            Self::Memory => Ok(()),
            Self::Disk(disk) => {
                disk.queue
                    .wait_for(|done| Entry::Cleared {
                        attempt,
                        message,
                        done,
                    })
                    .await?;
                Ok(())
            }
        }
    }

    /// Advances the clock, wherever it is lived by, and returns once that is kept.
    pub(crate) async fn advance(&self, clock: &Clock, by: Duration) -> Result<(), Unkept> {
        match self {
            Self::Memory => {
                clock.advance(by);
                Ok(())
            }
            Self::Disk(disk) => {
                clock.advance(by);
                Ok(disk.queue.wait_for(Entry::Flushed).await?)
            }
            Self::Shared(shared) => Ok(shared.advance(clock, by).await?),
        }
    }

    /// Nothing more is to be kept: whoever keeps it finishes.
    pub(crate) fn close(&self) {
        match self {
            Self::Memory => {}
            Self::Disk(disk) => disk.queue.close(),
            Self::Shared(shared) => shared.close(),
        }
    }

    /// What it is, for people.
    pub(crate) fn shown(&self) -> serde_json::Value {
        match self {
            Self::Memory => serde_json::json!({ "kind": "memory" }),
            Self::Shared(shared) => shared.shown(),
            Self::Disk(disk) => {
                let recovered = disk.recovered.get().copied().unwrap_or_default();
                serde_json::json!({
                    "kind": "disk",
                    "directory": disk.dir.display().to_string(),
                    "fsync": disk.fsync,
                    "failed": disk.queue.failed(),
                    "recovered": {
                        "keys": recovered.keys,
                        "deliveries": recovered.deliveries,
                        "attempts": recovered.attempts,
                        "attempts_cut_off": recovered.cut_off,
                        "torn_bytes_cut": recovered.torn,
                    },
                })
            }
        }
    }
}

impl Core {
    /// Every attempt on record, of all replicas.
    pub(crate) async fn attempts(&self) -> Result<Vec<Arc<Attempt>>, Refused> {
        match &self.store {
            Store::Memory | Store::Disk(_) => Ok(self.records.attempts()),
            Store::Shared(shared) => shared.attempts().await,
        }
    }

    /// Every delivery on record, of all replicas.
    pub(crate) async fn deliveries(&self) -> Result<Vec<Delivery>, Refused> {
        match &self.store {
            Store::Memory | Store::Disk(_) => Ok(self.records.deliveries()),
            Store::Shared(shared) => shared.deliveries(Which::All).await,
        }
    }

    /// The deliveries on record from a number on, of all replicas.
    pub(crate) async fn deliveries_from(&self, number: u64) -> Result<Vec<Delivery>, Refused> {
        match &self.store {
            Store::Memory | Store::Disk(_) => Ok(self.records.deliveries_from(number)),
            Store::Shared(shared) => {
                let mut all = shared.deliveries(Which::All).await?;
                all.retain(|delivery| delivery.id.0 >= number);
                Ok(all)
            }
        }
    }

    /// How many attempts and deliveries are on record.
    pub(crate) async fn counts(&self) -> Result<(usize, usize), Refused> {
        match &self.store {
            Store::Memory | Store::Disk(_) => Ok(self.records.counts()),
            Store::Shared(shared) => shared.counts().await,
        }
    }
}

/// An opened store that nothing was read from yet.
pub(crate) enum Opened {
    Nothing,
    Disk(Box<Database>),
    Shared(shared::Keeper),
}

/// Who keeps what happens in a running provider.
pub(crate) enum Keeper {
    Nobody,
    Disk(Box<Writer>),
    Shared(shared::Keeper),
}

impl Keeper {
    /// Keeps what happens until the store is closed.
    pub(crate) async fn run(self) {
        match self {
            Self::Nobody => {}
            Self::Disk(writer) => writer.run().await,
            Self::Shared(keeper) => keeper.run().await,
        }
    }
}

impl Opened {
    /// Takes up what the store has kept, receipts that are still to come too; who keeps what is new
    /// from now on.
    pub(crate) async fn recover(self, core: &Arc<Core>) -> Result<Keeper, StoreError> {
        match (self, &core.store) {
            (Self::Disk(mut database), Store::Disk(disk)) => {
                let recovered = database.recover(core).await?;
                disk.say(&recovered);
                // It was never set before.
                let _ = disk.recovered.set(recovered);
                let queue = disk.queue.clone();
                let writer = Writer::new(*database, queue, core.clock.clone());
                Ok(Keeper::Disk(Box::new(writer)))
            }
            (Self::Shared(keeper), Store::Shared(shared)) => {
                shared.set(&core.clock).await?;
                Ok(Keeper::Shared(keeper))
            }
            _ => Ok(Keeper::Nobody),
        }
    }
}

impl Disk {
    fn say(&self, recovered: &Recovered) {
        tracing::info!(
            directory = %self.dir.display(),
            fsync = self.fsync,
            keys = recovered.keys,
            deliveries = recovered.deliveries,
            attempts = recovered.attempts,
            cut_off = recovered.cut_off,
            "recovered"
        );
        if recovered.torn > 0 {
            tracing::warn!(
                bytes = recovered.torn,
                "cut a torn tail of the log: nothing in it had been answered"
            );
        }
    }
}

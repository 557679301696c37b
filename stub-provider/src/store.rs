//! Where what a provider knows is kept beyond its process.
//!
//! Owns the choice and the questions that the rest asks of it. The ledger and the records stay in
//! memory and know nothing of it: a decision is made there, then it is concluded here, and only
//! then is the key settled and the attempt answered.

use std::{path::PathBuf, sync::Arc};

use crate::{
    accept::Conclusion, core::Core, event::AttemptId, ledger::KeyId, profile::Profile,
    record::Attempt, reply::Reply,
};

mod disk;
mod queue;
mod recover;
mod rows;
mod wal;
mod writer;

pub(crate) use writer::Writer;

use disk::Database;
use queue::{Entry, Queue};

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
            StoreConfig::Memory => Ok((Self::Memory, Opened(None))),
            StoreConfig::Disk { dir, fsync } => {
                let database = Database::open(&dir, fsync, profile.name(), seed).await?;
                let disk = Disk {
                    dir,
                    fsync,
                    recovered: std::sync::OnceLock::new(),
                    queue: Arc::default(),
                };
                Ok((Self::Disk(disk), Opened(Some(database))))
            }
        }
    }

    /// Whether anything is kept beyond the process: then every request takes the long way.
    pub(crate) fn keeps(&self) -> bool {
        !matches!(self, Self::Memory)
    }

    /// Whether it has failed, so that nothing can be accepted any more.
    pub(crate) fn failed(&self) -> bool {
        match self {
            Self::Memory => false,
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
        if let Self::Disk(disk) = self {
            disk.queue.push(Entry::Ended(attempt.clone()));
        }
    }

    /// Returns once the attempt, and everything before it, is on record.
    pub(crate) async fn noted(&self, attempt: &Arc<Attempt>) -> Result<(), Lost> {
        match self {
            Self::Memory => Ok(()),
            Self::Disk(disk) => {
                disk.queue
                    .wait_for(|done| Entry::Noted(attempt.clone(), done))
                    .await
            }
        }
    }

    /// Keeps a decision, then publishes it, whatever becomes of the caller meanwhile.
    pub(crate) async fn conclude(
        &self,
        core: &Arc<Core>,
        conclusion: Box<Conclusion>,
    ) -> Result<(), Lost> {
        match self {
            Self::Memory => {
                conclusion.publish(core);
                Ok(())
            }
            Self::Disk(disk) => {
                let core = core.clone();
                disk.queue
                    .wait_for(|done| Entry::Concluded(core, conclusion, done))
                    .await
            }
        }
    }

    /// Keeps that the stored answer of a key is another one from now on.
    pub(crate) async fn restated(&self, key: &KeyId, reply: &Arc<Reply>) -> Result<(), Lost> {
        match self {
            Self::Memory => Ok(()),
            Self::Disk(disk) => {
                let (key, reply) = (key.clone(), reply.clone());
                disk.queue
                    .wait_for(|done| Entry::Restated(key, reply, done))
                    .await
            }
        }
    }

    /// Keeps that no key is known any more.
    pub(crate) async fn forgotten(&self) -> Result<(), Lost> {
        match self {
            Self::Memory => Ok(()),
            Self::Disk(disk) => disk.queue.wait_for(Entry::Forgotten).await,
        }
    }

    /// Keeps that nothing is known any more, but for the numbers of the next attempt and message.
    pub(crate) async fn cleared(&self, (attempt, message): (AttemptId, u64)) -> Result<(), Lost> {
        match self {
            Self::Memory => Ok(()),
            Self::Disk(disk) => {
                disk.queue
                    .wait_for(|done| Entry::Cleared {
                        attempt,
                        message,
                        done,
                    })
                    .await
            }
        }
    }

    /// Returns once everything so far is kept, the clock's time too.
    pub(crate) async fn flushed(&self) -> Result<(), Lost> {
        match self {
            Self::Memory => Ok(()),
            Self::Disk(disk) => disk.queue.wait_for(Entry::Flushed).await,
        }
    }

    /// Nothing more is to be kept: the writer finishes and lets go of the directory.
    pub(crate) fn close(&self) {
        if let Self::Disk(disk) = self {
            disk.queue.close();
        }
    }

    /// What it is, for people.
    pub(crate) fn shown(&self) -> serde_json::Value {
        match self {
            Self::Memory => serde_json::json!({ "kind": "memory" }),
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

/// An opened store that nothing was read from yet.
pub(crate) struct Opened(Option<Database>);

impl Opened {
    /// Takes up what the store has kept; who keeps what is new from now on.
    pub(crate) async fn recover(self, core: &Core) -> Result<Option<Writer>, StoreError> {
        let (Some(mut database), Store::Disk(disk)) = (self.0, &core.store) else {
            return Ok(None);
        };
        let recovered = database.recover(core).await?;
        tracing::info!(
            directory = %disk.dir.display(),
            fsync = disk.fsync,
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
        // It was never set before.
        let _ = disk.recovered.set(recovered);
        Ok(Some(Writer::new(
            database,
            disk.queue.clone(),
            core.clock.clone(),
        )))
    }
}

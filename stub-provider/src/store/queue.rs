//! What waits to be written.
//!
//! Owns the order of what is to be kept and the wait for it. Whoever needs a commit wakes the
//! writer at once; what nobody waits for goes along with the next commit, or with one of its own
//! a moment later.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::sync::{Notify, oneshot};

use super::Lost;
use crate::{
    accept::Conclusion, core::Core, event::AttemptId, ledger::KeyId, message::MessageId,
    receipt::Tried, record::Attempt, reply::Reply,
};

/// How long something that nobody waits for may stay in memory alone.
const LAZY: Duration = Duration::from_millis(20);

/// Signalled when what waits was committed; dropped where nobody knows.
pub(super) type Done = oneshot::Sender<()>;

/// One thing to keep.
pub(super) enum Entry {
    /// An attempt has come, counted under that key.
    Arrived(Arc<Attempt>, Option<KeyId>),
    /// An attempt is over.
    Ended(Arc<Attempt>),
    /// An attempt is about to be answered.
    Noted(Arc<Attempt>, Done),
    /// An attempt was decided.
    Concluded(Arc<Core>, Box<Conclusion>, Done),
    /// The client was told about a message, or it was tried.
    Told(MessageId, Tried),
    /// A phone has sent a message, in this form, at that time.
    Heard(String, Duration, Done),
    /// A key has another stored answer.
    Restated(KeyId, Arc<Reply>, Done),
    /// No key is known any more.
    Forgotten(Done),
    /// Nothing is known any more.
    Cleared {
        attempt: AttemptId,
        message: u64,
        done: Done,
    },
    /// Nothing; somebody waits for what came before.
    Flushed(Done),
}

/// Everything that waits, in order.
#[derive(Default)]
pub(super) struct Queue {
    pending: Mutex<Pending>,
    changed: Notify,
    failed: AtomicBool,
}

#[derive(Default)]
struct Pending {
    entries: Vec<Entry>,
    /// Somebody waits.
    urgent: bool,
    closing: bool,
}

impl Queue {
    /// Whether nothing can be kept any more.
    pub(super) fn failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// From now on nothing can be kept.
    pub(super) fn fail(&self) {
        self.failed.store(true, Ordering::Release);
    }

    /// Adds something that nobody waits for.
    pub(super) fn push(&self, entry: Entry) {
        let first = {
            let mut pending = self.pending();
            pending.entries.push(entry);
            pending.entries.len() == 1
        };
        if first {
            self.changed.notify_one();
        }
    }

    /// Adds something and waits until it is kept, with everything that came before.
    pub(super) async fn wait_for(&self, entry: impl FnOnce(Done) -> Entry) -> Result<(), Lost> {
        let (done, kept) = oneshot::channel();
        {
            let mut pending = self.pending();
            // After the close nobody reads the queue any more.
            if pending.closing {
                return Err(Lost);
            }
            pending.entries.push(entry(done));
            pending.urgent = true;
        }
        self.changed.notify_one();
        kept.await.map_err(|_| Lost)
    }

    /// Nothing more comes.
    pub(super) fn close(&self) {
        self.pending().closing = true;
        self.changed.notify_one();
    }

    /// The next entries; `None` once everything was taken and nothing more comes.
    pub(super) async fn next(&self) -> Option<Vec<Entry>> {
        let mut waited = false;
        loop {
            let empty = {
                let mut pending = self.pending();
                if pending.urgent || pending.closing || (waited && !pending.entries.is_empty()) {
                    pending.urgent = false;
                    let entries = std::mem::take(&mut pending.entries);
                    return (!entries.is_empty() || !pending.closing).then_some(entries);
                }
                pending.entries.is_empty()
            };
            if empty {
                self.changed.notified().await;
            } else {
                tokio::select! {
                    () = tokio::time::sleep(LAZY) => waited = true,
                    () = self.changed.notified() => {}
                }
            }
        }
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

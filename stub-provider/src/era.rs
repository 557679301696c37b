//! [`Era`]: the provider from one start to the next crash.
//!
//! Owns the connections that are open in it and the signals to them. A connection looks at its
//! signals only when it is woken, so that they cost a request next to nothing.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::Waker,
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use crate::{
    event::{ConnectionId, End},
    fault::Crash,
    wire::Line,
};

/// One life of the provider.
#[derive(Default)]
pub(crate) struct Era {
    over: CancellationToken,
    is_over: AtomicBool,
    draining: AtomicBool,
    crash: OnceLock<Crash>,
    lines: Mutex<HashMap<ConnectionId, (Arc<Line>, Waker)>>,
}

impl Era {
    /// The provider is gone: every connection is reset, all work is dropped.
    pub(crate) fn crash(&self, crash: Crash) {
        if self.crash.set(crash).is_ok() {
            self.cut();
        }
    }

    /// Ends everything.
    pub(crate) fn cut(&self) {
        self.is_over.store(true, Ordering::Release);
        self.over.cancel();
        self.wake();
    }

    /// Connections end once what is under way on them has.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Release);
        self.wake();
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Acquire)
    }

    /// Signalled when it is over.
    pub(crate) fn over(&self) -> &CancellationToken {
        &self.over
    }

    /// The crash that ended it, if one did.
    pub(crate) fn crashed(&self) -> Option<&Crash> {
        self.crash.get()
    }

    /// How an attempt ends whose era is over.
    pub(crate) fn end(&self) -> End {
        match self.crashed() {
            Some(_) => End::Crashed,
            None => End::Shutdown,
        }
    }

    /// A connection is open; its task is woken for every signal from now on.
    pub(crate) fn enter(&self, line: Arc<Line>, waker: Waker) {
        self.lines().insert(line.id, (line, waker));
    }

    /// A connection is over.
    pub(crate) fn leave(&self, id: ConnectionId) {
        self.lines().remove(&id);
    }

    /// Marks and wakes every connection whose request takes longer than `limit` to read.
    pub(crate) fn sweep(&self, limit: Duration) {
        for (line, waker) in self.lines().values() {
            if line.reading_for().is_some_and(|so_far| so_far >= limit) {
                line.mark_slow();
                waker.wake_by_ref();
            }
        }
    }

    fn wake(&self) {
        for (_, waker) in self.lines().values() {
            waker.wake_by_ref();
        }
    }

    fn lines(&self) -> MutexGuard<'_, HashMap<ConnectionId, (Arc<Line>, Waker)>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

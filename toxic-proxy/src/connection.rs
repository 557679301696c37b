//! One connection: two sockets and a link each way between them.
//!
//! A single task owns both sockets and moves the data of both directions. The
//! links are shared with whoever adds and removes toxics, under a lock that is
//! taken for one poll at a time and never held across an await: a change is in
//! force when the lock is free again.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::half::Half;
use crate::link::Link;
use crate::toxic::Stream;
use crate::traffic::{Counters, SideEnd, Traffic};
use crate::wire::{Finish, Report, Wire};

/// What the proxy may reach of a connection while its task runs.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) id: u64,
    state: Mutex<State>,
    /// Cancelled when both sockets are closed.
    pub(crate) done: CancellationToken,
}

#[derive(Debug, Default)]
struct State {
    up: Link,
    down: Link,
    /// The proxy is being stopped.
    closing: bool,
    waker: Option<Waker>,
}

impl Connection {
    pub(crate) fn new(id: u64, up: Link, down: Link) -> Self {
        let state = State {
            up,
            down,
            ..State::default()
        };
        Self {
            id,
            state: Mutex::new(state),
            done: CancellationToken::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the link of one stream. The change is in force on return.
    pub(crate) fn change(
        &self,
        stream: Stream,
        traffic: &Traffic,
        change: impl FnOnce(&mut Link, Instant, &mut Vec<Arc<str>>),
    ) {
        let mut state = self.state();
        let mut acted = Vec::new();
        let link = match stream {
            Stream::Upstream => &mut state.up,
            Stream::Downstream => &mut state.down,
        };
        change(link, Instant::now(), &mut acted);
        for toxic in acted {
            traffic.hit(self.id, &toxic);
        }
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }

    /// Asks the task to close both sockets with FIN; `done` tells when it has.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.closing = true;
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }

    /// Connects to the upstream and carries data until both sides are closed.
    pub(crate) async fn run(
        self: Arc<Self>,
        client: TcpStream,
        peer: SocketAddr,
        upstream: String,
        traffic: Arc<Traffic>,
        counters: Arc<Counters>,
    ) {
        let _done = self.done.clone().drop_guard();
        // Fails only on a socket that is gone already, which the first read tells.
        let _ = client.set_nodelay(true);
        let dialled = tokio::select! {
            dialled = TcpStream::connect(&upstream) => Some(dialled),
            () = poll_fn(|cx| self.poll_closing(cx)) => None,
        };
        let (client, server, local) = match dialled {
            Some(Ok(server)) => match server.local_addr() {
                Ok(local) => (client, server, local),
                Err(error) => return self.unreachable(client, &upstream, &traffic, &error),
            },
            Some(Err(error)) => return self.unreachable(client, &upstream, &traffic, &error),
            None => {
                Half::new(client).close(false);
                traffic.closed(self.id, SideEnd::Fin, SideEnd::Unreachable);
                return;
            }
        };
        let _ = server.set_nodelay(true);
        traffic.opened(self.id, peer, local);
        let mut wire = Wire::new(Half::new(client), Half::new(server));
        let finish = poll_fn(|cx| {
            let mut state = self.state();
            if state.closing {
                return Poll::Ready(Finish::Fin);
            }
            if !state
                .waker
                .as_ref()
                .is_some_and(|waker| waker.will_wake(cx.waker()))
            {
                state.waker = Some(cx.waker().clone());
            }
            let State { up, down, .. } = &mut *state;
            wire.poll(
                cx,
                up,
                down,
                &mut Report {
                    id: self.id,
                    traffic: &traffic,
                    counters: &counters,
                },
            )
        })
        .await;
        let (client_end, upstream_end) = wire.close(finish);
        traffic.closed(self.id, client_end, upstream_end);
    }

    /// The upstream was not reached, or has hung up before we noticed that it
    /// had been.
    fn unreachable(
        &self,
        client: TcpStream,
        upstream: &str,
        traffic: &Traffic,
        error: &std::io::Error,
    ) {
        let reset = error.kind() == std::io::ErrorKind::ConnectionReset;
        tracing::warn!(connection = self.id, upstream, %error, reset, "upstream not reached; client closed");
        Half::new(client).close(reset);
        if reset {
            traffic.closed(self.id, SideEnd::Rst, SideEnd::Rst);
        } else {
            traffic.closed(self.id, SideEnd::Fin, SideEnd::Unreachable);
        }
    }

    fn poll_closing(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.state();
        if state.closing {
            return Poll::Ready(());
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

//! The listening socket through starts and crashes.
//!
//! Owns accepting connections, their number, and being gone for a while on the same port.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, atomic::AtomicU64, atomic::Ordering},
    time::Duration,
};

use socket2::{Domain, Protocol, Socket, Type};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tokio_util::task::TaskTracker;

use crate::{connection, core::Core, era::Era, event::EventKind, fault::Memory, wire::Line};

/// As many connects wait unaccepted as the system allows.
const BACKLOG: i32 = 4096;

/// A socket bound to `addr` that does not listen yet: connects are refused.
fn bind(addr: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(addr), Type::STREAM, Some(Protocol::TCP))?;
    // Connections of the era before may linger on the port.
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&addr.into())?;
    Ok(socket)
}

fn listen(socket: Socket) -> io::Result<TcpListener> {
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

/// A listening socket on `addr`.
pub(crate) fn open(addr: SocketAddr) -> io::Result<TcpListener> {
    listen(bind(addr)?)
}

/// Serves until the provider stops, through every crash.
pub(crate) async fn run(core: Arc<Core>, listener: TcpListener, addr: SocketAddr) {
    let ids = AtomicU64::new(0);
    let mut listener = listener;
    loop {
        let era = Arc::new(Era::default());
        let connections = TaskTracker::new();
        accept(&core, &era, &connections, &listener, &ids).await;
        drop(listener);
        let Some(crash) = era.crashed().cloned() else {
            finish(&core, &era, &connections).await;
            return;
        };
        // Bound but not listening: the port stays ours, and connects to it are refused.
        let placeholder = bind(addr);
        core.observers.emit(|| EventKind::Crashed);
        tracing::info!(down_for = %crash.lasts, "crashed, by a fault");
        let back = core.clock.now().saturating_add(crash.lasts.0);
        connections.close();
        connections.wait().await;
        core.ledger.lift_refusals();
        if crash.memory == Memory::Lost {
            // First what is on its way: nothing may be settled after it was forgotten.
            if core.store.forgotten().await.is_err() {
                tracing::warn!("the keys are forgotten, but not in the store");
            }
            core.ledger.forget();
        }
        tokio::select! {
            () = core.clock.sleep_until(back) => {}
            () = core.stopping.cancelled() => return,
        }
        listener = match placeholder.and_then(listen) {
            Ok(listener) => listener,
            Err(error) => {
                tracing::debug!(%addr, %error, "cannot listen again yet; trying on");
                match again(&core, addr).await {
                    Some(listener) => listener,
                    None => return,
                }
            }
        };
        core.observers.emit(|| EventKind::Restarted);
        tracing::info!("back after the crash");
    }
}

/// Tries to listen until it works; `None` where the provider stops first.
async fn again(core: &Core, addr: SocketAddr) -> Option<TcpListener> {
    loop {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(20)) => {}
            () = core.stopping.cancelled() => return None,
        }
        if let Ok(listener) = open(addr) {
            return Some(listener);
        }
    }
}

/// Accepts connections until the era is over or the provider stops.
async fn accept(
    core: &Arc<Core>,
    era: &Arc<Era>,
    connections: &TaskTracker,
    listener: &TcpListener,
    ids: &AtomicU64,
) {
    let slots = Arc::new(Semaphore::new(core.limits.connections));
    let limit = core.limits.read_timeout;
    let every = (limit / 4).max(Duration::from_millis(10));
    let mut sweep = tokio::time::interval(every);
    sweep.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let next = async {
            // Beyond the limit clients wait in the backlog. The semaphore is never closed.
            let slot = slots.clone().acquire_owned().await.ok();
            (slot, listener.accept().await)
        };
        let (slot, accepted) = tokio::select! {
            biased;
            () = era.over().cancelled() => return,
            () = core.stopping.cancelled() => return,
            _ = sweep.tick() => {
                era.sweep(limit);
                continue;
            }
            next = next => next,
        };
        match accepted {
            Ok((stream, peer)) => {
                let id = ids.fetch_add(1, Ordering::Relaxed) + 1;
                start(core, era, connections, (slot, stream, peer, id));
            }
            Err(error) => {
                // Mostly too many open files: the next try can succeed once one is closed.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    }
}

fn start(
    core: &Arc<Core>,
    era: &Arc<Era>,
    connections: &TaskTracker,
    (slot, stream, peer, id): (Option<OwnedSemaphorePermit>, TcpStream, SocketAddr, u64),
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(connection = id, %error, "gone before it could be served");
    }
    let (line, wire) = Line::new(core.clone(), id, peer, stream);
    let era = era.clone();
    connections.spawn(async move {
        connection::serve(line, wire, era).await;
        drop(slot);
    });
}

/// Lets what is under way come to its end, within the grace; then cuts the rest.
async fn finish(core: &Core, era: &Era, connections: &TaskTracker) {
    connections.close();
    era.drain();
    let orderly = tokio::time::timeout(core.limits.grace, connections.wait()).await;
    if orderly.is_err() {
        tracing::debug!("connections are cut at the end of the grace period");
    }
    era.cut();
    connections.wait().await;
    core.tasks.close();
    core.tasks.wait().await;
}

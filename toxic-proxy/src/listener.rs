//! The listening socket of a proxy: open, closed, or a blackhole.
//!
//! A blackhole does not answer new connects at all: its backlog is shrunk to
//! nothing and filled with connections of our own, so that the kernel drops
//! every further SYN.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Duration, timeout};

const BACKLOG: i32 = 1024;

/// A connect on loopback completes within the call; one that has not completed
/// after this time was dropped, or will itself fill the queue when it arrives.
const UNANSWERED: Duration = Duration::from_millis(100);

/// More fillers than this are never needed with a backlog of nothing.
const FILLERS: usize = 16;

/// A client that has been accepted.
pub(crate) type Accepted = (TcpStream, SocketAddr);

#[derive(Debug, Default)]
struct State {
    socket: Option<TcpListener>,
    blackhole: bool,
    fillers: Vec<TcpStream>,
    waker: Option<Waker>,
    /// Counts sockets, so that whoever accepts on an old one takes nothing
    /// from its successor.
    generation: u64,
}

impl State {
    fn replace(&mut self, socket: Option<TcpListener>) {
        let generation = self.generation + 1;
        if let Some(waker) = std::mem::take(self).waker {
            waker.wake();
        }
        (self.socket, self.generation) = (socket, generation);
    }
}

/// A listening socket that can be shut and blackholed while someone accepts.
#[derive(Debug, Default)]
pub(crate) struct Listener {
    state: Mutex<State>,
}

/// Binds a socket as Toxiproxy does: an absent host means every address.
pub(crate) fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    if address.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    // A proxy that is disabled and enabled again finds its port in use by the
    // last connections otherwise.
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

/// Takes what waits in the kernel's queue.
fn drain(listener: &TcpListener) -> Vec<Accepted> {
    let mut accepted = Vec::new();
    while let Ok((socket, peer)) = SockRef::from(listener).accept() {
        let Some(peer) = peer.as_socket() else {
            continue;
        };
        let stream = socket
            .set_nonblocking(true)
            .and_then(|()| TcpStream::from_std(socket.into()));
        match stream {
            Ok(stream) => accepted.push((stream, peer)),
            Err(error) => tracing::warn!(%peer, %error, "accepted client lost"),
        }
    }
    accepted
}

fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// Starts a connect that nobody will use, and waits whether it is answered.
async fn filler(address: SocketAddr) -> io::Result<(TcpStream, bool)> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    socket.set_nonblocking(true)?;
    // It goes without a trace when it is dropped.
    socket.set_linger(Some(Duration::ZERO))?;
    match socket.connect(&address.into()) {
        Ok(()) => {}
        Err(error)
            if error.kind() == io::ErrorKind::WouldBlock
                || error.raw_os_error() == Some(EINPROGRESS) => {}
        Err(error) => return Err(error),
    }
    let stream = TcpStream::from_std(socket.into())?;
    let answered =
        timeout(UNANSWERED, stream.writable()).await.is_ok() && stream.peer_addr().is_ok();
    Ok((stream, answered))
}

/// What a non-blocking connect says while it is under way, on Linux.
const EINPROGRESS: i32 = 115;

impl Listener {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts to accept on this socket; returns what to accept with.
    pub(crate) fn open(&self, socket: TcpListener) -> u64 {
        let mut state = self.state();
        state.replace(Some(socket));
        state.generation
    }

    /// Closes the socket; connects are refused from here on.
    pub(crate) fn shut(&self) {
        self.state().replace(None);
    }

    /// Whether new connects are dropped.
    pub(crate) fn is_blackhole(&self) -> bool {
        self.state().blackhole
    }

    /// The next client; `None` once that socket is closed.
    pub(crate) fn poll_accept(
        &self,
        generation: u64,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Accepted>>> {
        let mut state = self.state();
        if state.generation != generation {
            return Poll::Ready(None);
        }
        state.waker = Some(cx.waker().clone());
        let Some(socket) = &state.socket else {
            return Poll::Ready(None);
        };
        if state.blackhole {
            return Poll::Pending;
        }
        Poll::Ready(Some(ready!(socket.poll_accept(cx))))
    }

    /// Stops to answer connects, but for what the queue still takes. Returns
    /// the clients whose connects had been answered before, which are to be
    /// served as usual, and the address for [`Listener::fill`]; `None` where
    /// it is dark already.
    pub(crate) fn dim(&self) -> io::Result<Option<(Vec<Accepted>, SocketAddr)>> {
        let mut state = self.state();
        let Some(socket) = &state.socket else {
            return Err(io::Error::new(
                io::ErrorKind::NotConnected,
                "the proxy is not enabled",
            ));
        };
        if state.blackhole {
            return Ok(None);
        }
        let address = reachable(socket.local_addr()?);
        SockRef::from(socket).listen(0)?;
        let accepted = drain(socket);
        state.blackhole = true;
        Ok(Some((accepted, address)))
    }

    /// Takes the places that are left in the queue, until none is.
    pub(crate) async fn fill(&self, address: SocketAddr) -> io::Result<()> {
        for _ in 0..FILLERS {
            let (stream, answered) = filler(address).await?;
            let mut state = self.state();
            if !state.blackhole {
                return Ok(());
            }
            state.fillers.push(stream);
            if !answered {
                return Ok(());
            }
        }
        Err(io::Error::other("its queue does not fill up"))
    }

    /// Answers connects again. Returns the clients that wait already.
    pub(crate) fn lighten(&self) -> io::Result<Vec<Accepted>> {
        let mut state = self.state();
        if !state.blackhole {
            return Ok(Vec::new());
        }
        state.blackhole = false;
        let fillers = std::mem::take(&mut state.fillers);
        let ours: Vec<SocketAddr> = fillers
            .iter()
            .filter_map(|filler| filler.local_addr().ok())
            .collect();
        // Unanswered fillers must be gone before there is room for them.
        drop(fillers);
        let Some(socket) = &state.socket else {
            return Ok(Vec::new());
        };
        let mut accepted = drain(socket);
        accepted.retain(|(_, peer)| !ours.contains(peer));
        SockRef::from(socket).listen(BACKLOG)?;
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
        Ok(accepted)
    }
}

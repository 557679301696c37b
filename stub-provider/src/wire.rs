//! [`Line`]: one client's connection as the server's socket sees it.
//!
//! Owns the socket, what is known of its two ends, and the ways to end it: a FIN, an RST, some
//! last bytes. HTTP is spoken by hyper on a [`Wire`], which passes every byte through and only
//! notes what happened.

use std::{
    io,
    net::SocketAddr,
    ops::Deref,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
};

use crate::{
    core::Core,
    event::{ConnectionId, End, EventKind},
    record::Attempt,
};

/// The last thing that happens on a connection.
#[derive(Debug)]
pub(crate) struct LastWords {
    /// What is still sent, as it is.
    pub(crate) bytes: Vec<u8>,
    /// An RST in place of a FIN.
    pub(crate) reset: bool,
    /// How the attempt ended by it.
    pub(crate) end: End,
}

/// The socket, for all but its reader. Its end is a matter of the socket's options alone: the half
/// of tokio's would send a FIN where an RST is to come.
struct Socket(Option<OwnedWriteHalf>);

impl Deref for Socket {
    type Target = TcpStream;

    fn deref(&self) -> &TcpStream {
        self.0.as_ref().expect("it is there until the end").as_ref()
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(OwnedWriteHalf::forget);
    }
}

/// One connection.
pub(crate) struct Line {
    pub(crate) core: Arc<Core>,
    pub(crate) id: ConnectionId,
    pub(crate) peer: SocketAddr,
    stream: Socket,
    opened: Instant,
    requests: AtomicU32,
    /// When the request that is being read began, in microseconds since `opened`, plus one.
    reading_since: AtomicU64,
    received: AtomicU64,
    /// The whole answer is with hyper; the next flush hands it to the socket.
    leaving: AtomicBool,
    slow: AtomicBool,
    gone: AtomicU8,
    open: Mutex<Open>,
    last_words: Mutex<Option<LastWords>>,
}

/// The attempts whose end the connection decides.
#[derive(Default)]
struct Open {
    attempt: Option<Arc<Attempt>>,
    /// Those of the same request, where it carries several messages.
    beside: Vec<Arc<Attempt>>,
}

const CLOSED: u8 = 1;
const RESET: u8 = 2;

impl Line {
    /// The line, and its side that hyper speaks on.
    pub(crate) fn new(
        core: Arc<Core>,
        id: ConnectionId,
        peer: SocketAddr,
        stream: TcpStream,
    ) -> (Arc<Self>, Wire) {
        let (reads, writes) = stream.into_split();
        let line = Arc::new(Self {
            core,
            id,
            peer,
            stream: Socket(Some(writes)),
            opened: Instant::now(),
            requests: AtomicU32::new(0),
            reading_since: AtomicU64::new(1),
            received: AtomicU64::new(0),
            leaving: AtomicBool::new(false),
            slow: AtomicBool::new(false),
            gone: AtomicU8::new(0),
            open: Mutex::default(),
            last_words: Mutex::new(None),
        });
        let wire = Wire {
            line: line.clone(),
            reads,
        };
        (line, wire)
    }

    /// A request was read whole: which one of this connection it is, from 1.
    pub(crate) fn next_request(&self) -> u32 {
        self.reading_since.store(0, Ordering::Relaxed);
        self.received.store(0, Ordering::Relaxed);
        self.requests.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Bytes of a request came.
    fn came(&self, bytes: usize) {
        if self.received.fetch_add(bytes as u64, Ordering::Relaxed) == 0 {
            let since = self.opened.elapsed().as_micros();
            let since = u64::try_from(since).unwrap_or(u64::MAX - 1) + 1;
            self.reading_since.store(since, Ordering::Relaxed);
        }
    }

    /// How many requests were read whole.
    pub(crate) fn requests(&self) -> u32 {
        self.requests.load(Ordering::Relaxed)
    }

    /// How long the request that is being read has taken so far.
    pub(crate) fn reading_for(&self) -> Option<Duration> {
        let since = self.reading_since.load(Ordering::Relaxed).checked_sub(1)?;
        Some(
            self.opened
                .elapsed()
                .saturating_sub(Duration::from_micros(since)),
        )
    }

    /// The request that is being read takes too long.
    pub(crate) fn mark_slow(&self) {
        self.slow.store(true, Ordering::Relaxed);
    }

    /// Whether it was marked and is still being read after `limit`.
    pub(crate) fn is_slow(&self, limit: Duration) -> bool {
        self.slow.load(Ordering::Relaxed)
            && self.slow.swap(false, Ordering::Relaxed)
            && self.reading_for().is_some_and(|so_far| so_far >= limit)
    }

    /// How many bytes of a request came that was not read whole.
    pub(crate) fn unread(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// From now on this attempt is the one whose end the connection decides.
    pub(crate) fn carry(&self, attempt: Arc<Attempt>) {
        self.open().attempt = Some(attempt);
    }

    /// From now on the connection decides the end of this attempt too.
    pub(crate) fn carry_beside(&self, attempt: Arc<Attempt>) {
        self.open().beside.push(attempt);
    }

    /// Every attempt on this connection is over.
    pub(crate) fn finish(&self, end: End) {
        let Open { attempt, beside } = std::mem::take(&mut *self.open());
        for attempt in attempt.into_iter().chain(beside) {
            if attempt.finish(end) {
                self.core.store.ended(&attempt);
                self.core.tally.ended(&attempt, end);
                self.core.observers.emit(|| EventKind::Ended {
                    attempt: attempt.id,
                    end,
                });
            }
        }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer is with hyper, to the last byte.
    pub(crate) fn leaving(&self) {
        self.leaving.store(true, Ordering::Relaxed);
    }

    pub(crate) fn say_last(&self, words: LastWords) {
        *self
            .last_words
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(words);
    }

    pub(crate) fn last_words(&self) -> Option<LastWords> {
        self.last_words
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// How the client's side has gone, if it has.
    pub(crate) fn gone(&self) -> Option<End> {
        match self.gone.load(Ordering::Relaxed) {
            CLOSED => Some(End::ClientClosed),
            RESET => Some(End::ClientReset),
            _ => None,
        }
    }

    /// Returns once the client has hung up while its answer is being worked on.
    pub(crate) async fn hang_up(&self) -> End {
        let mut byte = [0];
        loop {
            match self.stream.peek(&mut byte).await {
                Ok(0) => {
                    self.gone.store(CLOSED, Ordering::Relaxed);
                    return End::ClientClosed;
                }
                // The next request waits already, and what is behind it cannot be seen by a peek.
                Ok(_) => {
                    if let Ok(Some(error)) = self.stream.take_error() {
                        return self.failed(&error);
                    }
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    let ready = self.stream.ready(tokio::io::Interest::READABLE).await;
                    if ready.is_ok_and(tokio::io::Ready::is_read_closed) {
                        self.gone.store(CLOSED, Ordering::Relaxed);
                        return End::ClientClosed;
                    }
                }
                Err(error) => return self.failed(&error),
            }
        }
    }

    fn failed(&self, error: &io::Error) -> End {
        // Writing to a client that has closed shows as a broken pipe: its FIN came first.
        let end = match error.kind() {
            io::ErrorKind::BrokenPipe => CLOSED,
            _ => RESET,
        };
        let _ = self
            .gone
            .compare_exchange(0, end, Ordering::Relaxed, Ordering::Relaxed);
        self.gone().unwrap_or(End::ClientReset)
    }

    /// Sends bytes outside HTTP.
    pub(crate) async fn send(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.stream.writable().await?;
            match self.stream.try_write(bytes) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// The close of the socket will be an RST.
    pub(crate) fn reset(&self) {
        // It can only fail where the connection is gone already.
        let _ = socket2::SockRef::from(&*self.stream).set_linger(Some(Duration::ZERO));
    }

    /// Sends a FIN.
    pub(crate) fn close(&self) {
        // It can only fail where the connection is gone already.
        let _ = socket2::SockRef::from(&*self.stream).shutdown(std::net::Shutdown::Write);
    }
}

/// The connection as hyper reads and writes it.
pub(crate) struct Wire {
    line: Arc<Line>,
    /// Knows after a short read that nothing is left, and does not ask the system again.
    reads: OwnedReadHalf,
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = ready!(Pin::new(&mut self.reads).poll_read(cx, buf));
        let line = &*self.line;
        if let Err(error) = &read {
            line.failed(error);
        } else if buf.filled().len() == before {
            line.gone.store(CLOSED, Ordering::Relaxed);
        } else {
            line.came(buf.filled().len() - before);
        }
        Poll::Ready(read)
    }
}

impl Wire {
    fn poll_with(
        &self,
        cx: &mut Context<'_>,
        write: impl Fn(&TcpStream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        let line = &*self.line;
        loop {
            ready!(line.stream.poll_write_ready(cx))?;
            match write(&line.stream) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                Err(e) => {
                    line.failed(&e);
                    return Poll::Ready(Err(e));
                }
                sent => return Poll::Ready(sent),
            }
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_with(cx, |stream| stream.try_write(buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_with(cx, |stream| stream.try_write_vectored(bufs))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // hyper flushes the socket only once its own buffer is empty.
        if self.line.leaving.swap(false, Ordering::Relaxed) {
            self.line.finish(End::Answered);
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.line.close();
        Poll::Ready(Ok(()))
    }
}

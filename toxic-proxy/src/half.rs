//! One socket of a connection: reading, writing, and ending it so that the
//! peer can tell FIN from RST.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use crate::item::End;

/// How much unread data is thrown away before an orderly close. A socket that
/// is closed with unread data sends RST in place of FIN.
const DRAINED: usize = 1 << 20;

type Watch = Pin<Box<dyn Future<Output = OwnedReadHalf> + Send>>;

enum Reading {
    Open(OwnedReadHalf),
    /// The peer has sent FIN; an RST may still follow, and is waited for.
    Ended(Watch),
}

/// What reading brings.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// So many bytes.
    Data(usize),
    /// FIN or RST.
    End(End),
}

/// A connected socket.
pub(crate) struct Half {
    reading: Option<Reading>,
    writing: OwnedWriteHalf,
}

impl Half {
    pub(crate) fn new(socket: TcpStream) -> Self {
        let (read, writing) = socket.into_split();
        Self {
            reading: Some(Reading::Open(read)),
            writing,
        }
    }

    /// Reads into `buffer`. After an end this is always pending.
    pub(crate) fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<Read> {
        let Some(Reading::Open(read)) = &mut self.reading else {
            return Poll::Pending;
        };
        let mut buffer = ReadBuf::new(buffer);
        match ready!(Pin::new(read).poll_read(cx, &mut buffer)) {
            Ok(()) if buffer.filled().is_empty() => {
                if let Some(Reading::Open(read)) = self.reading.take() {
                    self.reading = Some(Reading::Ended(Box::pin(async move {
                        // An error here says that the runtime is going down;
                        // nothing is left to wait for then either.
                        let _ = read.ready(Interest::ERROR).await;
                        read
                    })));
                }
                Poll::Ready(Read::End(End::Fin))
            }
            Ok(()) => Poll::Ready(Read::Data(buffer.filled().len())),
            Err(_) => Poll::Ready(Read::End(End::Reset)),
        }
    }

    /// After the peer's FIN: whether an RST has followed.
    pub(crate) fn poll_reset(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(Reading::Ended(watch)) = &mut self.reading else {
            return Poll::Pending;
        };
        let read = ready!(watch.as_mut().poll(cx));
        self.reading = Some(Reading::Open(read));
        Poll::Ready(())
    }

    /// Writes some of `bytes`. An error means that the peer is gone.
    pub(crate) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.writing).poll_write(cx, bytes)
    }

    /// Sends FIN; the peer may still send.
    pub(crate) fn finish_writing(&mut self, cx: &mut Context<'_>) {
        // Fails only where the peer has reset the connection, which the next
        // read tells.
        let _ = Pin::new(&mut self.writing).poll_shutdown(cx);
    }

    /// Closes the socket, with RST or with FIN.
    pub(crate) fn close(self, reset: bool) {
        let Self { reading, writing } = self;
        if reset {
            if let Err(error) =
                SockRef::from(writing.as_ref()).set_linger(Some(std::time::Duration::ZERO))
            {
                tracing::warn!(%error, "socket could not be told to reset; it is closed with FIN");
            }
            // Dropping it as usual would send FIN first.
            writing.forget();
            drop(reading);
            return;
        }
        if let Some(Reading::Open(read)) = &reading {
            let mut scratch = [0; 4096];
            let mut drained = 0;
            while drained < DRAINED {
                match read.try_read(&mut scratch) {
                    Ok(0) | Err(_) => break,
                    Ok(n) => drained += n,
                }
            }
        }
    }
}

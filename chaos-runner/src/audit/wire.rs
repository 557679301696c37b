//! [`Wire`]: one connection to the provider, byte by byte.
//!
//! Owns connecting (with TLS where the URL asks for it), writing in parts, reading one answer, and
//! ending with an RST. What is written and when is decided elsewhere.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf},
    net::TcpStream,
};
use tokio_native_tls::TlsStream;

use super::{
    answer::{self, Read},
    exchange::Answer,
    target::Target,
};

/// One connection.
pub(super) struct Wire(Stream);

enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(tls) => tls.get_ref().get_ref().get_ref(),
        }
    }

    fn both(self: Pin<&mut Self>) -> Pin<&mut dyn Both> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket as &mut dyn Both),
            Self::Tls(tls) => Pin::new(tls.as_mut() as &mut dyn Both),
        }
    }
}

/// A stream of either kind.
trait Both: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Both for T {}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.both().poll_read(cx, buf)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.both().poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.both().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.both().poll_shutdown(cx)
    }
}

impl Wire {
    /// Connects, and speaks TLS where the URL says so.
    pub(super) async fn connect(target: &Target) -> io::Result<Self> {
        let socket = TcpStream::connect((target.host.as_str(), target.port)).await?;
        // What is written last must leave at once.
        socket.set_nodelay(true)?;
        if !target.tls {
            return Ok(Self(Stream::Plain(socket)));
        }
        let tls = native_tls::TlsConnector::new().map_err(io::Error::other)?;
        let tls = tokio_native_tls::TlsConnector::from(tls);
        let stream = tls
            .connect(&target.host, socket)
            .await
            .map_err(io::Error::other)?;
        Ok(Self(Stream::Tls(Box::new(stream))))
    }

    /// Hands all of `bytes` to the socket.
    pub(super) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes).await?;
        self.0.flush().await
    }

    /// Returns once a byte of the answer, or the end of the connection, is there.
    pub(super) async fn hear(&self) -> io::Result<()> {
        self.0.socket().readable().await
    }

    /// Reads the answer whole.
    pub(super) async fn read(&mut self) -> Result<Answer, String> {
        let mut bytes = Vec::new();
        loop {
            let read = self.0.read_buf(&mut bytes).await;
            let over = match &read {
                Ok(length) => *length == 0,
                // A peer that resets after its last byte has still said it.
                Err(_) => true,
            };
            match (answer::read(&bytes), over) {
                (Read::Whole(answer), _) => return Ok(answer),
                (Read::UntilClose(answer), true) if read.is_ok() => return Ok(answer),
                (Read::Wrong(why), _) => return Err(why),
                (_, false) => {}
                (_, true) => {
                    return Err(match read {
                        Err(error) => format!("{} ({} bytes came)", said(&error), bytes.len()),
                        Ok(_) if bytes.is_empty() => "the connection was closed".to_owned(),
                        Ok(_) => format!("closed after {} bytes of it", bytes.len()),
                    });
                }
            }
        }
    }

    /// The answer, where the whole of it is there, left unread. Behind TLS nothing can be seen.
    pub(super) async fn peek(&self) -> Option<Answer> {
        let Stream::Plain(socket) = &self.0 else {
            return None;
        };
        let mut bytes = vec![0; 64 * 1024];
        let length = socket.peek(&mut bytes).await.ok()?;
        match answer::read(&bytes[..length]) {
            Read::Whole(answer) => Some(answer),
            Read::More | Read::UntilClose(_) | Read::Wrong(_) => None,
        }
    }

    /// Ends the connection with an RST: what is not sent or not read yet is thrown away.
    pub(super) fn reset(self) -> io::Result<()> {
        socket2::SockRef::from(self.0.socket()).set_linger(Some(Duration::ZERO))
    }
}

/// What an error of a connection means, in a few words.
pub(super) fn said(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "the connection was refused".to_owned(),
        io::ErrorKind::ConnectionReset => "the connection was reset".to_owned(),
        io::ErrorKind::BrokenPipe => "the connection was closed by the other side".to_owned(),
        _ => error.to_string(),
    }
}

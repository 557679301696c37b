//! A client on a connection that is kept: one request at a time, on one thread with its provider,
//! so that nothing but the request is worked on.

use std::io;

use stub_provider::{Config, Provider};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    runtime::{Builder, Runtime},
};

/// The message that each request submits.
const BODY: &str = r#"{"to":"+12025550142","body":"Your code is 471142"}"#;

/// The client, and the provider that it asks.
pub struct Client {
    runtime: Runtime,
    stream: TcpStream,
    answer: Vec<u8>,
    // Stops where it is dropped.
    _provider: Provider,
}

impl Client {
    /// A client of a provider that knows nothing yet.
    pub fn new() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (provider, stream) = runtime.block_on(async {
            let provider = Provider::start(Config::default())
                .await
                .map_err(io::Error::other)?;
            let stream = TcpStream::connect(provider.addr()).await?;
            stream.set_nodelay(true)?;
            io::Result::Ok((provider, stream))
        })?;
        Ok(Self {
            runtime,
            stream,
            answer: Vec::new(),
            _provider: provider,
        })
    }

    /// Submits a message under `key` and takes the answer, which must accept it.
    pub fn submit(&mut self, key: &str) -> io::Result<()> {
        let request = format!(
            "POST /v1/messages HTTP/1.1\r\nHost: stub\r\nIdempotency-Key: {key}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{BODY}",
            BODY.len(),
        );
        self.answer.clear();
        self.runtime.block_on(async {
            self.stream.write_all(request.as_bytes()).await?;
            // The answer is an object without objects in it: it ends at the first brace that does.
            while !self.answer.ends_with(b"}") {
                if self.stream.read_buf(&mut self.answer).await? == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            io::Result::Ok(())
        })?;
        if self.answer.starts_with(b"HTTP/1.1 201 ") {
            Ok(())
        } else {
            let answer = String::from_utf8_lossy(&self.answer);
            Err(io::Error::other(format!("not accepted: {answer}")))
        }
    }
}

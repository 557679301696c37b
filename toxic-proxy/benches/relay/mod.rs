//! A connection through a proxy, both of its ends on one thread with the engine, so that nothing
//! but the bytes that pass is worked on.

use std::io;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    runtime::{Builder, Runtime},
};
use toxic_proxy::{Attributes, Config, NewProxy, Server, Stream, Toxic};

/// The connection, and the engine that it goes through.
pub struct Relay {
    runtime: Runtime,
    client: TcpStream,
    provider: TcpStream,
    received: Vec<u8>,
    // The proxies are gone where it is dropped.
    _server: Server,
}

impl Relay {
    /// A connection with this toxic on its way up, or with none.
    pub fn through(toxic: Option<Attributes>) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (server, client, provider) = runtime.block_on(open(toxic))?;
        Ok(Self {
            runtime,
            client,
            provider,
            received: Vec::new(),
            _server: server,
        })
    }

    /// Sends `data` and waits until all of it has come out at the other end.
    pub fn pass(&mut self, data: &[u8]) -> io::Result<()> {
        self.received.resize(data.len(), 0);
        let (client, provider) = (&mut self.client, &mut self.provider);
        let received = &mut self.received;
        self.runtime.block_on(async {
            tokio::try_join!(client.write_all(data), provider.read_exact(received))?;
            Ok(())
        })
    }
}

async fn open(toxic: Option<Attributes>) -> io::Result<(Server, TcpStream, TcpStream)> {
    let upstream = TcpListener::bind("127.0.0.1:0").await?;
    let listen = ([127, 0, 0, 1], 0).into();
    let server = Server::bind(Config { listen, seed: 1 })
        .await
        .map_err(io::Error::other)?;
    let engine = server.engine();
    let to = upstream.local_addr()?.to_string();
    let proxy = engine
        .create_proxy(NewProxy::new("sms", "127.0.0.1:0", to))
        .await
        .map_err(io::Error::other)?;
    if let Some(attributes) = toxic {
        engine
            .add_toxic("sms", Toxic::new(Stream::Upstream, attributes))
            .map_err(io::Error::other)?;
    }
    let client = TcpStream::connect(&proxy.listen).await?;
    client.set_nodelay(true)?;
    let (provider, _) = upstream.accept().await?;
    Ok((server, client, provider))
}

//! A proxy between a listening socket and whoever connects, for the tests.

#![expect(
    unreachable_pub,
    reason = "each test program has this as a module of its own"
)]
#![cfg_attr(
    test,
    expect(dead_code, reason = "each test program uses a part of this")
)]

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinHandle;
use tokio::time::{Duration, timeout};
use tokio_util::sync::CancellationToken;
use toxic_proxy::{Config, ConnectionEvent, Engine, NewProxy, Server};

/// Longer than anything here takes; reached only where a test has failed.
pub const LONG: Duration = Duration::from_secs(30);

/// The name of the lab's proxy.
pub const PROXY: &str = "sms";

pub struct Lab {
    pub engine: Engine,
    pub api: SocketAddr,
    pub listen: String,
    pub upstream: TcpListener,
    pub events: UnboundedReceiver<ConnectionEvent>,
    shutdown: CancellationToken,
    server: JoinHandle<()>,
}

impl Lab {
    pub async fn new() -> Self {
        Self::seeded(1).await
    }

    pub async fn seeded(seed: u64) -> Self {
        let upstream = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let listen = "127.0.0.1:0".parse().expect("an address");
        let server = Server::bind(Config { listen, seed })
            .await
            .expect("a free port");
        let (engine, api) = (server.engine(), server.api_addr());
        let shutdown = CancellationToken::new();
        let server = tokio::spawn(server.serve(shutdown.clone()));
        let to = upstream.local_addr().expect("it is bound").to_string();
        let proxy = engine
            .create_proxy(NewProxy::new(PROXY, "127.0.0.1:0", to))
            .await
            .expect("a new proxy");
        let events = engine.subscribe(PROXY);
        Self {
            engine,
            api,
            listen: proxy.listen,
            upstream,
            events,
            shutdown,
            server,
        }
    }

    /// Stops the server as the program does on a signal.
    pub async fn stop(self) {
        self.shutdown.cancel();
        timeout(LONG, self.server)
            .await
            .expect("it stops")
            .expect("it does not panic");
    }

    pub async fn client(&self) -> TcpStream {
        TcpStream::connect(&self.listen)
            .await
            .expect("the proxy listens")
    }

    /// A client and the provider's end of the same connection.
    pub async fn pair(&self) -> (TcpStream, TcpStream) {
        let client = self.client().await;
        let (provider, _) = timeout(LONG, self.upstream.accept())
            .await
            .expect("in time")
            .expect("accepted");
        (client, provider)
    }

    /// The next event for which `wanted` returns something.
    pub async fn event<T>(&mut self, mut wanted: impl FnMut(&ConnectionEvent) -> Option<T>) -> T {
        loop {
            let event = timeout(LONG, self.events.recv())
                .await
                .expect("in time")
                .expect("the proxy is there");
            if let Some(found) = wanted(&event) {
                return found;
            }
        }
    }

    pub async fn hit(&mut self, id: u64, toxic: &str) {
        self.event(|event| {
            matches!(event, ConnectionEvent::ToxicHit { id: i, toxic: t } if *i == id && t == toxic)
                .then_some(())
        })
        .await;
    }

    pub async fn call(&self, method: &str, path: &str, body: &str) -> Answer {
        call(self.api, method, path, body, "").await
    }
}

/// Sends and sees it arrive.
pub async fn pass(from: &mut TcpStream, to: &mut TcpStream, bytes: &[u8]) {
    from.write_all(bytes).await.expect("written");
    let mut got = vec![0; bytes.len()];
    timeout(LONG, to.read_exact(&mut got))
        .await
        .expect("in time")
        .expect("arrived");
    assert_eq!(got, bytes);
}

/// What a socket's next read brings.
#[derive(Debug, PartialEq, Eq)]
pub enum Seen {
    Data(Vec<u8>),
    Fin,
    Rst,
}

pub async fn next(socket: &mut TcpStream) -> Seen {
    let mut buffer = [0; 4096];
    match timeout(LONG, socket.read(&mut buffer))
        .await
        .expect("in time")
    {
        Ok(0) => Seen::Fin,
        Ok(n) => Seen::Data(buffer[..n].to_vec()),
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Seen::Rst,
        Err(error) => panic!("neither data nor FIN nor RST: {error}"),
    }
}

/// Everything up to the end, and the end.
pub async fn rest(socket: &mut TcpStream) -> (Vec<u8>, Seen) {
    let mut all = Vec::new();
    loop {
        match next(socket).await {
            Seen::Data(bytes) => all.extend(bytes),
            end => return (all, end),
        }
    }
}

/// Closes a socket with RST.
pub fn abort(socket: TcpStream) {
    socket2::SockRef::from(&socket)
        .set_linger(Some(Duration::ZERO))
        .expect("a live socket");
    drop(socket);
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).expect("the body is JSON")
    }
}

/// One HTTP request; `headers` are whole lines.
pub async fn call(api: SocketAddr, method: &str, path: &str, body: &str, headers: &str) -> Answer {
    let mut socket = TcpStream::connect(api).await.expect("the API listens");
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: api\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    );
    socket.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = String::new();
    timeout(LONG, socket.read_to_string(&mut answer))
        .await
        .expect("in time")
        .expect("answered");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .expect("a status");
    Answer {
        status,
        head: head.to_lowercase(),
        body: body.to_owned(),
    }
}

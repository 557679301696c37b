//! The engine together with its HTTP API on a socket.

use std::convert::Infallible;
use std::net::SocketAddr;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::time::{Duration, timeout};
use tokio_util::sync::CancellationToken;

use crate::api;
use crate::engine::Engine;
use crate::error::Error;

/// How long requests that are under way may take once the server stops.
const GRACE: Duration = Duration::from_secs(5);

/// How long a client may be idle, or take to send the head of a request.
const HEAD: Duration = Duration::from_mins(1);

/// What a server needs to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// The address of the HTTP API; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Equal seeds replay toxicity and jitter.
    pub seed: u64,
}

/// An engine whose HTTP API has a socket.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    engine: Engine,
}

impl Server {
    /// Binds the API's socket. Requests are answered once [`Server::serve`] runs.
    ///
    /// # Errors
    ///
    /// The address cannot be listened on.
    pub async fn bind(config: Config) -> Result<Self, Error> {
        let fail = |error| Error::listen(config.listen.to_string(), error);
        let listener = TcpListener::bind(config.listen).await.map_err(fail)?;
        let address = listener.local_addr().map_err(fail)?;
        Ok(Self {
            listener,
            address,
            engine: Engine::new(config.seed),
        })
    }

    /// The address of the HTTP API.
    #[must_use]
    pub fn api_addr(&self) -> SocketAddr {
        self.address
    }

    /// A handle on the engine behind the API.
    #[must_use]
    pub fn engine(&self) -> Engine {
        self.engine.clone()
    }

    /// Answers requests until `shutdown` is cancelled; then lets those under
    /// way finish, and stops and removes every proxy.
    pub async fn serve(self, shutdown: CancellationToken) {
        let Self {
            listener, engine, ..
        } = self;
        let graceful = GracefulShutdown::new();
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = shutdown.cancelled() => break,
            };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "API client not accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            // Answers are small and awaited; failing to say so costs time only.
            let _ = stream.set_nodelay(true);
            let engine = engine.clone();
            let service = service_fn(move |request| {
                let engine = engine.clone();
                async move { Ok::<_, Infallible>(api::answer(&engine, request).await) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD)
                .serve_connection(TokioIo::new(stream), service);
            let connection = graceful.watch(connection);
            tokio::spawn(async move {
                if let Err(error) = connection.await {
                    tracing::debug!(%error, "API connection ended early");
                }
            });
        }
        drop(listener);
        if timeout(GRACE, graceful.shutdown()).await.is_err() {
            tracing::warn!("requests were still under way when the server stopped");
        }
        engine.shut_down().await;
    }
}

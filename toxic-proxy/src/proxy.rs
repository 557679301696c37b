//! One proxy: its listening socket, its toxics, and its live connections.
//!
//! Owns the order of things: ids by acceptance, a connection's chain as the
//! toxics stand when it is accepted. Every change is made under one short
//! lock; nothing waits while it is held.

use std::collections::HashMap;
use std::future::poll_fn;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio::time::{Duration, sleep};
use tokio_util::sync::CancellationToken;

use crate::connection::Connection;
use crate::error::Error;
use crate::link::Link;
use crate::listener::{self, Accepted, Listener};
use crate::proxy_info::{NewProxy, ProxyInfo};
use crate::seed;
use crate::stage::Stage;
use crate::toxic::{Stream, Toxic};
use crate::traffic::Traffic;

#[derive(Debug)]
struct Placed {
    toxic: Toxic,
    /// Counts updates, each of which draws anew.
    revision: u64,
}

#[derive(Debug)]
struct Inner {
    listen: String,
    upstream: String,
    enabled: bool,
    toxics: Vec<Placed>,
    live: HashMap<u64, Arc<Connection>>,
    last_id: u64,
}

/// A proxy.
#[derive(Debug)]
pub(crate) struct Proxy {
    pub(crate) name: String,
    seed: u64,
    runtime: Handle,
    listener: Listener,
    pub(crate) traffic: Arc<Traffic>,
    inner: Mutex<Inner>,
}

/// Tells when connections that were asked to close have closed.
#[derive(Debug, Default)]
#[must_use]
pub(crate) struct Closing(Vec<CancellationToken>);

impl Closing {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) async fn wait(self) {
        for done in self.0 {
            done.cancelled().await;
        }
    }
}

/// Resolves an address to listen on. Looks up names off the caller's lock.
pub(crate) async fn resolve(listen: &str) -> Result<SocketAddr, Error> {
    let fail = |error| Error::listen(listen, error);
    let invalid = |reason: &str| io::Error::new(io::ErrorKind::InvalidInput, reason);
    if listen.is_empty() {
        // Whoever names no address has not asked for one that other machines can reach.
        return Ok((Ipv4Addr::LOCALHOST, 0).into());
    }
    if let Some(port) = listen.strip_prefix(':') {
        let port: u16 = port.parse().map_err(|_| fail(invalid("invalid port")))?;
        return Ok((Ipv6Addr::UNSPECIFIED, port).into());
    }
    if !listen.contains(':') {
        return Err(fail(invalid("missing port in address")));
    }
    let addresses: Vec<SocketAddr> = tokio::net::lookup_host(listen)
        .await
        .map_err(fail)?
        .collect();
    // Where a name has both, IPv4 is taken, as the original does.
    addresses
        .iter()
        .find(|address| address.is_ipv4())
        .or(addresses.first())
        .copied()
        .ok_or_else(|| fail(invalid("no such host")))
}

impl Proxy {
    /// A proxy that does not listen yet.
    pub(crate) fn new(new: NewProxy, seed: u64, runtime: Handle) -> Arc<Self> {
        Arc::new(Self {
            name: new.name,
            seed,
            runtime,
            listener: Listener::default(),
            traffic: Arc::new(Traffic::new()),
            inner: Mutex::new(Inner {
                listen: new.listen,
                upstream: new.upstream,
                enabled: false,
                toxics: Vec::new(),
                live: HashMap::new(),
                last_id: 0,
            }),
        })
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn info(&self) -> ProxyInfo {
        let inner = self.inner();
        ProxyInfo {
            name: self.name.clone(),
            listen: inner.listen.clone(),
            upstream: inner.upstream.clone(),
            enabled: inner.enabled,
            toxics: Self::listed(&inner),
            blackhole: self.listener.is_blackhole(),
        }
    }

    pub(crate) fn listen(&self) -> String {
        self.inner().listen.clone()
    }

    /// Whether a proxy of these addresses would be another one.
    pub(crate) fn differs(&self, listen: SocketAddr, upstream: &str) -> bool {
        let inner = self.inner();
        inner.listen != listen.to_string() || inner.upstream != upstream
    }

    /// Starts to listen. Returns whether it did not listen before.
    pub(crate) fn start(self: &Arc<Self>, address: SocketAddr) -> Result<bool, Error> {
        let _runtime = self.runtime.enter();
        let mut inner = self.inner();
        if inner.enabled {
            return Ok(false);
        }
        let socket = listener::bind(address)
            // Machines without IPv6 still have every address of IPv4.
            .or_else(|error| {
                if address.ip() == Ipv6Addr::UNSPECIFIED && error.kind() != io::ErrorKind::AddrInUse
                {
                    listener::bind(([0, 0, 0, 0], address.port()).into())
                } else {
                    Err(error)
                }
            })
            .map_err(|error| Error::listen(address.to_string(), error))?;
        inner.listen = socket
            .local_addr()
            .map_err(|error| Error::listen(address.to_string(), error))?
            .to_string();
        inner.enabled = true;
        let generation = self.listener.open(socket);
        self.runtime.spawn(Arc::clone(self).accept_all(generation));
        tracing::info!(
            proxy = self.name,
            listen = inner.listen,
            upstream = inner.upstream,
            "proxy started"
        );
        Ok(true)
    }

    /// Refuses connects from here on, and asks all connections to close.
    pub(crate) fn stop(&self) -> Closing {
        let mut inner = self.inner();
        if !inner.enabled {
            return Closing::default();
        }
        inner.enabled = false;
        self.listener.shut();
        tracing::info!(proxy = self.name, "proxy stopped");
        Closing(
            inner
                .live
                .values()
                .map(|connection| {
                    connection.close();
                    connection.done.clone()
                })
                .collect(),
        )
    }

    pub(crate) fn readdress(&self, listen: String, upstream: String) {
        let mut inner = self.inner();
        inner.listen = listen;
        inner.upstream = upstream;
    }

    async fn accept_all(self: Arc<Self>, generation: u64) {
        while let Some(accepted) = poll_fn(|cx| self.listener.poll_accept(generation, cx)).await {
            match accepted {
                Ok(accepted) => self.serve(accepted),
                Err(error) => {
                    tracing::warn!(proxy = self.name, %error, "client not accepted");
                    // Out of descriptors, most likely: trying again at once
                    // would only burn the processor.
                    sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    /// Gives an accepted client its id, its chains and a task.
    fn serve(self: &Arc<Self>, (client, peer): Accepted) {
        let mut inner = self.inner();
        if !inner.enabled {
            return;
        }
        inner.last_id += 1;
        let id = inner.last_id;
        let (mut up, mut down) = (Link::default(), Link::default());
        for placed in inner
            .toxics
            .iter()
            .filter(|placed| placed.toxic.concerns(id))
        {
            match placed.toxic.stream {
                Stream::Upstream => up.add(self.stage(placed, id)),
                Stream::Downstream => down.add(self.stage(placed, id)),
            }
        }
        let connection = Arc::new(Connection::new(id, up, down));
        inner.live.insert(id, Arc::clone(&connection));
        let upstream = inner.upstream.clone();
        let counters = self.traffic.accepted(id, peer);
        drop(inner);
        tracing::debug!(proxy = self.name, connection = id, client = %peer, "client accepted");
        let proxy = Arc::clone(self);
        self.runtime.spawn(async move {
            let traffic = Arc::clone(&proxy.traffic);
            connection
                .run(client, peer, upstream, traffic, counters)
                .await;
            proxy.inner().live.remove(&id);
        });
    }

    /// Leaves new connects unanswered, or answers them again.
    pub(crate) async fn set_blackhole(self: &Arc<Self>, on: bool) -> Result<(), Error> {
        let proxy = Arc::clone(self);
        // A task of its own: a caller that goes away leaves nothing half done.
        let switched = self.runtime.spawn(async move {
            if !on {
                return proxy.lighten();
            }
            let Some((waiting, address)) = proxy.listener.dim()? else {
                return Ok(());
            };
            for accepted in waiting {
                proxy.serve(accepted);
            }
            match proxy.listener.fill(address).await {
                Ok(()) => Ok(()),
                Err(error) => proxy.lighten().and(Err(error)),
            }
        });
        let switched = switched
            .await
            .unwrap_or_else(|error| Err(io::Error::other(error)));
        switched.map_err(|source| Error::Blackhole {
            proxy: self.name.clone(),
            source,
        })
    }

    fn lighten(self: &Arc<Self>) -> io::Result<()> {
        for accepted in self.listener.lighten()? {
            self.serve(accepted);
        }
        Ok(())
    }

    fn stage(&self, placed: &Placed, id: u64) -> Stage {
        let toxic = &placed.toxic;
        let rng = seed::generator(
            self.seed,
            &self.name,
            id,
            toxic.stream,
            &toxic.name,
            placed.revision,
        );
        Stage::new(toxic, rng, tokio::time::Instant::now())
    }

    fn listed(inner: &Inner) -> Vec<Toxic> {
        let of = |stream| {
            inner
                .toxics
                .iter()
                .map(|placed| &placed.toxic)
                .filter(move |toxic| toxic.stream == stream)
                .cloned()
        };
        of(Stream::Upstream).chain(of(Stream::Downstream)).collect()
    }

    pub(crate) fn toxics(&self) -> Vec<Toxic> {
        Self::listed(&self.inner())
    }

    pub(crate) fn toxic(&self, name: &str) -> Result<Toxic, Error> {
        let inner = self.inner();
        let placed = inner.toxics.iter().find(|placed| placed.toxic.name == name);
        placed
            .map(|placed| placed.toxic.clone())
            .ok_or(Error::ToxicNotFound)
    }

    pub(crate) fn add_toxic(&self, toxic: Toxic) -> Result<Toxic, Error> {
        toxic.check()?;
        let mut inner = self.inner();
        if inner
            .toxics
            .iter()
            .any(|placed| placed.toxic.name == toxic.name)
        {
            return Err(Error::ToxicAlreadyExists);
        }
        let placed = Placed {
            toxic: toxic.clone(),
            revision: 0,
        };
        for connection in inner
            .live
            .values()
            .filter(|connection| toxic.concerns(connection.id))
        {
            let stage = self.stage(&placed, connection.id);
            connection.change(toxic.stream, &self.traffic, |link, _, _| link.add(stage));
        }
        inner.toxics.push(placed);
        Ok(toxic)
    }

    pub(crate) fn update_toxic(
        &self,
        name: &str,
        change: impl FnOnce(&mut Toxic) -> Result<(), Error>,
    ) -> Result<Toxic, Error> {
        let mut inner = self.inner();
        let inner = &mut *inner;
        let placed = inner
            .toxics
            .iter_mut()
            .find(|placed| placed.toxic.name == name)
            .ok_or(Error::ToxicNotFound)?;
        let mut toxic = placed.toxic.clone();
        change(&mut toxic)?;
        toxic.check()?;
        placed.toxic = toxic.clone();
        placed.revision += 1;
        for connection in inner
            .live
            .values()
            .filter(|connection| toxic.concerns(connection.id))
        {
            let rng = seed::generator(
                self.seed,
                &self.name,
                connection.id,
                toxic.stream,
                name,
                placed.revision,
            );
            connection.change(toxic.stream, &self.traffic, |link, now, acted| {
                link.update(name, now, acted, |stage| stage.update(&toxic, rng, now));
            });
        }
        Ok(toxic)
    }

    pub(crate) fn remove_toxic(&self, name: &str) -> Result<(), Error> {
        let mut inner = self.inner();
        let index = inner
            .toxics
            .iter()
            .position(|placed| placed.toxic.name == name)
            .ok_or(Error::ToxicNotFound)?;
        let Placed { toxic, .. } = inner.toxics.remove(index);
        for connection in inner
            .live
            .values()
            .filter(|connection| toxic.concerns(connection.id))
        {
            connection.change(toxic.stream, &self.traffic, |link, now, acted| {
                link.remove(name, now, acted);
            });
        }
        Ok(())
    }

    pub(crate) fn remove_all_toxics(&self) {
        for toxic in self.toxics() {
            // Someone else may have removed it in the meantime.
            let _ = self.remove_toxic(&toxic.name);
        }
    }
}

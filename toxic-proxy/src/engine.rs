//! The proxies by name, and everything that can be asked of them.
//!
//! The HTTP API is a thin layer over this; a program that embeds the engine
//! calls it directly.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::error::Error;
use crate::proxy::{Closing, Proxy, resolve};
use crate::proxy_info::{NewProxy, ProxyInfo, ProxyUpdate};
use crate::toxic::Toxic;
use crate::toxics::Attributes;
use crate::traffic::{ConnectionEvent, ConnectionInfo};

/// What to change of a toxic; `None` leaves a setting as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ToxicUpdate {
    /// New settings, of the same type.
    pub attributes: Option<Attributes>,
    /// The share of connections it acts on; always drawn again.
    pub toxicity: Option<f32>,
}

#[derive(Debug)]
struct Shared {
    seed: u64,
    runtime: Handle,
    proxies: Mutex<BTreeMap<String, Arc<Proxy>>>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        let proxies = self
            .proxies
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        for proxy in proxies.values() {
            // Nobody is left to wait for it.
            drop(proxy.stop());
        }
    }
}

/// A handle on all proxies; clones share them, and the last one to go stops
/// them all.
///
/// A change is in force when its call returns: the next byte meets it. Calls
/// that add, change or remove a toxic do not wait and may come from any thread.
#[derive(Debug, Clone)]
pub struct Engine {
    shared: Arc<Shared>,
}

impl Engine {
    /// An engine without proxies; must be called within a tokio runtime, whose
    /// workers then carry the data. Equal seeds replay toxicity and jitter.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            shared: Arc::new(Shared {
                seed,
                runtime: Handle::current(),
                proxies: Mutex::default(),
            }),
        }
    }

    fn map(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Proxy>>> {
        self.shared
            .proxies
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, proxy: &str) -> Result<Arc<Proxy>, Error> {
        self.map().get(proxy).cloned().ok_or(Error::ProxyNotFound)
    }

    /// Creates a proxy and, if enabled, lets it listen.
    ///
    /// # Errors
    ///
    /// A missing name or upstream, a name that is taken, an address that
    /// cannot be listened on.
    pub async fn create_proxy(&self, new: NewProxy) -> Result<ProxyInfo, Error> {
        new.check("")?;
        let address = if new.enabled {
            Some(resolve(&new.listen).await?)
        } else {
            None
        };
        let mut map = self.map();
        if map.contains_key(&new.name) {
            return Err(Error::ProxyAlreadyExists);
        }
        let proxy = Proxy::new(new, self.shared.seed, self.shared.runtime.clone());
        if let Some(address) = address {
            proxy.start(address)?;
        }
        map.insert(proxy.name.clone(), Arc::clone(&proxy));
        Ok(proxy.info())
    }

    /// Creates many proxies. One that exists with the same addresses is left
    /// as it is; any other of the same name is replaced.
    ///
    /// # Errors
    ///
    /// The first that could not be created; those before it stand, and are
    /// returned beside the error.
    pub async fn populate(&self, all: Vec<NewProxy>) -> (Vec<ProxyInfo>, Option<Error>) {
        for (index, new) in all.iter().enumerate() {
            if let Err(error) = new.check(&format!(" at proxy {}", index + 1)) {
                return (Vec::new(), Some(error));
            }
        }
        let mut done = Vec::new();
        for new in all {
            match self.add_or_replace(new).await {
                Ok(info) => done.push(info),
                Err(error) => return (done, Some(error)),
            }
        }
        (done, None)
    }

    async fn add_or_replace(&self, new: NewProxy) -> Result<ProxyInfo, Error> {
        // Looked up before the lock is taken.
        let matters = new.enabled || self.find(&new.name).is_ok();
        let address = if matters {
            Some(resolve(&new.listen).await?)
        } else {
            None
        };
        let (info, closing) = {
            let mut map = self.map();
            let mut closing = Closing::default();
            if let Some(existing) = map.get(&new.name) {
                if address.is_some_and(|address| !existing.differs(address, &new.upstream)) {
                    return Ok(existing.info());
                }
                closing = existing.stop();
            }
            let address = address.filter(|_| new.enabled);
            let proxy = Proxy::new(new, self.shared.seed, self.shared.runtime.clone());
            if let Some(address) = address {
                proxy.start(address)?;
            }
            map.insert(proxy.name.clone(), Arc::clone(&proxy));
            (proxy.info(), closing)
        };
        closing.wait().await;
        Ok(info)
    }

    /// A proxy as it stands.
    ///
    /// # Errors
    ///
    /// No such proxy.
    pub fn proxy(&self, name: &str) -> Result<ProxyInfo, Error> {
        Ok(self.find(name)?.info())
    }

    /// All proxies, by name.
    #[must_use]
    pub fn proxies(&self) -> BTreeMap<String, ProxyInfo> {
        self.map()
            .iter()
            .map(|(name, proxy)| (name.clone(), proxy.info()))
            .collect()
    }

    /// Changes a proxy. New addresses and `enabled: false` close its
    /// connections with FIN; the call returns when they are closed.
    ///
    /// # Errors
    ///
    /// No such proxy; an address that cannot be listened on, which leaves the
    /// proxy disabled; a blackhole on a proxy that is not enabled.
    pub async fn update_proxy(&self, name: &str, update: ProxyUpdate) -> Result<ProxyInfo, Error> {
        let proxy = self.find(name)?;
        let before = proxy.info();
        let listen = update.listen.unwrap_or(before.listen);
        let upstream = update.upstream.unwrap_or(before.upstream);
        let enabled = update.enabled.unwrap_or(before.enabled);
        let address = resolve(&listen).await?;
        if update.blackhole == Some(true) && !enabled {
            return Err(Error::BadRequest(
                "blackhole: the proxy is not enabled".to_owned(),
            ));
        }
        let mut closing = Closing::default();
        if proxy.differs(address, &upstream) {
            closing = proxy.stop();
            proxy.readdress(listen, upstream);
        }
        let started = if enabled {
            proxy.start(address).map(drop)
        } else {
            closing = match closing {
                nothing if nothing.is_empty() => proxy.stop(),
                some => some,
            };
            Ok(())
        };
        closing.wait().await;
        started?;
        if let Some(on) = update.blackhole {
            proxy.set_blackhole(on).await?;
        }
        Ok(proxy.info())
    }

    /// Lets a proxy listen, or refuse connects and close all its connections.
    ///
    /// # Errors
    ///
    /// As [`Engine::update_proxy`].
    pub async fn set_enabled(&self, name: &str, enabled: bool) -> Result<ProxyInfo, Error> {
        self.update_proxy(
            name,
            ProxyUpdate {
                enabled: Some(enabled),
                ..ProxyUpdate::default()
            },
        )
        .await
    }

    /// Leaves new connects to a proxy unanswered (their SYN is dropped), or
    /// answers them again. Open connections are not touched. A client whose
    /// connect had been answered before is served.
    ///
    /// # Errors
    ///
    /// As [`Engine::update_proxy`].
    pub async fn set_blackhole(&self, name: &str, on: bool) -> Result<ProxyInfo, Error> {
        self.update_proxy(
            name,
            ProxyUpdate {
                blackhole: Some(on),
                ..ProxyUpdate::default()
            },
        )
        .await
    }

    /// Removes a proxy; its connections are closed with FIN on return.
    ///
    /// # Errors
    ///
    /// No such proxy.
    pub async fn delete_proxy(&self, name: &str) -> Result<(), Error> {
        let closing = self.map().remove(name).ok_or(Error::ProxyNotFound)?.stop();
        closing.wait().await;
        Ok(())
    }

    /// Enables every proxy, lifts every blackhole, removes every toxic.
    ///
    /// # Errors
    ///
    /// The first proxy that could not listen; those before it are reset.
    pub async fn reset(&self) -> Result<(), Error> {
        let proxies: Vec<Arc<Proxy>> = self.map().values().cloned().collect();
        for proxy in proxies {
            let address = resolve(&proxy.listen()).await?;
            proxy.start(address)?;
            proxy.set_blackhole(false).await?;
            proxy.remove_all_toxics();
        }
        Ok(())
    }

    /// Stops and removes every proxy.
    pub async fn shut_down(&self) {
        let closing: Vec<Closing> = std::mem::take(&mut *self.map())
            .values()
            .map(|proxy| proxy.stop())
            .collect();
        for closing in closing {
            closing.wait().await;
        }
    }

    /// The toxics of a proxy, upstream ones first.
    ///
    /// # Errors
    ///
    /// No such proxy.
    pub fn toxics(&self, proxy: &str) -> Result<Vec<Toxic>, Error> {
        Ok(self.find(proxy)?.toxics())
    }

    /// One toxic of a proxy.
    ///
    /// # Errors
    ///
    /// No such proxy or toxic.
    pub fn toxic(&self, proxy: &str, name: &str) -> Result<Toxic, Error> {
        self.find(proxy)?.toxic(name)
    }

    /// Puts a toxic at the end of its stream's chain. It is in force on
    /// return, for open connections too.
    ///
    /// # Errors
    ///
    /// No such proxy, a name that is taken, settings that make no sense.
    pub fn add_toxic(&self, proxy: &str, toxic: Toxic) -> Result<Toxic, Error> {
        self.find(proxy)?.add_toxic(toxic)
    }

    /// Changes a toxic where it stands; what it counted or held stays.
    ///
    /// # Errors
    ///
    /// No such proxy or toxic, attributes of another type, settings that make
    /// no sense.
    pub fn update_toxic(
        &self,
        proxy: &str,
        name: &str,
        update: ToxicUpdate,
    ) -> Result<Toxic, Error> {
        self.change_toxic(proxy, name, |toxic| {
            if let Some(attributes) = update.attributes {
                if attributes.type_name() != toxic.attributes.type_name() {
                    return Err(Error::BadRequest(format!(
                        "attributes of {} for a toxic of type {}",
                        attributes.type_name(),
                        toxic.attributes.type_name()
                    )));
                }
                toxic.attributes = attributes;
            }
            toxic.toxicity = update.toxicity.unwrap_or(toxic.toxicity);
            Ok(())
        })
    }

    pub(crate) fn change_toxic(
        &self,
        proxy: &str,
        name: &str,
        change: impl FnOnce(&mut Toxic) -> Result<(), Error>,
    ) -> Result<Toxic, Error> {
        self.find(proxy)?.update_toxic(name, change)
    }

    /// Removes a toxic. What it held goes on at once; a `timeout` closes the
    /// connections that it held.
    ///
    /// # Errors
    ///
    /// No such proxy or toxic.
    pub fn remove_toxic(&self, proxy: &str, name: &str) -> Result<(), Error> {
        self.find(proxy)?.remove_toxic(name)
    }

    /// The connections of a proxy in the order of acceptance: all open ones,
    /// and the last ten thousand closed ones.
    ///
    /// # Errors
    ///
    /// No such proxy.
    pub fn connections(&self, proxy: &str) -> Result<Vec<ConnectionInfo>, Error> {
        Ok(self.find(proxy)?.traffic.connections())
    }

    /// The latest connection whose upstream side has this local address, which
    /// is the peer address that the upstream server sees. Known before the
    /// upstream can receive a byte.
    #[must_use]
    pub fn connection_by_upstream_addr(&self, proxy: &str, address: SocketAddr) -> Option<u64> {
        self.find(proxy).ok()?.traffic.by_upstream_addr(address)
    }

    /// Everything that happens to a proxy's connections from now on, in order.
    /// The channel closes when the proxy is gone; at once for an unknown proxy.
    #[must_use]
    pub fn subscribe(&self, proxy: &str) -> UnboundedReceiver<ConnectionEvent> {
        match self.find(proxy) {
            Ok(proxy) => proxy.traffic.subscribe(),
            Err(_) => tokio::sync::mpsc::unbounded_channel().1,
        }
    }
}

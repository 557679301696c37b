//! The network between the client and a provider: proxies, toxics, refusals, silence.
//!
//! Owns the one engine of a run (embedded, or a real Toxiproxy with the embedded one in front of
//! it as a tap that counts connections), the way of each lab through it, and the rule that every
//! change is read back. When to change what is the nemesis'.

#[cfg(test)]
mod tests;
mod toxics;

use std::{net::SocketAddr, time::Duration};

use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;
use toxic_proxy::{ConnectionEvent, Engine, NewProxy};
use toxiproxy_rust::{client::Client, proxy::ProxyPack};

use super::{caller::Caller, error::Error, toxiproxy::Toxiproxy};
use crate::{
    fault::{Action, ToxicKind},
    plan::{Place, Plan},
};

/// What every proxy of ours on a shared server is named by: `chaos-r<pid>_…`.
const PREFIX: &str = "chaos-";

/// How often a link is tried to be brought up again, and how long between.
const LISTEN_TRIES: u32 = 100;
const LISTEN_PAUSE: Duration = Duration::from_millis(10);

/// The engine of a run. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Network {
    /// The embedded engine: the proxy itself, or the tap in front of a real server.
    engine: Engine,
    /// The server that is driven: the embedded one's API, or the real one's.
    toxiproxy: Toxiproxy,
    caller: Caller,
    /// The version of the real server, where there is one.
    real: Option<String>,
    stop: CancellationToken,
}

/// The way from a client to one provider.
#[derive(Clone, Debug)]
pub struct Link {
    /// The proxy's name on the server that is driven.
    name: String,
    /// The name of the proxy at the embedded engine that sees the client's connections.
    front: String,
    /// Where the client connects.
    pub addr: SocketAddr,
}

impl Network {
    /// Starts the embedded engine; with `real`, drives the server at that address through it.
    ///
    /// # Errors
    ///
    /// When the engine cannot start, or the real server does not answer.
    pub async fn start(seed: u64, real: Option<SocketAddr>) -> Result<Self, Error> {
        let embedded = |error: toxic_proxy::Error| Error::Engine(error.to_string());
        let config = toxic_proxy::Config {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            seed,
        };
        let server = toxic_proxy::Server::bind(config).await.map_err(embedded)?;
        let engine = server.engine();
        let api = real.unwrap_or_else(|| server.api_addr());
        let stop = CancellationToken::new();
        let shutdown = stop.clone();
        tokio::spawn(async move {
            server.serve(shutdown).await;
        });
        let toxiproxy = Toxiproxy::connect(api)?;
        let mut network = Self {
            engine,
            toxiproxy,
            caller: Caller::new(api),
            real: None,
            stop,
        };
        if real.is_some() {
            network.real = Some(network.greet(api).await?);
            network.clear_leftovers().await?;
        }
        Ok(network)
    }

    /// What the engine is called in reports.
    pub fn name(&self) -> String {
        self.real.as_ref().map_or_else(
            || "embedded".into(),
            |version| format!("toxiproxy {version}"),
        )
    }

    /// Whether a toxic covers a whole proxy rather than one connection.
    pub fn covers_whole_proxy(&self) -> bool {
        self.real.is_some()
    }

    /// Whether the engine can do all that a plan asks.
    ///
    /// # Errors
    ///
    /// The reason why it cannot, for the skip.
    pub fn can(&self, plan: &Plan) -> Result<(), String> {
        if self.real.is_none() {
            return Ok(());
        }
        for fault in &plan.faults {
            let why = match &fault.action {
                Action::Blackhole(_) => "cannot leave a connect unanswered",
                Action::Provider(
                    stub_provider::fault::ProviderFault::Reset(_)
                    | stub_provider::fault::ProviderFault::Truncate(stub_provider::fault::Truncate {
                        ending: stub_provider::fault::Ending::Reset,
                        ..
                    }),
                ) => "turns the provider's RST into a FIN",
                Action::Toxic(toxic)
                    if toxic.kind == ToxicKind::ResetPeer
                        && matches!(fault.place, Place::Attempts(_)) =>
                {
                    "sends an RST only on connections opened after the toxic was set"
                }
                Action::Toxic(_) | Action::Down(_) if matches!(fault.place, Place::Connection(k) if k > 1) => {
                    "cannot be aimed at a later connection"
                }
                _ => continue,
            };
            return Err(format!(
                "a real Toxiproxy {why} (fault on line {})",
                fault.line
            ));
        }
        Ok(())
    }

    /// Opens a way from `listen` to `upstream` under a name that no other lab has.
    ///
    /// # Errors
    ///
    /// When the server refuses, or what it says it made is not there.
    pub async fn open(
        &self,
        lab: &str,
        listen: SocketAddr,
        upstream: SocketAddr,
    ) -> Result<(Link, UnboundedReceiver<ConnectionEvent>), Error> {
        let name = format!("{PREFIX}{lab}");
        // The tap stands where the client connects; a real server behind it takes any port.
        let server = if self.real.is_some() {
            "127.0.0.1:0".into()
        } else {
            listen.to_string()
        };
        let pack = ProxyPack::new(name.clone(), server, upstream.to_string());
        let wanted = name.clone();
        let doing = format!("creating proxy {name}");
        let made = self
            .toxiproxy
            .call(&doing, move |client| {
                client.populate(vec![pack])?;
                Ok(client.find_proxy(&wanted)?.proxy_pack.listen)
            })
            .await?;
        let front = if self.real.is_some() {
            let front = format!("{name}-tap");
            self.engine
                .create_proxy(NewProxy::new(&front, listen.to_string(), made))
                .await
                .map_err(|error| Error::Engine(error.to_string()))?;
            front
        } else {
            name.clone()
        };
        let events = self.engine.subscribe(&front);
        Ok((
            Link {
                name,
                front,
                addr: listen,
            },
            events,
        ))
    }

    /// Takes a way down with all its toxics; connections end.
    ///
    /// # Errors
    ///
    /// When it is still there afterwards.
    pub async fn close(&self, link: &Link) -> Result<(), Error> {
        if self.real.is_some() {
            self.engine
                .delete_proxy(&link.front)
                .await
                .map_err(|error| Error::Engine(error.to_string()))?;
        }
        let name = link.name.clone();
        self.toxiproxy
            .call(&format!("deleting proxy {name}"), move |client| {
                client.find_proxy(&name)?.delete()?;
                if client.all()?.contains_key(&name) {
                    return Err("it is still there".into());
                }
                Ok(())
            })
            .await
    }

    /// The proxy's number of the connection that reaches the provider from `peer`.
    pub fn connection(&self, link: &Link, peer: SocketAddr) -> Option<u64> {
        self.engine.connection_by_upstream_addr(&link.front, peer)
    }

    /// Whether the `k`-th connection of a client has been opened.
    pub fn has_opened(&self, link: &Link, k: u64) -> bool {
        let connections = self.engine.connections(&link.front).unwrap_or_default();
        connections.iter().any(|connection| connection.id >= k)
    }

    /// The names of the toxics that have acted on any connection.
    pub fn hits(&self, link: &Link) -> Vec<String> {
        let connections = self.engine.connections(&link.front).unwrap_or_default();
        connections
            .into_iter()
            .flat_map(|connection| connection.toxics)
            .collect()
    }

    /// Refuses connects, or takes them again.
    ///
    /// # Errors
    ///
    /// When the server does not do so.
    pub async fn set_down(&self, link: &Link, down: bool) -> Result<(), Error> {
        let mut done = self.try_set_down(link, down).await;
        // A process that was being started when the link went down may hold a copy of its socket
        // for a moment longer, and the port with it.
        for _ in 0..LISTEN_TRIES {
            if down || done.is_ok() {
                break;
            }
            tokio::time::sleep(LISTEN_PAUSE).await;
            done = self.try_set_down(link, down).await;
        }
        done
    }

    async fn try_set_down(&self, link: &Link, down: bool) -> Result<(), Error> {
        // The client must see the refusal itself, so in front of a real server the tap gives it
        // too: a tap that listens would accept what the server refuses.
        if self.real.is_some() {
            self.engine
                .set_enabled(&link.front, !down)
                .await
                .map_err(|error| Error::Engine(error.to_string()))?;
        }
        let name = link.name.clone();
        let doing = if down { "disabling" } else { "enabling" };
        self.toxiproxy
            .call(&format!("{doing} proxy {name}"), move |client| {
                let proxy = client.find_proxy(&name)?;
                if down {
                    proxy.disable()?;
                } else {
                    proxy.enable()?;
                }
                if client.find_proxy(&name)?.proxy_pack.enabled == down {
                    return Err("the server accepted it and did not do it".into());
                }
                Ok(())
            })
            .await
    }

    /// Leaves connects unanswered, or answers them again.
    ///
    /// # Errors
    ///
    /// When the engine cannot.
    pub async fn set_blackhole(&self, link: &Link, silent: bool) -> Result<(), Error> {
        self.engine
            .set_blackhole(&link.front, silent)
            .await
            .map(|_| ())
            .map_err(|error| Error::Engine(error.to_string()))
    }

    /// Deletes what a lab could not delete itself, and stops the embedded engine.
    ///
    /// # Errors
    ///
    /// When a real server does not do so.
    pub async fn finish(&self, run: &str) -> Result<(), Error> {
        let own = format!("{PREFIX}{run}_");
        let cleared = self
            .toxiproxy
            .call(
                "deleting the proxies of this run",
                move |client: &Client| {
                    for (name, proxy) in client.all()? {
                        if name.starts_with(&own) {
                            proxy.delete()?;
                        }
                    }
                    Ok(())
                },
            )
            .await;
        self.stop.cancel();
        cleared
    }

    async fn greet(&self, api: SocketAddr) -> Result<String, Error> {
        self.toxiproxy
            .call(&format!("asking {api} for its version"), |client: &Client| {
                if !client.is_running() {
                    return Err("nothing listens there: start toxiproxy-server, or leave --toxiproxy away to use the embedded engine".into());
                }
                let answer = client.version()?;
                Ok(serde_json::from_str::<serde_json::Value>(&answer)
                    .ok()
                    .and_then(|json| Some(json.get("version")?.as_str()?.to_owned()))
                    .unwrap_or(answer))
            })
            .await
    }

    /// Deletes proxies that a killed runner left behind; those of a live one stay.
    async fn clear_leftovers(&self) -> Result<(), Error> {
        self.toxiproxy
            .call("clearing up after an earlier run", |client: &Client| {
                for (name, proxy) in client.all()? {
                    let owner = name.strip_prefix(PREFIX).and_then(|rest| {
                        rest.strip_prefix('r')?
                            .split('_')
                            .next()?
                            .parse::<i32>()
                            .ok()
                    });
                    // Where process numbers start anew (in a container), a dead runner may have
                    // had ours; this run has no proxy yet.
                    let own = |pid| u32::try_from(pid) == Ok(std::process::id());
                    if owner.is_some_and(|pid| own(pid) || !is_alive(pid)) {
                        tracing::info!(proxy = name, "deleting a proxy that an earlier run left");
                        proxy.delete()?;
                    }
                }
                Ok(())
            })
            .await
    }
}

fn is_alive(pid: i32) -> bool {
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), None) != Err(nix::errno::Errno::ESRCH)
}

//! The network between the client and a provider: proxies, toxics, refusals, silence.
//!
//! Owns the one engine of a run (embedded, or a real Toxiproxy with the embedded one in front of
//! it as a tap that counts connections), the way of each lab through it, and the rule that every
//! change is read back. When to change what is the nemesis'.

use std::net::SocketAddr;

use hyper::Method;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;
use toxic_proxy::{
    ConnectionEvent, Engine, NewProxy,
    toxics::{Bandwidth, Timeout},
};
use toxiproxy_rust::{
    client::Client,
    proxy::{Proxy, ProxyPack},
};

use super::{caller::Caller, error::Error, toxiproxy::Toxiproxy};
use crate::{
    fault::{Action, Toxic, ToxicKind},
    plan::{Place, Plan},
};

/// What every proxy of ours on a shared server is named by: `chaos-r<pid>_…`.
const PREFIX: &str = "chaos-";

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

    /// Puts a toxic in place, bound to `connection` where the engine can, and reads it back.
    /// Returns the name that it has on the server: `name`, or the server's default for a toxic
    /// that the crate can create itself.
    ///
    /// # Errors
    ///
    /// When the server refuses it or does not list it afterwards.
    pub async fn add_toxic(
        &self,
        link: &Link,
        name: &str,
        toxic: &Toxic,
        connection: Option<u64>,
    ) -> Result<String, Error> {
        let through_crate = connection.is_none() && crate_can_create(toxic.kind);
        let name = if through_crate {
            format!("{}_{}", toxic.kind.as_str(), toxic.stream.as_str())
        } else {
            name.to_owned()
        };
        if !through_crate {
            let mut body = json!({
                "name": name,
                "type": toxic.kind.as_str(),
                "stream": toxic.stream.as_str(),
                "toxicity": toxic.toxicity,
                "attributes": toxic.attributes,
            });
            if let Some(connection) = connection {
                body["connection"] = json!(connection);
            }
            let path = format!("/proxies/{}/toxics", link.name);
            self.caller.call(Method::POST, &path, Some(&body)).await?;
            // Not through the thread of the crate: a request is held meanwhile, and its client
            // must not lose patience because other labs are in that line.
            let listed = self.caller.call(Method::GET, &path, None).await?;
            return self::listed(&listed, &name, toxic.kind)
                .map(|()| name.clone())
                .map_err(|why| Error::Toxiproxy {
                    doing: format!("putting toxic {name} in place"),
                    why,
                });
        }
        let (wanted, proxy, toxic) = (name.clone(), link.name.clone(), toxic.clone());
        self.toxiproxy
            .call(&format!("putting toxic {name} in place"), move |client| {
                let proxy = client.find_proxy(&proxy)?;
                create(&proxy, &toxic)?;
                let kind = toxic.kind.as_str();
                match proxy.toxics()?.iter().find(|listed| listed.name == wanted) {
                    Some(listed) if listed.r#type == kind => Ok(()),
                    Some(listed) => Err(format!("it is a {} in place of a {kind}", listed.r#type)),
                    None => Err("the server accepted it and does not list it".into()),
                }
            })
            .await?;
        Ok(name)
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

    /// Takes a toxic away and makes sure that it is gone.
    ///
    /// # Errors
    ///
    /// When the server refuses or still lists it.
    pub async fn remove_toxic(&self, link: &Link, name: &str) -> Result<(), Error> {
        let path = format!("/proxies/{}/toxics/{name}", link.name);
        self.caller.call(Method::DELETE, &path, None).await?;
        let path = format!("/proxies/{}/toxics", link.name);
        let listed = self.caller.call(Method::GET, &path, None).await?;
        if entry(&listed, name).is_some() {
            return Err(Error::Toxiproxy {
                doing: format!("removing toxic {name}"),
                why: "it is still listed".into(),
            });
        }
        Ok(())
    }

    /// Refuses connects, or takes them again.
    ///
    /// # Errors
    ///
    /// When the server does not do so.
    pub async fn set_down(&self, link: &Link, down: bool) -> Result<(), Error> {
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

    /// Lets nothing pass upstream on the `connection`-th connection, so that a client can be
    /// stopped between connect and request. What it sends is lost, or (`forever` false) waits
    /// until [`Network::unblock_upstream`].
    ///
    /// # Errors
    ///
    /// When the engine refuses.
    pub fn block_upstream(&self, link: &Link, connection: u64, forever: bool) -> Result<(), Error> {
        let upstream = toxic_proxy::Stream::Upstream;
        let toxic = if forever {
            toxic_proxy::Toxic::new(upstream, Timeout { timeout: 0 })
        } else {
            toxic_proxy::Toxic::new(upstream, Bandwidth { rate: 0 })
        };
        let toxic = toxic.named(block(connection)).bound_to(connection);
        self.engine
            .add_toxic(&link.front, toxic)
            .map(|_| ())
            .map_err(|error| Error::Engine(error.to_string()))
    }

    /// Lets everything pass on the `connection`-th connection again.
    ///
    /// # Errors
    ///
    /// When the engine refuses.
    pub fn unblock_upstream(&self, link: &Link, connection: u64) -> Result<(), Error> {
        self.engine
            .remove_toxic(&link.front, &block(connection))
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

/// The toxic of that name in a list of toxics.
fn entry<'v>(listed: &'v Value, name: &str) -> Option<&'v Value> {
    let toxics = listed.as_array()?;
    toxics.iter().find(|toxic| toxic["name"] == name)
}

/// Whether a server that was given a toxic has it.
fn listed(list: &Value, name: &str, kind: ToxicKind) -> Result<(), String> {
    let kind = kind.as_str();
    match entry(list, name) {
        Some(toxic) if toxic["type"] == kind => Ok(()),
        Some(toxic) => Err(format!("it is a {} in place of a {kind}", toxic["type"])),
        None => Err("the server accepted it and does not list it".into()),
    }
}

fn block(connection: u64) -> String {
    format!("block-{connection}")
}

/// Whether `toxiproxy_rust` has a call for the type.
fn crate_can_create(kind: ToxicKind) -> bool {
    !matches!(kind, ToxicKind::ResetPeer | ToxicKind::Noop)
}

/// Creates a toxic on the whole proxy through the crate.
fn create(proxy: &Proxy, toxic: &Toxic) -> Result<(), String> {
    let attribute = |name: &str| -> Result<u32, String> {
        let value = toxic.attributes.get(name).copied().unwrap_or(0);
        u32::try_from(value)
            .map_err(|_| format!("{name} = {value} is too large for Toxiproxy's client"))
    };
    let stream = toxic.stream.as_str().to_owned();
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a probability; the crate takes an f32"
    )]
    let toxicity = toxic.toxicity as f32;
    match toxic.kind {
        ToxicKind::Latency => {
            proxy.with_latency(
                stream,
                attribute("latency")?,
                attribute("jitter")?,
                toxicity,
            );
        }
        ToxicKind::Bandwidth => {
            proxy.with_bandwidth(stream, attribute("rate")?, toxicity);
        }
        ToxicKind::SlowClose => {
            proxy.with_slow_close(stream, attribute("delay")?, toxicity);
        }
        ToxicKind::Timeout => {
            proxy.with_timeout(stream, attribute("timeout")?, toxicity);
        }
        ToxicKind::Slicer => {
            proxy.with_slicer(
                stream,
                attribute("average_size")?,
                attribute("size_variation")?,
                attribute("delay")?,
                toxicity,
            );
        }
        ToxicKind::LimitData => {
            proxy.with_limit_data(stream, attribute("bytes")?, toxicity);
        }
        ToxicKind::ResetPeer | ToxicKind::Noop => {
            return Err(format!("the crate has no call for {}", toxic.kind.as_str()));
        }
    }
    Ok(())
}

fn is_alive(pid: i32) -> bool {
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), None) != Err(nix::errno::Errno::ESRCH)
}

//! Toxics on a link: put in place, read back, taken away.
//!
//! Owns which of them go through `toxiproxy_rust` and which through our own caller. Which toxic
//! is due is the lab's.

use hyper::Method;
use serde_json::{Value, json};
use toxic_proxy::toxics::{Latency, Timeout};
use toxiproxy_rust::proxy::Proxy;

use super::{Link, Network};
use crate::{
    fault::{Toxic, ToxicKind},
    run::error::Error,
};

/// Longer than any scenario, in milliseconds.
const HELD_MS: u64 = 24 * 3_600 * 1_000;

impl Network {
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

    /// Ends the work of a toxic and makes sure of it.
    ///
    /// A `timeout` that covers a whole proxy stays there and does nothing any more: its removal
    /// would close every connection of the proxy, the next attempt's too.
    ///
    /// # Errors
    ///
    /// When the server refuses, or lists the toxic as before.
    pub async fn end_toxic(&self, link: &Link, name: &str, kind: ToxicKind) -> Result<(), Error> {
        if !(kind == ToxicKind::Timeout && self.covers_whole_proxy()) {
            return self.remove_toxic(link, name).await;
        }
        let path = format!("/proxies/{}/toxics/{name}", link.name);
        let idle = json!({ "toxicity": 0 });
        self.caller.call(Method::POST, &path, Some(&idle)).await?;
        let listed = self.caller.call(Method::GET, &path, None).await?;
        if listed["toxicity"].as_f64() != Some(0.0) {
            return Err(Error::Toxiproxy {
                doing: format!("ending toxic {name}"),
                why: "it is as toxic as before".into(),
            });
        }
        Ok(())
    }

    /// Takes a toxic away and makes sure that it is gone.
    ///
    /// # Errors
    ///
    /// When the server refuses or still lists it.
    async fn remove_toxic(&self, link: &Link, name: &str) -> Result<(), Error> {
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
            // Unlike a bandwidth of nothing it goes on reading, so that a hang-up is seen.
            let latency = HELD_MS;
            toxic_proxy::Toxic::new(upstream, Latency { latency, jitter: 0 })
        };
        let toxic = toxic.named(block(connection)).bound_to(connection);
        self.engine
            .add_toxic(&link.front, toxic)
            .map(|_| ())
            .map_err(|error| Error::Engine(error.to_string()))
    }

    /// Loses what waits on the `connection`-th connection, and closes it.
    ///
    /// # Errors
    ///
    /// When the engine refuses.
    pub fn discard_upstream(&self, link: &Link, connection: u64) -> Result<(), Error> {
        // It stands behind the block, so that what the block lets go ends in it.
        let swallow =
            toxic_proxy::Toxic::new(toxic_proxy::Stream::Upstream, Timeout { timeout: 1 })
                .named(format!("discard-{connection}"))
                .bound_to(connection);
        self.engine
            .add_toxic(&link.front, swallow)
            .map_err(|error| Error::Engine(error.to_string()))?;
        self.unblock_upstream(link, connection)
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

/// Whether `toxiproxy_rust` has a call for the type that fits. Its `timeout` always has the
/// server's name for it, and one that has done its work may still be there under that.
fn crate_can_create(kind: ToxicKind) -> bool {
    !matches!(
        kind,
        ToxicKind::ResetPeer | ToxicKind::Noop | ToxicKind::Timeout
    )
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
        ToxicKind::ResetPeer | ToxicKind::Noop | ToxicKind::Timeout => {
            return Err(format!("the crate has no call for {}", toxic.kind.as_str()));
        }
    }
    Ok(())
}

//! An embeddable TCP proxy that injects faults, and speaks the HTTP API of
//! Toxiproxy.
//!
//! The map, from the outside in:
//!
//! - [`Server`]: an engine with its HTTP API on a socket (`server`, `api`).
//! - [`Engine`]: proxies by name, and every operation on them (`engine`, `config`).
//! - `proxy`, `proxy_info`, `listener`: one proxy, its socket, its toxics, its connections.
//! - `connection`, `wire`, `half`, `pump`: two sockets, and how bytes and ends
//!   pass between them.
//! - `link`, `stage`, `schedule`, `item`: the chain of toxics of one direction,
//!   free of sockets; time is passed in.
//! - [`toxics`]: what each toxic does.
//! - `traffic`: the record of connections, and [`ConnectionEvent`]s.
//! - `seed`: where randomness comes from.
//!
//! # Example
//!
//! A response that never arrives, on the first connection only:
//!
//! ```
//! use toxic_proxy::toxics::Timeout;
//! use toxic_proxy::{Config, NewProxy, Server, Stream, Toxic};
//! # use tokio::io::{AsyncReadExt, AsyncWriteExt};
//! # use tokio::net::{TcpListener, TcpStream};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let upstream = TcpListener::bind("127.0.0.1:0").await?;
//! let server = Server::bind(Config { listen: "127.0.0.1:0".parse()?, seed: 7 }).await?;
//! let engine = server.engine();
//! let proxy = engine
//!     .create_proxy(NewProxy::new("sms", "127.0.0.1:0", upstream.local_addr()?.to_string()))
//!     .await?;
//!
//! engine.add_toxic("sms", Toxic::new(Stream::Downstream, Timeout { timeout: 0 }).bound_to(1))?;
//!
//! let mut client = TcpStream::connect(&proxy.listen).await?;
//! client.write_all(b"send it").await?;
//! let (mut provider, seen_from) = upstream.accept().await?;
//! let mut request = [0; 7];
//! provider.read_exact(&mut request).await?;
//! assert_eq!(engine.connection_by_upstream_addr("sms", seen_from), Some(1));
//!
//! let mut events = engine.subscribe("sms");
//! provider.write_all(b"accepted").await?;
//! let hit = events.recv().await.ok_or("the proxy is there")?;
//! assert_eq!(
//!     hit,
//!     toxic_proxy::ConnectionEvent::ToxicHit { id: 1, toxic: "timeout_downstream".to_owned() }
//! );
//! # Ok(())
//! # }
//! ```

mod api;
mod config;
mod connection;
mod engine;
mod error;
mod half;
mod item;
mod link;
mod listener;
#[cfg(test)]
mod properties;
mod proxy;
mod proxy_info;
mod pump;
mod schedule;
mod seed;
mod server;
mod stage;
mod toxic;
pub mod toxics;
mod traffic;
mod wire;

pub use api::VERSION;
pub use engine::{Engine, ToxicUpdate};
pub use error::Error;
pub use proxy_info::{NewProxy, ProxyInfo, ProxyUpdate};
pub use server::{Config, Server};
pub use toxic::{Stream, Toxic};
pub use toxics::Attributes;
pub use traffic::{ConnectionEvent, ConnectionInfo, Peer, SideEnd};

//! An SMS provider to test against.
//!
//! It accepts messages over the API of a [`Profile`], remembers idempotency keys and replays
//! stored answers byte for byte, and keeps two records apart: every *attempt* on the wire, with
//! how it ended as the server's socket saw it, and every *delivery*, one buzz of one phone. It
//! can do wrong at an exact attempt and an exact stage ([`fault`]), and it can hold an attempt at
//! a stage until somebody lets it go ([`HoldRule`]).
//!
//! A provider runs inside a test, on a free port:
//!
//! ```
//! use stub_provider::{Config, Provider, event::EventKind};
//! # use tokio::{io::{AsyncReadExt, AsyncWriteExt}, net::TcpStream};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let provider = Provider::start(Config::default()).await?;
//! let mut events = provider.subscribe();
//!
//! // Any HTTP client will do; this one is a socket.
//! let body = r#"{"to":"+12025550142","body":"Your code is 471142"}"#;
//! let mut client = TcpStream::connect(provider.addr()).await?;
//! let request = format!(
//!     "POST /v1/messages HTTP/1.1\r\nHost: stub\r\nIdempotency-Key: otp-1\r\n\
//!      Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
//!     body.len(),
//! );
//! client.write_all(request.as_bytes()).await?;
//! let mut answer = String::new();
//! client.read_to_string(&mut answer).await?;
//! assert!(answer.starts_with("HTTP/1.1 201 Created"));
//!
//! while let Some(event) = events.recv().await {
//!     if let EventKind::Delivered { attempt, .. } = event.kind {
//!         assert_eq!(attempt, 1);
//!         break;
//!     }
//! }
//! provider.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! # Map
//!
//! | what | where |
//! |---|---|
//! | start, watch, fault, hold, stop | [`provider`] |
//! | the words of faults; which attempts they are for | [`fault`], [`attempts`], [`duration`] |
//! | what is seen | [`event`] |
//! | which intent a request is for | [`intent`] |
//! | the API that is spoken, as data | [`profile`], [`place`], [`canonical`] |
//! | what is wrong with a file, with its line | [`document`], [`diagnostic`] |
//! | keys: one owner, one payload, one answer | [`ledger`], [`fingerprint`] |
//! | what outlives the process, when asked | [`store`] |
//! | what becomes of a message, and what its client hears of it | [`life`], [`webhook`], [`signature`] |
//! | how much a customer may ask for | [`quota`] |
//! | the one time that all of this lives by | [`clock`] |
//!
//! A request comes in on a `connection` (whose socket is a `wire`), `arrival` enters it in the
//! `record`, `accept` decides it at once, or `carry` takes it through holds and `rules` first.

pub mod attempts;
pub mod canonical;
pub mod clock;
pub mod diagnostic;
pub mod document;
pub mod duration;
pub mod event;
pub mod fault;
pub mod fingerprint;
pub mod hold;
pub mod intent;
pub mod ledger;
pub mod life;
pub mod logs;
pub mod message;
pub mod place;
pub mod profile;
pub mod provider;
pub mod quota;
pub mod signature;
pub mod store;
pub mod webhook;

mod accept;
mod admin;
mod admission;
mod arrival;
mod batch;
mod carry;
mod connection;
mod core;
mod duplicates;
mod era;
mod inbound;
mod keep;
mod kept;
mod key;
mod numbered;
mod observers;
mod once;
mod openapi;
mod passcode;
mod receipt;
mod record;
mod reply;
mod request;
mod rules;
mod segments;
mod sent;
mod server;
mod tally;
mod template;
mod wire;

pub use clock::Clock;
pub use hold::HoldRule;
pub use intent::{ExpectedIntent, Intents};
pub use life::LifeTimes;
pub use profile::{Profile, ProfileError};
pub use provider::{Config, Error, Limits, Provider};
pub use quota::{Quota, Rate};
pub use store::StoreConfig;
pub use webhook::WebhookTimes;

//! An SMS provider to test against.

pub mod attempts;
pub mod clock;
pub mod duration;
pub mod event;
pub mod fault;
pub mod fingerprint;
pub mod hold;
pub mod intent;
pub mod ledger;
pub mod message;
pub mod place;
pub mod profile;
pub mod provider;
pub mod receipt;
pub mod signature;

mod accept;
mod admin;
mod arrival;
mod carry;
mod connection;
mod core;
mod observers;
mod record;
mod reply;
mod request;
mod rules;
mod server;
mod template;
mod wire;

pub use clock::Clock;
pub use hold::HoldRule;
pub use intent::{ExpectedIntent, Intents};
pub use profile::{Profile, ProfileError};
pub use provider::{Config, Error, Limits, Provider};
pub use receipt::ReceiptTimes;

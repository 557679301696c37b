//! The only orchestrator: starts stub, proxy and client, applies and heals faults, and leaves a
//! history.
//!
//! The map, from the outside in:
//!
//! - [`suite`]: the baseline, then every scenario, several at once.
//! - [`labs`]: what the labs of a run share, and one plan carried out in one.
//! - `lab`: one scenario with everything that it needs to itself.
//! - `nemesis`, `network`, `toxiproxy`, `caller`, `database`: which fault is due, and the hands
//!   that put it in place.
//! - `process`, `guardian`, `ready`, `front_door`, `outcome`: the client under test, from outside.
//! - `threads`, `starvation`, `rest`: whether it could do anything, and whether it does.
//! - `recorder`, `timers`, `ports`, `estimate`, `directory`: what was seen, what is to come, where
//!   things stand.
//!
//! Nothing here formats for people, and nothing here judges.

mod caller;
mod database;
pub(crate) mod directory;
mod error;
mod estimate;
mod front_door;
pub mod guardian;
pub mod interrupt;
mod lab;
pub mod labs;
mod nemesis;
mod network;
mod outcome;
mod ports;
mod process;
mod ready;
mod recorder;
mod rest;
mod starvation;
pub mod suite;
mod threads;
mod timers;
mod toxiproxy;

pub use error::Error;

//! A scenario with everything resolved: what will be submitted, and each fault with its place.
//!
//! Owns the [`Plan`], which nothing later validates again. Pure: no clock, no I/O, all
//! randomness from the seed.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stub_provider::{attempts::Attempts, fault::RequestKind};

use crate::{
    fault::Action,
    intent::{Intent, Outcome},
};

/// Something that a scenario needs of the client or the engine; without it, it is skipped.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// A provider API with an idempotency key.
    Key,
    /// A client with a receipt endpoint (`[callback]`).
    Callback,
    /// A client that takes `{customer}`.
    Customers,
    /// A client with a worker, of which several can run.
    Workers,
    /// A client that knows a second provider.
    Failover,
    /// A client that can ask the provider what became of a message.
    Lookup,
    /// A client that can be started again after a kill.
    Restart,
    /// A client that takes a key from its caller (`{key}`).
    CallerKey,
    /// A client that is told when the message becomes useless (`{expires_at}`).
    Expiry,
    /// A client whose database the harness can reach (`[database]`).
    Database,
    /// A client that recognises an intent submitted twice (`{intent}` in its submit form).
    FrontDoor,
}

/// A scenario with everything resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The scenario's name: the file's stem, with the matrix value where there is one
    /// (`server-errors[status=503]`).
    pub name: String,
    /// What happens, in one line.
    pub title: String,
    /// Why it matters, in one sentence.
    pub why: String,
    /// Words to select it by.
    pub tags: Vec<String>,
    /// The file it was read from; `None` for one of the embedded suite.
    pub file: Option<String>,
    /// What it needs of the client.
    pub needs: Vec<Need>,
    /// The seed of all randomness in the run.
    pub seed: u64,
    /// The messages to be sent.
    pub intents: Vec<Intent>,
    /// Whether each intent is submitted only when the one before is settled (a warm-up).
    pub one_by_one: bool,
    /// The faults, in the order of the file.
    pub faults: Vec<PlannedFault>,
    /// How long the provider remembers keys; `None`: as its profile says.
    pub retention: Option<Duration>,
    /// How many workers the scenario asks for; `None`: as the client file says.
    pub workers: Option<u32>,
    /// Whether a second provider stands by.
    pub failover: bool,
    /// What must come out.
    pub expect: Expect,
}

impl Plan {
    /// The longest that the scenario itself makes a client wait: outages, pauses, late answers,
    /// `Retry-After`.
    #[must_use]
    pub fn longest_wait(&self) -> Duration {
        let wait = |fault: &PlannedFault| fault.action.longest_wait();
        self.faults.iter().map(wait).max().unwrap_or_default()
    }
}

/// What must come out, beside what the standard checks demand.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expect {
    /// Deliveries for each intent; `None`: as the standard checks say.
    pub deliveries: Option<u32>,
    /// Outcomes that are right; empty: as the standard checks say.
    pub outcomes: Vec<Outcome>,
    /// The findings that this scenario is meant to catch, by id; empty: none.
    pub findings: Vec<String>,
}

/// One fault with its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedFault {
    /// 1, 2, 3… in the order of the file.
    pub id: u32,
    /// The line of the scenario's file on which it stands, from 1; 0 where there is no file.
    pub line: usize,
    /// The fault as the file has it, in one line, for reports.
    pub text: String,
    /// Which intent, by number; `None`: each.
    pub intent: Option<usize>,
    /// Which provider, 1 or 2; `None`: either.
    pub provider: Option<u8>,
    /// Submit requests or lookups.
    pub request: RequestKind,
    /// At which of its attempts or connections.
    pub place: Place,
    /// What goes wrong.
    pub action: Action,
}

/// What a fault counts by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// Attempts of the intent (or lookups of it), from 1.
    Attempts(Attempts),
    /// Connections at the proxy, from 1.
    Connection(u32),
}

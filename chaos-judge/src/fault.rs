//! What can go wrong: the words of a scenario's `[[fault]]`, resolved.
//!
//! Owns the faults of the network, of the client's process, of its database and of its front
//! door, and [`Action`], which joins them with the provider's own ([`stub_provider::fault`]).
//! Carrying them out is the run's.

use std::{collections::BTreeMap, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stub_provider::{
    duration::Span,
    fault::{ProviderFault, ReceiptFault},
};

/// A Toxiproxy toxic, by its own name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToxicKind {
    /// Delays data by `latency` ± `jitter` milliseconds.
    Latency,
    /// Limits data to `rate` KB a second.
    Bandwidth,
    /// Delays the close by `delay` milliseconds.
    SlowClose,
    /// Drops all data, and closes after `timeout` milliseconds (0: never).
    Timeout,
    /// Resets the connection after `timeout` milliseconds.
    ResetPeer,
    /// Cuts data into pieces of `average_size` ± `size_variation` bytes, `delay` µs apart.
    Slicer,
    /// Closes after `bytes` bytes.
    LimitData,
    /// Does nothing.
    Noop,
}

impl ToxicKind {
    /// Toxiproxy's name of the type.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Bandwidth => "bandwidth",
            Self::SlowClose => "slow_close",
            Self::Timeout => "timeout",
            Self::ResetPeer => "reset_peer",
            Self::Slicer => "slicer",
            Self::LimitData => "limit_data",
            Self::Noop => "noop",
        }
    }
}

/// The direction that a toxic acts on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stream {
    /// Client to provider.
    Upstream,
    /// Provider to client.
    #[default]
    Downstream,
}

impl Stream {
    /// Toxiproxy's name of the direction.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Upstream => "upstream",
            Self::Downstream => "downstream",
        }
    }
}

/// A network fault, in Toxiproxy's own words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Toxic {
    /// Its type.
    pub kind: ToxicKind,
    /// The direction that it acts on.
    pub stream: Stream,
    /// Probability from 0 to 1 that it acts on a connection.
    pub toxicity: f64,
    /// Its attributes, in Toxiproxy's names and units.
    pub attributes: BTreeMap<String, u64>,
}

/// A point in the life of an attempt at which something happens to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClientStage {
    /// The intent was handed to the client; nothing was sent yet.
    Submitted,
    /// The client has connected; no byte of the request has passed.
    Connected,
    /// The provider has read the request and decided nothing.
    BeforeAccept,
    /// The provider has accepted; the answer has not left.
    AfterAccept,
    /// The answer has left.
    Answered,
}

/// Which of the client's processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClientProcess {
    /// What sends: every worker; for a client without workers, the submit command.
    #[default]
    Sender,
    /// The submit command.
    Submit,
}

/// Something that happens to the client's process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClientFault {
    /// SIGKILL to its process group; then it is started again.
    Kill(ClientFaultAt),
    /// SIGTERM; then, once it is gone, it is started again.
    Terminate(ClientFaultAt),
    /// SIGSTOP for a while, then SIGCONT.
    Pause(ClientPause),
}

impl ClientFault {
    /// Which process it is for.
    #[must_use]
    pub fn process(&self) -> ClientProcess {
        match self {
            Self::Kill(at) | Self::Terminate(at) => at.process,
            Self::Pause(pause) => pause.process,
        }
    }
}

/// `client.kill`, `client.terminate`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ClientFaultAt {
    /// When.
    pub stage: ClientStage,
    /// Whom.
    #[serde(default)]
    pub process: ClientProcess,
    /// How long until it is started again.
    #[serde(default)]
    pub restart_after: Span,
}

/// `client.pause`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ClientPause {
    /// When.
    pub stage: ClientStage,
    /// Whom.
    #[serde(default)]
    pub process: ClientProcess,
    /// How long it stands still.
    #[serde(rename = "for")]
    pub lasts: Span,
}

/// Something that happens to the client's own database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DatabaseFault {
    /// Another session holds a write lock on it.
    Lock(DatabaseFaultAt),
    /// It takes no connection.
    Down(DatabaseFaultAt),
}

/// `database.lock`, `database.down`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DatabaseFaultAt {
    /// When it begins.
    pub stage: ClientStage,
    /// How long it lasts.
    #[serde(rename = "for")]
    pub lasts: Span,
}

/// Something that the caller of the client does wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SubmitFault {
    /// The same intent is submitted again after the first submission is through.
    Duplicate(SubmitNothing),
    /// The same intent is submitted twice at once.
    Concurrent(SubmitNothing),
    /// The same intent is submitted again with other words.
    Conflict(SubmitNothing),
    /// The caller hangs up before the client has answered, and submits again.
    Abandon(SubmitNothing),
}

/// A submit fault has no settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubmitNothing {}

/// What goes wrong: one kind for each `[[fault]]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// The network, by a toxic.
    Toxic(Toxic),
    /// The network: connects are refused for a while.
    Down(Span),
    /// The network: connects are not answered for a while.
    Blackhole(Span),
    /// The provider.
    Provider(ProviderFault),
    /// The provider's receipts.
    Receipt(ReceiptFault),
    /// The client's process.
    Client(ClientFault),
    /// The client's database.
    Database(DatabaseFault),
    /// The client's caller.
    Submit(SubmitFault),
}

impl Action {
    /// The longest that it makes a client wait by itself.
    #[must_use]
    pub fn longest_wait(&self) -> Duration {
        let span = |span: &Option<Span>| span.map_or(Duration::ZERO, |span| span.0);
        match self {
            Self::Down(lasts) | Self::Blackhole(lasts) => lasts.0,
            Self::Provider(fault) => match fault {
                ProviderFault::Respond(respond) => {
                    span(&respond.retry_after).max(span(&respond.retry_after_date))
                }
                ProviderFault::RateLimit(limit) => {
                    span(&limit.retry_after).max(span(&limit.retry_after_date))
                }
                ProviderFault::Delay(delay) => delay.lasts.0,
                ProviderFault::InFlight(in_flight) => in_flight.lasts.0,
                ProviderFault::Crash(crash) => crash.lasts.0,
                _ => Duration::ZERO,
            },
            Self::Receipt(ReceiptFault::Delay(delay)) => delay.lasts.0,
            Self::Receipt(ReceiptFault::Down(down)) => down.lasts.0,
            Self::Client(ClientFault::Kill(at) | ClientFault::Terminate(at)) => at.restart_after.0,
            Self::Client(ClientFault::Pause(pause)) => pause.lasts.0,
            Self::Database(DatabaseFault::Lock(at) | DatabaseFault::Down(at)) => at.lasts.0,
            Self::Toxic(_) | Self::Receipt(_) | Self::Submit(_) => Duration::ZERO,
        }
    }
}

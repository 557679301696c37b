//! What the client promises about its retries; an absent promise is not checked.
//!
//! Owns the `[policy]` table of a client file. Holding the client to it is the checks'.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stub_provider::duration::Span;

/// What the client promises.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Policy {
    /// The most requests that it makes for one intent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// How long it waits between them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff: Option<Backoff>,
    /// How long it waits for an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_timeout: Option<Span>,
    /// How long a worker may hold an intent before another takes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Span>,
}

/// Exponential backoff: the n-th wait is at most `min(cap, base * 2^n)`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Backoff {
    /// The first wait.
    pub base: Span,
    /// The longest wait.
    pub cap: Span,
    /// Whether waits are drawn at random.
    #[serde(default)]
    pub jitter: bool,
}

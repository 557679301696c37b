//! The client file as it is written: the raw types that serde fills.
//!
//! Owns the keys, their forms and their documentation (the JSON schema and the reference are
//! generated from here). Whether the values make sense together is [`super::resolve`]'s.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use stub_provider::duration::Span;

use crate::{intent::Outcome, policy::Policy};

/// A client under test: how a message enters it, what sends, and how to learn what it believes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Client")]
pub(crate) struct RawClientFile {
    /// The client's name, for reports.
    pub(crate) name: String,
    /// What the client can do that the rest of this file does not show.
    #[serde(default)]
    pub(crate) capabilities: Vec<Capability>,
    /// The environment of every command below, beside the runner's own. Values take the
    /// placeholders of a lab: `{lab}`, `{work_dir}`, `{port}`,
    /// `{seed}`.
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    /// What is run once for each scenario, before anything else.
    pub(crate) setup: Option<RawSetup>,
    /// How a message enters the client: exactly one of `command`, `stdin` and `http`.
    pub(crate) submit: RawSubmit,
    /// What sends. Absent: the submit command does it itself.
    pub(crate) worker: Option<RawWorker>,
    /// How to learn what the client believes. Absent, for a submit command without a worker: by
    /// its exit code, 0 for sent and any other for unknown.
    pub(crate) outcome: Option<RawOutcome>,
    /// The provider's API that the client speaks.
    #[serde(default)]
    pub(crate) provider: RawProvider,
    /// What the client promises about its retries; an absent promise is not checked.
    #[serde(default)]
    pub(crate) policy: Policy,
    /// Findings that are known, by id: they do not fail a run until their date.
    #[serde(default)]
    pub(crate) known: BTreeMap<String, RawKnown>,
    /// Where the client takes receipts.
    pub(crate) callback: Option<RawUrl>,
    /// The client's own database, for the faults that lock it or take it away.
    pub(crate) database: Option<RawUrl>,
}

/// What a client can do that its file does not show elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Capability {
    /// It asks a second provider (`SMS_API_BASE_2`) where the first fails.
    Failover,
    /// It asks the provider by GET what became of a message.
    Lookup,
    /// It sends on behalf of several customers (seen where `{customer}` is used).
    Customers,
    /// It takes a key from its caller (seen where `{key}` is used).
    CallerKey,
    /// It is told when a message becomes useless (seen where `{expires_at}` is used).
    Expiry,
    /// It recognises a message that is submitted twice (seen where `{intent}` is used).
    FrontDoor,
}

/// `[setup]`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Setup")]
pub(crate) struct RawSetup {
    /// The program and its arguments, run in this file's directory without a shell.
    pub(crate) command: Vec<String>,
}

/// `[submit]`: exactly one of `command`, `stdin` and `http`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Submit")]
pub(crate) struct RawSubmit {
    /// Run once for each message, with its placeholders filled in.
    pub(crate) command: Option<Vec<String>>,
    /// Run once; reads one line of JSON for each message:
    /// `{"intent", "customer", "to", "body", "expires_at"}`.
    pub(crate) stdin: Option<Vec<String>>,
    /// One HTTP request for each message, to the client's own server.
    pub(crate) http: Option<RawHttp>,
    /// How long one submission may take; absent: 60s.
    pub(crate) timeout: Option<Span>,
}

/// `submit.http`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "SubmitHttp")]
pub(crate) struct RawHttp {
    /// The method; absent: POST.
    pub(crate) method: Option<String>,
    /// The URL, on this machine.
    pub(crate) url: String,
    /// Headers.
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    /// The body, as JSON; placeholders stand in its texts.
    #[schemars(with = "Option<BTreeMap<String, serde_json::Value>>")]
    pub(crate) json: Option<toml::Table>,
    /// The statuses that mean that the client has taken the message; absent: any 2xx.
    #[serde(default)]
    pub(crate) accept: Vec<u16>,
}

/// `[worker]`: what sends.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Worker")]
pub(crate) struct RawWorker {
    /// The program and its arguments, run in this file's directory without a shell.
    pub(crate) command: Vec<String>,
    /// How many run at once; absent: 1. A scenario may ask for more.
    #[schemars(range(min = 1))]
    pub(crate) workers: Option<u32>,
    /// How to see that it is ready; absent: it is when it runs.
    pub(crate) ready: Option<RawReady>,
    /// When its work is over: `settled` (nothing in flight, outcomes final) or `exit`.
    #[serde(default)]
    pub(crate) until: Until,
    /// Whether it is started again by itself after a kill; false for a one-shot, which is
    /// simply run again. Absent: true.
    pub(crate) restart: Option<bool>,
    /// How long the whole scenario may take it; absent: 60s.
    pub(crate) timeout: Option<Span>,
}

/// When a worker's work is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Until {
    /// Nothing is in flight and every outcome is final; it is then ended.
    #[default]
    Settled,
    /// It exits by itself.
    Exit,
}

/// `worker.ready`: exactly one of the three.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Ready")]
pub(crate) struct RawReady {
    /// This URL answers with a 2xx.
    pub(crate) http: Option<String>,
    /// This port takes connections.
    pub(crate) port: Option<String>,
    /// A line with these words stands on its standard output or error.
    pub(crate) log: Option<String>,
}

/// `[outcome]`: exactly one of `sql`, `command` and `exit-code`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "OutcomeProbe")]
pub(crate) struct RawOutcome {
    /// A query on the client's database.
    pub(crate) sql: Option<RawSql>,
    /// A command that prints one line of JSON for each message:
    /// `{"intent" or "to", "outcome", "attempts"}`.
    pub(crate) command: Option<Vec<String>>,
    /// What the submit command's exit codes mean; `other` is the rest.
    pub(crate) exit_code: Option<BTreeMap<String, Outcome>>,
    /// The client's own words for the outcomes.
    #[serde(default)]
    pub(crate) map: BTreeMap<String, Outcome>,
}

/// `outcome.sql`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "OutcomeSql")]
pub(crate) struct RawSql {
    /// `sqlite://…` or `postgres://…`.
    pub(crate) url: String,
    /// Its columns: `intent` or `to`, `outcome`, and `attempts` where the client counts them.
    pub(crate) query: String,
}

/// `[provider]`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
#[schemars(rename = "ProviderApi")]
pub(crate) struct RawProvider {
    /// Which provider's API the stub speaks: the name of a built-in profile, or the path of a
    /// profile file, from this file's directory; absent: `v1`.
    pub(crate) profile: Option<String>,
    /// Where the idempotency key stands: `header:NAME`, `json:PATH`, `form:FIELD` or `none`;
    /// absent: as the profile says.
    pub(crate) key: Option<String>,
}

/// `[known]`: one finding that is known.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Known")]
pub(crate) struct RawKnown {
    /// Why it is let through.
    pub(crate) reason: String,
    /// The last day on which it is, as in 2027-03-01.
    #[schemars(with = "String", extend("format" = "date"))]
    pub(crate) until: toml::value::Datetime,
}

/// A table with a URL.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Url")]
pub(crate) struct RawUrl {
    /// The URL; takes the placeholders of a lab.
    pub(crate) url: String,
}

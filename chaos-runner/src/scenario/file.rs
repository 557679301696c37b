//! The scenario file as it is written: the raw types that serde fills.
//!
//! Owns the keys, their forms and their documentation (the JSON schema and the reference are
//! generated from here). Whether the values make sense together is [`super::resolve`]'s.

use std::{collections::BTreeMap, fmt};

use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer,
    de::{self, value::MapAccessDeserializer},
};
use stub_provider::{
    attempts::Attempts,
    duration::Span,
    fault::{ProviderFault, ReceiptFault, RequestKind},
};

use super::{matrix::MatrixValue, toxic::RawToxic};
use crate::{
    fault::{ClientFault, DatabaseFault, SubmitFault},
    intent::Outcome,
    plan::Need,
};

/// A scenario: what is to be sent, what goes wrong, and what must come out.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Scenario")]
pub(crate) struct ScenarioFile {
    /// What happens, in one line.
    pub(crate) title: String,
    /// Why it matters, in one sentence.
    pub(crate) why: String,
    /// Words to select the scenario by (`--only TAG`).
    #[serde(default)]
    pub(crate) tags: Vec<String>,
    /// What the client or its provider must have; without it the scenario is skipped. What the
    /// faults need is added by itself.
    #[serde(default)]
    pub(crate) needs: Vec<Need>,
    /// The messages that the business wants sent; absent: one.
    #[serde(default)]
    pub(crate) intents: RawIntents,
    /// The provider's own settings.
    #[serde(default)]
    pub(crate) provider: RawProvider,
    /// The client's settings in this scenario.
    #[serde(default)]
    pub(crate) client: RawClient,
    /// One scenario for each value: `{key}` stands wherever a value may, also for a number or
    /// inside a text. With several keys, every combination.
    #[serde(default, rename = "matrix")]
    #[expect(
        dead_code,
        reason = "the matrix is expanded before the rest is read; here it is documented"
    )]
    pub(crate) matrix: BTreeMap<String, Vec<MatrixValue>>,
    /// What goes wrong. Each `[[fault]]` has exactly one of `toxic`, `connect`, `provider`,
    /// `receipt`, `client`, `database` and `submit`.
    #[serde(default, rename = "fault")]
    pub(crate) faults: Vec<RawFault>,
    /// What must come out; the standard checks always apply.
    #[serde(default)]
    pub(crate) expect: RawExpect,
}

/// `[intents]`: the messages that the business wants sent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
#[schemars(rename = "Intents")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch that an author sets by itself"
)]
pub(crate) struct RawIntents {
    /// How many messages.
    #[schemars(range(min = 1))]
    pub(crate) count: usize,
    /// Whether all go to one number: several real messages, of which none may be swallowed.
    pub(crate) same_recipient: bool,
    /// Whether all have the same words: they are then judged by count.
    pub(crate) identical_body: bool,
    /// Whether their identities differ only in their last two characters.
    pub(crate) close_ids: bool,
    /// On behalf of how many customers they go out, in turn; absent: one, named `default`.
    #[schemars(range(min = 1, max = 26))]
    pub(crate) customers: Option<usize>,
    /// How long after its submission a message is still of use; absent: for ever.
    pub(crate) expires_after: Option<Span>,
    /// Whether each is submitted only when the one before is settled: the first ones warm up
    /// what the last one meets.
    pub(crate) one_by_one: bool,
    /// The caller insists on a key for each message. With several customers, each of them uses
    /// the same keys.
    pub(crate) caller_keys: Option<CallerKeys>,
}

impl Default for RawIntents {
    fn default() -> Self {
        Self {
            count: 1,
            same_recipient: false,
            identical_body: false,
            close_ids: false,
            customers: None,
            expires_after: None,
            one_by_one: false,
            caller_keys: None,
        }
    }
}

/// Which keys the caller insists on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CallerKeys {
    /// Short and plainly different.
    Plain,
    /// Of 255 characters that differ only at the end.
    Long,
    /// Equal but for upper and lower case.
    Case,
}

/// `[provider]`: the provider's own settings.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
#[schemars(rename = "ProviderSettings")]
pub(crate) struct RawProvider {
    /// How long it remembers a key, in real time; the client is told by `SMS_KEY_RETENTION`.
    pub(crate) retention: Option<Span>,
    /// Whether a second provider stands by, at `SMS_API_BASE_2`.
    pub(crate) failover: bool,
}

/// `[client]`: the client's settings in this scenario.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
#[schemars(rename = "ClientSettings")]
pub(crate) struct RawClient {
    /// How many workers run at once; absent: as the client file says.
    #[schemars(range(min = 1))]
    pub(crate) workers: Option<u32>,
}

/// `[[fault]]`: one thing that goes wrong, and where.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Fault")]
pub(crate) struct RawFault {
    /// At which attempts of each message: 1, [1, 3], "1..3" (inclusive), "2.." or "all". An
    /// attempt is a submit request that reached the provider.
    pub(crate) attempt: Option<Attempts>,
    /// At which connection, counted at the proxy from 1: for what keeps a request from arriving.
    #[schemars(range(min = 1))]
    pub(crate) connection: Option<u32>,
    /// Only at this message, counted from 1; absent: at each.
    #[schemars(range(min = 1))]
    pub(crate) intent: Option<usize>,
    /// Only at this provider, 1 or 2; absent: at either. (Where the fault is the provider's own,
    /// the only form; else `provider = 2` says the same.)
    #[schemars(range(min = 1, max = 2))]
    pub(crate) at_provider: Option<u8>,
    /// Submit requests (the default) or lookups.
    #[serde(default)]
    pub(crate) request: RequestKind,
    /// The network, by a Toxiproxy toxic, or `down`: connects are refused for a while.
    pub(crate) toxic: Option<RawToxic>,
    /// The network: `blackhole`, connects are not answered for a while.
    pub(crate) connect: Option<RawConnect>,
    /// The provider does something wrong. (A number in its place: as `at-provider`.)
    pub(crate) provider: Option<NumberOrFault>,
    /// The provider's receipts go wrong.
    pub(crate) receipt: Option<ReceiptFault>,
    /// Something happens to the client's process.
    pub(crate) client: Option<ClientFault>,
    /// Something happens to the client's database.
    pub(crate) database: Option<DatabaseFault>,
    /// The client's caller does something wrong.
    pub(crate) submit: Option<SubmitFault>,
}

/// `connect.<kind>`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "ConnectFault")]
pub(crate) enum RawConnect {
    /// Connects are not answered for a while: the SYN is lost.
    Blackhole(RawFor),
}

/// A length of time and nothing else.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "For")]
pub(crate) struct RawFor {
    /// How long.
    #[serde(rename = "for")]
    pub(crate) lasts: Span,
}

/// `[expect]`: what must come out, beside what the standard checks demand.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
#[schemars(rename = "Expect")]
pub(crate) struct RawExpect {
    /// Deliveries for each message.
    pub(crate) deliveries: Option<u32>,
    /// What the client believes in the end: one outcome, or a list of those that are right.
    pub(crate) outcome: Option<OneOrMore>,
    /// The findings that this scenario is meant to catch, by id.
    pub(crate) findings: Vec<String>,
}

/// One outcome, or a list of them.
#[derive(Debug)]
pub(crate) struct OneOrMore(pub(crate) Vec<Outcome>);

impl<'de> Deserialize<'de> for OneOrMore {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = OneOrMore;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an outcome or a list of outcomes")
            }
            fn visit_str<E: de::Error>(self, word: &str) -> Result<OneOrMore, E> {
                word.parse()
                    .map(|outcome| OneOrMore(vec![outcome]))
                    .map_err(E::custom)
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<OneOrMore, A::Error> {
                let mut outcomes = Vec::new();
                while let Some(outcome) = seq.next_element()? {
                    outcomes.push(outcome);
                }
                Ok(OneOrMore(outcomes))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for OneOrMore {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Outcomes".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let outcome = generator.subschema_for::<Outcome>();
        schemars::json_schema!({
            "description": "One outcome, or a list of those that are right.",
            "anyOf": [outcome, { "type": "array", "items": outcome, "minItems": 1 }],
        })
    }
}

/// `provider = 2`, or `provider.<kind> = { … }`.
#[derive(Debug)]
pub(crate) enum NumberOrFault {
    /// The provider at which a fault of another domain acts.
    Number(u8),
    /// A fault of the provider's own.
    Fault(ProviderFault),
}

impl<'de> Deserialize<'de> for NumberOrFault {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = NumberOrFault;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a provider's number, or its fault, as in provider.hang = { … }")
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<NumberOrFault, E> {
                // Out of range is answered with the place of the number by the resolver.
                Ok(NumberOrFault::Number(u8::try_from(number).unwrap_or(0)))
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<NumberOrFault, E> {
                Ok(NumberOrFault::Number(u8::try_from(number).unwrap_or(0)))
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<NumberOrFault, A::Error> {
                ProviderFault::deserialize(MapAccessDeserializer::new(map))
                    .map(NumberOrFault::Fault)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for NumberOrFault {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Provider".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let fault = generator.subschema_for::<ProviderFault>();
        schemars::json_schema!({
            "description": "A fault of the provider's own, or the number of the provider at which the fault acts.",
            "anyOf": [fault, { "type": "integer", "minimum": 1, "maximum": 2 }],
        })
    }
}

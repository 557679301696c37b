//! [`Rules`]: which faults are in force.
//!
//! Owns the list and the question which of them act on an attempt at a stage. Carrying one out is
//! not decided here.

use std::sync::{Arc, PoisonError, RwLock};

use hyper::header::{HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    attempts::Attempts,
    fault::{FaultRule, ProviderFault, ReceiptFault, RequestKind, Stage, Wrong},
    record::Attempt,
};

/// Every fault in force, in the order in which they were set.
#[derive(Debug, Default)]
pub(crate) struct Rules(RwLock<Vec<Arc<FaultRule>>>);

impl ProviderFault {
    /// Where in the life of an attempt it acts.
    #[must_use]
    pub fn stage(&self) -> Stage {
        match self {
            Self::Respond(f) => f.stage,
            Self::Hang(f) => f.stage,
            Self::Reset(f) | Self::Close(f) => f.stage,
            Self::Truncate(f) => f.stage,
            Self::Garble(f) => f.stage,
            Self::Delay(f) => f.stage,
            Self::Crash(f) => f.stage,
            Self::Redirect(_) | Self::InFlight(_) | Self::RateLimit(_) => Stage::BeforeAccept,
        }
    }
}

/// Whether a rule is for this attempt, apart from what goes wrong.
fn aims_at(rule: &FaultRule, attempt: &Attempt) -> bool {
    let reading = &attempt.reading;
    let ordinal = if rule.key.is_some() {
        attempt.by_key
    } else {
        reading.ordinal
    };
    rule.request == reading.kind && names(rule, attempt) && rule.attempts.contains(ordinal)
}

fn names(rule: &FaultRule, attempt: &Attempt) -> bool {
    let reading = &attempt.reading;
    rule.intent
        .is_none_or(|intent| reading.intent == Some(intent))
        && (rule.key.is_none() || rule.key == reading.key)
        && (rule.to.is_none() || rule.to == reading.to)
}

impl Rules {
    pub(crate) fn add(&self, rule: FaultRule) {
        self.write().push(Arc::new(rule));
    }

    /// Removes the rule of that id (every rule where `None`); how many there were.
    pub(crate) fn remove(&self, id: Option<u32>) -> usize {
        let mut list = self.write();
        let before = list.len();
        list.retain(|rule| id.is_some_and(|id| rule.id != id));
        before - list.len()
    }

    pub(crate) fn list(&self) -> Vec<Arc<FaultRule>> {
        self.read().clone()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.read().is_empty()
    }

    /// The provider faults that act on an attempt at a stage, with the ids of their rules.
    pub(crate) fn at(&self, stage: Stage, attempt: &Attempt) -> Vec<(u32, ProviderFault)> {
        self.read()
            .iter()
            .filter_map(|rule| match &rule.wrong {
                Wrong::Provider(fault) if fault.stage() == stage && aims_at(rule, attempt) => {
                    Some((rule.id, fault.clone()))
                }
                _ => None,
            })
            .collect()
    }

    /// The receipt faults of the `nth` accepted message of its intent.
    pub(crate) fn of_receipts(&self, attempt: &Attempt, nth: u32) -> Vec<(u32, ReceiptFault)> {
        self.read()
            .iter()
            .filter_map(|rule| match &rule.wrong {
                Wrong::Receipt(fault) if names(rule, attempt) && rule.attempts.contains(nth) => {
                    Some((rule.id, fault.clone()))
                }
                _ => None,
            })
            .collect()
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Vec<Arc<FaultRule>>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Vec<Arc<FaultRule>>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A rule as `[[fault]]` writes it, for the admin API.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct WrittenRule {
    #[serde(default)]
    attempt: Option<Attempts>,
    /// Counted from 1, as in a scenario.
    #[serde(default)]
    intent: Option<usize>,
    #[serde(default)]
    key: Option<String>,
    #[serde(default)]
    to: Option<String>,
    #[serde(default)]
    request: RequestKind,
    #[serde(default)]
    provider: Option<ProviderFault>,
    #[serde(default)]
    receipt: Option<ReceiptFault>,
}

impl WrittenRule {
    /// The rule, under the id `id`.
    pub(crate) fn into_rule(self, id: u32) -> Result<FaultRule, String> {
        let wrong = match (self.provider, self.receipt) {
            (Some(fault), None) => {
                check(&fault)?;
                Wrong::Provider(fault)
            }
            (None, Some(fault)) => Wrong::Receipt(fault),
            _ => return Err("name exactly one of `provider` and `receipt`".into()),
        };
        let intent = match self.intent {
            Some(0) => return Err("intents are counted from 1: there is no intent 0".into()),
            intent => intent.map(|intent| intent - 1),
        };
        Ok(FaultRule {
            id,
            attempts: self.attempt.unwrap_or(Attempts::All),
            intent,
            key: self.key,
            to: self.to,
            request: self.request,
            wrong,
        })
    }
}

/// What the types cannot say.
fn check(fault: &ProviderFault) -> Result<(), String> {
    match fault {
        ProviderFault::Respond(respond) if !(200..=599).contains(&respond.status) => Err(format!(
            "{} is not a status from 200 to 599",
            respond.status
        )),
        ProviderFault::Redirect(redirect) if !matches!(redirect.status, 307 | 308) => Err(format!(
            "{} is not a redirect that keeps the method: write 307 or 308",
            redirect.status
        )),
        ProviderFault::Respond(respond) => respond
            .headers
            .iter()
            .try_for_each(|(name, value)| header(name, value)),
        ProviderFault::RateLimit(limit) => limit
            .retry_after_raw
            .iter()
            .try_for_each(|value| header("retry-after", value)),
        _ => Ok(()),
    }
}

/// A header that cannot be sent would be a fault that does not act.
fn header(name: &str, value: &str) -> Result<(), String> {
    HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| format!("`{}` cannot be the name of a header", name.escape_debug()))?;
    HeaderValue::from_bytes(value.as_bytes())
        .map_err(|_| format!("`{}` cannot be the value of a header", value.escape_debug()))?;
    Ok(())
}

/// A rule as the admin API shows it.
pub(crate) fn written(rule: &FaultRule) -> Value {
    let mut shown = json!({
        "id": rule.id,
        "attempt": rule.attempts,
        "intent": rule.intent.map(|intent| intent + 1),
        "key": rule.key,
        "to": rule.to,
        "request": rule.request,
    });
    match &rule.wrong {
        Wrong::Provider(fault) => shown["provider"] = json!(fault),
        Wrong::Receipt(fault) => shown["receipt"] = json!(fault),
    }
    if let Value::Object(fields) = &mut shown {
        fields.retain(|_, value| !value.is_null());
    }
    shown
}

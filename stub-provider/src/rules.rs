//! [`Rules`]: which faults are in force.
//!
//! Owns the list and the question which of them act on an attempt at a stage. Carrying one out is
//! not decided here. Rules for one intent are found by it, so that thousands of intents with rules
//! of their own cost an attempt no more than one does.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use hyper::header::{HeaderName, HeaderValue};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    attempts::Attempts,
    fault::{FaultRule, ProviderFault, ReceiptFault, RequestKind, Stage, Wrong},
    once::Once,
    record::Attempt,
};

/// Every fault in force.
#[derive(Debug, Default)]
pub(crate) struct Rules(RwLock<Shelves>);

/// The rules by whom they are for, each with its place in the order in which they were set.
#[derive(Debug, Default)]
struct Shelves {
    for_any: Vec<Placed>,
    by_intent: HashMap<usize, Vec<Placed>>,
    once: Once,
    placed: u64,
}

type Placed = (u64, Arc<FaultRule>);

impl Shelves {
    fn add(&mut self, rule: FaultRule) {
        let number = self.placed;
        self.placed += 1;
        let list = match rule.intent {
            Some(intent) => self.by_intent.entry(intent).or_default(),
            None => &mut self.for_any,
        };
        list.push((number, Arc::new(rule)));
    }

    fn len(&self) -> usize {
        self.for_any.len() + self.by_intent.values().map(Vec::len).sum::<usize>()
    }

    fn retain(&mut self, keep: impl Fn(&FaultRule) -> bool) {
        self.for_any.retain(|(_, rule)| keep(rule));
        self.by_intent.retain(|_, shelf| {
            shelf.retain(|(_, rule)| keep(rule));
            !shelf.is_empty()
        });
    }

    fn all(&self) -> Vec<Arc<FaultRule>> {
        let mut all: Vec<&Placed> = self
            .for_any
            .iter()
            .chain(self.by_intent.values().flatten())
            .collect();
        all.sort_unstable_by_key(|(place, _)| *place);
        all.into_iter().map(|(_, rule)| rule.clone()).collect()
    }

    /// What `found` makes of the rules that can be for an attempt, in the order in which they were
    /// set.
    fn of<T>(&self, attempt: &Attempt, found: impl Fn(&FaultRule) -> Option<T>) -> Vec<T> {
        let own = attempt
            .intent()
            .and_then(|intent| self.by_intent.get(&intent))
            .map_or(&[][..], Vec::as_slice);
        let mut hits: Vec<(u64, T)> = self
            .for_any
            .iter()
            .chain(own)
            .filter_map(|(place, rule)| Some((*place, found(rule)?)))
            .collect();
        hits.sort_unstable_by_key(|(place, _)| *place);
        hits.into_iter().map(|(_, hit)| hit).collect()
    }
}

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
    let ordinal = if rule.key.is_some() {
        attempt.by_key
    } else {
        attempt.ordinal
    };
    rule.request == attempt.kind && names(rule, attempt) && rule.attempts.contains(ordinal)
}

fn names(rule: &FaultRule, attempt: &Attempt) -> bool {
    let reading = attempt.reading();
    rule.intent
        .is_none_or(|intent| reading.intent == Some(intent))
        && (rule.key.is_none() || rule.key.as_deref() == reading.key)
        && (rule.to.is_none() || rule.to.as_deref() == reading.to)
}

impl Rules {
    pub(crate) fn add(&self, rule: FaultRule) {
        self.write().add(rule);
    }

    /// Adds a rule that goes with the first attempt on which it acts.
    pub(crate) fn add_once(&self, rule: FaultRule) {
        let mut shelves = self.write();
        shelves.once.add(rule.id);
        shelves.add(rule);
    }

    /// Whether the rule of that id goes with the first attempt on which it acts.
    pub(crate) fn is_once(&self, id: u32) -> bool {
        self.read().once.contains(id)
    }

    /// A rule acts on an attempt: true where it was for that one alone, and so is gone.
    pub(crate) fn acted(&self, id: u32) -> bool {
        if self.read().once.is_empty() {
            return false;
        }
        let mut shelves = self.write();
        let gone = shelves.once.spend(id);
        if gone {
            shelves.retain(|rule| rule.id != id);
        }
        gone
    }

    /// An attempt is over: a rule that was for it and did not act is for the next.
    pub(crate) fn over(&self, attempt: &Arc<Attempt>) {
        if !self.read().once.is_empty() {
            self.write().once.give_back(attempt);
        }
    }

    /// Removes the rule of that id (every rule where `None`); how many there were.
    pub(crate) fn remove(&self, id: Option<u32>) -> usize {
        let mut shelves = self.write();
        let before = shelves.len();
        shelves.retain(|rule| id.is_some_and(|id| rule.id != id));
        match id {
            Some(id) => shelves.once.remove(id),
            None => shelves.once.clear(),
        }
        before - shelves.len()
    }

    pub(crate) fn list(&self) -> Vec<Arc<FaultRule>> {
        self.read().all()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.read().len() == 0
    }

    /// The provider faults that act on an attempt at a stage, with the ids of their rules.
    pub(crate) fn at(&self, stage: Stage, attempt: &Arc<Attempt>) -> Vec<(u32, ProviderFault)> {
        let aimed = |rule: &FaultRule| match &rule.wrong {
            Wrong::Provider(fault) if aims_at(rule, attempt) => Some(fault.clone()),
            _ => None,
        };
        let shelves = self.read();
        if shelves.once.is_empty() {
            return shelves.of(attempt, |rule| {
                let fault = aimed(rule).filter(|fault| fault.stage() == stage)?;
                Some((rule.id, fault))
            });
        }
        drop(shelves);
        let mut shelves = self.write();
        let mut found = shelves.of(attempt, |rule| Some((rule.id, aimed(rule)?)));
        let once = &mut shelves.once;
        let own = once.claim(attempt, found.iter().map(|(id, _)| *id));
        found.retain(|(id, fault)| {
            fault.stage() == stage && (own == Some(*id) || !once.contains(*id))
        });
        found
    }

    /// The receipt faults of the `nth` accepted message of its intent. Of those that act once, the
    /// first does, and is gone.
    pub(crate) fn of_receipts(&self, attempt: &Attempt, nth: u32) -> Vec<(u32, ReceiptFault)> {
        let aimed = |rule: &FaultRule| match &rule.wrong {
            Wrong::Receipt(fault) if names(rule, attempt) && rule.attempts.contains(nth) => {
                Some((rule.id, fault.clone()))
            }
            _ => None,
        };
        let shelves = self.read();
        if shelves.once.is_empty() {
            return shelves.of(attempt, aimed);
        }
        drop(shelves);
        let mut shelves = self.write();
        let mut found = shelves.of(attempt, aimed);
        let once = &mut shelves.once;
        let own = found
            .iter()
            .map(|(id, _)| *id)
            .find(|id| once.contains(*id));
        found.retain(|(id, _)| own == Some(*id) || !once.contains(*id));
        if let Some(own) = own {
            once.remove(own);
            shelves.retain(|rule| rule.id != own);
        }
        found
    }

    fn read(&self) -> RwLockReadGuard<'_, Shelves> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Shelves> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A rule as `[[fault]]` writes it, for the admin API.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Fault")]
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
    /// Whether it goes with the first attempt on which it acts.
    #[serde(default)]
    pub(crate) once: bool,
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
pub(crate) fn written(rule: &FaultRule, once: bool) -> Value {
    let mut shown = json!({
        "id": rule.id,
        "attempt": rule.attempts,
        "intent": rule.intent.map(|intent| intent + 1),
        "key": rule.key,
        "to": rule.to,
        "request": rule.request,
        "once": once.then_some(true),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{event::Reading, fault::AtStage};

    fn rule(id: u32, intent: Option<usize>) -> FaultRule {
        FaultRule {
            id,
            attempts: Attempts::All,
            intent,
            key: None,
            to: None,
            request: RequestKind::Submit,
            wrong: Wrong::Provider(ProviderFault::Close(AtStage {
                stage: Stage::BeforeAccept,
            })),
        }
    }

    fn attempt(id: u64) -> Arc<Attempt> {
        let reading = Reading {
            kind: RequestKind::Submit,
            customer: "default".to_owned(),
            key: None,
            to: None,
            text: None,
            intent: None,
            ordinal: 1,
        };
        let mut attempt = Attempt::that_says(&reading.borrowed());
        attempt.number(id, 1, None, 1);
        Arc::new(attempt)
    }

    fn ids(rules: &Rules) -> Vec<u32> {
        rules.list().iter().map(|rule| rule.id).collect()
    }

    #[test]
    fn rules_are_listed_in_the_order_in_which_they_were_set_whomever_they_are_for() {
        let rules = Rules::default();
        for (id, intent) in [(5, Some(7)), (1, None), (9, Some(0)), (2, Some(7))] {
            rules.add(rule(id, intent));
        }
        assert_eq!(ids(&rules), [5, 1, 9, 2]);
    }

    fn acting(rules: &Rules, attempt: &Arc<Attempt>) -> Vec<u32> {
        let found = rules.at(Stage::BeforeAccept, attempt);
        found.into_iter().map(|(id, _)| id).collect()
    }

    #[test]
    fn a_rule_that_acts_once_is_gone_with_its_attempt_and_the_next_has_the_next() {
        let rules = Rules::default();
        rules.add(rule(1, None));
        rules.add_once(rule(2, None));
        rules.add_once(rule(3, None));
        assert!(rules.is_once(3) && !rules.is_once(1));
        let first = attempt(1);
        assert_eq!(acting(&rules, &first), [1, 2]);
        assert_eq!(
            acting(&rules, &first),
            [1, 2],
            "asked again, it is the same"
        );
        assert!(rules.acted(2) && !rules.acted(1));
        assert_eq!(acting(&rules, &first), [1], "an attempt has one of them");
        let second = attempt(2);
        assert_eq!(acting(&rules, &second), [1, 3]);
        rules.over(&second);
        assert_eq!(
            acting(&rules, &attempt(3)),
            [1, 3],
            "it did not act on the second"
        );
        assert!(rules.acted(3));
        assert_eq!(ids(&rules), [1]);
    }

    #[test]
    fn a_rule_is_removed_by_its_id_and_all_are_without_one() {
        let rules = Rules::default();
        for (id, intent) in [(1, None), (2, Some(3)), (3, Some(3))] {
            rules.add(rule(id, intent));
        }
        assert_eq!(rules.remove(Some(2)), 1);
        assert_eq!(rules.remove(Some(2)), 0);
        assert_eq!(ids(&rules), [1, 3]);
        assert_eq!(rules.remove(None), 2);
        assert!(rules.is_empty());
    }
}

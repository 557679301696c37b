//! The rules of retrying: when to send again, when to stop, and what may then be claimed.
//!
//! Pure: a row, an answer and the time go in, the next step and the rule that chose it
//! come out. Nothing is ever given up as undelivered that may have been accepted.

use std::time::Duration;

use rand::Rng;

use crate::backoff::Backoff;
use crate::classify::{Class, Classified};
use crate::clock::{UnixMillis, millis};
use crate::message::{Message, NextStep};
use crate::rule::Rule;

/// The budgets of one worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Waits between tries, where the provider did not name one.
    pub backoff: Backoff,
    /// Attempts per message, the first included.
    pub max_attempts: i64,
    /// Questions per message, once it is given up.
    pub max_lookups: i64,
    /// The longest `Retry-After` that is waited for; a longer one ends the message.
    pub retry_after_max: Duration,
    /// No attempt begins later than this after the message was created.
    pub max_age: Duration,
    /// How long the provider remembers a key.
    pub key_retention: Duration,
    /// The longest that one attempt can last.
    pub attempt_time: Duration,
    /// An attempt begins at least this long before the message expires, since it takes
    /// a moment to arrive.
    pub expiry_margin: Duration,
}

/// What is done with a claimed row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Submit it now.
    Send,
    /// Ask the provider about it now.
    Ask,
    /// No attempt any more.
    Settle(Next),
}

/// Where a row goes from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Accepted: done.
    Sent,
    /// Submitted again under the same key, not before this.
    Retry(UnixMillis),
    /// Given up by this rule, but the provider is asked first, not before this.
    Ask(UnixMillis, Rule),
    /// Set aside; no attempt of it can have been accepted as far as anybody says.
    Dead(Rule),
    /// Set aside; it may have been accepted.
    Unknown(Rule),
}

/// What the provider said when asked about a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// It has the message.
    Message {
        /// The provider's name for it.
        provider_id: String,
    },
    /// An attempt is still being worked on.
    InProgress,
    /// It knows of none.
    Nothing,
    /// It did not say (the question or its answer was lost).
    NoAnswer(String),
}

impl Policy {
    /// What to do with a row that has just been claimed.
    #[must_use]
    pub fn step(&self, message: &Message, now: UnixMillis) -> Step {
        if message.next_step == NextStep::Ask {
            return Step::Ask;
        }
        if !message.is_intact() {
            return Step::Settle(give_up(message, Rule::Fingerprint, now));
        }
        match self.forbids(message, now) {
            Some(rule) => Step::Settle(give_up(message, rule, now)),
            None => Step::Send,
        }
    }

    /// The rule against an attempt of this message that would begin at `at`.
    #[must_use]
    pub fn forbids(&self, message: &Message, at: UnixMillis) -> Option<Rule> {
        let expired = |until: UnixMillis| at.saturating_add(millis(self.expiry_margin)) >= until;
        // It must *arrive* while the key is still remembered.
        let forgotten = |first: UnixMillis| {
            at.saturating_add(millis(self.attempt_time))
                >= first.saturating_add(millis(self.key_retention))
        };
        if message.superseded {
            Some(Rule::Superseded)
        } else if message.expires_at.is_some_and(expired) {
            Some(Rule::Expired)
        } else if message.attempts >= self.max_attempts {
            Some(Rule::Attempts)
        } else if message.first_attempt_at.is_some_and(forgotten) {
            Some(Rule::Retention)
        } else if at >= message.created_at.saturating_add(millis(self.max_age)) {
            Some(Rule::Age)
        } else {
            None
        }
    }

    /// Where a message goes after an attempt; `message` counts that attempt and knows
    /// from it whether it is touched and ambiguous.
    pub fn after_attempt(
        &self,
        message: &Message,
        answer: &Classified,
        now: UnixMillis,
        rng: &mut impl Rng,
    ) -> Next {
        match answer.class {
            Class::Accepted { .. } => return Next::Sent,
            // This refusal speaks for this attempt only: an earlier one may be through.
            Class::Definitive if message.ambiguous => return Next::Ask(now, Rule::Refused),
            Class::Definitive => return Next::Dead(Rule::Refused),
            Class::Recoverable | Class::Throttled | Class::Ambiguous | Class::Redirected { .. } => {
            }
        }
        let wait = if answer.touched {
            self.pause(message.attempts - 1, rng)
        } else {
            let retry = nth(message.attempts - 1);
            millis(self.backoff.draw_upper_half(retry, rng))
        };
        let at = match answer.not_before {
            Some(bound) if bound > now.saturating_add(millis(self.retry_after_max)) => {
                return give_up(message, Rule::RetryAfter, now);
            }
            // All who were turned away were given the same moment: spread out behind it.
            Some(bound) => bound.saturating_add(wait),
            None => now.saturating_add(wait),
        };
        match self.forbids(message, at) {
            Some(rule) => give_up(message, rule, now),
            None => Next::Retry(at),
        }
    }

    /// Where a message goes after the provider was asked; `message` counts that question.
    pub fn after_lookup(
        &self,
        message: &Message,
        rule: Rule,
        found: &Found,
        now: UnixMillis,
        rng: &mut impl Rng,
    ) -> Next {
        match found {
            Found::Message { .. } => return Next::Sent,
            // Every attempt was turned away, and the provider confirms it.
            Found::Nothing if !message.ambiguous => return Next::Dead(rule),
            // After an ambiguous attempt "nothing" may only be "nothing yet".
            Found::Nothing | Found::InProgress | Found::NoAnswer(_) => {}
        }
        if message.lookups < self.max_lookups {
            let wait = self.pause(message.lookups - 1, rng);
            return Next::Ask(now.saturating_add(wait), rule);
        }
        if message.ambiguous {
            Next::Unknown(rule)
        } else {
            Next::Dead(rule)
        }
    }

    fn pause(&self, retry: i64, rng: &mut impl Rng) -> UnixMillis {
        millis(self.backoff.draw(nth(retry), rng))
    }
}

fn nth(retry: i64) -> u32 {
    u32::try_from(retry.max(0)).unwrap_or(u32::MAX)
}

/// A message that may not be sent again: ask first wherever a request may have arrived.
fn give_up(message: &Message, rule: Rule, now: UnixMillis) -> Next {
    if message.touched {
        Next::Ask(now, rule)
    } else {
        Next::Dead(rule)
    }
}

#[cfg(test)]
mod tests;

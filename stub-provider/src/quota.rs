//! [`Quota`]: how much a customer may ask for.
//!
//! Owns the limits, what is counted against them and how long a customer must wait. Requests
//! (rate, concurrency) are limited where they arrive, before their key is looked at, so a replay
//! counts like any other request; messages (a day's quota, the queue) where they are accepted, so
//! a replay counts against neither. Time is a number that the caller reads from its clock.

use std::{
    borrow::Cow,
    collections::VecDeque,
    fmt,
    str::FromStr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use dashmap::DashMap;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};

use crate::{duration::Span, tally::Count};

/// So many in so much time: `"10/s"`, `"600/m"`, `"5/2s"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    count: u32,
    per: Duration,
}

impl Rate {
    /// `None` where the two make no rate: no requests, or no time.
    #[must_use]
    pub fn new(count: u32, per: Duration) -> Option<Self> {
        (count > 0 && !per.is_zero()).then_some(Self { count, per })
    }

    /// The time in which one request is earned.
    fn each(self) -> Duration {
        (self.per / self.count).max(Duration::from_nanos(1))
    }
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is not a rate: write a number and a time, as in \"10/s\", \"600/m\" or \"5/2s\""
            )
        };
        let (count, per) = text.split_once('/').ok_or_else(wrong)?;
        let count = count.trim().parse().map_err(|_| wrong())?;
        let per = per.trim();
        let unit = if per.starts_with(|c: char| c.is_ascii_digit()) {
            per.to_owned()
        } else {
            format!("1{per}")
        };
        let per: Span = unit.parse().map_err(|_| wrong())?;
        Self::new(count, per.0).ok_or_else(wrong)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.count, Span(self.per))
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for Rate {
    fn schema_name() -> Cow<'static, str> {
        "Rate".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "So many in so much time, such as \"10/s\", \"600/m\" or \"5/2s\".",
            "examples": ["10/s", "600/m", "5/2s"],
        })
    }
}

/// `limits`: what each customer may ask for; where nothing is said, as much as it likes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Limits")]
pub struct Quota {
    /// Submit requests in a time: a bucket of so many tokens, filled at that rate.
    #[serde(default)]
    pub rate: Option<Rate>,
    /// Submit requests that are worked on at once.
    #[serde(default)]
    pub concurrency: Option<u32>,
    /// Messages accepted in a day (UTC).
    #[serde(default)]
    pub daily: Option<u64>,
    /// Messages of one sender that are accepted and not `sent` yet.
    #[serde(default)]
    pub queue: Option<u32>,
}

impl Quota {
    /// These limits, and those of `other` where this has none.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            rate: self.rate.or(other.rate),
            concurrency: self.concurrency.or(other.concurrency),
            daily: self.daily.or(other.daily),
            queue: self.queue.or(other.queue),
        }
    }
}

/// Which limit turns a customer away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    Rate,
    Concurrency,
    Daily,
    Queue,
}

impl Limit {
    pub(crate) const ALL: [Self; 4] = [Self::Rate, Self::Concurrency, Self::Daily, Self::Queue];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Concurrency => "concurrency",
            Self::Daily => "daily",
            Self::Queue => "queue",
        }
    }

    /// Twilio's code for it.
    pub(crate) fn code(self) -> u32 {
        match self {
            Self::Rate | Self::Concurrency => 20429,
            Self::Daily => 63038,
            Self::Queue => 21611,
        }
    }

    pub(crate) fn message(self) -> &'static str {
        match self {
            Self::Rate => "too many requests in too short a time",
            Self::Concurrency => "too many requests at once",
            Self::Daily => "the day's quota of messages is used up",
            Self::Queue => "the sender's queue is full",
        }
    }
}

/// A customer is turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limited {
    pub(crate) by: Limit,
    /// How long it must wait; where nobody knows, a second.
    pub(crate) wait: Duration,
}

/// What every customer has used.
#[derive(Debug)]
pub(crate) struct Quotas {
    quota: Quota,
    customers: DashMap<String, Arc<Mutex<Used>>>,
    turned_away: [Count; 4],
}

#[derive(Debug, Default)]
struct Used {
    /// The time at which the bucket would be full again.
    full_at: Duration,
    working: u32,
    day: u64,
    today: u64,
    /// When each queued message leaves the queue, by sender.
    queues: Vec<(String, VecDeque<Duration>)>,
}

/// The right to be worked on; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Permit(Option<Arc<Mutex<Used>>>);

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(used) = &self.0 {
            let mut used = used.lock().unwrap_or_else(PoisonError::into_inner);
            used.working = used.working.saturating_sub(1);
        }
    }
}

const DAY: u64 = 24 * 60 * 60;

impl Quotas {
    /// `None` where nothing is limited.
    pub(crate) fn new(quota: Quota) -> Option<Self> {
        (quota != Quota::default()).then(|| Self {
            quota,
            customers: DashMap::new(),
            turned_away: Default::default(),
        })
    }

    /// A submit request of a customer has come.
    pub(crate) fn admit(&self, customer: &str, now: Duration) -> Result<Permit, Limited> {
        if self.quota.rate.is_none() && self.quota.concurrency.is_none() {
            return Ok(Permit(None));
        }
        let shared = self.customer(customer);
        let mut used = lock(&shared);
        // First, so that a request that is turned away for another reason costs no token.
        if self
            .quota
            .concurrency
            .is_some_and(|most| used.working >= most)
        {
            return Err(self.turn_away(Limit::Concurrency, Duration::from_secs(1)));
        }
        if let Some(rate) = self.quota.rate {
            let full_at = used.full_at.max(now).saturating_add(rate.each());
            let room = now.saturating_add(rate.each().saturating_mul(rate.count));
            let wait = full_at.saturating_sub(room);
            if !wait.is_zero() {
                return Err(self.turn_away(Limit::Rate, wait));
            }
            used.full_at = full_at;
        }
        used.working += 1;
        drop(used);
        Ok(Permit(Some(shared)))
    }

    /// A message of a customer is about to be accepted. `unix` is the wall-clock form of `now`; it
    /// will be in the sender's queue for `queued`.
    pub(crate) fn take(
        &self,
        customer: &str,
        sender: Option<&str>,
        now: Duration,
        unix: Duration,
        queued: Duration,
    ) -> Result<(), Limited> {
        if self.quota.daily.is_none() && self.quota.queue.is_none() {
            return Ok(());
        }
        let shared = self.customer(customer);
        let mut used = lock(&shared);
        if let Some(most) = self.quota.daily {
            let day = unix.as_secs() / DAY;
            if used.day != day {
                used.day = day;
                used.today = 0;
            }
            if used.today >= most {
                let tomorrow = Duration::from_secs((day + 1).saturating_mul(DAY));
                return Err(self.turn_away(Limit::Daily, tomorrow.saturating_sub(unix)));
            }
        }
        if let Some(most) = self.quota.queue {
            let queue = used.queue(sender.unwrap_or_default());
            while queue.front().is_some_and(|leaves| *leaves <= now) {
                queue.pop_front();
            }
            if queue.len() >= most as usize {
                let wait = queue
                    .front()
                    .map_or(Duration::from_secs(1), |at| at.saturating_sub(now));
                return Err(self.turn_away(Limit::Queue, wait));
            }
            enter(queue, now.saturating_add(queued));
        }
        used.today += 1;
        Ok(())
    }

    /// A message that was accepted at `at` counts again, whatever the limits are now.
    pub(crate) fn took(
        &self,
        customer: &str,
        sender: Option<&str>,
        at: Duration,
        unix: Duration,
        queued: Duration,
    ) {
        let shared = self.customer(customer);
        let mut used = lock(&shared);
        let day = unix.as_secs() / DAY;
        if used.day < day {
            used.day = day;
            used.today = 0;
        }
        used.today += u64::from(used.day == day);
        if self.quota.queue.is_some() {
            let queue = used.queue(sender.unwrap_or_default());
            enter(queue, at.saturating_add(queued));
        }
    }

    /// Forgets what was used. Who is being worked on still is.
    pub(crate) fn forget(&self) {
        for used in &self.customers {
            let mut used = lock(used.value());
            *used = Used {
                working: used.working,
                ..Used::default()
            };
        }
    }

    /// How often each limit has turned a customer away.
    pub(crate) fn turned_away(&self, by: Limit) -> u64 {
        self.turned_away[by as usize].get()
    }

    fn turn_away(&self, by: Limit, wait: Duration) -> Limited {
        self.turned_away[by as usize].one_more();
        Limited { by, wait }
    }

    fn customer(&self, name: &str) -> Arc<Mutex<Used>> {
        if let Some(known) = self.customers.get(name) {
            return known.clone();
        }
        self.customers.entry(name.to_owned()).or_default().clone()
    }
}

/// A message enters a queue that it will leave at that time.
fn enter(queue: &mut VecDeque<Duration>, leaves: Duration) {
    // Mostly the last: validities differ from message to message.
    let place = queue.partition_point(|at| *at <= leaves);
    queue.insert(place, leaves);
}

fn lock(used: &Mutex<Used>) -> MutexGuard<'_, Used> {
    used.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Used {
    fn queue(&mut self, sender: &str) -> &mut VecDeque<Duration> {
        let place = self.queues.iter().position(|(of, _)| of == sender);
        let place = place.unwrap_or_else(|| {
            self.queues.push((sender.to_owned(), VecDeque::new()));
            self.queues.len() - 1
        });
        &mut self.queues[place].1
    }
}

#[cfg(test)]
mod tests;

//! What happens to one claimed row, from the claim to its settlement.
//!
//! The order is what makes it safe: the attempt is recorded, then sent, then settled. A
//! crash between any two of them leaves a record that says "may have been accepted".

use std::sync::Arc;
use std::time::Duration;

use tracing::{debug, info, warn};

use crate::classify::{Class, Classified, classify};
use crate::clock::{self, UnixMillis};
use crate::config::WorkerConfig;
use crate::message::Message;
use crate::policy::{Found, Next, Step};
use crate::provider::Providers;
use crate::rule::Rule;
use crate::store::{AttemptEnd, Facts, Store, StoreError};

/// The pause between two tries to write to a database that refuses.
const WRITE_PAUSE: Duration = Duration::from_millis(50);

/// What a delivery works with; shared by all that run.
#[derive(Debug)]
pub struct Delivery {
    /// Whom it sends to.
    pub providers: Providers,
    /// Where it is recorded.
    pub store: Store,
    /// By which rules.
    pub config: WorkerConfig,
}

/// What came of a claim.
struct Settlement {
    end: Option<AttemptEnd>,
    next: Next,
    provider_id: Option<String>,
}

impl Delivery {
    /// Does what is next for a claimed row and settles it.
    pub async fn deliver(self: Arc<Self>, mut message: Message) {
        let policy = &self.config.policy;
        let settlement = match policy.step(&message, clock::now()) {
            Step::Send => self.send(&mut message).await,
            Step::Ask => Some(self.ask(&mut message).await),
            Step::Settle(next) => Some(Settlement {
                end: None,
                next,
                provider_id: None,
            }),
        };
        if let Some(settlement) = settlement {
            self.settle(&message, settlement).await;
        }
    }

    /// Sends the message: one POST, or one more for each hop of a redirect and for the
    /// second provider, each recorded as an attempt of its own. `None` where nothing was
    /// sent and there is nothing to settle.
    async fn send(&self, message: &mut Message) -> Option<Settlement> {
        let mut hops = 0;
        let mut failed_over = false;
        let mut url = self.providers.submit_url(message.provider);
        loop {
            let begun = clock::now();
            message.lease_until = begun.saturating_add(clock::millis(self.config.lease));
            match self.store.begin_attempt(message, begun).await {
                Ok(true) => {}
                Ok(false) => {
                    info!(
                        intent = message.intent,
                        "not sent: the claim is another's now"
                    );
                    return None;
                }
                Err(error) => {
                    // Not recorded, so not sent.
                    warn!(intent = message.intent, %error, "not sent: the attempt could not be recorded");
                    self.release(message, false).await;
                    return None;
                }
            }
            message.attempts += 1;
            message.first_attempt_at.get_or_insert(begun);
            let at_most = match self.time_left(message) {
                Ok(at_most) => at_most,
                Err(why) => {
                    info!(
                        intent = message.intent,
                        attempt = message.attempts,
                        why,
                        "not sent"
                    );
                    self.release(message, true).await;
                    return None;
                }
            };
            let exchange = self.providers.submit(message, url.clone(), at_most).await;
            let answer = classify(&exchange);
            message.touched |= answer.touched;
            message.ambiguous |= answer.class == Class::Ambiguous;
            let end = attempt_end(message, &answer);
            info!(
                intent = message.intent,
                attempt = message.attempts,
                provider = message.provider,
                state = end.state,
                why = answer.why,
                "attempt ended"
            );

            if let Class::Redirected { location } = &answer.class {
                match Providers::follow(&url, location) {
                    Some(to) if hops < self.config.max_redirects && self.may_go_on(message) => {
                        hops += 1;
                        info!(
                            intent = message.intent,
                            hop = hops,
                            "following the redirect"
                        );
                        self.end_attempt(message, &end).await;
                        url = to;
                        continue;
                    }
                    Some(_) => {}
                    None => {
                        let refused = Classified {
                            class: Class::Definitive,
                            why: "redirected to another origin, where it must not go".to_owned(),
                            ..answer
                        };
                        return Some(self.judged(message, &refused));
                    }
                }
            }
            // The other provider may be asked only while this one cannot have the message:
            // its key means nothing there.
            if !message.touched
                && !failed_over
                && self.providers.count() > 1
                && self.may_go_on(message)
            {
                failed_over = true;
                self.end_attempt(message, &end).await;
                message.provider = if message.provider == 1 { 2 } else { 1 };
                info!(
                    intent = message.intent,
                    provider = message.provider,
                    "never connected: asking the other provider"
                );
                url = self.providers.submit_url(message.provider);
                continue;
            }
            return Some(self.judged(message, &answer));
        }
    }

    fn judged(&self, message: &Message, answer: &Classified) -> Settlement {
        let policy = &self.config.policy;
        let next = policy.after_attempt(message, answer, clock::now(), &mut rand::rng());
        let provider_id = match &answer.class {
            Class::Accepted { provider_id } => Some(provider_id.clone()),
            _ => None,
        };
        Settlement {
            end: Some(attempt_end(message, answer)),
            next,
            provider_id,
        }
    }

    /// How long an attempt that begins now may last; an error where it must not begin.
    /// The process may have been asleep since the claim.
    fn time_left(&self, message: &Message) -> Result<Duration, &'static str> {
        let now = clock::now();
        if clock::until(message.lease_until, now) < self.config.read_timeout {
            return Err("the lease would end before the answer");
        }
        let Some(expires_at) = message.expires_at else {
            return Ok(Duration::MAX);
        };
        let left = clock::until(expires_at, now);
        if left <= self.config.policy.expiry_margin {
            return Err("the message has expired");
        }
        Ok(left)
    }

    /// Whether another attempt may follow at once under this claim.
    fn may_go_on(&self, message: &Message) -> bool {
        let now = clock::now();
        self.config.policy.forbids(message, now).is_none() && self.time_left(message).is_ok()
    }

    async fn ask(&self, message: &mut Message) -> Settlement {
        let found = self.providers.look_up(message).await;
        message.lookups += 1;
        let said = match &found {
            Found::Message { .. } => "it has the message",
            Found::InProgress => "an attempt is in flight",
            Found::Nothing => "it knows of none",
            Found::NoAnswer(why) => why.as_str(),
        };
        info!(
            intent = message.intent,
            lookup = message.lookups,
            said,
            "asked the provider"
        );
        let rule = message.rule.unwrap_or(Rule::Attempts);
        let next =
            self.config
                .policy
                .after_lookup(message, rule, &found, clock::now(), &mut rand::rng());
        let provider_id = match found {
            Found::Message { provider_id } => Some(provider_id),
            _ => None,
        };
        Settlement {
            end: None,
            next,
            provider_id,
        }
    }

    /// Writes the settlement, as often as it takes: what is known of an attempt must not
    /// be lost to a locked database. The fence makes a late write harmless.
    async fn settle(&self, message: &Message, settlement: Settlement) {
        let Settlement {
            end,
            next,
            provider_id,
        } = settlement;
        log_decision(message, next);
        let facts = Facts {
            touched: message.touched,
            ambiguous: message.ambiguous,
            provider: message.provider,
            lookups: message.lookups,
        };
        let give_up = message
            .lease_until
            .saturating_add(clock::millis(self.config.lease));
        loop {
            let now = clock::now();
            let written = self
                .store
                .settle(
                    message,
                    end.as_ref(),
                    facts,
                    next,
                    provider_id.as_deref(),
                    now,
                )
                .await;
            match written {
                Ok(true) => return,
                Ok(false) => {
                    info!(
                        intent = message.intent,
                        "already settled by a receipt, or taken over after the lease"
                    );
                    return;
                }
                Err(error) if now < give_up => {
                    warn!(intent = message.intent, %error, "not settled yet; trying again");
                    tokio::time::sleep(WRITE_PAUSE).await;
                }
                Err(error) => {
                    warn!(intent = message.intent, %error, "not settled: left to the sweeper");
                    return;
                }
            }
        }
    }

    async fn end_attempt(&self, message: &Message, end: &AttemptEnd) {
        let written = self.store.end_attempt(message, end, clock::now()).await;
        complain(message, written);
    }

    /// What cannot be released is swept when its lease runs out.
    async fn release(&self, message: &Message, begun: bool) {
        let written = self.store.release(message, begun, clock::now()).await;
        complain(message, written);
    }
}

/// These writes make the record complete; without them it is still safe.
fn complain(message: &Message, written: Result<(), StoreError>) {
    if let Err(error) = written {
        warn!(intent = message.intent, %error, "could not be recorded");
    }
}

fn attempt_end(message: &Message, answer: &Classified) -> AttemptEnd {
    AttemptEnd {
        attempt_no: message.attempts,
        state: answer.class.state(),
        http_status: answer.status,
        detail: answer.why.clone(),
    }
}

fn log_decision(message: &Message, next: Next) {
    let intent = message.intent.as_str();
    let wait = |at: UnixMillis| clock::until(at, clock::now());
    match next {
        Next::Sent => info!(intent, attempts = message.attempts, "sent"),
        Next::Retry(at) => info!(intent, wait = ?wait(at), "retrying under the same key"),
        Next::Ask(at, rule) => {
            info!(intent, rule = rule.as_str(), wait = ?wait(at), "no more attempts; asking the provider");
        }
        Next::Dead(rule) => warn!(intent, rule = rule.as_str(), "dead: set aside"),
        Next::Unknown(rule) => warn!(
            intent,
            rule = rule.as_str(),
            "unknown: it may have been accepted; set aside"
        ),
    }
    debug!(key = message.key, to = message.recipient, "which was");
}

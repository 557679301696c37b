//! A request comes in: what it says, which attempt it is, what it finds under its key.
//!
//! Owns reading a request with the help of the profile and entering it in the records. Arrivals
//! are one total order: number, intent, count and key are decided in it.

use std::{borrow::Cow, sync::Arc, time::Duration};

use hyper::{HeaderMap, StatusCode, header};

use crate::{
    core::Core,
    event::{EventKind, Reading},
    fault::RequestKind,
    fingerprint::Fingerprint,
    ledger::{Claim, KeyId},
    message::MessageId,
    place::{self, Place},
    profile::Missing,
    record::{Arrival, Attempt},
    reply::Reply,
};

/// What a request asks for.
#[derive(Debug)]
pub(crate) enum Asked {
    /// Send a message.
    Submit,
    /// What became of the message of that id.
    ById(String),
    /// What became of the messages under that key.
    ByKey(String),
}

/// What holds for an attempt before anything is decided.
pub(crate) enum Standing {
    /// It cannot be accepted, whatever happens.
    Wrong(Reply),
    /// It asks about messages.
    Lookup(Asked),
    /// It has no key.
    Keyless,
    /// It has a key, and found this under it.
    Keyed(Ticket, Claim<Arc<Reply>>),
}

/// An attempt's stake in its key. Dropping it gives the key back, if it was won and not settled.
pub(crate) struct Ticket {
    core: Arc<Core>,
    pub(crate) id: KeyId,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) attempt: u64,
    pub(crate) won: bool,
}

impl Ticket {
    /// The attempt is answered for good.
    pub(crate) fn settle(
        &mut self,
        answer: Option<Arc<Reply>>,
        message: Option<MessageId>,
        at: Duration,
    ) {
        if std::mem::take(&mut self.won) {
            self.core
                .ledger
                .settle(&self.id, self.attempt, answer, message, at);
        }
    }

    /// The stake for somebody else to settle; nothing is left here but the key's name.
    pub(crate) fn hand_over(&mut self) -> Self {
        Self {
            core: self.core.clone(),
            id: self.id.clone(),
            fingerprint: self.fingerprint,
            attempt: self.attempt,
            won: std::mem::take(&mut self.won),
        }
    }

    /// The attempt gives up: the next one under the key takes over.
    pub(crate) fn release(&mut self) {
        if std::mem::take(&mut self.won) {
            self.core.ledger.release(&self.id, self.attempt);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.release();
    }
}

impl Core {
    /// Enters a request in the records.
    pub(crate) fn arrive(
        self: &Arc<Self>,
        came: Arrival,
        asked: Asked,
    ) -> (Arc<Attempt>, Standing) {
        match asked {
            Asked::Submit => self.arrive_submit(came),
            asked => self.arrive_lookup(came, asked),
        }
    }

    fn arrive_submit(self: &Arc<Self>, came: Arrival) -> (Arc<Attempt>, Standing) {
        let profile = &self.profile;
        let [to, text, sender, key] = place::read(
            [
                &profile.recipient,
                &profile.text,
                &profile.sender,
                &profile.key.place,
            ],
            &came.headers,
            &came.body,
        );
        let key = key
            .map(|key| match profile.key.place {
                Place::Header(_) => match place::unquote(&key) {
                    std::borrow::Cow::Borrowed(same) if same.len() == key.len() => key,
                    other => other.into_owned(),
                },
                _ => key,
            })
            .filter(|key| !key.is_empty());
        let customer = self.customer(&came.headers);
        let wrong = self.objection(
            customer.is_some(),
            to.as_deref(),
            text.as_deref(),
            key.as_deref(),
        );
        let customer = customer.unwrap_or_else(|| profile.authentication.customer.clone());
        // Digest and key are made before the lock is taken.
        let stake = match &key {
            Some(key) if wrong.is_none() => {
                let fingerprint = Fingerprint::of("POST", &profile.path, &came.body);
                Some((KeyId::new(&customer, key), fingerprint))
            }
            _ => None,
        };
        let mut reading = Reading {
            kind: RequestKind::Submit,
            customer,
            key,
            to,
            text,
            intent: None,
            ordinal: 0,
        };

        let mut arrivals = self.records.arrivals();
        let id = arrivals.next();
        let matched = if self.intents.is_empty() {
            None
        } else {
            self.intents
                .attempt(reading.to.as_deref(), reading.text.as_deref())
        };
        reading.intent = matched.map(|(intent, _)| intent);
        let (by_key, standing) = if let Some((key, fingerprint)) = stake {
            let (by_key, claim) =
                self.ledger
                    .arrive(key.clone(), fingerprint, id, reading.intent, came.at);
            let ticket = Ticket {
                core: self.clone(),
                id: key,
                fingerprint,
                attempt: id,
                won: matches!(claim, Claim::Won),
            };
            (by_key, Standing::Keyed(ticket, claim))
        } else {
            let by_recipient = self.count_keyless(&counted_as(&reading));
            let standing = wrong.map_or(Standing::Keyless, Standing::Wrong);
            (by_recipient, standing)
        };
        reading.ordinal = matched.map_or(by_key, |(_, ordinal)| ordinal);
        let attempt = Arc::new(Attempt::new(id, came, reading, by_key, sender));
        arrivals.push(attempt.clone());
        let key = match &standing {
            Standing::Keyed(ticket, _) => Some(&ticket.id),
            _ => None,
        };
        self.arrived(&attempt, key);
        drop(arrivals);
        (attempt, standing)
    }

    fn arrive_lookup(&self, came: Arrival, asked: Asked) -> (Arc<Attempt>, Standing) {
        let customer = self.customer(&came.headers);
        let wrong = customer.is_none().then(unauthorised);
        let customer = customer.unwrap_or_else(|| self.profile.authentication.customer.clone());
        // A lookup says nothing but a key or an id: whose intent that was is all there is to go by.
        let (key, intent) = match &asked {
            Asked::ByKey(key) => {
                let intent = self.ledger.intent(&KeyId::new(&customer, key));
                (Some(key.clone()), intent)
            }
            Asked::ById(id) => {
                let delivery = self
                    .naming
                    .parse(id)
                    .and_then(|id| self.records.delivery(id));
                let reading = delivery.as_ref().map(|delivery| &delivery.by.reading);
                (
                    reading.and_then(|r| r.key.clone()),
                    reading.and_then(|r| r.intent),
                )
            }
            Asked::Submit => (None, None),
        };
        let mut arrivals = self.records.arrivals();
        let id = arrivals.next();
        let mut reading = Reading {
            kind: RequestKind::Lookup,
            customer,
            key,
            to: None,
            text: None,
            intent,
            ordinal: 0,
        };
        let by_key = self.count_keyless(&counted_as(&reading));
        reading.ordinal = intent.map_or(by_key, |intent| {
            self.intents.count(intent, RequestKind::Lookup)
        });
        let attempt = Arc::new(Attempt::new(id, came, reading, by_key, None));
        arrivals.push(attempt.clone());
        self.arrived(&attempt, None);
        drop(arrivals);
        let standing = wrong.map_or(Standing::Lookup(asked), Standing::Wrong);
        (attempt, standing)
    }

    /// An attempt is on record, counted under `key` where it has one.
    fn arrived(&self, attempt: &Arc<Attempt>, key: Option<&KeyId>) {
        self.store.arrived(attempt, key);
        self.observers.emit(|| EventKind::Arrived {
            attempt: attempt.id,
            connection: attempt.connection,
            nth_on_connection: attempt.nth_on_connection,
            request: attempt.request.seen(),
            reading: Arc::new(attempt.reading.clone()),
        });
    }

    fn count_keyless(&self, what: &str) -> u32 {
        if let Some(mut count) = self.keyless.get_mut(what) {
            *count += 1;
            return *count;
        }
        let mut count = self.keyless.entry(what.to_owned()).or_insert(0);
        *count += 1;
        *count
    }

    /// Whose credential a request bears; `None` where it must bear one and does not.
    fn customer(&self, headers: &HeaderMap) -> Option<String> {
        let rules = &self.profile.authentication;
        let bearer = headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| {
                let (scheme, token) = value.split_once(' ')?;
                scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
            })
            .filter(|token| !token.is_empty());
        match bearer {
            Some(token) => Some(token.to_owned()),
            None if rules.required => None,
            None => Some(rules.customer.clone()),
        }
    }

    /// Why a submit request cannot be accepted, whatever happens.
    fn objection(
        &self,
        known: bool,
        to: Option<&str>,
        text: Option<&str>,
        key: Option<&str>,
    ) -> Option<Reply> {
        let profile = &self.profile;
        let bad = |message: &str| Some(Reply::problem(StatusCode::BAD_REQUEST, None, message));
        if !known {
            return Some(unauthorised());
        }
        match key {
            Some(key) if key.len() > profile.key.max_length => {
                return bad(&format!(
                    "the idempotency key has {} bytes; at most {} are allowed",
                    key.len(),
                    profile.key.max_length
                ));
            }
            None if profile.has_key() && profile.key.missing == Missing::Refuse => {
                return bad(&format!(
                    "an idempotency key is required ({})",
                    profile.key.place
                ));
            }
            _ => {}
        }
        for (value, place, what) in [
            (to, &profile.recipient, "recipient"),
            (text, &profile.text, "text"),
        ] {
            if value.is_none_or(|value| value.trim().is_empty()) {
                return bad(&format!("the request names no {what} ({place})"));
            }
        }
        None
    }
}

/// What a request is counted under that has no stake in a key.
pub(crate) fn counted_as(reading: &Reading) -> Cow<'_, str> {
    match reading.kind {
        RequestKind::Submit => Cow::Borrowed(reading.to.as_deref().unwrap_or_default()),
        RequestKind::Lookup => {
            let key = reading.key.as_deref().unwrap_or_default();
            Cow::Owned(format!("{}\0lookup\0{key}", reading.customer))
        }
    }
}

fn unauthorised() -> Reply {
    Reply::problem(
        StatusCode::UNAUTHORIZED,
        None,
        "a credential is required: Authorization: Bearer <customer>",
    )
    .with(header::WWW_AUTHENTICATE, "Bearer")
}

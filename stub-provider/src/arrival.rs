//! A request comes in: what it says, which attempt it is, what it finds under its key.
//!
//! Owns reading a request with the help of the profile and entering it in the records. Arrivals
//! are one total order: number, intent, count and key are decided in it.

use std::{borrow::Cow, sync::Arc, time::Duration};

use serde_json::Value;

use crate::{
    canonical,
    core::Core,
    event::{EventKind, Reading},
    fault::RequestKind,
    fingerprint::Fingerprint,
    ledger::{Claim, KeyId},
    message::MessageId,
    place::{self, Content},
    profile::{
        Binds, BodyEncoding, KeyScope, KeyUnit,
        errors::{self, About},
        lookup::operation,
    },
    record::{Arrival, Arrivals, Attempt},
    reply::Reply,
    store::{Refused, Store},
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
    /// What became of the messages to that number.
    To(String),
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

impl Standing {
    /// The key that the attempt has a stake in.
    pub(crate) fn key(&self) -> Option<&KeyId> {
        match self {
            Self::Keyed(ticket, _) => Some(&ticket.id),
            _ => None,
        }
    }
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
    /// The attempt is answered for good. True where another message was accepted under the key
    /// before.
    pub(crate) fn settle(
        &mut self,
        answer: Option<Arc<Reply>>,
        message: Option<MessageId>,
        at: Duration,
    ) -> bool {
        let won = std::mem::take(&mut self.won);
        let ledger = &self.core.ledger;
        won && ledger.settle(&self.id, self.attempt, answer, message, at)
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
        came: &Arrival,
        asked: Asked,
    ) -> (Arc<Attempt>, Standing) {
        match asked {
            Asked::Submit => self.arrive_submit(came, 0),
            asked => self.arrive_lookup(came, asked),
        }
    }

    /// Enters a submission in the records; of one that carries several messages, the message
    /// of that number.
    pub(crate) fn arrive_submit(
        self: &Arc<Self>,
        came: &Arrival,
        element: usize,
    ) -> (Arc<Attempt>, Standing) {
        let profile = &self.profile;
        let [to, text, sender, written, credential] = place::read(
            [
                &profile.submit.recipient,
                &profile.submit.text,
                &profile.submit.sender,
                &profile.key.place,
                profile.authentication.place(),
            ],
            &Content {
                headers: &came.headers,
                query: came.uri.query().unwrap_or_default(),
                body: &came.body,
                element,
            },
        );
        let to = to.map(|to| profile.number(to));
        let sender = sender.map(|sender| profile.number(sender));
        let (key, malformed) = match written.map(|written| profile.key.read(written)) {
            None => (None, None),
            Some(Ok(key)) => (key, None),
            Some(Err(malformed)) => (Some(malformed.key.into()), Some(malformed.why)),
        };
        let customer = profile.authentication.customer(&came.headers, credential);
        let wrong = self.objection(
            customer.is_some(),
            to.as_deref(),
            text.as_deref(),
            key.as_deref(),
            malformed.as_deref(),
        );
        let customer = customer.unwrap_or_else(|| profile.authentication.customer.as_str().into());
        // Whatever can be made before the lock is taken is: digest, key, and the record itself, which
        // gets its numbers under the lock.
        let stake = match &key {
            Some(key) if wrong.is_none() => {
                let operation = operation(came.uri.path());
                let fingerprint = self.fingerprint(operation, &came.body, element);
                Some((self.key_id(&customer, operation, key), fingerprint))
            }
            _ => None,
        };
        let reading = Reading {
            kind: RequestKind::Submit,
            customer,
            key,
            to,
            text,
            intent: None,
            ordinal: 0,
        };
        let reading = reading.borrowed();
        let mut attempt = Attempt::new(came, &reading, sender.as_deref());

        let arrivals = self.records.arrivals();
        let id = arrivals.next();
        let matched = if self.intents.is_empty() {
            None
        } else {
            self.intents.attempt(reading.to, reading.text)
        };
        let intent = matched.map(|(intent, _)| intent);
        let (by_key, standing) = if let Some((key, fingerprint)) = stake {
            let (by_key, claim) = self.ledger.arrive(&key, fingerprint, id, intent, came.at);
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
        let ordinal = matched.map_or(by_key, |(_, ordinal)| ordinal);
        attempt.number(id, by_key, intent, ordinal);
        attempt.keyed = standing.key().is_some();
        let attempt = Arc::new(attempt);
        self.record(arrivals, &attempt, standing.key());
        (attempt, standing)
    }

    fn arrive_lookup(&self, came: &Arrival, asked: Asked) -> (Arc<Attempt>, Standing) {
        let authentication = &self.profile.authentication;
        let [credential] = place::read(
            [authentication.place()],
            &Content {
                headers: &came.headers,
                query: came.uri.query().unwrap_or_default(),
                body: &came.body,
                element: 0,
            },
        );
        let customer = authentication.customer(&came.headers, credential);
        let wrong = customer.is_none().then(|| self.unauthorised());
        let customer = customer.unwrap_or_else(|| authentication.customer.as_str().into());
        // A lookup says nothing but a key or an id: whose intent that was is all there is to go by.
        let mut to = None;
        let (key, intent) = match &asked {
            Asked::ByKey(key) => {
                let intent = self.ledger.intent(&KeyId::new(&customer, key));
                (Some(Cow::Borrowed(key.as_str())), intent)
            }
            Asked::ById(id) => {
                let delivery = self
                    .naming
                    .parse(id)
                    .and_then(|id| self.records.delivery(id));
                let reading = delivery.as_ref().map(|delivery| delivery.by.reading());
                (
                    reading.and_then(|r| r.key).map(|key| key.to_owned().into()),
                    reading.and_then(|r| r.intent),
                )
            }
            Asked::To(number) => {
                to = Some(Cow::Borrowed(number.as_str()));
                (None, self.intents.only_to(number))
            }
            Asked::Submit => (None, None),
        };
        let reading = Reading {
            kind: RequestKind::Lookup,
            customer,
            key,
            to,
            text: None,
            intent,
            ordinal: 0,
        };
        let reading = reading.borrowed();
        let mut attempt = Attempt::new(came, &reading, None);

        let arrivals = self.records.arrivals();
        let by_key = self.count_keyless(&counted_as(&reading));
        let ordinal = intent.map_or(by_key, |intent| {
            self.intents.count(intent, RequestKind::Lookup)
        });
        attempt.number(arrivals.next(), by_key, intent, ordinal);
        let attempt = Arc::new(attempt);
        self.record(arrivals, &attempt, None);
        let standing = wrong.map_or(Standing::Lookup(asked), Standing::Wrong);
        (attempt, standing)
    }

    /// Enters an attempt in the record of this process, counted under `key` where it has one.
    fn record(&self, mut arrivals: Arrivals<'_>, attempt: &Arc<Attempt>, key: Option<&KeyId>) {
        if self.store.is_shared() {
            // It is on record once all replicas know it.
            arrivals.skip();
            return;
        }
        arrivals.push(attempt.clone());
        self.drop_oldest(&mut arrivals);
        self.store.arrived(attempt, key);
        self.arrived(attempt);
    }

    /// Enters an attempt in the record of all replicas, which count it; at once where there is
    /// but one.
    pub(crate) async fn share(
        &self,
        mut attempt: Arc<Attempt>,
        standing: &Standing,
    ) -> Result<Arc<Attempt>, Refused> {
        let Store::Shared(shared) = &self.store else {
            return Ok(attempt);
        };
        let reading = attempt.reading();
        let counted = match standing.key() {
            Some(key) => Cow::Borrowed(key.text()),
            None => counted_as(&reading),
        };
        let (id, by_key) = shared.enter(&attempt, &counted).await?;
        // Nobody else knows it yet.
        if let Some(attempt) = Arc::get_mut(&mut attempt) {
            attempt.renumber(id, by_key);
        }
        self.arrived(&attempt);
        Ok(attempt)
    }

    fn arrived(&self, attempt: &Arc<Attempt>) {
        self.tally.arrived(attempt);
        self.observers.emit(|| EventKind::Arrived {
            attempt: attempt.id,
            connection: attempt.connection,
            nth_on_connection: attempt.nth_on_connection,
            request: attempt.request.seen(),
            reading: Arc::new(attempt.reading().owned()),
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

    /// What the ledger knows a key by.
    fn key_id(&self, customer: &str, operation: &str, key: &str) -> KeyId {
        match self.profile.key.scope {
            KeyScope::Customer => KeyId::new(customer, key),
            KeyScope::CustomerAndOperation => {
                KeyId::new(customer, &format!("POST {operation} {key}"))
            }
        }
    }

    /// The key that an attempt is counted under; `None` where it is not counted under one.
    pub(crate) fn key_of(&self, attempt: &Attempt) -> Option<KeyId> {
        let said = attempt.request.said();
        let key = said.key.filter(|_| attempt.keyed)?;
        Some(self.key_id(said.customer, operation(attempt.request.path()), key))
    }

    /// What the key of an attempt is bound to; `None` where it has none, or one for each of its
    /// recipients.
    pub(crate) fn bound_to(&self, attempt: &Attempt) -> Option<Fingerprint> {
        let alone = self.profile.key.unit == KeyUnit::Request;
        (alone && attempt.request.said().key.is_some()).then(|| {
            let request = &attempt.request;
            self.fingerprint(operation(request.path()), request.body(), 0)
        })
    }

    /// What a key is bound to.
    fn fingerprint(&self, operation: &str, body: &[u8], element: usize) -> Fingerprint {
        let rules = &self.profile.key;
        match rules.binds {
            Binds::Bytes => Fingerprint::of("POST", operation, body),
            Binds::Nothing => Fingerprint::of("", "", &[]),
            Binds::Content => {
                let content = match self.profile.submit.encoding {
                    BodyEncoding::Form => Some(canonical::form(body)),
                    BodyEncoding::Json if rules.unit == KeyUnit::Recipient => {
                        let array = self.profile.submit.recipient.array().unwrap_or_default();
                        alone(body, array, element)
                    }
                    BodyEncoding::Json => canonical::json(body),
                };
                Fingerprint::of("POST", operation, content.as_deref().unwrap_or(body))
            }
        }
    }

    /// Why a submit request cannot be accepted, whatever happens.
    fn objection(
        &self,
        known: bool,
        to: Option<&str>,
        text: Option<&str>,
        key: Option<&str>,
        malformed: Option<&str>,
    ) -> Option<Reply> {
        let profile = &self.profile;
        let rows = &profile.errors;
        if !known {
            return Some(self.unauthorised());
        }
        let about = About {
            to: to.map(|to| profile.written(to)),
            key,
        };
        if let Some(why) = malformed {
            return Some(rows.of_recipient(&rows.malformed, why, about));
        }
        if let Some(row) = &rows.missing
            && key.is_none()
            && profile.has_key()
        {
            let why = format!("an idempotency key is required ({})", profile.key.place);
            return Some(rows.of_recipient(row, &why, about));
        }
        for (value, place, what) in [
            (to, &profile.submit.recipient, "recipient"),
            (text, &profile.submit.text, "text"),
        ] {
            if value.is_none_or(|value| value.trim().is_empty()) {
                let why = format!("the request names no {what} ({place})");
                return Some(rows.reply(&rows.invalid, &why, about));
            }
        }
        None
    }

    fn unauthorised(&self) -> Reply {
        let rows = &self.profile.errors;
        let message = "a credential is required";
        let reply = rows.reply(&rows.unauthorised, message, About::default());
        errors::challenged(reply, self.profile.authentication.challenge())
    }
}

/// What a request is counted under that has no stake in a key.
pub(crate) fn counted_as<'a>(reading: &Reading<&'a str>) -> Cow<'a, str> {
    match reading.kind {
        RequestKind::Submit => Cow::Borrowed(reading.to.unwrap_or_default()),
        RequestKind::Lookup => {
            let asked = reading.key.or(reading.to).unwrap_or_default();
            Cow::Owned(format!("{}\0lookup\0{asked}", reading.customer))
        }
    }
}

/// The canonical form of a request with one recipient of its list alone.
fn alone(body: &[u8], array: &[String], element: usize) -> Option<Vec<u8>> {
    let mut whole: Value = serde_json::from_slice(body).ok()?;
    let mut at = &mut whole;
    for step in array {
        at = at.get_mut(step.as_str())?;
    }
    let items = at.as_array_mut()?;
    if element >= items.len() {
        return None;
    }
    *items = vec![items.swap_remove(element)];
    Some(canonical::of_value(&whole))
}

//! Receipts: what the provider reports about a message afterwards.
//!
//! Owns which message gets which receipts with which faults, and carrying them in their order.
//! The states and their times are [`crate::life`]'s; signing and repeating are
//! [`crate::webhook`]'s.

use std::{sync::Arc, time::Duration};

use dashmap::DashMap;
use serde::Serialize;

use crate::{
    core::Core,
    event::{EventKind, Reading},
    fault::{MessageStatus, ReceiptFault},
    life::{Fate, Station, word_at},
    message::MessageId,
    place::{self, Content, Place},
    record::{Attempt, Delivery},
    webhook::acknowledges,
};

mod plan;

use plan::{Receipt, plan};

/// Accepted messages, counted by key or recipient where no intents are known: which one a fault
/// is for.
#[derive(Debug, Default)]
pub(crate) struct Accepted(DashMap<String, u32>);

impl Accepted {
    /// No message that is counted together with this one is on record any more.
    pub(crate) fn drop_of(&self, reading: &Reading<&str>) {
        self.0.remove(&counted_under(reading));
    }

    pub(crate) fn forget(&self) {
        self.0.clear();
    }
}

/// One try of telling the client about a message.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Tried {
    /// The event's id, the same on every try.
    pub(crate) event_id: String,
    /// What it reports.
    pub(crate) status: MessageStatus,
    /// Which try, from 1.
    pub(crate) attempt: u32,
    /// The HTTP status that came back; `None`: nobody knows.
    pub(crate) answered: Option<u16>,
    /// The provider's clock.
    #[serde(skip)]
    pub(crate) at: Duration,
}

/// Every try, by message, in the order in which they ended.
#[derive(Debug, Default)]
pub(crate) struct Tries(DashMap<MessageId, Vec<Tried>>);

impl Tries {
    /// Those of one message.
    pub(crate) fn of(&self, message: MessageId) -> Vec<Tried> {
        self.0
            .get(&message)
            .map(|tries| tries.clone())
            .unwrap_or_default()
    }

    /// The message is not on record any more.
    pub(crate) fn drop_of(&self, message: MessageId) {
        self.0.remove(&message);
    }

    /// Adds one.
    pub(crate) fn add(&self, message: MessageId, tried: Tried) {
        self.0.entry(message).or_default().push(tried);
    }

    /// The last of an event.
    fn last(&self, message: MessageId, event_id: &str) -> Option<(u32, Option<u16>)> {
        let tries = self.0.get(&message)?;
        let last = tries.iter().rfind(|tried| tried.event_id == event_id)?;
        Some((last.attempt, last.answered))
    }

    pub(crate) fn forget(&self) {
        self.0.clear();
    }
}

impl Core {
    /// The state of a message now, as clients see it.
    pub(crate) fn status(&self, delivery: &Delivery) -> &'static str {
        let age = self.clock.now().saturating_sub(delivery.at());
        word_at(&self.stations(delivery), age)
    }

    fn stations(&self, delivery: &Delivery) -> Vec<Station> {
        let to = delivery.by.reading().to.unwrap_or_default();
        let is_of = |numbers: &[String]| numbers.iter().any(|number| number == to);
        let fate = if is_of(&self.profile.undelivered_to) {
            Fate::Undelivered
        } else if is_of(&self.profile.expires_to) {
            Fate::Unreachable
        } else {
            Fate::Delivered
        };
        self.life.stations(fate, self.validity(&delivery.by))
    }

    /// How long a message is worth delivering: what its request's body says in whole seconds, where
    /// the profile names a place for it, or else what the provider was started with.
    pub(crate) fn validity(&self, attempt: &Attempt) -> Duration {
        // Read again only when asked: most messages never say.
        let place = &self.profile.submit.validity;
        if *place == Place::None {
            return self.life.validity;
        }
        let headers = hyper::HeaderMap::new();
        let [said] = place::read(
            [place],
            &Content {
                headers: &headers,
                query: "",
                body: attempt.request.body(),
                element: 0,
            },
        );
        said.and_then(|seconds| seconds.parse().ok())
            .map_or(self.life.validity, Duration::from_secs)
    }

    /// Starts the receipts of a message that was just accepted. Returns at once, but for receipts
    /// that a fault puts before the response.
    pub(crate) async fn report(self: &Arc<Self>, delivery: &Delivery) {
        if !self.webhooks.has_callback() {
            return;
        }
        let nth = self.nth_accepted(delivery);
        if !self.webhooks.has_room() {
            return;
        }
        let (courier, receipts) = self.courier(delivery, nth);
        let (first, later): (Vec<_>, Vec<_>) = receipts
            .into_iter()
            .partition(|receipt| receipt.before_response.is_some());
        for receipt in first {
            receipt
                .before_response
                .into_iter()
                .for_each(|id| courier.fired(id));
            // The response waits for one try, not for the acknowledgement.
            let body = courier.body(&receipt, receipt.status);
            let answered = self.webhooks.try_once(self, &body).await;
            courier.tried(&receipt, 1, answered);
            if !acknowledges(answered) {
                let courier = courier.clone();
                self.send_on(async move {
                    let base = courier.core.webhooks.times.retry_base;
                    courier.core.clock.sleep(base).await;
                    courier.insist(&receipt, 2).await;
                });
            }
        }
        courier.carry(later);
    }

    /// After a restart: goes on with the receipts of messages that were accepted before it. What
    /// was acknowledged and is not on record as such comes once more, under the same event id.
    pub(crate) fn report_again(self: &Arc<Self>, deliveries: &[Delivery]) {
        if !self.webhooks.has_callback() {
            return;
        }
        for delivery in deliveries {
            let nth = self.nth_accepted(delivery);
            let (courier, mut receipts) = self.courier(delivery, nth);
            receipts.retain(|receipt| {
                let last = self.tries.last(delivery.id, &receipt.event_id);
                !last.is_some_and(|(_, answered)| acknowledges(answered))
            });
            if !receipts.is_empty() && self.webhooks.has_room() {
                courier.carry(receipts);
            }
        }
    }

    /// Who carries the receipts of a message, and which.
    fn courier(self: &Arc<Self>, delivery: &Delivery, nth: u32) -> (Courier, Vec<Receipt>) {
        let faults = self.rules.of_receipts(&delivery.by, nth);
        let down = faults.iter().find_map(|(id, fault)| match fault {
            ReceiptFault::Down(down) => Some((*id, delivery.at().saturating_add(down.lasts.0))),
            _ => None,
        });
        let courier = Courier {
            core: self.clone(),
            delivery: delivery.clone(),
            name: self.naming.name(delivery.id),
            down,
        };
        let receipts = plan(&self.stations(delivery), &courier.name, &faults);
        (courier, receipts)
    }

    fn nth_accepted(&self, delivery: &Delivery) -> u32 {
        let reading = delivery.by.reading();
        if let Some(intent) = reading.intent {
            return self.intents.accepted(intent);
        }
        let what = counted_under(&reading);
        let mut count = self.accepted.0.entry(what).or_insert(0);
        *count += 1;
        *count
    }
}

/// What accepted messages are counted under that are no intent's.
fn counted_under(reading: &Reading<&str>) -> String {
    let of = reading.key.or(reading.to).unwrap_or_default();
    format!("{}\0{of}", reading.customer)
}

/// Who carries the receipts of one message.
#[derive(Clone)]
struct Courier {
    core: Arc<Core>,
    delivery: Delivery,
    name: String,
    /// The fault by which the endpoint cannot be reached, and until when.
    down: Option<(u32, Duration)>,
}

impl Courier {
    /// Sends each when it is due, in their order or not.
    fn carry(self, receipts: Vec<Receipt>) {
        let in_order = self.core.webhooks.times.in_order;
        let (alone, orderly): (Vec<_>, Vec<_>) =
            receipts.into_iter().partition(|r| r.late || !in_order);
        let core = self.core.clone();
        for receipt in alone {
            let courier = self.clone();
            core.send_on(async move { courier.deliver(receipt).await });
        }
        if !orderly.is_empty() {
            core.send_on(async move {
                for receipt in orderly {
                    self.deliver(receipt).await;
                }
            });
        }
    }

    async fn deliver(&self, receipt: Receipt) {
        let due = self.delivery.at().saturating_add(receipt.due);
        self.core.clock.sleep_until(due).await;
        receipt.fired.iter().for_each(|id| self.fired(*id));
        if let Some(id) = receipt.drop {
            self.fired(id);
            return;
        }
        if let Some(id) = receipt.forged {
            self.fired(id);
            let body = self.body(&receipt, MessageStatus::Undelivered);
            self.core.webhooks.forge(&self.core, &body).await;
        }
        let last = self.core.tries.last(self.delivery.id, &receipt.event_id);
        let next = last.map_or(1, |(nth, _)| nth.saturating_add(1));
        let tries = self.insist(&receipt, next).await;
        if let Some(id) = receipt.duplicate {
            self.fired(id);
            self.insist(&receipt, tries.saturating_add(1)).await;
        }
    }

    /// Tries until the receipt is acknowledged; how many tries there were by then.
    async fn insist(&self, receipt: &Receipt, from: u32) -> u32 {
        if let Some((id, until)) = self.down
            && self.core.clock.now() < until
        {
            self.fired(id);
            self.core.clock.sleep_until(until).await;
        }
        let body = self.body(receipt, receipt.status);
        let tried = |nth, answered| self.tried(receipt, nth, answered);
        let webhooks = &self.core.webhooks;
        webhooks.insist(&self.core, &body, from, tried).await
    }

    fn tried(&self, receipt: &Receipt, attempt: u32, answered: Option<u16>) {
        let tried = Tried {
            event_id: receipt.event_id.clone(),
            status: receipt.status,
            attempt,
            answered,
            at: self.core.clock.now(),
        };
        self.core.store.told(self.delivery.id, &tried);
        self.core.tries.add(self.delivery.id, tried);
        self.core.observers.emit(|| EventKind::ReceiptSent {
            message: self.name.clone(),
            event_id: receipt.event_id.clone(),
            status: receipt.status,
            attempt,
            answered,
        });
    }

    /// The same bytes at every try.
    fn body(&self, receipt: &Receipt, status: MessageStatus) -> String {
        let since = match receipt.before_response {
            Some(_) => Duration::ZERO,
            None => receipt.reached,
        };
        let at = self.delivery.at().saturating_add(since);
        serde_json::json!({
            "type": "receipt",
            "event_id": receipt.event_id,
            "sequence": receipt.sequence,
            "message_id": self.name,
            "idempotency_key": self.delivery.by.reading().key,
            "to": self.delivery.by.reading().to,
            "status": status.as_str(),
            "timestamp": self.core.clock.timestamp(at).to_string(),
        })
        .to_string()
    }

    fn fired(&self, fault: u32) {
        let attempt = self.delivery.by.id;
        self.core.tally.faults.one_more();
        self.core
            .observers
            .emit(|| EventKind::FaultFired { attempt, fault });
    }
}

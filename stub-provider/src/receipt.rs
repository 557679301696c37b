//! Receipts: what the provider reports about a message afterwards.
//!
//! Owns when each state of a message is reported, to whom, signed how, and that it is tried again
//! until it is acknowledged. What the true state is depends on time alone.

use std::{
    net::IpAddr,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use bytes::Bytes;
use dashmap::DashMap;
use http_body_util::Full;
use hyper::{Method, Uri, header};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};

use tokio_util::task::TaskTracker;

use crate::{
    core::Core,
    event::EventKind,
    fault::{MessageStatus, ReceiptFault},
    provider::Error,
    record::{Delivery, status_word},
    signature::sign,
};

mod plan;

use plan::{Receipt, plan};

/// When receipts are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiptTimes {
    /// Between two states of a message.
    pub spacing: Duration,
    /// Before the first repetition of a receipt that was not acknowledged; doubled each time.
    pub retry_base: Duration,
    /// The longest wait before a repetition.
    pub retry_cap: Duration,
    /// How long an acknowledgement is waited for (real time).
    pub timeout: Duration,
}

impl Default for ReceiptTimes {
    /// Short times, for a provider inside a test.
    fn default() -> Self {
        Self {
            spacing: Duration::from_millis(15),
            retry_base: Duration::from_millis(50),
            retry_cap: Duration::from_secs(5),
            timeout: Duration::from_secs(2),
        }
    }
}

/// Where receipts go, and how.
pub(crate) struct Receipts {
    callback: RwLock<Option<Uri>>,
    remote: bool,
    secret: String,
    times: ReceiptTimes,
    client: Client<HttpConnector, Full<Bytes>>,
    /// Whoever carries a receipt that is not acknowledged yet.
    couriers: TaskTracker,
    /// Accepted messages, counted by key or recipient where no intents are known.
    accepted: DashMap<String, u32>,
}

impl Receipts {
    pub(crate) fn new(secret: String, remote: bool, times: ReceiptTimes) -> Self {
        Self {
            callback: RwLock::new(None),
            remote,
            secret,
            times,
            client: Client::builder(TokioExecutor::new()).build_http(),
            couriers: TaskTracker::new(),
            accepted: DashMap::new(),
        }
    }

    /// Where receipts go from now on; `None`: nowhere.
    pub(crate) fn set_callback(&self, url: Option<&str>) -> Result<(), Error> {
        let uri = url.map(|url| self.checked(url)).transpose()?;
        *self
            .callback
            .write()
            .unwrap_or_else(PoisonError::into_inner) = uri;
        Ok(())
    }

    pub(crate) fn callback(&self) -> Option<Uri> {
        self.callback
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn checked(&self, url: &str) -> Result<Uri, Error> {
        let wrong = |why: &str| Error::Callback {
            url: url.to_owned(),
            why: why.to_owned(),
        };
        let uri: Uri = url.parse().map_err(|_| wrong("it is not a URL"))?;
        if uri.scheme_str() != Some("http") {
            return Err(wrong("it does not start with http://"));
        }
        let host = uri.host().ok_or_else(|| wrong("it names no host"))?;
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let loopback =
            bare == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
        if !loopback && !self.remote {
            return Err(wrong(
                "it is not on this machine, and remote callbacks are not allowed",
            ));
        }
        Ok(uri)
    }

    /// Whether any receipt is still to come, or not acknowledged yet.
    pub(crate) fn under_way(&self) -> bool {
        !self.couriers.is_empty()
    }

    pub(crate) fn forget(&self) {
        self.accepted.clear();
    }
}

impl Core {
    /// The state of a message now.
    pub(crate) fn status(&self, delivery: &Delivery) -> MessageStatus {
        let spacing = self.receipts.times.spacing;
        let age = self.clock.now().saturating_sub(delivery.at);
        if age < spacing {
            MessageStatus::Queued
        } else if age < spacing * 2 {
            MessageStatus::Sent
        } else {
            self.last_status(delivery)
        }
    }

    fn last_status(&self, delivery: &Delivery) -> MessageStatus {
        let to = delivery.by.reading.to.as_deref().unwrap_or_default();
        if self
            .profile
            .undelivered_to
            .iter()
            .any(|number| number == to)
        {
            MessageStatus::Undelivered
        } else {
            MessageStatus::Delivered
        }
    }

    /// Starts the receipts of a message that was just accepted. Returns at once, but for receipts
    /// that a fault puts before the response.
    pub(crate) async fn report(self: &Arc<Self>, delivery: &Delivery) {
        if self.receipts.callback().is_none() {
            return;
        }
        let nth = self.nth_accepted(delivery);
        let faults = self.rules.of_receipts(&delivery.by, nth);
        let down = faults.iter().find_map(|(id, fault)| match fault {
            ReceiptFault::Down(down) => Some((*id, delivery.at.saturating_add(down.lasts.0))),
            _ => None,
        });
        let courier = Courier {
            core: self.clone(),
            delivery: delivery.clone(),
            name: self.naming.name(delivery.id),
            down,
        };
        let times = self.receipts.times;
        let receipts = plan(
            self.last_status(delivery),
            times.spacing,
            &courier.name,
            &faults,
        );
        let (first, later): (Vec<_>, Vec<_>) = receipts
            .into_iter()
            .partition(|receipt| receipt.before_response.is_some());
        for receipt in first {
            receipt
                .before_response
                .into_iter()
                .for_each(|id| courier.fired(id));
            // The response waits for one try, not for the acknowledgement.
            if !courier.attempt(&receipt, 1).await {
                let courier = courier.clone();
                self.spawn(async move {
                    courier.repeat(&receipt, 2).await;
                });
            }
        }
        let (late, orderly): (Vec<_>, Vec<_>) = later.into_iter().partition(|r| r.late);
        for receipt in late {
            let courier = courier.clone();
            self.spawn(async move { courier.deliver(receipt).await });
        }
        self.spawn(async move {
            for receipt in orderly {
                courier.deliver(receipt).await;
            }
        });
    }

    fn nth_accepted(&self, delivery: &Delivery) -> u32 {
        let reading = &delivery.by.reading;
        if let Some(intent) = reading.intent {
            return self.intents.accepted(intent);
        }
        let of = reading.key.as_ref().or(reading.to.as_ref());
        let what = format!("{}\0{}", reading.customer, of.map_or("", String::as_str));
        let mut count = self.receipts.accepted.entry(what).or_insert(0);
        *count += 1;
        *count
    }

    /// Work that ends with the provider.
    fn spawn(self: &Arc<Self>, work: impl Future<Output = ()> + Send + 'static) {
        let stopping = self.stopping.clone();
        let work = self.receipts.couriers.track_future(work);
        drop(self.tasks.spawn(async move {
            stopping.run_until_cancelled(work).await;
        }));
    }
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
    async fn deliver(&self, receipt: Receipt) {
        let due = self.delivery.at.saturating_add(receipt.due);
        self.core.clock.sleep_until(due).await;
        receipt.fired.iter().for_each(|id| self.fired(*id));
        if let Some(id) = receipt.drop {
            self.fired(id);
            return;
        }
        if let Some(id) = receipt.forged {
            self.fired(id);
            self.forge(&receipt).await;
        }
        let tries = self.repeat(&receipt, 1).await;
        if let Some(id) = receipt.duplicate {
            self.fired(id);
            self.repeat(&receipt, tries + 1).await;
        }
    }

    /// Tries until the receipt is acknowledged; how many tries there were by then.
    async fn repeat(&self, receipt: &Receipt, from: u32) -> u32 {
        let times = self.core.receipts.times;
        let mut wait = times.retry_base;
        if from > 1 && receipt.before_response.is_some() {
            self.core.clock.sleep(wait).await;
        }
        if let Some((id, until)) = self.down
            && self.core.clock.now() < until
        {
            self.fired(id);
            self.core.clock.sleep_until(until).await;
        }
        let mut tries = from;
        while !self.attempt(receipt, tries).await {
            self.core.clock.sleep(wait).await;
            wait = (wait * 2).min(times.retry_cap);
            tries += 1;
        }
        tries
    }

    /// One try; whether it was acknowledged.
    async fn attempt(&self, receipt: &Receipt, attempt: u32) -> bool {
        let body = self.body(&receipt.event_id, receipt.status);
        let answered = self.post(body, &self.core.receipts.secret).await;
        self.core.observers.emit(|| EventKind::ReceiptSent {
            message: self.name.clone(),
            event_id: receipt.event_id.clone(),
            status: receipt.status,
            attempt,
            answered,
        });
        answered.is_some_and(|status| (200..300).contains(&status))
    }

    /// A copy by somebody who does not know the secret.
    async fn forge(&self, receipt: &Receipt) {
        let body = self.body(&receipt.event_id, MessageStatus::Undelivered);
        let guess = format!("not {}", self.core.receipts.secret);
        self.post(body, &guess).await;
    }

    fn body(&self, event_id: &str, status: MessageStatus) -> String {
        let core = &self.core;
        let at = core.clock.timestamp(core.clock.now());
        serde_json::json!({
            "event_id": event_id,
            "message_id": self.name,
            "idempotency_key": self.delivery.by.reading.key,
            "to": self.delivery.by.reading.to,
            "status": status_word(status),
            "timestamp": at.to_string(),
        })
        .to_string()
    }

    /// The status that answered; `None`: nobody knows whether it arrived.
    async fn post(&self, body: String, secret: &str) -> Option<u16> {
        let core = &self.core;
        let callback = core.receipts.callback()?;
        let unix = core.clock.unix(core.clock.now()).as_secs();
        let request = hyper::Request::builder()
            .method(Method::POST)
            .uri(callback)
            .header(header::CONTENT_TYPE, "application/json")
            .header("x-signature", sign(secret, unix, body.as_bytes()))
            .body(Full::from(body))
            .ok()?;
        let sent = core.receipts.client.request(request);
        match tokio::time::timeout(core.receipts.times.timeout, sent).await {
            Ok(Ok(response)) => Some(response.status().as_u16()),
            Ok(Err(error)) => {
                tracing::debug!(%error, "a receipt could not be handed over");
                None
            }
            Err(_) => {
                tracing::debug!("a receipt was not acknowledged in time");
                None
            }
        }
    }

    fn fired(&self, fault: u32) {
        let attempt = self.delivery.by.id;
        self.core
            .observers
            .emit(|| EventKind::FaultFired { attempt, fault });
    }
}

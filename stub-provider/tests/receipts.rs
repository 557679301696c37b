//! Receipts, seen from the endpoint that takes them.

mod lab;

use std::{sync::Arc, time::Duration};

use lab::{
    LONG, TO, ask,
    endpoint::{Receipt, SECRET, endpoint, statuses, take},
    message, post, rule,
};
use serde_json::{Value, json};
use stub_provider::{
    Config, LifeTimes, Provider, WebhookTimes,
    event::EventKind,
    fault::{FaultRule, Wrong},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    time::timeout,
};

const HOUR: Duration = Duration::from_hours(1);

async fn provider(callback: &str) -> Provider {
    started(callback, WebhookTimes::default(), LifeTimes::default()).await
}

async fn started(callback: &str, webhooks: WebhookTimes, life: LifeTimes) -> Provider {
    let config = Config {
        callback: Some(callback.to_owned()),
        webhook_secret: SECRET.into(),
        webhooks: WebhookTimes {
            retry_base: Duration::from_millis(5),
            ..webhooks
        },
        life,
        ..Config::default()
    };
    Provider::start(config).await.expect("a provider")
}

/// Every state an hour after the one before: nothing happens until the clock is advanced.
fn slow() -> LifeTimes {
    LifeTimes {
        accepted: HOUR,
        queued: HOUR,
        sent: HOUR,
        validity: HOUR * 10,
    }
}

fn faulty(written: &Value) -> FaultRule {
    let mut rule = rule(7, 1, lab::fault(&json!({ "redirect": { "status": 307 } })));
    rule.wrong = Wrong::Receipt(serde_json::from_value(written.clone()).expect("a fault"));
    rule
}

/// Sends one message to a provider with that fault: the first `n` receipts.
async fn with_fault(written: &Value, n: usize) -> Vec<Receipt> {
    let (url, mut receipts) = endpoint(&[]).await;
    let provider = provider(&url).await;
    provider.add_fault(faulty(written));
    ask(provider.addr(), &post(Some("k1"), &message(TO, "1"))).await;
    take(&mut receipts, n).await
}

#[tokio::test]
async fn a_message_is_reported_signed_state_after_state() {
    let (url, mut receipts) = endpoint(&[]).await;
    let provider = provider(&url).await;
    let answer = ask(provider.addr(), &post(Some("k1"), &message(TO, "1"))).await;
    let taken = take(&mut receipts, 3).await;
    assert_eq!(statuses(&taken), ["queued", "sent", "delivered"]);
    for receipt in &taken {
        assert!(receipt.is_genuine(), "{}", receipt.signature);
        assert_eq!(receipt.said["message_id"], answer.json()["id"]);
        assert_eq!(receipt.said["idempotency_key"], "k1");
        assert_eq!(receipt.said["to"], TO);
    }
    assert_ne!(taken[0].said["event_id"], taken[1].said["event_id"]);
    let numbers: Vec<_> = taken.iter().map(|r| r.said["sequence"].clone()).collect();
    assert_eq!(numbers, [1, 2, 3]);
    let times: Vec<jiff::Timestamp> = taken
        .iter()
        .map(|receipt| {
            let time = receipt.said["timestamp"].as_str().expect("a time");
            time.parse().expect("RFC 3339")
        })
        .collect();
    assert!(times[0] < times[1] && times[1] < times[2], "{times:?}");
    let id = answer.json()["id"].as_str().expect("an id").to_owned();
    let found = ask(provider.addr(), &lab::get(&format!("/v1/messages/{id}"))).await;
    assert_eq!(found.json()["status"], "delivered");
}

#[tokio::test]
async fn a_number_of_the_profile_ends_undelivered() {
    let (url, mut receipts) = endpoint(&[]).await;
    let provider = provider(&url).await;
    ask(
        provider.addr(),
        &post(Some("k1"), &message("+447700900999", "1")),
    )
    .await;
    let taken = take(&mut receipts, 3).await;
    assert_eq!(statuses(&taken), ["queued", "sent", "undelivered"]);
}

#[tokio::test]
async fn a_receipt_is_repeated_under_its_event_id_until_it_is_acknowledged() {
    let (url, mut receipts) = endpoint(&[500, 404]).await;
    let provider = provider(&url).await;
    let mut watch = lab::Watch::new(&provider);
    ask(provider.addr(), &post(Some("k1"), &message(TO, "1"))).await;
    let taken = take(&mut receipts, 5).await;
    assert_eq!(
        statuses(&taken),
        ["queued", "queued", "queued", "sent", "delivered"]
    );
    assert_eq!(taken[0].body, taken[2].body);
    let mut tries = Vec::new();
    for _ in 0..3 {
        let told = watch.until(|kind| match kind {
            EventKind::ReceiptSent {
                attempt, answered, ..
            } => Some((*attempt, *answered)),
            _ => None,
        });
        tries.push(told.await);
    }
    assert_eq!(tries, [(1, Some(500)), (2, Some(404)), (3, Some(200))]);
}

#[tokio::test]
async fn a_replay_is_not_reported_again() {
    let (url, mut receipts) = endpoint(&[]).await;
    let provider = provider(&url).await;
    let request = post(Some("k1"), &message(TO, "1"));
    ask(provider.addr(), &request).await;
    ask(provider.addr(), &request).await;
    take(&mut receipts, 3).await;
    ask(provider.addr(), &post(Some("k2"), &message(TO, "2"))).await;
    let next = take(&mut receipts, 3).await;
    assert!(
        next.iter()
            .all(|receipt| receipt.said["idempotency_key"] == "k2")
    );
}

#[tokio::test]
async fn each_fault_changes_what_arrives() {
    let taken = with_fault(&json!({ "duplicate": { "event": "sent" } }), 4).await;
    assert_eq!(statuses(&taken), ["queued", "sent", "sent", "delivered"]);
    assert_eq!(taken[1].said["event_id"], taken[2].said["event_id"]);

    let taken = with_fault(&json!({ "drop": { "event": "sent" } }), 2).await;
    assert_eq!(statuses(&taken), ["queued", "delivered"]);

    let taken = with_fault(&json!({ "reorder": {} }), 3).await;
    assert_eq!(statuses(&taken), ["queued", "delivered", "sent"]);

    let taken = with_fault(&json!({ "bad-signature": { "event": "sent" } }), 4).await;
    assert_eq!(
        statuses(&taken),
        ["queued", "undelivered", "sent", "delivered"]
    );
    let genuine: Vec<_> = taken.iter().map(Receipt::is_genuine).collect();
    assert_eq!(genuine, [true, false, true, true]);
}

#[tokio::test]
async fn a_delayed_receipt_is_overtaken_by_the_others() {
    let (url, mut receipts) = endpoint(&[]).await;
    let provider = provider(&url).await;
    provider.add_fault(faulty(
        &json!({ "delay": { "event": "queued", "for": "1h" } }),
    ));
    ask(provider.addr(), &post(Some("k1"), &message(TO, "1"))).await;
    let taken = take(&mut receipts, 2).await;
    assert_eq!(statuses(&taken), ["sent", "delivered"]);
    provider.clock().advance(Duration::from_hours(1));
    let taken = take(&mut receipts, 1).await;
    assert_eq!(statuses(&taken), ["queued"]);
}

#[tokio::test]
async fn a_receipt_can_come_before_the_response() {
    let (url, mut receipts) = endpoint(&[]).await;
    let provider = provider(&url).await;
    let mut watch = lab::Watch::new(&provider);
    provider.add_fault(faulty(
        &json!({ "before-response": { "event": "delivered" } }),
    ));
    ask(provider.addr(), &post(Some("k1"), &message(TO, "1"))).await;
    let order = |kind: &EventKind| match kind {
        EventKind::ReceiptSent { .. } => Some("receipt"),
        EventKind::Answering { .. } => Some("answering"),
        _ => None,
    };
    assert_eq!(watch.until(order).await, "receipt");
    assert_eq!(watch.until(order).await, "answering");
    let taken = take(&mut receipts, 3).await;
    assert_eq!(statuses(&taken), ["delivered", "queued", "sent"]);
}

#[tokio::test]
async fn an_endpoint_that_is_down_gets_its_receipts_later() {
    let (url, mut receipts) = endpoint(&[]).await;
    let provider = provider(&url).await;
    let mut watch = lab::Watch::new(&provider);
    provider.add_fault(faulty(&json!({ "down": { "for": "1h" } })));
    ask(provider.addr(), &post(Some("k1"), &message(TO, "1"))).await;
    watch
        .until(|kind| matches!(kind, EventKind::FaultFired { fault: 7, .. }).then_some(()))
        .await;
    assert!(receipts.try_recv().is_err());
    provider.clock().advance(Duration::from_hours(1));
    let taken = take(&mut receipts, 3).await;
    assert_eq!(statuses(&taken), ["queued", "sent", "delivered"]);
}

#[tokio::test]
async fn receipts_stay_on_this_machine_unless_allowed() {
    for url in [
        "http://192.0.2.1/x",
        "https://127.0.0.1/x",
        "not a url",
        "/x",
        "http://example.com/receipts",
        "http://localhost@example.com/receipts",
    ] {
        let config = Config {
            callback: Some(url.into()),
            ..Config::default()
        };
        let error = Provider::start(config).await.expect_err(url);
        assert!(error.to_string().contains(url), "{error}");
    }
    let allowed = Config {
        callback: Some("http://192.0.2.1/x".into()),
        allow_remote_callback: true,
        ..Config::default()
    };
    Provider::start(allowed).await.expect("allowed");
}

#[tokio::test]
async fn the_callback_is_set_from_outside() {
    let (url, mut receipts) = endpoint(&[]).await;
    let provider = Arc::new(lab::provider().await);
    let set = lab::with_body("POST", "/admin/callback", &json!({ "url": url }));
    assert_eq!(ask(provider.addr(), &set).await.json()["url"], url);
    ask(provider.addr(), &post(Some("k1"), &message(TO, "1"))).await;
    assert_eq!(take(&mut receipts, 3).await.len(), 3);
    let wrong = lab::with_body(
        "POST",
        "/admin/callback",
        &json!({ "url": "http://192.0.2.1/" }),
    );
    assert_eq!(ask(provider.addr(), &wrong).await.status, 400);
}

async fn status(provider: &Provider, id: &str) -> Value {
    let found = ask(provider.addr(), &lab::get(&format!("/v1/messages/{id}"))).await;
    found.json()["status"].clone()
}

async fn accepted(provider: &Provider, key: &str, body: &str) -> String {
    let answer = ask(provider.addr(), &post(Some(key), body)).await;
    assert_eq!(answer.status, 201);
    answer.json()["id"].as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn a_message_lives_by_the_providers_clock_alone() {
    let (url, mut receipts) = endpoint(&[]).await;
    let provider = started(&url, WebhookTimes::default(), slow()).await;
    let id = accepted(&provider, "k1", &message(TO, "1")).await;
    assert_eq!(status(&provider, &id).await, "accepted");
    for state in ["queued", "sent", "delivered"] {
        assert!(receipts.try_recv().is_err(), "{state} is not due yet");
        provider.clock().advance(HOUR);
        let taken = take(&mut receipts, 1).await;
        assert_eq!(statuses(&taken), [state]);
        assert_eq!(status(&provider, &id).await, state);
    }
}

#[tokio::test]
async fn what_cannot_be_reached_expires_after_its_validity() {
    let (url, mut receipts) = endpoint(&[]).await;
    let provider = started(&url, WebhookTimes::default(), slow()).await;
    let id = accepted(&provider, "k1", &message("+447700900998", "1")).await;
    provider.clock().advance(HOUR * 9);
    assert_eq!(statuses(&take(&mut receipts, 2).await), ["queued", "sent"]);
    assert_eq!(status(&provider, &id).await, "sent");
    provider.clock().advance(HOUR);
    assert_eq!(statuses(&take(&mut receipts, 1).await), ["expired"]);
    assert_eq!(status(&provider, &id).await, "expired");
}

#[tokio::test]
async fn a_request_says_how_long_its_message_is_valid() {
    let (url, mut receipts) = endpoint(&[]).await;
    let provider = started(&url, WebhookTimes::default(), slow()).await;
    let body = json!({ "to": TO, "body": "1", "validity": 5400 }).to_string();
    let id = accepted(&provider, "k1", &body).await;
    provider.clock().advance(HOUR * 4);
    let taken = take(&mut receipts, 2).await;
    assert_eq!(statuses(&taken), ["queued", "expired"]);
    assert_eq!(status(&provider, &id).await, "expired");
}

#[tokio::test]
async fn in_order_a_state_waits_for_the_one_before_and_out_of_order_it_does_not() {
    for (in_order, seen) in [
        (true, ["queued", "queued", "sent", "delivered"]),
        (false, ["queued", "sent", "delivered", "queued"]),
    ] {
        let (url, mut receipts) = endpoint(&[503]).await;
        let webhooks = WebhookTimes {
            in_order,
            ..WebhookTimes::default()
        };
        let config = Config {
            callback: Some(url),
            webhook_secret: SECRET.into(),
            webhooks: WebhookTimes {
                retry_base: HOUR * 24,
                ..webhooks
            },
            life: slow(),
            ..Config::default()
        };
        let provider = Provider::start(config).await.expect("a provider");
        accepted(&provider, "k1", &message(TO, "1")).await;
        let mut watch = lab::Watch::new(&provider);
        provider.clock().advance(HOUR);
        let told = |kind: &EventKind| match kind {
            EventKind::ReceiptSent { answered, .. } => Some(*answered),
            _ => None,
        };
        assert_eq!(watch.until(told).await, Some(503));
        provider.clock().advance(HOUR * 2);
        if !in_order {
            watch.until(told).await;
            watch.until(told).await;
        }
        provider.clock().advance(HOUR * 24);
        let mut taken = take(&mut receipts, 4).await;
        if !in_order {
            // These two are due at once.
            taken[1..3].sort_by_key(|receipt| receipt.said["sequence"].as_u64());
        }
        assert_eq!(statuses(&taken), seen);
    }
}

#[tokio::test]
async fn a_redirect_acknowledges_nothing_and_is_not_followed() {
    let (elsewhere, mut strayed) = endpoint(&[]).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/receipts", listener.local_addr().expect("bound"));
    let provider = provider(&url).await;
    accepted(&provider, "k1", &message(TO, "1")).await;
    // Twice: the second shows that the first was no acknowledgement.
    for _ in 0..2 {
        let (mut stream, _) = timeout(LONG, listener.accept())
            .await
            .expect("in time")
            .expect("a connection");
        let mut bytes = [0; 4096];
        assert_ne!(stream.read(&mut bytes).await.expect("readable"), 0);
        let answer = format!(
            "HTTP/1.1 307 X\r\nLocation: {elsewhere}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(answer.as_bytes()).await.expect("writable");
    }
    assert!(strayed.try_recv().is_err(), "nobody follows");
}

#[tokio::test]
async fn what_waits_to_be_acknowledged_is_bounded_and_what_comes_beyond_is_counted() {
    let (url, mut receipts) = endpoint(&[]).await;
    let webhooks = WebhookTimes {
        kept: 1,
        ..WebhookTimes::default()
    };
    let provider = started(&url, webhooks, slow()).await;
    accepted(&provider, "k1", &message(TO, "1")).await;
    accepted(&provider, "k2", &message(TO, "2")).await;
    provider.clock().advance(HOUR * 3);
    let taken = take(&mut receipts, 3).await;
    assert!(taken.iter().all(|r| r.said["idempotency_key"] == "k1"));
    let metrics = ask(provider.addr(), &lab::get("/metrics")).await;
    let text = String::from_utf8(metrics.body).expect("text");
    assert!(
        text.contains("\nstub_provider_webhooks_given_up_total 1\n"),
        "{text}"
    );
}

#[tokio::test]
async fn what_is_not_acknowledged_shows_in_the_metrics_until_it_is() {
    let (url, mut receipts) = endpoint(&[500]).await;
    let config = Config {
        callback: Some(url),
        webhook_secret: SECRET.into(),
        webhooks: WebhookTimes {
            retry_base: HOUR,
            ..WebhookTimes::default()
        },
        ..Config::default()
    };
    let provider = Provider::start(config).await.expect("a provider");
    let mut watch = lab::Watch::new(&provider);
    accepted(&provider, "k1", &message(TO, "1")).await;
    let told = |kind: &EventKind| match kind {
        EventKind::ReceiptSent { answered, .. } => Some(*answered),
        _ => None,
    };
    assert_eq!(watch.until(told).await, Some(500));
    let unacknowledged = || async {
        let metrics = ask(provider.addr(), &lab::get("/metrics")).await;
        let text = String::from_utf8(metrics.body).expect("text");
        let name = "\nstub_provider_webhooks_unacknowledged ";
        let at = text.find(name).expect("the metric") + name.len();
        text[at..].lines().next().expect("a value").to_owned()
    };
    assert_eq!(unacknowledged().await, "1");
    provider.clock().advance(HOUR);
    assert_eq!(watch.until(told).await, Some(200));
    assert_eq!(unacknowledged().await, "0");
    assert_eq!(take(&mut receipts, 4).await.len(), 4);
}

//! What a customer may ask for, seen from the customer.

mod lab;

use std::time::Duration;

use lab::{Answer, Client, TO, Watch, ask, buzzes, get, message, post, post_as, with_body};
use serde_json::json;
use stub_provider::{
    Config, HoldRule, LifeTimes, Provider, Quota,
    attempts::Attempts,
    fault::{RequestKind, Stage},
};

async fn limited(quota: Quota) -> Provider {
    let config = Config {
        quota,
        life: LifeTimes {
            queued: Duration::from_secs(10),
            ..LifeTimes::default()
        },
        ..Config::default()
    };
    Provider::start(config).await.expect("a provider")
}

async fn send(provider: &Provider, key: &str) -> Answer {
    ask(provider.addr(), &post(Some(key), &message(TO, key))).await
}

/// A 429 with this code: how many seconds to wait.
fn wait(answer: &Answer, code: u32) -> u64 {
    assert_eq!(answer.status, 429);
    assert_eq!(answer.json()["code"], code);
    let wait = answer.header("retry-after").expect("how long to wait");
    wait.parse().expect("whole seconds")
}

#[tokio::test]
async fn who_asks_too_often_is_told_how_long_to_wait_and_the_key_stays_free() {
    let provider = limited(Quota {
        rate: "2/m".parse().ok(),
        ..Quota::default()
    })
    .await;
    assert_eq!(send(&provider, "k1").await.status, 201);
    assert_eq!(send(&provider, "k2").await.status, 201);
    let seconds = wait(&send(&provider, "k3").await, 20429);
    assert!((1..=30).contains(&seconds), "{seconds}");
    let other = post_as(Some("acme"), Some("k3"), &message(TO, "k3"));
    assert_eq!(ask(provider.addr(), &other).await.status, 201);
    assert_eq!(buzzes(&provider).await, 3);
    provider.clock().advance(Duration::from_secs(seconds));
    let answer = send(&provider, "k3").await;
    assert_eq!(
        (answer.status, answer.header("idempotent-replayed")),
        (201, None)
    );
}

#[tokio::test]
async fn a_replay_costs_a_request_but_no_message() {
    let provider = limited(Quota {
        rate: "3/m".parse().ok(),
        daily: Some(1),
        queue: Some(1),
        ..Quota::default()
    })
    .await;
    let first = send(&provider, "k1").await;
    let replay = send(&provider, "k1").await;
    assert_eq!(replay.header("idempotent-replayed"), Some("true"));
    assert_eq!(first.clone().lasting(), replay.lasting());
    wait(&send(&provider, "k2").await, 63038);
    wait(&send(&provider, "k1").await, 20429);
    // A lookup costs nothing.
    let lookup = get("/v1/messages?idempotency_key=k1");
    assert_eq!(ask(provider.addr(), &lookup).await.status, 200);
    // The stored answer is still what it was.
    provider.clock().advance(Duration::from_secs(20));
    assert_eq!(send(&provider, "k1").await.lasting(), first.lasting());
}

#[tokio::test]
async fn only_so_many_requests_are_worked_on_at_once() {
    let provider = limited(Quota {
        concurrency: Some(1),
        ..Quota::default()
    })
    .await;
    let mut watch = Watch::new(&provider);
    provider.hold(
        Stage::BeforeAccept,
        HoldRule {
            intent: None,
            attempts: Attempts::only(1),
            request: RequestKind::Submit,
        },
    );
    let mut first = Client::connect(provider.addr()).await;
    first.send(&post(Some("k1"), &message(TO, "1"))).await;
    let held = watch.held().await;
    let second = post(Some("k1"), &message(TO, "1"));
    assert_eq!(wait(&ask(provider.addr(), &second).await, 20429), 1);
    provider.release(held, Stage::BeforeAccept);
    assert_eq!(first.answer().await.status, 201);
    // The permit is given back before the answer leaves.
    let replay = ask(provider.addr(), &second).await;
    assert_eq!(replay.header("idempotent-replayed"), Some("true"));
}

#[tokio::test]
async fn a_days_quota_is_new_at_midnight() {
    let provider = limited(Quota {
        daily: Some(1),
        ..Quota::default()
    })
    .await;
    assert_eq!(send(&provider, "k1").await.status, 201);
    let seconds = wait(&send(&provider, "k2").await, 63038);
    assert!((1..=86_400).contains(&seconds), "{seconds}");
    provider.clock().advance(Duration::from_secs(seconds));
    assert_eq!(send(&provider, "k2").await.status, 201);
}

#[tokio::test]
async fn a_full_queue_has_room_when_its_first_message_is_sent() {
    let provider = limited(Quota {
        queue: Some(1),
        ..Quota::default()
    })
    .await;
    assert_eq!(send(&provider, "k1").await.status, 201);
    let seconds = wait(&send(&provider, "k2").await, 21611);
    assert!((1..=10).contains(&seconds), "{seconds}");
    provider.clock().advance(Duration::from_secs(seconds));
    assert_eq!(send(&provider, "k2").await.status, 201);
}

#[tokio::test]
async fn a_reset_gives_every_customer_its_quota_back() {
    let provider = limited(Quota {
        rate: "1/h".parse().ok(),
        daily: Some(1),
        ..Quota::default()
    })
    .await;
    assert_eq!(send(&provider, "k1").await.status, 201);
    assert_eq!(send(&provider, "k2").await.status, 429);
    let reset = with_body("POST", "/admin/reset", &json!({}));
    assert_eq!(ask(provider.addr(), &reset).await.status, 200);
    assert_eq!(send(&provider, "k2").await.status, 201);
}

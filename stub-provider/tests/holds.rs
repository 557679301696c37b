//! Attempts that wait at a stage until they are let go.

mod lab;

use lab::{Client, OTHER, TO, Watch, ask, buzzes, message, post};
use stub_provider::{
    Config, ExpectedIntent, HoldRule, Intents, Provider,
    attempts::Attempts,
    event::{End, EventKind},
    fault::{RequestKind, Stage},
};

fn first() -> HoldRule {
    HoldRule {
        intent: None,
        attempts: Attempts::only(1),
        request: RequestKind::Submit,
    }
}

async fn held_at(stage: Stage) -> (Provider, Watch, Client, u64) {
    let provider = lab::provider().await;
    let mut watch = Watch::new(&provider);
    provider.hold(stage, first());
    let mut client = Client::connect(provider.addr()).await;
    client.send(&post(Some("k1"), &message(TO, "111"))).await;
    let attempt = watch.held().await;
    (provider, watch, client, attempt)
}

#[tokio::test]
async fn nothing_is_decided_while_an_attempt_is_held_before_acceptance() {
    let (provider, mut watch, mut client, attempt) = held_at(Stage::BeforeAccept).await;
    assert_eq!(buzzes(&provider).await, 0);
    provider.release(attempt, Stage::BeforeAccept);
    assert_eq!(client.answer().await.status, 201);
    watch.end_of(attempt).await;
    assert_eq!(
        watch.story(attempt),
        ["arrived", "held", "delivered", "answering", "ended"]
    );
}

#[tokio::test]
async fn the_message_is_delivered_before_an_attempt_is_held_after_acceptance() {
    let (provider, mut watch, mut client, attempt) = held_at(Stage::AfterAccept).await;
    assert_eq!(watch.story(attempt), ["arrived", "delivered", "held"]);
    let other = ask(provider.addr(), &post(Some("k1"), &message(TO, "111"))).await;
    assert_eq!(other.header("idempotent-replayed"), Some("true"));
    provider.release(attempt, Stage::AfterAccept);
    assert_eq!(client.answer().await.status, 201);
    assert_eq!(watch.end_of(attempt).await, End::Answered);
}

#[tokio::test]
async fn the_end_of_a_held_attempt_is_seen_at_once_and_its_work_goes_on_when_let_go() {
    for rst in [false, true] {
        let (provider, mut watch, client, attempt) = held_at(Stage::BeforeAccept).await;
        if rst {
            client.reset();
        } else {
            drop(client);
        }
        let expected = if rst {
            End::ClientReset
        } else {
            End::ClientClosed
        };
        assert_eq!(watch.end_of(attempt).await, expected);
        provider.release(attempt, Stage::BeforeAccept);
        watch
            .until(|kind| matches!(kind, EventKind::Delivered { .. }).then_some(()))
            .await;
        assert_eq!(buzzes(&provider).await, 1);
    }
}

#[tokio::test]
async fn a_release_that_comes_early_still_counts() {
    let provider = lab::provider().await;
    provider.hold(Stage::BeforeAccept, first());
    provider.hold(Stage::AfterAccept, first());
    let mut watch = Watch::new(&provider);
    let mut client = Client::connect(provider.addr()).await;
    client.send(&post(Some("k1"), &message(TO, "111"))).await;
    let attempt = watch.held().await;
    provider.release(attempt, Stage::AfterAccept);
    provider.release(attempt, Stage::BeforeAccept);
    assert_eq!(client.answer().await.status, 201);
}

#[tokio::test]
async fn releasing_all_lets_everything_go_and_holds_nothing_more() {
    let (provider, _watch, mut client, _) = held_at(Stage::AfterAccept).await;
    provider.release_all();
    assert_eq!(client.answer().await.status, 201);
    let next = ask(provider.addr(), &post(Some("k2"), &message(TO, "111"))).await;
    assert_eq!(next.status, 201);
}

#[tokio::test]
async fn a_hold_is_for_its_intent_and_attempt_only() {
    let intent = |to: &str| ExpectedIntent {
        to: to.into(),
        code: "111".into(),
        customer: "default".into(),
    };
    let config = Config {
        intents: Intents::new(vec![intent(TO), intent(OTHER)]),
        ..Config::default()
    };
    let provider = Provider::start(config).await.expect("a provider");
    let mut watch = Watch::new(&provider);
    provider.hold(
        Stage::AfterAccept,
        HoldRule {
            intent: Some(1),
            attempts: Attempts::only(2),
            request: RequestKind::Submit,
        },
    );
    for _ in 0..3 {
        let answer = ask(provider.addr(), &post(None, &message(TO, "111"))).await;
        assert_eq!(answer.status, 201);
    }
    let request = post(None, &message(OTHER, "111"));
    assert_eq!(ask(provider.addr(), &request).await.status, 201);
    let mut client = Client::connect(provider.addr()).await;
    client.send(&request).await;
    assert_eq!(watch.held().await, 5);
    provider.release(5, Stage::AfterAccept);
    assert_eq!(client.answer().await.status, 201);
}

#[tokio::test]
async fn a_request_that_comes_together_with_a_fin_was_asked_all_the_same() {
    let provider = lab::provider().await;
    let mut watch = Watch::new(&provider);
    let mut client = Client::connect(provider.addr()).await;
    client.send(&post(Some("k1"), &message(TO, "111"))).await;
    client.finish().await;
    assert_eq!(client.answer().await.status, 201);
    assert_eq!(watch.end_of(1).await, End::Answered);
}

#[tokio::test]
async fn a_stop_ends_held_and_hanging_attempts_and_says_so() {
    let (provider, mut watch, mut client, attempt) = held_at(Stage::AfterAccept).await;
    provider.stop().await;
    assert_eq!(client.answer().await.status, 201);
    assert_eq!(watch.end_of(attempt).await, End::Answered);
}

#[tokio::test]
async fn events_are_numbered_without_gaps() {
    let provider = lab::provider().await;
    let mut watch = Watch::new(&provider);
    for n in 0..20 {
        let key = format!("k{}", n % 5);
        ask(provider.addr(), &post(Some(&key), &message(TO, "111"))).await;
    }
    watch.end_of(20).await;
    for (event, n) in watch.seen.iter().zip(1..) {
        assert_eq!(event.seq, n);
    }
}

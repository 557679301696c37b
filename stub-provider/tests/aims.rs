//! Which attempt a fault acts on: by request, number, key and recipient, and once.

mod lab;

use lab::{Client, Seen, TO, ask, buzzes, fault, get, message, post, rule, with_body};
use serde_json::{Value, json};
use stub_provider::{Config, Provider, fault::RequestKind};

fn request() -> String {
    post(Some("k1"), &message(TO, "code 111"))
}

#[tokio::test]
async fn a_fault_on_a_lookup_leaves_submits_alone() {
    let provider = lab::provider().await;
    let mut aimed = rule(
        1,
        1,
        fault(&json!({ "respond": { "stage": "after-accept", "status": 503 } })),
    );
    aimed.request = RequestKind::Lookup;
    provider.add_fault(aimed);
    assert_eq!(ask(provider.addr(), &request()).await.status, 201);
    let by_key = get("/v1/messages?idempotency_key=k1");
    assert_eq!(ask(provider.addr(), &by_key).await.status, 503);
    assert_eq!(ask(provider.addr(), &by_key).await.status, 200);
}

#[tokio::test]
async fn rules_aim_by_number_key_and_recipient() {
    let provider = lab::provider().await;
    let busy = |id, status| {
        let written = json!({ "respond": { "stage": "before-accept", "status": status } });
        rule(id, 2, fault(&written))
    };
    let mut by_to = busy(1, 502);
    by_to.to = Some(lab::OTHER.into());
    let mut by_key = busy(2, 503);
    by_key.key = Some("k3".into());
    provider.add_fault(by_to);
    provider.add_fault(by_key);
    for (key, to, statuses) in [
        ("k1", TO, [201, 201]),
        ("k2", lab::OTHER, [201, 502]),
        ("k3", TO, [201, 503]),
    ] {
        for status in statuses {
            let answer = ask(provider.addr(), &post(Some(key), &message(to, "1"))).await;
            assert_eq!(answer.status, status, "{key}");
        }
    }
}

#[tokio::test]
async fn attempts_of_an_intent_are_counted_over_two_providers() {
    let intents = stub_provider::Intents::new(vec![stub_provider::ExpectedIntent {
        to: TO.into(),
        code: "111".into(),
        customer: "default".into(),
    }]);
    let mut providers = Vec::new();
    for _ in 0..2 {
        let config = Config {
            intents: intents.clone(),
            ..Config::default()
        };
        let provider = Provider::start(config).await.expect("a provider");
        let written = json!({ "respond": { "stage": "before-accept", "status": 503 } });
        provider.add_fault(rule(1, 2, fault(&written)));
        providers.push(provider);
    }
    let first = ask(providers[0].addr(), &post(Some("a"), &message(TO, "111"))).await;
    let second = ask(providers[1].addr(), &post(Some("b"), &message(TO, "111"))).await;
    let third = ask(providers[0].addr(), &post(Some("c"), &message(TO, "111"))).await;
    let stray = ask(
        providers[0].addr(),
        &post(Some("d"), &message(lab::OTHER, "111")),
    )
    .await;
    let statuses = [first.status, second.status, third.status, stray.status];
    assert_eq!(statuses, [201, 503, 201, 201]);
}

async fn set_once(provider: &Provider, mut written: Value) {
    written["once"] = true.into();
    let set = ask(
        provider.addr(),
        &with_body("POST", "/admin/faults", &written),
    )
    .await;
    assert_eq!((set.status, &set.json()["once"]), (201, &json!(true)));
}

async fn set_still(provider: &Provider) -> usize {
    let list = ask(provider.addr(), &get("/admin/faults")).await.json();
    list.as_array().map_or(0, Vec::len)
}

#[tokio::test]
async fn faults_that_act_once_are_for_one_attempt_each_in_their_order_at_whatever_stage() {
    let provider = lab::provider().await;
    let addr = provider.addr();
    let close = json!({ "close": { "stage": "after-accept" } });
    let refuse = json!({ "respond": { "stage": "before-accept", "status": 503 } });
    set_once(&provider, json!({ "provider": close, "to": TO })).await;
    set_once(&provider, json!({ "provider": refuse })).await;
    set_once(&provider, json!({ "provider": refuse, "key": "another" })).await;
    let mut client = Client::connect(addr).await;
    client.send(&request()).await;
    assert_eq!(client.rest().await, Seen::Eof(vec![]));
    assert_eq!(set_still(&provider).await, 2);
    assert_eq!(ask(addr, &request()).await.status, 503);
    assert_eq!(set_still(&provider).await, 1);
    let again = ask(addr, &request()).await;
    assert_eq!(again.status, 201);
    assert!(again.header("idempotent-replayed").is_some());
    assert_eq!(buzzes(&provider).await, 1);
}

#[tokio::test]
async fn a_fault_that_did_not_act_on_an_attempt_is_for_the_next() {
    let provider = lab::provider().await;
    let addr = provider.addr();
    assert_eq!(ask(addr, &request()).await.status, 201);
    let instead = json!({ "respond": { "stage": "after-accept", "status": 500, "stored": true } });
    set_once(&provider, json!({ "provider": instead })).await;
    // What is refused is never accepted: there is no "after" for it.
    let other_words = post(Some("k1"), &message(TO, "code 222"));
    assert_eq!(ask(addr, &other_words).await.status, 422);
    assert_eq!(set_still(&provider).await, 1);
    let another = post(Some("k2"), &message(TO, "code 222"));
    assert_eq!(ask(addr, &another).await.status, 500);
    assert_eq!(set_still(&provider).await, 0);
    assert_eq!(ask(addr, &another).await.status, 500, "it was stored");
}

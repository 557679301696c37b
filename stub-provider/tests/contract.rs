//! The `/v1` contract, seen from a bare socket.

mod lab;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use lab::{Answer, Client, OTHER, TO, ask, buzzes, delivered, get, message, post, post_as};
use stub_provider::{Config, Profile, Provider};

fn changed(right: &str, other: &str) -> Arc<Profile> {
    let source = include_str!("../profiles/v1.toml");
    let source = source.replacen(right, other, 1);
    Arc::new(Profile::parse(&source, "changed.toml").expect("a sound profile"))
}

async fn with_profile(right: &str, other: &str) -> Provider {
    let config = Config {
        profile: changed(right, other),
        ..Config::default()
    };
    Provider::start(config).await.expect("a provider")
}

#[tokio::test]
async fn a_message_is_accepted_and_delivered_once() {
    let provider = lab::provider().await;
    let answer = ask(provider.addr(), &post(Some("k1"), &message(TO, "code 111"))).await;
    assert_eq!(answer.status, 201);
    let said = answer.json();
    assert!(said["id"].as_str().expect("an id").starts_with("msg_"));
    assert_eq!(
        (&said["to"], &said["status"]),
        (&TO.into(), &"queued".into())
    );
    assert_eq!(answer.header("idempotent-replayed"), None);
    let record = delivered(&provider).await;
    assert_eq!(record["k1"][0]["id"], said["id"]);
    assert_eq!(record["k1"][0]["body"], "code 111");
}

#[tokio::test]
async fn a_known_key_gets_the_stored_answer_byte_for_byte() {
    let provider = lab::provider().await;
    let request = post(Some("k1"), &message(TO, "code 111"));
    let mut client = Client::connect(provider.addr()).await;
    let first = client.ask(&request).await;
    let again = client.ask(&request).await;
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(first.lasting(), again.lasting());
    assert_eq!(buzzes(&provider).await, 1);
}

#[tokio::test]
async fn another_payload_under_a_key_is_refused_and_not_delivered() {
    let provider = lab::provider().await;
    ask(provider.addr(), &post(Some("k1"), &message(TO, "111"))).await;
    for body in [message(TO, "112"), format!("{} ", message(TO, "111"))] {
        let answer = ask(provider.addr(), &post(Some("k1"), &body)).await;
        assert_eq!(answer.status, 422, "{body}");
    }
    assert_eq!(buzzes(&provider).await, 1);
}

#[tokio::test]
async fn a_quoted_key_and_a_bare_one_are_the_same_key() {
    let provider = lab::provider().await;
    let body = message(TO, "111");
    ask(provider.addr(), &post(Some("k1"), &body)).await;
    let again = ask(provider.addr(), &post(Some("\"k1\""), &body)).await;
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
}

#[tokio::test]
async fn a_message_without_a_key_is_delivered_each_time() {
    let provider = lab::provider().await;
    let request = post(None, &message(TO, "111"));
    for _ in 0..3 {
        assert_eq!(ask(provider.addr(), &request).await.status, 201);
    }
    let record = delivered(&provider).await;
    let keys: Vec<_> = record.as_object().expect("an object").keys().collect();
    assert_eq!(keys.len(), 3);
    assert!(keys.iter().all(|key| key.starts_with("~msg_")), "{keys:?}");
}

#[tokio::test]
async fn equal_keys_of_two_customers_are_two_keys() {
    let provider = lab::provider().await;
    for (customer, to) in [("acme", TO), ("umbra", OTHER)] {
        let request = post_as(Some(customer), Some("k1"), &message(to, "111"));
        let answer = ask(provider.addr(), &request).await;
        assert_eq!(answer.status, 201);
        assert_eq!(answer.header("idempotent-replayed"), None);
    }
    let record = delivered(&provider).await;
    assert_eq!(record["acme/k1"][0]["to"], TO);
    assert_eq!(record["umbra/k1"][0]["to"], OTHER);
}

#[tokio::test]
async fn a_key_is_forgotten_after_its_retention() {
    let provider = lab::provider().await;
    let request = post(Some("k1"), &message(TO, "111"));
    let first = ask(provider.addr(), &request).await;
    provider.clock().advance(Duration::from_hours(23));
    let replay = ask(provider.addr(), &request).await;
    assert_eq!(replay.header("idempotent-replayed"), Some("true"));
    provider.clock().advance(Duration::from_hours(1));
    let second = ask(provider.addr(), &request).await;
    assert_eq!(second.header("idempotent-replayed"), None);
    assert_ne!(first.json()["id"], second.json()["id"]);
    assert_eq!(
        delivered(&provider).await["k1"].as_array().map(Vec::len),
        Some(2)
    );
}

#[tokio::test]
async fn magic_numbers_are_refused_with_their_code_stored_and_not_delivered() {
    let provider = lab::provider().await;
    for (last, code) in [(1, 21211), (2, 21612), (3, 21408), (4, 21610), (9, 21614)] {
        let to = format!("+1500555000{last}");
        let request = post(Some(&to[1..]), &message(&to, "111"));
        let first = ask(provider.addr(), &request).await;
        assert_eq!((first.status, &first.json()["code"]), (400, &code.into()));
        let again = ask(provider.addr(), &request).await;
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
        assert_eq!(again.lasting(), first.lasting());
    }
    for (last, code) in [(1, 21212), (7, 21606), (8, 21611)] {
        let from = format!("+1500555000{last}");
        let body = serde_json::json!({ "to": TO, "from": from, "body": "111" }).to_string();
        let answer = ask(provider.addr(), &post(None, &body)).await;
        assert_eq!((answer.status, &answer.json()["code"]), (400, &code.into()));
    }
    assert_eq!(buzzes(&provider).await, 0);
}

#[tokio::test]
async fn what_cannot_be_a_message_is_refused_and_leaves_the_key_free() {
    let provider = lab::provider().await;
    for body in [
        "",
        "{",
        "[]",
        "{\"to\":\"+12025550142\"}",
        "{\"to\":\"\",\"body\":\"x\"}",
    ] {
        let answer = ask(provider.addr(), &post(Some("k1"), body)).await;
        assert_eq!(answer.status, 400, "{body}");
    }
    let long = "k".repeat(256);
    let answer = ask(provider.addr(), &post(Some(&long), &message(TO, "111"))).await;
    assert_eq!(answer.status, 400);
    let answer = ask(provider.addr(), &post(Some("k1"), &message(TO, "111"))).await;
    assert_eq!(answer.status, 201);
}

#[tokio::test]
async fn messages_are_found_by_id_and_by_key_within_their_customer() {
    let provider = lab::provider().await;
    let addr = provider.addr();
    let request = post_as(Some("acme"), Some("a key&more"), &message(TO, "111"));
    let id = ask(addr, &request).await.json()["id"].clone();
    let id = id.as_str().expect("an id");
    let as_customer = |target: &str, who: &str| {
        get(target).replace(
            "\r\n\r\n",
            &format!("\r\nAuthorization: Bearer {who}\r\n\r\n"),
        )
    };
    let by_id = format!("/v1/messages/{id}");
    let by_key = "/v1/messages?idempotency_key=a%20key%26more";
    let found = ask(addr, &as_customer(&by_id, "acme")).await;
    assert_eq!((found.status, &found.json()["to"]), (200, &TO.into()));
    let found = ask(addr, &as_customer(by_key, "acme")).await;
    assert_eq!(found.json()["messages"][0]["id"], id);
    assert_eq!(found.json()["status"], serde_json::Value::Null);
    for target in [by_id.as_str(), by_key] {
        assert_eq!(ask(addr, &as_customer(target, "umbra")).await.status, 404);
    }
    assert_eq!(ask(addr, &get("/v1/messages/msg_x")).await.status, 404);
    assert_eq!(ask(addr, &get("/v1/messages")).await.status, 400);
}

#[tokio::test]
async fn a_profile_can_demand_a_key_or_a_credential_and_choose_its_codes() {
    let provider = with_profile("\"deliver\"", "{ status = 400 }").await;
    let answer = ask(provider.addr(), &post(None, &message(TO, "1"))).await;
    assert_eq!(answer.status, 400);

    let provider = with_profile("required = false", "required = true").await;
    let answer = ask(provider.addr(), &post(Some("k"), &message(TO, "1"))).await;
    assert_eq!(answer.status, 401);

    let provider = with_profile("= 422", "= 409").await;
    ask(provider.addr(), &post(Some("k"), &message(TO, "1"))).await;
    let answer = ask(provider.addr(), &post(Some("k"), &message(TO, "2"))).await;
    assert_eq!(answer.status, 409);

    let provider = with_profile(
        "\"everything\"\nreplay-header = \"Idempotent-Replayed\"",
        "\"nothing\"",
    )
    .await;
    ask(provider.addr(), &post(Some("k"), &message(TO, "1"))).await;
    let answer = ask(provider.addr(), &post(Some("k"), &message(TO, "1"))).await;
    assert_eq!(answer.status, 409);

    let provider = with_profile("\"everything\"", "\"successes\"").await;
    let refused = post(Some("k"), &message("+15005550001", "1"));
    ask(provider.addr(), &refused).await;
    let again = ask(provider.addr(), &refused).await;
    assert_eq!(again.header("idempotent-replayed"), None);

    let provider = with_profile(
        "\"header:Idempotency-Key\"\nform          = \"either\"",
        "\"json:key\"",
    )
    .await;
    let body = serde_json::json!({ "to": TO, "body": "1", "key": "inside" }).to_string();
    ask(provider.addr(), &post(None, &body)).await;
    ask(provider.addr(), &post(None, &body)).await;
    let record = delivered(&provider).await;
    assert_eq!(record["inside"].as_array().map(Vec::len), Some(1));
}

/// Answers to the same request from `n` clients at once.
async fn at_once(provider: &Provider, n: usize, request: &str) -> Vec<Answer> {
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..n {
        let addr = provider.addr();
        let request = request.to_owned();
        clients.spawn(async move { ask(addr, &request).await });
    }
    clients.join_all().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_concurrent_posts_with_one_key_are_one_delivery_and_equal_answers() {
    let provider = lab::provider().await;
    let request = post(Some("k1"), &message(TO, "111"));
    let answers = at_once(&provider, 1_000, &request).await;
    let first = answers
        .iter()
        .filter(|answer| answer.header("idempotent-replayed").is_none());
    assert_eq!(first.count(), 1, "one answer is the first");
    let expected = answers[0].clone().lasting();
    assert_eq!(expected.status, 201);
    for answer in answers {
        assert_eq!(answer.lasting(), expected);
    }
    assert_eq!(buzzes(&provider).await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_keys_fifty_times_at_once_are_two_hundred_deliveries() {
    let provider = lab::provider().await;
    let mut clients = tokio::task::JoinSet::new();
    for n in 0..200 {
        for _ in 0..50 {
            let addr = provider.addr();
            clients.spawn(async move {
                let body = message(TO, &format!("code {n}"));
                let answer = ask(addr, &post(Some(&format!("key-{n}")), &body)).await;
                (n, answer.body)
            });
        }
    }
    let answers: BTreeSet<_> = clients.join_all().await.into_iter().collect();
    assert_eq!(answers.len(), 200, "each key has one answer");
    let record = delivered(&provider).await;
    assert_eq!(record.as_object().map(serde_json::Map::len), Some(200));
    assert_eq!(buzzes(&provider).await, 200);
}

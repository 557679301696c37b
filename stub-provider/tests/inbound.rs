//! Messages from phones, and what the provider makes of them.

mod lab;

use lab::{OTHER, TO, ask, buzzes, message, post, with_body};
use serde_json::{Value, json};
use stub_provider::{Config, Provider, signature::sign};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    time::timeout,
};

const OURS: &str = "+12025550100";

async fn says(provider: &Provider, message: &Value) -> Value {
    let answer = ask(
        provider.addr(),
        &with_body("POST", "/admin/inbound", message),
    )
    .await;
    assert_eq!(answer.status, 201, "{message}");
    answer.json()
}

/// The status and code of a send to `to`, under a key of its own.
async fn send(provider: &Provider, key: &str, to: &str) -> (u16, Value) {
    let answer = ask(provider.addr(), &post(Some(key), &message(to, key))).await;
    (answer.status, answer.json()["code"].clone())
}

#[tokio::test]
async fn after_stop_a_send_gets_21610_until_the_phone_says_start() {
    let provider = lab::provider().await;
    let told = says(
        &provider,
        &json!({ "from": TO, "to": OURS, "body": "Stop" }),
    )
    .await;
    assert_eq!(told["keyword"], "stop");
    assert_eq!(send(&provider, "k1", TO).await, (400, json!(21610)));
    assert_eq!(send(&provider, "k2", OTHER).await, (201, Value::Null));
    says(&provider, &json!({ "from": TO, "body": "HELP" })).await;
    assert_eq!(send(&provider, "k3", TO).await, (400, json!(21610)));
    says(&provider, &json!({ "from": TO, "body": "unstop" })).await;
    assert_eq!(send(&provider, "k4", TO).await, (201, Value::Null));
    // Like any answer that was stored.
    assert_eq!(send(&provider, "k1", TO).await, (400, json!(21610)));
    assert_eq!(buzzes(&provider).await, 2);
}

#[tokio::test]
async fn a_replay_of_what_was_accepted_before_the_stop_stays_what_it_was() {
    let provider = lab::provider().await;
    assert_eq!(send(&provider, "k1", TO).await.0, 201);
    says(&provider, &json!({ "from": TO, "body": "STOP" })).await;
    assert_eq!(send(&provider, "k1", TO).await.0, 201);
    assert_eq!(send(&provider, "k2", TO).await.0, 400);
}

#[tokio::test]
async fn a_reset_forgets_who_has_opted_out() {
    let provider = lab::provider().await;
    says(&provider, &json!({ "from": TO, "body": "STOP" })).await;
    ask(
        provider.addr(),
        &with_body("POST", "/admin/reset", &json!({})),
    )
    .await;
    assert_eq!(send(&provider, "k1", TO).await.0, 201);
}

#[tokio::test]
async fn a_message_that_makes_no_sense_is_refused_with_the_reason() {
    let provider = lab::provider().await;
    for (written, reason) in [
        (json!({ "body": "STOP" }), "from"),
        (json!({ "from": "", "body": "STOP" }), "from"),
        (json!({ "from": TO }), "body"),
        (json!({ "from": TO, "body": "STOP", "text": "" }), "text"),
    ] {
        let request = with_body("POST", "/admin/inbound", &written);
        let answer = ask(provider.addr(), &request).await;
        assert_eq!(answer.status, 400, "{written}");
        let said = answer.json()["message"].to_string();
        assert!(said.contains(reason), "{said}");
    }
}

#[tokio::test]
async fn the_client_is_told_signed_until_it_acknowledges() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/hooks", listener.local_addr().expect("bound"));
    let provider = Provider::start(Config {
        callback: Some(url),
        webhook_secret: "a secret".into(),
        ..Config::default()
    })
    .await
    .expect("a provider");
    says(
        &provider,
        &json!({ "from": TO, "to": OURS, "body": "hello" }),
    )
    .await;
    let mut bodies = Vec::new();
    for status in [500, 200] {
        let accepted = timeout(lab::LONG, listener.accept()).await;
        let (mut stream, _) = accepted.expect("in time").expect("a connection");
        let mut bytes = Vec::new();
        while !bytes.ends_with(b"}") {
            assert_ne!(stream.read_buf(&mut bytes).await.expect("readable"), 0);
        }
        let answer =
            format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        stream.write_all(answer.as_bytes()).await.expect("writable");
        let text = String::from_utf8(bytes).expect("text");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        let signature = head.lines().find_map(|l| l.strip_prefix("x-signature: "));
        let signature = signature.expect("a signature");
        let unix = signature[2..].split(',').next().expect("a time");
        let unix = unix.parse().expect("seconds");
        assert_eq!(signature, sign("a secret", unix, body.as_bytes()));
        bodies.push(body.to_owned());
    }
    assert_eq!(bodies[0], bodies[1]);
    let said: Value = serde_json::from_str(&bodies[0]).expect("JSON");
    assert_eq!(
        (&said["type"], &said["from"], &said["to"], &said["body"]),
        (&json!("inbound"), &json!(TO), &json!(OURS), &json!("hello"))
    );
    assert_eq!(said["keyword"], Value::Null);
    assert!(said["event_id"].is_string() && said["timestamp"].is_string());
}

//! The pages for people who test against the provider.

mod lab;

use lab::{Client, OTHER, TO, ask, get, message, post, with_body};
use serde_json::json;

#[tokio::test]
async fn attempts_tell_what_came_and_what_became_of_it() {
    let provider = lab::provider().await;
    let mut client = Client::connect(provider.addr()).await;
    let request = post(Some("k1"), &message(TO, "111"));
    client.ask(&request).await;
    client.ask(&request).await;
    let list = client.ask(&get("/admin/attempts")).await.json();
    let (first, second) = (&list[0], &list[1]);
    assert_eq!(first["attempt"], 1);
    assert_eq!(first["target"], "/v1/messages");
    assert_eq!(first["body"], message(TO, "111"));
    assert_eq!(first["reached"], "answering");
    assert_eq!(
        (&first["status"], &first["end"]),
        (&json!(201), &json!("answered"))
    );
    assert!(first["message"].is_string());
    assert_eq!(second["nth_on_connection"], 2);
    assert_eq!(second["ordinal"], 2);
    assert!(second["message"].is_null());
    let headers = first["headers"].as_array().expect("a list");
    assert!(headers.contains(&json!(["idempotency-key", "k1"])));
}

#[tokio::test]
async fn messages_are_waited_for() {
    let provider = lab::provider().await;
    let addr = provider.addr();
    let none = ask(addr, &get("/admin/messages")).await;
    assert_eq!(none.json(), json!([]));
    let mut waiting = Client::connect(addr).await;
    waiting
        .send(&get(&format!("/admin/messages?wait=20s&to={TO}")))
        .await;
    ask(addr, &post(Some("other"), &message(OTHER, "1"))).await;
    ask(addr, &post(Some("k1"), &message(TO, "2"))).await;
    let found = waiting.answer().await.json();
    assert_eq!(found.as_array().map(Vec::len), Some(1));
    assert_eq!(found[0]["body"], "2");
    let by_key = ask(addr, &get("/admin/messages?idempotency_key=other")).await;
    assert_eq!(by_key.json()[0]["to"], OTHER);
    assert_eq!(ask(addr, &get("/admin/messages?wait=2")).await.status, 400);
    assert_eq!(ask(addr, &get("/admin/messages?from=x")).await.status, 400);
}

#[tokio::test]
async fn faults_are_set_listed_and_lifted() {
    let provider = lab::provider().await;
    let addr = provider.addr();
    let written = json!({
        "attempt": "2..", "to": TO,
        "provider": { "respond": { "stage": "before-accept", "status": 503 } },
    });
    let set = ask(addr, &with_body("POST", "/admin/faults", &written)).await;
    assert_eq!(set.status, 201);
    let id = set.json()["id"].clone();
    let list = ask(addr, &get("/admin/faults")).await.json();
    assert_eq!(list[0]["attempt"], "2..");
    assert_eq!(list[0]["provider"], written["provider"]);
    let request = post(Some("k1"), &message(TO, "1"));
    assert_eq!(ask(addr, &request).await.status, 201);
    assert_eq!(ask(addr, &request).await.status, 503);
    let removal = format!("DELETE /admin/faults?id={id} HTTP/1.1\r\nHost: stub\r\n\r\n");
    assert_eq!(ask(addr, &removal).await.json(), json!({ "removed": 1 }));
    assert_eq!(ask(addr, &request).await.status, 201);
}

#[tokio::test]
async fn a_fault_that_makes_no_sense_is_refused_with_the_reason() {
    let provider = lab::provider().await;
    for (written, says) in [
        (json!({}), "exactly one"),
        (json!({ "provider": { "explode": {} } }), "explode"),
        (json!({ "provider": { "hang": {} } }), "stage"),
        (
            json!({ "attempt": 0, "provider": { "redirect": { "status": 307 } } }),
            "attempt 0",
        ),
        (
            json!({ "provider": { "redirect": { "status": 302 } } }),
            "307 or 308",
        ),
        (
            json!({ "provider": { "respond": { "stage": "after-accept", "status": 99 } } }),
            "99",
        ),
        (
            json!({ "provider": { "rate-limit": { "retry-after-raw": "5\u{0}" } } }),
            "value of a header",
        ),
        (
            json!({ "provider": { "respond": {
                "stage": "before-accept", "status": 503, "headers": { "bad name": "x" },
            } } }),
            "name of a header",
        ),
        (
            json!({ "intent": 0, "receipt": { "reorder": {} } }),
            "intent 0",
        ),
        (
            json!({ "attempts": 1, "receipt": { "reorder": {} } }),
            "attempts",
        ),
    ] {
        let answer = ask(
            provider.addr(),
            &with_body("POST", "/admin/faults", &written),
        )
        .await;
        assert_eq!(answer.status, 400, "{written}");
        let said = answer.json()["message"].to_string();
        assert!(said.contains(says), "{said}");
    }
}

#[tokio::test]
async fn the_clock_is_advanced_from_outside() {
    let provider = lab::provider().await;
    let addr = provider.addr();
    let request = post(Some("k1"), &message(TO, "1"));
    ask(addr, &request).await;
    let advance = with_body("POST", "/admin/clock", &json!({ "advance": "24h" }));
    assert_eq!(ask(addr, &advance).await.status, 200);
    assert_eq!(
        ask(addr, &request).await.header("idempotent-replayed"),
        None
    );
    let wrong = with_body("POST", "/admin/clock", &json!({ "advance": 24 }));
    assert_eq!(ask(addr, &wrong).await.status, 400);
}

#[tokio::test]
async fn a_reset_forgets_everything_and_numbers_go_on() {
    let provider = lab::provider().await;
    let addr = provider.addr();
    let request = post(Some("k1"), &message(TO, "1"));
    let first = ask(addr, &request).await.json();
    let reset = ask(addr, &with_body("POST", "/admin/reset", &json!({}))).await;
    assert_eq!(reset.status, 200);
    assert_eq!(lab::delivered(&provider).await, json!({}));
    let second = ask(addr, &request).await.json();
    assert_ne!(first["id"], second["id"]);
    let attempts = ask(addr, &get("/admin/attempts")).await.json();
    assert_eq!(attempts[0]["attempt"], 2);
}

#[tokio::test]
async fn events_are_streamed_as_they_happen() {
    let provider = lab::provider().await;
    let mut stream = Client::connect(provider.addr()).await;
    stream.send(&get("/admin/events")).await;
    stream.read_until("text/event-stream").await;
    ask(provider.addr(), &post(Some("k1"), &message(TO, "1"))).await;
    let text = stream.read_until("\"answered\"").await;
    for event in ["arrived", "delivered", "answering", "ended"] {
        assert!(text.contains(&format!("\"event\":\"{event}\"")), "{event}");
    }
    provider.stop().await;
}

#[tokio::test]
async fn what_does_not_exist_is_answered_with_what_does() {
    let provider = lab::provider().await;
    let addr = provider.addr();
    let answer = ask(addr, &get("/admin/nothing")).await;
    assert_eq!(answer.status, 404);
    assert!(
        answer.json()["message"]
            .to_string()
            .contains("/admin/delivered")
    );
    let answer = ask(addr, &with_body("PUT", "/admin/clock", &json!({}))).await;
    assert_eq!(
        (answer.status, answer.header("allow")),
        (405, Some("GET, POST"))
    );
    let answer = ask(addr, &with_body("PUT", "/v1/messages", &json!({}))).await;
    assert_eq!(
        (answer.status, answer.header("allow")),
        (405, Some("GET, POST"))
    );
    let welcome = ask(addr, &get("/")).await;
    assert_eq!(welcome.status, 200);
    assert!(String::from_utf8_lossy(&welcome.body).contains("POST /v1/messages"));
}

#[tokio::test]
async fn metrics_count_what_happened() {
    let provider = lab::provider().await;
    let request = post(Some("k1"), &message(TO, "1"));
    for _ in 0..3 {
        ask(provider.addr(), &request).await;
    }
    let metrics = ask(provider.addr(), &get("/metrics")).await;
    let text = String::from_utf8(metrics.body).expect("text");
    for line in [
        "attempts_on_record 3",
        "deliveries_on_record 1",
        "attempts_total{endpoint=\"POST /v1/messages\"} 3",
        "replays_total{endpoint=\"POST /v1/messages\"} 2",
        "connections_total 4",
    ] {
        assert!(
            text.contains(&format!("\nstub_provider_{line}\n")),
            "{line}: {text}"
        );
    }
    assert_eq!(
        ask(provider.addr(), &get("/healthz")).await.json(),
        json!({ "status": "ok" })
    );
}

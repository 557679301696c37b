//! Every provider fault at every stage, with what a bare socket gets to see of it.

mod lab;

use lab::{Client, Seen, TO, Watch, ask, buzzes, delivered, fault, get, message, post, rule};
use serde_json::{Value, json};
use stub_provider::{
    Provider,
    event::{End, EventKind},
};

/// A provider with one fault on the first attempt, and its watcher.
async fn faulty(written: Value) -> (Provider, Watch) {
    let provider = lab::provider().await;
    let watch = Watch::new(&provider);
    provider.add_fault(rule(7, 1, fault(&written)));
    (provider, watch)
}

fn request() -> String {
    post(Some("k1"), &message(TO, "code 111"))
}

/// After the fault, the same key must lead to exactly one delivery in all.
async fn recovers(provider: &Provider, replayed: bool) {
    let answer = ask(provider.addr(), &request()).await;
    assert_eq!(answer.status, 201);
    let mark = answer.header("idempotent-replayed");
    assert_eq!(mark.is_some(), replayed, "{mark:?}");
    assert_eq!(buzzes(provider).await, 1);
}

#[tokio::test]
async fn respond_before_acceptance_delivers_nothing_and_stores_nothing() {
    let (provider, mut watch) = faulty(json!({ "respond": {
        "stage": "before-accept", "status": 503, "retry-after": "2s",
    }}))
    .await;
    let answer = ask(provider.addr(), &request()).await;
    assert_eq!(answer.status, 503);
    assert_eq!(answer.header("retry-after"), Some("2"));
    assert_eq!(buzzes(&provider).await, 0);
    recovers(&provider, false).await;
    assert_eq!(watch.end_of(1).await, End::Answered);
    assert_eq!(watch.story(1), ["arrived", "fault", "answering", "ended"]);
    watch.end_of(2).await;
    assert_eq!(
        watch.story(2),
        ["arrived", "delivered", "answering", "ended"]
    );
}

#[tokio::test]
async fn respond_after_acceptance_delivers_and_the_true_answer_is_replayed() {
    let (provider, mut watch) =
        faulty(json!({ "respond": { "stage": "after-accept", "status": 500 } })).await;
    assert_eq!(ask(provider.addr(), &request()).await.status, 500);
    recovers(&provider, true).await;
    watch.end_of(1).await;
    assert_eq!(
        watch.story(1),
        ["arrived", "delivered", "fault", "answering", "ended"]
    );
}

#[tokio::test]
async fn a_stored_error_is_replayed_for_ever() {
    for (stage, deliveries) in [("before-accept", 0), ("after-accept", 1)] {
        let (provider, _watch) = faulty(json!({ "respond": {
            "stage": stage, "status": 500, "stored": true, "code": 20500, "body": "{\"a\":1}",
            "headers": { "X-Why": "stored", "content-type": "text/x" },
        }}))
        .await;
        let first = ask(provider.addr(), &request()).await;
        let again = ask(provider.addr(), &request()).await;
        assert_eq!((first.status, first.header("x-why")), (500, Some("stored")));
        assert_eq!(first.header("content-type"), Some("text/x"));
        assert_eq!(first.body, b"{\"a\":1}");
        assert_eq!(again.header("idempotent-replayed"), Some("true"), "{stage}");
        assert_eq!(first.lasting(), again.lasting());
        assert_eq!(buzzes(&provider).await, deliveries);
    }
}

#[tokio::test]
async fn every_form_of_retry_after_is_said_as_it_was_told() {
    for (written, said) in [
        (json!({ "retry-after": "1500ms" }), "2"),
        (json!({ "retry-after-raw": "-5" }), "-5"),
        (json!({ "retry-after-raw": "" }), ""),
        (json!({ "retry-after-raw": "soon" }), "soon"),
    ] {
        let (provider, _watch) = faulty(json!({ "rate-limit": written })).await;
        let answer = ask(provider.addr(), &request()).await;
        assert_eq!(answer.status, 429);
        assert_eq!(answer.header("retry-after").map(str::trim), Some(said));
        recovers(&provider, false).await;
    }
    let (provider, _watch) = faulty(json!({ "rate-limit": { "retry-after-date": "1h" } })).await;
    let before = provider.clock().timestamp(provider.clock().now());
    let answer = ask(provider.addr(), &request()).await;
    let said = answer.header("retry-after").expect("a date");
    let date = jiff::fmt::rfc2822::parse(said)
        .expect("an HTTP-date")
        .timestamp();
    let ahead = date.duration_since(before).as_secs();
    assert!(
        (3_599..=3_602).contains(&ahead),
        "{said} is {ahead} s ahead"
    );
}

#[tokio::test]
async fn reset_is_an_rst_on_fresh_and_on_reused_connections() {
    for (stage, replayed) in [("before-accept", false), ("after-accept", true)] {
        for reused in [false, true] {
            let (provider, mut watch) = faulty(json!({ "reset": { "stage": stage } })).await;
            let mut client = Client::connect(provider.addr()).await;
            if reused {
                client.ask(&get("/healthz")).await;
            }
            client.send(&request()).await;
            assert_eq!(client.rest().await, Seen::Reset(vec![]), "{stage} {reused}");
            assert_eq!(watch.end_of(1).await, End::Reset);
            recovers(&provider, replayed).await;
        }
    }
}

#[tokio::test]
async fn close_is_a_fin_without_a_byte_of_answer() {
    for (stage, replayed) in [("before-accept", false), ("after-accept", true)] {
        let (provider, mut watch) = faulty(json!({ "close": { "stage": stage } })).await;
        let mut client = Client::connect(provider.addr()).await;
        client.send(&request()).await;
        assert_eq!(client.rest().await, Seen::Eof(vec![]), "{stage}");
        assert_eq!(watch.end_of(1).await, End::Closed);
        recovers(&provider, replayed).await;
    }
}

#[tokio::test]
async fn a_hang_lasts_until_the_client_hangs_up_and_says_how_it_did() {
    for (stage, replayed) in [("before-accept", false), ("after-accept", true)] {
        for rst in [false, true] {
            let (provider, mut watch) = faulty(json!({ "hang": { "stage": stage } })).await;
            let mut client = Client::connect(provider.addr()).await;
            client.send(&request()).await;
            watch
                .until(|kind| matches!(kind, EventKind::FaultFired { .. }).then_some(()))
                .await;
            let expected = if rst {
                client.reset();
                End::ClientReset
            } else {
                drop(client);
                End::ClientClosed
            };
            assert_eq!(watch.end_of(1).await, expected, "{stage}");
            recovers(&provider, replayed).await;
        }
    }
}

#[tokio::test]
async fn a_truncated_answer_ends_after_exactly_so_many_bytes() {
    for stage in ["before-accept", "after-accept"] {
        for ending in ["close", "reset"] {
            let cut = |part: &str, after: u32| {
                json!({ "truncate": {
                    "stage": stage, "part": part, "after": after, "ending": ending,
                }})
            };
            let (provider, mut watch) = faulty(cut("head", 9)).await;
            let mut client = Client::connect(provider.addr()).await;
            client.send(&request()).await;
            let expected = b"HTTP/1.1 ".to_vec();
            let seen = client.rest().await;
            match ending {
                "close" => assert_eq!(seen, Seen::Eof(expected)),
                // What an RST overtakes may be lost on the way to the reader.
                _ => assert!(matches!(seen, Seen::Reset(_)), "{seen:?}"),
            }
            assert_eq!(watch.end_of(1).await, End::Truncated);
            recovers(&provider, stage == "after-accept").await;

            let (provider, _watch) = faulty(cut("body", 5)).await;
            let mut client = Client::connect(provider.addr()).await;
            client.send(&request()).await;
            if let Seen::Eof(bytes) = client.rest().await {
                let text = String::from_utf8(bytes).expect("text");
                let (head, body) = text.split_once("\r\n\r\n").expect("a whole head");
                assert!(head.starts_with("HTTP/1.1 201 Created"), "{head}");
                assert_eq!(body, "{\"id\"");
                let length = head
                    .lines()
                    .find_map(|l| l.strip_prefix("content-length: "));
                assert!(
                    length
                        .expect("a length")
                        .parse::<usize>()
                        .expect("a number")
                        > 40
                );
            } else {
                assert_eq!(ending, "reset");
            }
            recovers(&provider, stage == "after-accept").await;
        }
    }
}

#[tokio::test]
async fn a_garbled_answer_is_not_what_it_claims_to_be() {
    for (stage, replayed) in [("before-accept", false), ("after-accept", true)] {
        let garble = |how: &str| json!({ "garble": { "stage": stage, "how": how } });

        let (provider, _watch) = faulty(garble("not-http")).await;
        let mut client = Client::connect(provider.addr()).await;
        client.send(&request()).await;
        let Seen::Eof(bytes) = client.rest().await else {
            panic!("not-http ends with a FIN");
        };
        assert!(!bytes.is_empty() && !bytes.starts_with(b"HTTP"));
        recovers(&provider, replayed).await;

        let (provider, _watch) = faulty(garble("bad-json")).await;
        let answer = ask(provider.addr(), &request()).await;
        assert_eq!(answer.status, 201);
        assert!(serde_json::from_slice::<Value>(&answer.body).is_err());
        recovers(&provider, replayed).await;

        let (provider, mut watch) = faulty(garble("wrong-content-length")).await;
        let mut client = Client::connect(provider.addr()).await;
        client.send(&request()).await;
        let Seen::Eof(bytes) = client.rest().await else {
            panic!("a wrong length ends with a FIN");
        };
        let text = String::from_utf8(bytes).expect("text");
        let (head, body) = text.split_once("\r\n\r\n").expect("a whole head");
        let length = head
            .lines()
            .find_map(|l| l.strip_prefix("content-length: "));
        assert_ne!(length.map(str::to_owned), Some(body.len().to_string()));
        assert_eq!(watch.end_of(1).await, End::Truncated);
        recovers(&provider, replayed).await;
    }
}

#[tokio::test]
async fn a_promise_that_never_was_names_no_message_that_exists() {
    let (provider, _watch) =
        faulty(json!({ "garble": { "stage": "before-accept", "how": "wrong-content-length" } }))
            .await;
    let mut client = Client::connect(provider.addr()).await;
    client.send(&request()).await;
    let Seen::Eof(bytes) = client.rest().await else {
        panic!("a wrong length ends with a FIN");
    };
    let text = String::from_utf8(bytes).expect("text");
    let (_, body) = text.split_once("\r\n\r\n").expect("a whole head");
    let promised: Value = serde_json::from_str(body).expect("JSON");
    let id = promised["id"].as_str().expect("an id");
    let found = ask(provider.addr(), &get(&format!("/v1/messages/{id}"))).await;
    assert_eq!(found.status, 404);
}

#[tokio::test]
async fn a_delayed_request_is_accepted_although_its_client_is_gone() {
    let (provider, mut watch) =
        faulty(json!({ "delay": { "stage": "before-accept", "for": "1h" } })).await;
    let mut client = Client::connect(provider.addr()).await;
    client.send(&request()).await;
    watch
        .until(|kind| matches!(kind, EventKind::FaultFired { .. }).then_some(()))
        .await;
    drop(client);
    assert_eq!(watch.end_of(1).await, End::ClientClosed);
    assert_eq!(buzzes(&provider).await, 0);
    let by_key = get("/v1/messages?idempotency_key=k1");
    let working = ask(provider.addr(), &by_key).await.json();
    assert_eq!(working, json!({ "messages": [], "status": "in_progress" }));
    provider.clock().advance(std::time::Duration::from_hours(1));
    watch
        .until(|kind| matches!(kind, EventKind::Delivered { .. }).then_some(()))
        .await;
    recovers(&provider, true).await;
}

#[tokio::test]
async fn a_delayed_answer_comes_late_but_well() {
    let (provider, mut watch) =
        faulty(json!({ "delay": { "stage": "after-accept", "for": "1h" } })).await;
    let mut client = Client::connect(provider.addr()).await;
    client.send(&request()).await;
    watch
        .until(|kind| matches!(kind, EventKind::FaultFired { .. }).then_some(()))
        .await;
    assert_eq!(buzzes(&provider).await, 1);
    provider.clock().advance(std::time::Duration::from_hours(1));
    assert_eq!(client.answer().await.status, 201);
}

#[tokio::test]
async fn a_redirect_leads_to_another_path_of_the_same_operation() {
    for status in [307, 308] {
        let (provider, mut watch) = faulty(json!({ "redirect": { "status": status } })).await;
        let answer = ask(provider.addr(), &request()).await;
        assert_eq!(answer.status, status);
        let place = answer.header("location").expect("a place").to_owned();
        assert_eq!(buzzes(&provider).await, 0);
        let there = request().replace("/v1/messages", &place);
        let answer = ask(provider.addr(), &there).await;
        assert_eq!(answer.status, 201);
        recovers(&provider, true).await;
        watch.end_of(2).await;
        assert_eq!(
            watch.story(2),
            ["arrived", "delivered", "answering", "ended"]
        );
    }
}

#[tokio::test]
async fn while_a_request_is_worked_on_equal_keys_are_answered_409() {
    let (provider, mut watch) =
        faulty(json!({ "in-flight": { "for": "1h", "retry-after": "3s" } })).await;
    let mut first = Client::connect(provider.addr()).await;
    first.send(&request()).await;
    watch
        .until(|kind| matches!(kind, EventKind::FaultFired { .. }).then_some(()))
        .await;
    let second = ask(provider.addr(), &request()).await;
    assert_eq!(
        (second.status, second.header("retry-after")),
        (409, Some("3"))
    );
    let other = ask(provider.addr(), &post(Some("k1"), &message(TO, "other"))).await;
    assert_eq!(other.status, 422);
    provider.clock().advance(std::time::Duration::from_hours(1));
    assert_eq!(first.answer().await.status, 201);
    recovers(&provider, true).await;
}

#[tokio::test]
async fn a_second_request_takes_over_when_the_first_gives_up() {
    // The first waits in a delay, then resets: whoever waited for it goes on in its place.
    let (provider, mut watch) =
        faulty(json!({ "delay": { "stage": "before-accept", "for": "1h" } })).await;
    provider.add_fault(rule(
        8,
        1,
        fault(&json!({ "reset": { "stage": "before-accept" } })),
    ));
    let mut first = Client::connect(provider.addr()).await;
    first.send(&request()).await;
    let arrived = |kind: &EventKind| matches!(kind, EventKind::Arrived { .. }).then_some(());
    watch.until(arrived).await;
    let mut second = Client::connect(provider.addr()).await;
    second.send(&request()).await;
    watch.until(arrived).await;
    provider.clock().advance(std::time::Duration::from_hours(1));
    assert_eq!(first.rest().await, Seen::Reset(vec![]));
    let answer = second.answer().await;
    assert_eq!(answer.status, 201);
    assert_eq!(answer.header("idempotent-replayed"), None);
    assert_eq!(buzzes(&provider).await, 1);
}

#[tokio::test]
async fn a_waiting_request_survives_its_own_client_and_that_of_the_first() {
    let (provider, mut watch) =
        faulty(json!({ "delay": { "stage": "before-accept", "for": "1h" } })).await;
    let arrived = |kind: &EventKind| matches!(kind, EventKind::Arrived { .. }).then_some(());
    let mut clients = Vec::new();
    for _ in 0..3 {
        let mut client = Client::connect(provider.addr()).await;
        client.send(&request()).await;
        watch.until(arrived).await;
        clients.push(client);
    }
    let mut last = clients.pop().expect("the third client");
    drop(clients);
    assert_eq!(watch.end_of(1).await, End::ClientClosed);
    provider.clock().advance(std::time::Duration::from_hours(1));
    let answer = last.answer().await;
    assert_eq!(answer.status, 201);
    assert_eq!(answer.header("idempotent-replayed"), Some("true"));
    assert_eq!(buzzes(&provider).await, 1);
}

#[tokio::test]
async fn a_crash_resets_what_is_in_flight_refuses_connects_and_comes_back_on_its_port() {
    for (memory, stage, deliveries) in [
        ("kept", "after-accept", 1),
        ("lost", "after-accept", 2),
        ("kept", "before-accept", 1),
    ] {
        let (provider, mut watch) = faulty(json!({ "crash": {
            "stage": stage, "memory": memory, "for": "1h",
        }}))
        .await;
        let mut idle = Client::connect(provider.addr()).await;
        idle.ask(&get("/healthz")).await;
        let mut client = Client::connect(provider.addr()).await;
        client.send(&request()).await;
        assert_eq!(client.rest().await, Seen::Reset(vec![]));
        assert_eq!(idle.rest().await, Seen::Reset(vec![]));
        assert_eq!(watch.end_of(1).await, End::Crashed);
        // The listener is closed once the crash is reported, which is before the restart.
        watch
            .until_seen(|kind| matches!(kind, EventKind::Crashed))
            .await;
        let refused = tokio::net::TcpStream::connect(provider.addr()).await;
        assert_eq!(
            refused.expect_err("nobody listens").kind(),
            std::io::ErrorKind::ConnectionRefused
        );
        provider.clock().advance(std::time::Duration::from_hours(1));
        watch
            .until(|kind| matches!(kind, EventKind::Restarted).then_some(()))
            .await;
        let answer = ask(provider.addr(), &request()).await;
        assert_eq!(answer.status, 201);
        assert_eq!(
            delivered(&provider).await["k1"].as_array().map(Vec::len),
            Some(deliveries)
        );
    }
}

#[tokio::test]
async fn work_in_flight_dies_with_a_crash() {
    let provider = lab::provider().await;
    let mut watch = Watch::new(&provider);
    let delay = json!({ "delay": { "stage": "before-accept", "for": "1h" } });
    let mut aimed = rule(7, 1, fault(&delay));
    aimed.key = Some("k1".into());
    provider.add_fault(aimed);
    let mut working = Client::connect(provider.addr()).await;
    working.send(&request()).await;
    watch
        .until(|kind| matches!(kind, EventKind::FaultFired { .. }).then_some(()))
        .await;
    let crash = json!({ "crash": { "stage": "before-accept", "memory": "kept", "for": "0ms" } });
    let mut aimed = rule(9, 1, fault(&crash));
    aimed.key = Some("k2".into());
    provider.add_fault(aimed);
    let mut other = Client::connect(provider.addr()).await;
    other
        .send(&post(Some("k2"), &message(lab::OTHER, "222")))
        .await;
    assert_eq!(other.rest().await, Seen::Reset(vec![]));
    assert_eq!(working.rest().await, Seen::Reset(vec![]));
    watch
        .until_seen(|kind| matches!(kind, EventKind::Restarted))
        .await;
    provider.clock().advance(std::time::Duration::from_hours(2));
    assert_eq!(buzzes(&provider).await, 0);
    recovers(&provider, false).await;
}

//! The inbox page and what it asks for, as a browser would.

mod lab;

use lab::{Client, TO, ask, get, message, post, with_body};
use serde_json::{Value, json};
use stub_provider::{Config, Profile, Provider};

fn browsing(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nAccept: text/html,*/*\r\n\r\n")
}

/// What came under `event` last in a stream.
fn last(stream: &str, event: &str) -> Value {
    let mark = format!("event: {event}\ndata: ");
    let from = stream.rfind(&mark).expect("the event") + mark.len();
    let line = stream[from..].lines().next().expect("its data");
    serde_json::from_str(line).expect("JSON")
}

fn last_id(stream: &str) -> String {
    let from = stream.rfind("id: ").expect("an id") + 4;
    stream[from..].lines().next().expect("its line").to_owned()
}

fn stream_after(id: &str) -> String {
    format!("GET /admin/inbox HTTP/1.1\r\nHost: stub\r\nLast-Event-ID: {id}\r\n\r\n")
}

#[tokio::test]
async fn a_browser_gets_the_page_and_a_terminal_plain_words() {
    let provider = lab::provider().await;
    let page = ask(provider.addr(), &browsing("/")).await;
    assert_eq!(
        page.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    let policy = page.header("content-security-policy").expect("a policy");
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"));
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    let words = ask(provider.addr(), &get("/")).await;
    assert_eq!(
        words.header("content-type"),
        Some("text/plain; charset=utf-8")
    );
    assert!(String::from_utf8_lossy(&words.body).contains("/v1/messages"));
}

#[tokio::test]
async fn every_file_that_the_page_names_is_there_and_nothing_stands_inline() {
    let provider = lab::provider().await;
    let page = ask(provider.addr(), &browsing("/")).await;
    let page = String::from_utf8(page.body).expect("text");
    assert!(!page.contains("<style") && !page.contains(" style=") && !page.contains(" onclick="));
    let mut files: Vec<String> = page
        .split('"')
        .filter(|word| word.starts_with("/inbox/"))
        .map(str::to_owned)
        .collect();
    assert_eq!(files.len(), 2);
    let mut at = 0;
    while let Some(file) = files.get(at).cloned() {
        at += 1;
        let found = ask(provider.addr(), &browsing(&file)).await;
        assert_eq!(found.status, 200, "{file}");
        let text = String::from_utf8(found.body).expect("text");
        // What one script takes from others.
        for other in text
            .split("from \"./")
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
        {
            let other = format!("/inbox/{other}");
            if !files.contains(&other) {
                files.push(other);
            }
        }
    }
    assert_eq!(files.len(), 8);
}

#[tokio::test]
async fn messages_come_as_they_are_accepted_and_from_where_a_page_had_read() {
    let provider = lab::provider().await;
    let addr = provider.addr();
    ask(addr, &post(Some("k1"), &message(TO, "Your code is 482913"))).await;
    let mut page = Client::connect(addr).await;
    page.send(&get("/admin/inbox")).await;
    let seen = page.read_until("event: faults\n").await;
    assert_eq!(last(&seen, "provider")["name"], "v1");
    let first = last(&seen, "messages");
    assert_eq!(first.as_array().map(Vec::len), Some(1));
    assert_eq!(first[0]["code"], "482913");
    assert_eq!(
        first[0]["segments"],
        json!({ "encoding": "GSM-7", "units": 19, "count": 1 })
    );

    ask(addr, &post(Some("k2"), &message(TO, "second"))).await;
    let more = page.read_until("second").await;
    assert!(!more.contains("482913"));

    // It comes back after a while: nothing twice.
    let mut again = Client::connect(addr).await;
    again.send(&stream_after(&last_id(&seen))).await;
    let resumed = again.read_until("second").await;
    assert!(!resumed.contains("482913") && !resumed.contains("event: cleared"));
}

#[tokio::test]
async fn a_page_that_has_read_another_record_begins_anew() {
    let provider = lab::provider().await;
    let addr = provider.addr();
    ask(addr, &post(Some("k1"), &message(TO, "first"))).await;
    for id in ["1.0.7", "", "x.y.z"] {
        let mut page = Client::connect(addr).await;
        page.send(&stream_after(id)).await;
        let seen = page.read_until("first").await;
        assert!(seen.contains("event: cleared"), "{id}");
    }
    let mut page = Client::connect(addr).await;
    page.send(&get("/admin/inbox")).await;
    page.read_until("first").await;
    ask(addr, &with_body("POST", "/admin/reset", &json!({}))).await;
    page.read_until("event: cleared").await;
}

#[tokio::test]
async fn a_message_tells_every_attempt_for_it_and_what_its_key_is_bound_to() {
    let provider = lab::provider().await;
    let addr = provider.addr();
    let request = post(Some("k1"), &message(TO, "first"));
    let accepted = ask(addr, &request).await.json();
    ask(addr, &request).await;
    ask(addr, &post(Some("k1"), &message(TO, "other"))).await;
    ask(addr, &post(Some("k2"), &message(TO, "first"))).await;
    let id = accepted["id"].as_str().expect("an id");
    let found = ask(addr, &get(&format!("/admin/message?id={id}")))
        .await
        .json();
    assert_eq!(found["message"]["id"], id);
    let attempts = found["attempts"].as_array().expect("a list");
    let status: Vec<&Value> = attempts.iter().map(|a| &a["status"]).collect();
    assert_eq!(status, [201, 201, 422]);
    assert_eq!(attempts[0]["fingerprint"], attempts[1]["fingerprint"]);
    assert_ne!(attempts[0]["fingerprint"], attempts[2]["fingerprint"]);
    assert_eq!(found["receipts"], json!([]));
    for (query, status) in [
        ("?id=msg_0000000000000000", 404),
        ("?id=x", 404),
        ("", 400),
        ("?a=b", 400),
    ] {
        let answer = ask(addr, &get(&format!("/admin/message{query}"))).await;
        assert_eq!(answer.status, status, "{query}");
    }
}

#[tokio::test]
async fn messages_are_found_by_the_tag_of_their_run() {
    let provider = lab::provider().await;
    let addr = provider.addr();
    for (key, tag) in [("k1", "run-17"), ("k2", "run-18")] {
        let plain = post(Some(key), &message(TO, key));
        ask(
            addr,
            &plain.replace(
                "Host: stub\r\n",
                &format!("Host: stub\r\nX-Stub-Tag: {tag}\r\n"),
            ),
        )
        .await;
    }
    let found = ask(addr, &get("/admin/messages?tag=run-18")).await.json();
    assert_eq!(found.as_array().map(Vec::len), Some(1));
    assert_eq!(
        (&found[0]["body"], &found[0]["tag"]),
        (&json!("k2"), &json!("run-18"))
    );
}

#[tokio::test]
async fn a_fault_for_the_next_attempt_goes_with_it() {
    let provider = lab::provider().await;
    let addr = provider.addr();
    let refuse = json!({ "once": true, "provider": { "respond": { "stage": "before-accept", "status": 503 } } });
    let set = ask(addr, &with_body("POST", "/admin/faults", &refuse)).await;
    assert_eq!((set.status, &set.json()["once"]), (201, &json!(true)));
    let request = post(Some("k1"), &message(TO, "1"));
    assert_eq!(ask(addr, &request).await.status, 503);
    assert_eq!(ask(addr, &get("/admin/faults")).await.json(), json!([]));
    assert_eq!(ask(addr, &request).await.status, 201);
}

#[tokio::test]
async fn foreign_pages_and_names_are_kept_out() {
    let provider = lab::provider().await;
    let addr = provider.addr();
    let reset =
        |headers: &str| format!("POST /admin/reset HTTP/1.1\r\n{headers}Content-Length: 0\r\n\r\n");
    for headers in [
        "Host: example.com\r\n",
        "Host: localhost:9090\r\nOrigin: http://example.com\r\n",
        "Host: localhost:9090\r\nSec-Fetch-Site: cross-site\r\n",
    ] {
        assert_eq!(ask(addr, &reset(headers)).await.status, 403, "{headers}");
    }
    let ours = "Host: localhost:9090\r\nOrigin: http://localhost:9090\r\n";
    assert_eq!(ask(addr, &reset(ours)).await.status, 200);
    let rebound = "GET /admin/messages HTTP/1.1\r\nHost: example.com\r\n\r\n";
    assert_eq!(ask(addr, rebound).await.status, 403);
}

#[tokio::test]
async fn the_command_on_the_empty_page_sends_a_message_under_every_profile() {
    for name in Profile::names() {
        let profile = Profile::builtin(name).expect("a profile");
        let provider = Provider::start(Config {
            profile,
            ..Config::default()
        })
        .await
        .expect("a provider on a free port");
        let mut page = Client::connect(provider.addr()).await;
        let host = provider.addr();
        page.send(&format!(
            "GET /admin/inbox HTTP/1.1\r\nHost: {host}\r\n\r\n"
        ))
        .await;
        let seen = page.read_until("event: faults\n").await;
        let command = last(&seen, "provider")["curl"]
            .as_str()
            .expect("a command")
            .to_owned();
        let curl = tokio::process::Command::new("sh")
            .args(["-c", &command])
            .output();
        let said = curl.await.expect("a shell and curl");
        let status = String::from_utf8_lossy(&said.stdout);
        assert!(status.starts_with("HTTP/1.1 2"), "{name}: {status}");
    }
}

//! What a client may not do to the provider.

mod lab;

use std::time::Duration;

use lab::{Client, Seen, TO, Watch, ask, buzzes, get, message, post};
use stub_provider::{Config, Limits, Provider, event::EventKind};

async fn limited(limits: Limits) -> Provider {
    let config = Config {
        limits,
        ..Config::default()
    };
    Provider::start(config).await.expect("a provider")
}

fn unread(kind: &EventKind) -> Option<String> {
    match kind {
        EventKind::Unread { reason, .. } => Some(reason.clone()),
        _ => None,
    }
}

#[tokio::test]
async fn a_body_above_the_limit_is_refused_and_reported() {
    let provider = limited(Limits {
        body_bytes: 1_000,
        ..Limits::default()
    })
    .await;
    let mut watch = Watch::new(&provider);
    let fits = message(TO, &"x".repeat(900));
    let too_large = message(TO, &"x".repeat(1_000));
    assert_eq!(ask(provider.addr(), &post(None, &fits)).await.status, 201);
    assert_eq!(
        ask(provider.addr(), &post(None, &too_large)).await.status,
        413
    );
    let chunked = format!(
        "POST /v1/messages HTTP/1.1\r\nHost: stub\r\nTransfer-Encoding: chunked\r\n\r\n800\r\n{}\r\n0\r\n\r\n",
        "x".repeat(2_048)
    );
    assert_eq!(ask(provider.addr(), &chunked).await.status, 413);
    assert!(watch.until(unread).await.contains("too large"));
    assert_eq!(buzzes(&provider).await, 1);
}

#[tokio::test]
async fn a_chunked_body_is_read_like_any_other() {
    let provider = lab::provider().await;
    let body = message(TO, "111");
    let (a, b) = body.split_at(10);
    let chunked = format!(
        "POST /v1/messages HTTP/1.1\r\nHost: stub\r\nIdempotency-Key: k1\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{a}\r\n{:x}\r\n{b}\r\n0\r\n\r\n",
        a.len(),
        b.len()
    );
    assert_eq!(ask(provider.addr(), &chunked).await.status, 201);
    let plain = ask(provider.addr(), &post(Some("k1"), &body)).await;
    assert_eq!(plain.header("idempotent-replayed"), Some("true"));
}

#[tokio::test]
async fn a_request_that_takes_too_long_is_ended() {
    for part in [
        "POST /v1/mess",
        "",
        "POST /v1/messages HTTP/1.1\r\nHost: s\r\nContent-Length: 50\r\n\r\n{",
    ] {
        let provider = limited(Limits {
            read_timeout: Duration::from_millis(100),
            ..Limits::default()
        })
        .await;
        let mut watch = Watch::new(&provider);
        let mut client = Client::connect(provider.addr()).await;
        client.send(part).await;
        let Seen::Eof(bytes) = client.rest().await else {
            panic!("a slow client gets a FIN");
        };
        assert!(bytes.starts_with(b"HTTP/1.1 408"), "{part}");
        assert!(watch.until(unread).await.contains("too long"));
    }
}

#[tokio::test]
async fn a_request_that_breaks_off_is_no_attempt() {
    for part in [
        "POST /v1/mess",
        "POST /v1/messages HTTP/1.1\r\nHost: s\r\nContent-Length: 50\r\n\r\n{",
    ] {
        let provider = lab::provider().await;
        let mut watch = Watch::new(&provider);
        let mut client = Client::connect(provider.addr()).await;
        client.send(part).await;
        client.finish().await;
        let reason = watch.until(unread).await;
        assert!(
            reason.contains(&format!("{} bytes", part.len())),
            "{reason}"
        );
        assert_eq!(buzzes(&provider).await, 0);
    }
}

#[tokio::test]
async fn what_is_not_http_is_answered_400_and_reported() {
    let provider = lab::provider().await;
    let mut watch = Watch::new(&provider);
    let mut client = Client::connect(provider.addr()).await;
    client.send("\u{16}\u{3}\u{1}hello\r\n\r\n").await;
    assert_eq!(client.answer().await.status, 400);
    assert!(watch.until(unread).await.contains("not HTTP"));
}

#[tokio::test]
async fn a_head_above_the_limit_is_refused() {
    let provider = limited(Limits {
        head_bytes: 8_192,
        ..Limits::default()
    })
    .await;
    let long = "x".repeat(20_000);
    let request = format!("GET /healthz HTTP/1.1\r\nHost: s\r\nX-Long: {long}\r\n\r\n");
    let mut client = Client::connect(provider.addr()).await;
    client.send(&request).await;
    assert_eq!(client.answer().await.status, 431);
}

#[tokio::test]
async fn connections_beyond_the_limit_wait_their_turn() {
    let provider = limited(Limits {
        connections: 1,
        ..Limits::default()
    })
    .await;
    let mut first = Client::connect(provider.addr()).await;
    assert_eq!(first.ask(&get("/healthz")).await.status, 200);
    let mut second = Client::connect(provider.addr()).await;
    second.send(&get("/healthz")).await;
    assert_eq!(first.ask(&get("/healthz")).await.status, 200);
    drop(first);
    assert_eq!(second.answer().await.status, 200);
}

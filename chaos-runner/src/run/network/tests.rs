//! A server that says yes and does nothing: no call to it may pass for a fault in place.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    thread,
};

use toxic_proxy::{Config, Server};

use super::*;
use crate::fault::{Stream, Toxic};

/// Answers every request with 200: a proxy named `p` that is enabled, and `toxics` as its toxics.
fn yes_sayer(toxics: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let addr = listener.local_addr().expect("an address");
    // Ends with the test's process: a listener has no other end.
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(stream);
            let (mut first, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
                    break;
                }
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap_or(0);
                }
                if first.is_empty() {
                    first = line;
                }
            }
            let mut body = vec![0; length];
            if reader.read_exact(&mut body).is_err() {
                continue;
            }
            let answer = if first.contains("/toxics") {
                toxics
            } else {
                r#"{"name":"p","listen":"127.0.0.1:1","upstream":"127.0.0.1:2","enabled":true,"toxics":[]}"#
            };
            let answer = format!(
                "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{answer}",
                answer.len()
            );
            // A caller that has gone is no trouble of ours.
            let _unheard = reader.get_mut().write_all(answer.as_bytes());
        }
    });
    addr
}

async fn network(api: SocketAddr) -> (Network, Link) {
    let config = Config {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        seed: 1,
    };
    let server = Server::bind(config).await.expect("an engine");
    let network = Network {
        engine: server.engine(),
        toxiproxy: Toxiproxy::connect(api).expect("a thread"),
        caller: Caller::new(api),
        real: Some("0".into()),
        stop: CancellationToken::new(),
    };
    let link = Link {
        name: "p".into(),
        front: "p".into(),
        addr: api,
    };
    (network, link)
}

fn toxic(kind: ToxicKind) -> Toxic {
    Toxic {
        kind,
        stream: Stream::Downstream,
        toxicity: 1.0,
        attributes: BTreeMap::from([("timeout".into(), 0)]),
    }
}

#[tokio::test]
async fn a_toxic_that_is_accepted_and_not_listed_is_an_error_by_either_way() {
    let (network, link) = network(yes_sayer("[]")).await;
    // The first goes through the crate, which never looks at the status.
    for kind in [ToxicKind::Bandwidth, ToxicKind::ResetPeer] {
        let error = network
            .add_toxic(&link, "mine", &toxic(kind), None)
            .await
            .expect_err("it is not there");
        assert!(error.to_string().contains("does not list it"), "{error}");
    }
}

#[tokio::test]
async fn a_toxic_that_is_listed_as_another_type_is_an_error() {
    let listed = r#"[{"name":"mine","type":"latency","stream":"downstream","toxicity":1.0,"attributes":{}}]"#;
    let (network, link) = network(yes_sayer(listed)).await;
    let error = network
        .add_toxic(&link, "mine", &toxic(ToxicKind::ResetPeer), None)
        .await
        .expect_err("it is another one");
    assert!(error.to_string().contains("latency"), "{error}");
}

#[tokio::test]
async fn a_toxic_that_stays_listed_after_its_removal_is_an_error() {
    let listed = r#"[{"name":"mine","type":"timeout","stream":"downstream","toxicity":1.0,"attributes":{}}]"#;
    let (network, link) = network(yes_sayer(listed)).await;
    let error = network
        .end_toxic(&link, "mine", ToxicKind::Latency)
        .await
        .expect_err("it is still there");
    assert!(error.to_string().contains("still listed"), "{error}");
}

#[tokio::test]
async fn a_timeout_that_goes_on_is_an_error() {
    let listed = r#"{"name":"mine","type":"timeout","toxicity":1.0,"attributes":{}}"#;
    let (network, link) = network(yes_sayer(listed)).await;
    let error = network
        .end_toxic(&link, "mine", ToxicKind::Timeout)
        .await
        .expect_err("it goes on");
    assert!(error.to_string().contains("as toxic as before"), "{error}");
}

#[tokio::test]
async fn a_proxy_that_stays_enabled_when_it_is_cut_is_an_error() {
    let (network, mut link) = network(yes_sayer("[]")).await;
    link.front = "none".into();
    let real = Network {
        real: None,
        ..network
    };
    let error = real.set_down(&link, true).await.expect_err("it is up");
    assert!(error.to_string().contains("did not do it"), "{error}");
}

#[tokio::test]
async fn a_server_that_is_gone_is_an_error_and_no_panic() {
    let gone = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("an address")
    };
    let (network, link) = network(gone).await;
    for kind in [ToxicKind::Bandwidth, ToxicKind::ResetPeer] {
        let added = network.add_toxic(&link, "mine", &toxic(kind), None).await;
        assert!(matches!(added, Err(Error::Toxiproxy { .. })), "{added:?}");
    }
}

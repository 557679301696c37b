//! `/metrics`: what is counted, and what is built on it.

mod lab;

use std::collections::{BTreeMap, BTreeSet};

use lab::{Client, TO, Watch, ask, fault, get, message, post, rule};
use serde_json::json;
use stub_provider::{
    Config, ExpectedIntent, Intents, Limits, Provider,
    event::{End, EventKind},
};

/// Every sample, by its name and labels as they are written.
async fn samples(provider: &Provider) -> BTreeMap<String, u64> {
    let page = ask(provider.addr(), &get("/metrics")).await;
    assert_eq!(
        page.header("content-type"),
        Some("text/plain; version=0.0.4; charset=utf-8")
    );
    let text = String::from_utf8(page.body).expect("text");
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let (name, value) = line.rsplit_once(' ').expect("a value");
            let name = name.strip_prefix("stub_provider_").expect("our prefix");
            let name = name.replace("endpoint=\"POST /v1/messages\"", "");
            let name = name.replace("{}", "").replace("{,", "{");
            (name, value.parse().expect("a number"))
        })
        .collect()
}

fn all(page: &BTreeMap<String, u64>, expected: &[(&str, u64)]) {
    for (name, value) in expected {
        assert_eq!(page.get(*name), Some(value), "{name}: {page:#?}");
    }
}

#[tokio::test]
async fn what_clients_do_is_counted() {
    let provider = lab::provider().await;
    let mut client = Client::connect(provider.addr()).await;
    for (key, text) in [
        (Some("k1"), "1"),
        (Some("k1"), "1"),
        (Some("k1"), "2"),
        (None, "1"),
        (None, "1"),
        (Some("k2"), "1"),
    ] {
        client.ask(&post(key, &message(TO, text))).await;
    }
    client.ask(&post(Some("k3"), "{}")).await;
    client.ask(&get("/v1/messages?idempotency_key=k1")).await;
    all(
        &samples(&provider).await,
        &[
            ("attempts_total", 7),
            ("accepted_total", 4),
            ("replays_total", 1),
            ("mismatches_total", 1),
            ("keyless_total", 2),
            ("duplicate_deliveries_total", 1),
            ("lookups_total", 1),
            ("answers_total{class=\"2xx\"}", 5),
            ("answers_total{class=\"4xx\"}", 2),
            ("answers_total{class=\"5xx\"}", 0),
        ],
    );
}

#[tokio::test]
async fn a_key_that_was_forgotten_makes_a_duplicate() {
    let provider = lab::provider().await;
    let request = post(Some("k1"), &message(TO, "1"));
    ask(provider.addr(), &request).await;
    provider.clock().advance(provider.retention());
    ask(provider.addr(), &request).await;
    all(
        &samples(&provider).await,
        &[("accepted_total", 2), ("duplicate_deliveries_total", 1)],
    );
}

#[tokio::test]
async fn a_crash_that_loses_the_keys_loses_no_duplicate() {
    let provider = lab::provider().await;
    let mut watch = Watch::new(&provider);
    let request = post(Some("k1"), &message(TO, "1"));
    ask(provider.addr(), &request).await;
    provider.add_fault(rule(
        7,
        1,
        fault(&json!({ "crash": {
            "stage": "before-accept", "memory": "lost", "for": "0s",
        } })),
    ));
    Client::connect(provider.addr())
        .await
        .send(&post(Some("k2"), &message(TO, "2")))
        .await;
    watch
        .until_seen(|kind| matches!(kind, EventKind::Restarted))
        .await;
    assert_eq!(ask(provider.addr(), &request).await.status, 201);
    all(
        &samples(&provider).await,
        &[("accepted_total", 2), ("duplicate_deliveries_total", 1)],
    );
}

#[tokio::test]
async fn where_intents_are_known_a_new_key_hides_no_duplicate() {
    let intent = ExpectedIntent {
        to: TO.into(),
        code: "1".into(),
        customer: "default".into(),
    };
    let config = Config {
        intents: Intents::new(vec![intent]),
        ..Config::default()
    };
    let provider = Provider::start(config).await.expect("a provider");
    for key in ["k1", "k2", "k3"] {
        ask(provider.addr(), &post(Some(key), &message(TO, "1"))).await;
    }
    all(
        &samples(&provider).await,
        &[("duplicate_deliveries_total", 2)],
    );
}

#[tokio::test]
async fn who_leaves_is_counted_by_how_far_the_request_had_come() {
    let provider = lab::provider().await;
    let mut watch = Watch::new(&provider);
    for (attempt, stage) in [(1, "before-accept"), (2, "after-accept")] {
        let hang = fault(&json!({ "hang": { "stage": stage } }));
        provider.add_fault(rule(7, attempt, hang));
    }
    for (attempt, end) in [(1, End::ClientReset), (2, End::ClientClosed)] {
        let mut client = Client::connect(provider.addr()).await;
        client.send(&post(Some("k1"), &message(TO, "1"))).await;
        watch
            .until(|kind| matches!(kind, EventKind::FaultFired { .. }).then_some(()))
            .await;
        if end == End::ClientReset {
            client.reset();
        } else {
            client.finish().await;
        }
        assert_eq!(watch.end_of(attempt).await, end);
    }
    all(
        &samples(&provider).await,
        &[
            (
                "disconnects_total{stage=\"before-accept\",end=\"client-reset\"}",
                1,
            ),
            (
                "disconnects_total{stage=\"after-accept\",end=\"client-closed\"}",
                1,
            ),
            (
                "disconnects_total{stage=\"answering\",end=\"client-closed\"}",
                0,
            ),
            ("accepted_total", 1),
            ("faults_total", 2),
        ],
    );
}

#[tokio::test]
async fn what_was_never_read_whole_is_counted_by_why() {
    let config = Config {
        limits: Limits {
            body_bytes: 100,
            read_timeout: std::time::Duration::from_millis(100),
            ..Limits::default()
        },
        ..Config::default()
    };
    let provider = Provider::start(config).await.expect("a provider");
    let mut watch = Watch::new(&provider);
    for part in [
        "POST /v1/messages HTTP/1.1\r\nHost: s\r\nContent-Length: 50\r\n\r\n{",
        "hello\r\n\r\n",
        "POST /v1/messages HTTP/1.1\r\nHost: s\r\nContent-Length: 500\r\n\r\n{",
    ] {
        let mut client = Client::connect(provider.addr()).await;
        client.send(part).await;
        client.rest().await;
    }
    let mut client = Client::connect(provider.addr()).await;
    client.send("POST /v1/mess").await;
    client.finish().await;
    watch
        .until(|kind| match kind {
            EventKind::Unread { reason, .. } => reason.contains("broke off").then_some(()),
            _ => None,
        })
        .await;
    all(
        &samples(&provider).await,
        &[
            ("unread_total{reason=\"timeout\"}", 1),
            ("unread_total{reason=\"malformed\"}", 1),
            ("unread_total{reason=\"too-large\"}", 1),
            ("unread_total{reason=\"disconnect\"}", 1),
        ],
    );
}

/// The metrics that a file names.
fn named(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| word.starts_with("stub_provider_"))
        .collect()
}

#[tokio::test]
async fn the_dashboard_and_the_alerts_name_only_what_is_there() {
    let provider = lab::provider().await;
    let page = ask(provider.addr(), &get("/metrics")).await;
    let text = String::from_utf8(page.body).expect("text");
    let there: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
        .collect();
    for file in [
        include_str!("../grafana/dashboard.json"),
        include_str!("../grafana/alerts.yaml"),
    ] {
        let names = named(file);
        assert!(names.contains("stub_provider_duplicate_deliveries_total"));
        let unknown: Vec<_> = names.difference(&there).collect();
        assert!(unknown.is_empty(), "{unknown:?} are not in /metrics");
    }
    let dashboard: serde_json::Value =
        serde_json::from_str(include_str!("../grafana/dashboard.json")).expect("JSON");
    assert!(
        dashboard["panels"]
            .as_array()
            .is_some_and(|p| !p.is_empty())
    );
}

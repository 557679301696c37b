//! Every route of the HTTP API: statuses, shapes and defaults.

#[path = "../support/mod.rs"]
mod support;

mod populate;
mod proxies;
mod toxics;

use serde_json::json;
use support::{Lab, Seen, call, next, pass};
use tokio::io::AsyncWriteExt;
use toxic_proxy::VERSION;

async fn refused(lab: &Lab, method: &str, path: &str, body: &str, status: u16, begins: &str) {
    let answer = lab.call(method, path, body).await;
    assert_eq!(
        answer.status, status,
        "{method} {path} {body}: {}",
        answer.body
    );
    assert!(
        answer
            .head
            .contains("content-type: text/plain; charset=utf-8"),
        "{}",
        answer.head
    );
    assert!(answer.body.ends_with('\n'), "a line of text");
    let json = answer.json();
    assert_eq!(json["status"], status);
    let error = json["error"].as_str().expect("a message");
    assert!(error.starts_with(begins), "{method} {path} {body}: {error}");
}

#[tokio::test]
async fn version_names_the_api_and_the_program() {
    let lab = Lab::new().await;
    let answer = lab.call("GET", "/version", "").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.json(), json!({ "version": VERSION }));
    assert!(VERSION.starts_with("2.12.0+toxic-proxy."));
}

#[tokio::test]
async fn what_is_not_there_is_404_and_a_wrong_method_is_405() {
    let lab = Lab::new().await;
    for path in ["/", "/nope", "/proxies/", "/metrics", "/proxies/sms/nope"] {
        let answer = lab.call("GET", path, "").await;
        assert_eq!(
            (answer.status, answer.body.as_str()),
            (404, "404 page not found\n"),
            "{path}"
        );
    }
    for (method, path) in [
        ("PUT", "/proxies"),
        ("DELETE", "/proxies"),
        ("PUT", "/proxies/sms"),
        ("PATCH", "/proxies/sms/toxics"),
        ("PUT", "/proxies/sms/toxics/x"),
        ("POST", "/proxies/sms/connections"),
        ("GET", "/populate"),
        ("GET", "/reset"),
        ("POST", "/version"),
    ] {
        let answer = lab.call(method, path, "").await;
        assert_eq!(
            (answer.status, answer.body.as_str()),
            (405, ""),
            "{method} {path}"
        );
    }
}

#[tokio::test]
async fn browsers_are_refused() {
    let lab = Lab::new().await;
    let answer = call(
        lab.api,
        "GET",
        "/version",
        "",
        "User-Agent: Mozilla/5.0 (X11)\r\n",
    )
    .await;
    assert_eq!(
        (answer.status, answer.body.as_str()),
        (403, "User agent not allowed\n")
    );
    let answer = call(
        lab.api,
        "GET",
        "/version",
        "",
        "User-Agent: curl/8 Mozilla/5.0\r\n",
    )
    .await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_refused() {
    let lab = Lab::new().await;
    let body = format!("{{\"name\":\"{}\"}}", "x".repeat(1 << 20));
    refused(
        &lab,
        "POST",
        "/proxies",
        &body,
        413,
        "request body is larger than",
    )
    .await;
}

#[tokio::test]
async fn connections_are_listed_with_everything_known_of_them() {
    let mut lab = Lab::new().await;
    assert_eq!(
        lab.call("GET", "/proxies/sms/connections", "").await.body,
        "[]"
    );
    lab.call(
        "POST",
        "/proxies/sms/toxics",
        r#"{"type":"reset_peer","name":"cut"}"#,
    )
    .await;
    let (mut client, mut provider) = lab.pair().await;
    let (from, seen) = (
        client.local_addr().expect("bound"),
        provider.peer_addr().expect("connected"),
    );
    pass(&mut client, &mut provider, b"12345").await;
    let open = lab.call("GET", "/proxies/sms/connections", "").await.json();
    assert_eq!(open[0]["client_end"], "open");
    assert_eq!(open[0]["closed"], json!(null));
    provider.write_all(b"x").await.expect("written");
    assert_eq!(next(&mut client).await, Seen::Rst);
    lab.event(|event| matches!(event, toxic_proxy::ConnectionEvent::Closed { .. }).then_some(()))
        .await;
    let closed = lab.call("GET", "/proxies/sms/connections", "").await.json();
    let mut record = closed[0].clone();
    for time in ["opened", "closed"] {
        assert!(record[time].is_u64(), "{time} is in milliseconds");
        record.as_object_mut().expect("an object").remove(time);
    }
    assert_eq!(
        record,
        json!({
            "id": 1, "client": from.to_string(), "upstream_local": seen.to_string(),
            "bytes_up": 5, "bytes_down": 0, "client_end": "rst", "upstream_end": "rst", "toxics": ["cut"],
        })
    );
    refused(
        &lab,
        "GET",
        "/proxies/nobody/connections",
        "",
        404,
        "proxy not found",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_crate_toxiproxy_rust_reads_every_answer() {
    let lab = Lab::new().await;
    let (api, upstream) = (
        lab.api,
        lab.upstream.local_addr().expect("bound").to_string(),
    );
    tokio::task::spawn_blocking(move || {
        let client = toxiproxy_rust::client::Client::new(api);
        assert!(client.is_running());
        let pack =
            toxiproxy_rust::proxy::ProxyPack::new("crate".into(), "127.0.0.1:0".into(), upstream);
        let proxies = client.populate(vec![pack]).expect("populated");
        proxies[0]
            .with_latency("downstream".into(), 10, 1, 0.5)
            .with_timeout("upstream".into(), 0, 1.0);
        assert_eq!(proxies[0].toxics().expect("read back").len(), 2);
        let found = client.find_and_reset_proxy("crate").expect("found");
        assert!(found.toxics().expect("read back").is_empty());
        assert_eq!(client.all().expect("all").len(), 2);
        client.reset().expect("reset");
    })
    .await
    .expect("no panic");
}

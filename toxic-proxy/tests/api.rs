//! Every route of the HTTP API: statuses, shapes and defaults.

mod support;

use serde_json::json;
use support::{Lab, PROXY, Seen, call, next, pass};
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
async fn a_proxy_without_an_address_listens_on_loopback_only() {
    let lab = Lab::new().await;
    let body = json!({ "name": "quiet", "upstream": "127.0.0.1:9" }).to_string();
    let answer = lab.call("POST", "/proxies", &body).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    let listen = answer.json()["listen"].as_str().map(str::to_owned);
    let listen = listen.expect("an address");
    assert!(listen.starts_with("127.0.0.1:"), "{listen}");
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
async fn proxies_are_created_shown_listed_and_deleted() {
    let lab = Lab::new().await;
    let answer = lab
        .call(
            "POST",
            "/proxies",
            r#"{"name":"a b","listen":"localhost:0","upstream":"localhost:1"}"#,
        )
        .await;
    assert_eq!(answer.status, 201);
    assert!(answer.head.contains("content-type: application/json"));
    let listen = answer.json()["listen"].as_str().expect("text").to_owned();
    assert!(
        listen.starts_with("127.0.0.1:") && !listen.ends_with(":0"),
        "port 0 is resolved: {listen}"
    );
    let shown = format!(
        r#"{{"name":"a b","listen":"{listen}","upstream":"localhost:1","enabled":true,"toxics":[]}}"#
    );
    assert_eq!(
        answer.body, shown,
        "with no extension used, not a member more than the original"
    );
    assert_eq!(lab.call("GET", "/proxies/a%20b", "").await.body, shown);
    let all = lab.call("GET", "/proxies", "").await;
    assert_eq!(all.status, 200);
    let names: Vec<String> = all
        .json()
        .as_object()
        .expect("by name")
        .keys()
        .cloned()
        .collect();
    assert_eq!(names, ["a b", PROXY]);
    assert_eq!(lab.call("DELETE", "/proxies/a%20b", "").await.status, 204);
    refused(&lab, "GET", "/proxies/a%20b", "", 404, "proxy not found").await;
    refused(&lab, "DELETE", "/proxies/a%20b", "", 404, "proxy not found").await;
}

#[tokio::test]
async fn a_proxy_that_cannot_be_created_is_refused_with_the_reason() {
    let lab = Lab::new().await;
    let taken = lab.upstream.local_addr().expect("bound");
    for (body, status, begins) in [
        (String::new(), 400, "bad request body: EOF"),
        ("{".to_owned(), 400, "bad request body: "),
        ("[]".to_owned(), 400, "bad request body: must be an object"),
        ("{}".to_owned(), 400, "missing required field: name"),
        (
            r#"{"name":"a"}"#.to_owned(),
            400,
            "missing required field: upstream",
        ),
        (
            r#"{"name":5,"upstream":"a:1"}"#.to_owned(),
            400,
            "bad request body: name",
        ),
        (
            r#"{"name":"a","upstream":"a:1","enabled":"yes"}"#.to_owned(),
            400,
            "bad request body: enabled",
        ),
        (
            format!(r#"{{"name":"{PROXY}","upstream":"a:1"}}"#),
            409,
            "proxy already exists",
        ),
        (
            format!(r#"{{"name":"a","upstream":"a:1","listen":"{taken}"}}"#),
            500,
            "listen tcp 127.0.0.1:",
        ),
        (
            r#"{"name":"a","upstream":"a:1","listen":"nonsense"}"#.to_owned(),
            500,
            "listen tcp nonsense",
        ),
    ] {
        refused(&lab, "POST", "/proxies", &body, status, begins).await;
    }
    assert_eq!(lab.engine.proxies().len(), 1);
}

#[tokio::test]
async fn names_of_members_match_whatever_their_case_and_null_is_absent() {
    let lab = Lab::new().await;
    let body = r#"{"NAME":"a","Listen":"localhost:0","upstream":"a:1","enabled":null} and more"#;
    let answer = lab.call("POST", "/proxies", body).await;
    assert_eq!(
        (answer.status, &answer.json()["enabled"]),
        (201, &json!(true))
    );
}

#[tokio::test]
async fn a_proxy_is_disabled_enabled_and_moved_by_post_and_by_patch() {
    let lab = Lab::new().await;
    for method in ["POST", "PATCH"] {
        let answer = lab
            .call(method, "/proxies/sms", r#"{"enabled":false}"#)
            .await;
        assert_eq!(
            (answer.status, &answer.json()["enabled"]),
            (200, &json!(false))
        );
        assert!(tokio::net::TcpStream::connect(&lab.listen).await.is_err());
        let answer = lab
            .call(
                method,
                "/proxies/sms",
                r#"{"enabled":true,"name":"ignored"}"#,
            )
            .await;
        assert_eq!(answer.json()["listen"], json!(lab.listen));
        assert_eq!(answer.json()["name"], json!(PROXY));
    }
    let (mut client, mut provider) = lab.pair().await;
    pass(&mut client, &mut provider, b"x").await;
    assert_eq!(lab.call("PATCH", "/proxies/sms", "{}").await.status, 200);
    pass(
        &mut client,
        &mut provider,
        b"an empty update closes nothing",
    )
    .await;
    let answer = lab
        .call("PATCH", "/proxies/sms", r#"{"listen":"127.0.0.1:0"}"#)
        .await;
    assert_ne!(answer.json()["listen"], json!(lab.listen));
    assert_eq!(next(&mut client).await, Seen::Fin);
    refused(
        &lab,
        "PATCH",
        "/proxies/nobody",
        "{",
        404,
        "proxy not found",
    )
    .await;
    refused(
        &lab,
        "PATCH",
        "/proxies/sms",
        "",
        400,
        "bad request body: EOF",
    )
    .await;
    let taken = lab.upstream.local_addr().expect("bound");
    let body = format!(r#"{{"listen":"{taken}"}}"#);
    refused(&lab, "PATCH", "/proxies/sms", &body, 500, "listen tcp").await;
    assert_eq!(
        lab.call("GET", "/proxies/sms", "").await.json()["enabled"],
        json!(false)
    );
}

#[tokio::test]
async fn toxics_are_added_shown_listed_changed_and_removed() {
    let lab = Lab::new().await;
    let answer = lab
        .call("POST", "/proxies/sms/toxics", r#"{"type":"latency"}"#)
        .await;
    let shown = r#"{"attributes":{"latency":0,"jitter":0},"name":"latency_downstream","type":"latency","stream":"downstream","toxicity":1}"#;
    assert_eq!((answer.status, answer.body.as_str()), (200, shown));
    let answer = lab
        .call(
            "POST",
            "/proxies/sms/toxics",
            r#"{"name":"up","type":"slicer","stream":"Upstream","toxicity":0.5,"attributes":{"average_size":9}}"#,
        )
        .await;
    let up = r#"{"attributes":{"average_size":9,"size_variation":0,"delay":0},"name":"up","type":"slicer","stream":"upstream","toxicity":0.5}"#;
    assert_eq!((answer.status, answer.body.as_str()), (200, up));
    let list = lab.call("GET", "/proxies/sms/toxics", "").await;
    assert_eq!(
        (list.status, list.body),
        (200, format!("[{up},{shown}]")),
        "upstream ones first"
    );
    assert_eq!(lab.call("GET", "/proxies/sms/toxics/up", "").await.body, up);
    assert_eq!(
        lab.call("GET", "/proxies/sms", "").await.json()["toxics"][0]["name"],
        "up"
    );

    let path = "/proxies/sms/toxics/latency_downstream";
    let answer = lab
        .call(
            "PATCH",
            path,
            r#"{"attributes":{"latency":9},"stream":"upstream"}"#,
        )
        .await;
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.json()["attributes"],
        json!({ "latency": 9, "jitter": 0 })
    );
    assert_eq!(
        answer.json()["stream"],
        "downstream",
        "only attributes and toxicity change"
    );
    let answer = lab
        .call("POST", path, r#"{"attributes":{"jitter":3},"toxicity":0}"#)
        .await;
    assert_eq!(
        answer.json()["attributes"],
        json!({ "latency": 9, "jitter": 3 })
    );
    assert_eq!(answer.json()["toxicity"], 0);

    assert_eq!(lab.call("DELETE", path, "").await.status, 204);
    refused(&lab, "GET", path, "", 404, "toxic not found").await;
    refused(&lab, "DELETE", path, "", 404, "toxic not found").await;
    refused(&lab, "PATCH", path, "{", 404, "toxic not found").await;
    refused(
        &lab,
        "GET",
        "/proxies/nobody/toxics",
        "",
        404,
        "proxy not found",
    )
    .await;
    refused(
        &lab,
        "POST",
        "/proxies/nobody/toxics",
        "{",
        404,
        "proxy not found",
    )
    .await;
    refused(
        &lab,
        "DELETE",
        "/proxies/nobody/toxics/up",
        "",
        404,
        "proxy not found",
    )
    .await;
}

/// Bodies that make no sense, and how each refusal begins.
const NONSENSE: [(&str, &str); 18] = [
    ("", "bad request body: EOF"),
    ("{}", "invalid toxic type"),
    (r#"{"type":"nope"}"#, "invalid toxic type"),
    (
        r#"{"type":"noop","stream":"sideways"}"#,
        "stream was invalid, can be either upstream or downstream",
    ),
    (
        r#"{"type":"latency","attributes":{"latency":-1}}"#,
        "bad request body: attributes.latency",
    ),
    (
        r#"{"type":"latency","attributes":{"latency":"1"}}"#,
        "bad request body: attributes.latency",
    ),
    (
        r#"{"type":"latency","attributes":{"latency":1.5}}"#,
        "bad request body: attributes.latency",
    ),
    (
        r#"{"type":"latency","attributes":{"delay":1}}"#,
        "bad request body: attributes.delay: unknown",
    ),
    (
        r#"{"type":"latency","attributes":[1]}"#,
        "bad request body: attributes",
    ),
    (
        r#"{"type":"bandwidth","attributes":{"rate":-1}}"#,
        "bad request body: attributes.rate",
    ),
    (
        r#"{"type":"bandwidth"}"#,
        "bad request body: attributes.rate: missing",
    ),
    (
        r#"{"type":"slicer"}"#,
        "bad request body: attributes.average_size: missing",
    ),
    (
        r#"{"type":"slicer","attributes":{"average_size":0}}"#,
        "bad request body: attributes.average_size",
    ),
    (
        r#"{"type":"slicer","attributes":{"average_size":5,"size_variation":5}}"#,
        "bad request body: attributes.size_variation",
    ),
    (
        r#"{"type":"noop","toxicity":1.5}"#,
        "bad request body: toxicity",
    ),
    (
        r#"{"type":"noop","toxicity":"1"}"#,
        "bad request body: toxicity",
    ),
    (
        r#"{"type":"noop","connection":0}"#,
        "bad request body: connection",
    ),
    (
        r#"{"type":"noop","connection":"1"}"#,
        "bad request body: connection",
    ),
];

#[tokio::test]
async fn a_toxic_that_makes_no_sense_is_refused_and_nothing_is_added() {
    let lab = Lab::new().await;
    for (body, begins) in NONSENSE {
        refused(&lab, "POST", "/proxies/sms/toxics", body, 400, begins).await;
    }
    assert_eq!(lab.call("GET", "/proxies/sms/toxics", "").await.body, "[]");
    assert_eq!(
        lab.call("POST", "/proxies/sms/toxics", r#"{"type":"noop"}"#)
            .await
            .status,
        200
    );
    refused(
        &lab,
        "POST",
        "/proxies/sms/toxics",
        r#"{"type":"noop"}"#,
        409,
        "toxic already exists",
    )
    .await;
    let path = "/proxies/sms/toxics/noop_downstream";
    refused(
        &lab,
        "PATCH",
        path,
        r#"{"attributes":{"x":1}}"#,
        400,
        "bad request body: attributes.x",
    )
    .await;
}

#[tokio::test]
async fn populate_keeps_what_is_the_same_and_replaces_what_differs() {
    let lab = Lab::new().await;
    let upstream = lab.upstream.local_addr().expect("bound");
    lab.call("POST", "/proxies/sms/toxics", r#"{"type":"noop"}"#)
        .await;
    let same = format!(
        r#"[{{"name":"{PROXY}","listen":"{}","upstream":"{upstream}","enabled":false,"toxics":[{{"type":"latency"}}]}}]"#,
        lab.listen
    );
    let answer = lab.call("POST", "/populate", &same).await;
    assert_eq!(answer.status, 201);
    let proxy = &answer.json()["proxies"][0];
    assert_eq!(proxy["enabled"], true, "left as it was");
    assert_eq!(proxy["toxics"][0]["name"], "noop_downstream");

    let (mut client, _provider) = lab.pair().await;
    let other = format!(
        r#"[{{"name":"{PROXY}","listen":"{}","upstream":"localhost:1"}}]"#,
        lab.listen
    );
    let answer = lab.call("POST", "/populate", &other).await;
    assert_eq!(answer.json()["proxies"][0]["toxics"], json!([]));
    assert_eq!(
        next(&mut client).await,
        Seen::Fin,
        "the old one's connections are closed"
    );
}

#[tokio::test]
async fn populate_answers_null_for_nothing_and_tells_what_stands_beside_an_error() {
    let lab = Lab::new().await;
    let answer = lab.call("POST", "/populate", "[]").await;
    assert_eq!(
        (answer.status, answer.body.as_str()),
        (201, r#"{"proxies":null}"#)
    );
    for (body, error) in [
        ("{}", "bad request body: "),
        (
            r#"[{"name":"x"}]"#,
            "missing required field: upstream at proxy 1",
        ),
        (
            r#"[{"name":"x","upstream":"a:1"},{}]"#,
            "missing required field: name at proxy 2",
        ),
    ] {
        let answer = lab.call("POST", "/populate", body).await;
        assert_eq!(answer.status, 400);
        assert!(answer.head.contains("content-type: application/json"));
        let json = answer.json();
        assert!(
            json["error"].as_str().expect("text").starts_with(error),
            "{json}"
        );
        assert_eq!(
            (&json["status"], &json["proxies"]),
            (&json!(400), &json!(null))
        );
    }
    let taken = lab.upstream.local_addr().expect("bound");
    let body = format!(
        r#"[{{"name":"x","listen":"127.0.0.1:0","upstream":"a:1"}},{{"name":"y","listen":"{taken}","upstream":"a:1"}}]"#
    );
    let answer = lab.call("POST", "/populate", &body).await;
    assert_eq!(
        (answer.status, &answer.json()["proxies"][0]["name"]),
        (500, &json!("x"))
    );
    assert_eq!(lab.engine.proxies().len(), 2);
}

#[tokio::test]
async fn reset_enables_every_proxy_and_removes_every_toxic() {
    let lab = Lab::new().await;
    lab.call("POST", "/proxies/sms/toxics", r#"{"type":"noop"}"#)
        .await;
    lab.call("POST", "/proxies/sms", r#"{"enabled":false}"#)
        .await;
    let answer = lab.call("POST", "/reset", "").await;
    assert_eq!((answer.status, answer.body.as_str()), (204, ""));
    let proxy = lab.call("GET", "/proxies/sms", "").await.json();
    assert_eq!(
        (&proxy["enabled"], &proxy["toxics"]),
        (&json!(true), &json!([]))
    );
}

#[tokio::test]
async fn a_bound_toxic_and_a_blackhole_stand_beside_the_original_members() {
    let lab = Lab::new().await;
    let body = r#"{"type":"timeout","connection":3}"#;
    let answer = lab.call("POST", "/proxies/sms/toxics", body).await;
    assert_eq!(answer.json()["connection"], 3);
    assert_eq!(answer.json()["attributes"], json!({ "timeout": 0 }));

    let dark = lab
        .call("PATCH", "/proxies/sms", r#"{"blackhole":true}"#)
        .await;
    assert_eq!(
        (dark.status, &dark.json()["blackhole"]),
        (200, &json!(true))
    );
    let light = lab
        .call("POST", "/proxies/sms", r#"{"blackhole":false}"#)
        .await;
    assert_eq!(light.json().get("blackhole"), None);
    let body = r#"{"name":"dark","listen":"localhost:0","upstream":"a:1","blackhole":true}"#;
    let dark = lab.call("POST", "/proxies", body).await;
    assert_eq!(
        (dark.status, &dark.json()["blackhole"]),
        (201, &json!(true))
    );
    let body = r#"{"enabled":false,"blackhole":true}"#;
    refused(
        &lab,
        "PATCH",
        "/proxies/sms",
        body,
        400,
        "bad request body: blackhole",
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

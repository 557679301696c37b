//! Toxics: added, shown, listed, changed, removed.

use crate::{refused, support::Lab};
use serde_json::json;

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

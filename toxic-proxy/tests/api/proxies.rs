//! Proxies: created, shown, listed, changed, deleted.

use crate::{
    refused,
    support::{Lab, PROXY, Seen, next, pass},
};
use serde_json::json;

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
async fn names_of_members_match_whatever_their_case_and_null_is_absent() {
    let lab = Lab::new().await;
    let body = r#"{"NAME":"a","Listen":"localhost:0","upstream":"a:1","enabled":null} and more"#;
    let answer = lab.call("POST", "/proxies", body).await;
    assert_eq!(
        (answer.status, &answer.json()["enabled"]),
        (201, &json!(true))
    );
}

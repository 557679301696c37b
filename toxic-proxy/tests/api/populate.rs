//! Many proxies at once, and back to none that is disabled.

use crate::support::{Lab, PROXY, Seen, next};
use serde_json::json;

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

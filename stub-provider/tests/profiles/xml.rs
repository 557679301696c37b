//! A profile whose answers are XML keeps its promises as one in JSON does.

use std::sync::Arc;

use stub_provider::{Profile, profile::Question};

use super::{Bench, Draft};

const XML: &str = r#"
name  = "xml"
title = "An API that answers in XML"

[submit]
path      = "/send"
encoding  = "form"
request   = "To={to}&Body={text}"
recipient = "form:To"
text      = "form:Body"
answers   = "xml"
status    = 200
answer    = '<Sent xmlns="urn:sms"><Message><Id>{id}</Id><Body>{text}</Body></Message></Sent>'
id        = "xml:Sent.Message.Id"

[lookup]
by-id = "/messages/{id}"

[key]
place         = "header:Idempotency-Key"
binds         = "content"
replays       = "everything"
replay-header = "Idempotent-Replayed"

[errors]
body      = '<Error><Code>{code}</Code><Message>{message}</Message></Error>'
mismatch  = { status = 422, code = 7 }
"#;

async fn bench() -> Bench {
    let profile = Profile::parse(XML, "xml.toml").unwrap_or_else(|e| panic!("{}", e.report(false)));
    Bench::open(Arc::new(profile)).await
}

#[tokio::test]
async fn a_message_is_accepted_and_replayed_in_xml_whatever_its_words() {
    let bench = bench().await;
    let draft = Draft {
        text: "<5 & \"6\"",
        ..bench.draft()
    };
    let first = bench.send(&draft).await;
    bench.assert_accepted(&first);
    assert_eq!(first.header("content-type"), Some("text/xml"));
    let said = String::from_utf8_lossy(&first.body).into_owned();
    assert!(
        said.contains("<Body>&lt;5 &amp; &quot;6&quot;</Body>"),
        "{said}"
    );
    bench.assert_second(&first, &bench.send(&draft).await);
    assert_eq!(bench.buzzes().await, 1);
}

#[tokio::test]
async fn an_error_is_xml_too() {
    let bench = bench().await;
    bench.assert_accepted(&bench.send(&bench.draft()).await);
    let other = Draft {
        text: "other words",
        ..bench.draft()
    };
    let answer = bench.send(&other).await;
    assert_eq!(answer.status, 422);
    assert_eq!(answer.header("content-type"), Some("text/xml"));
    let said = String::from_utf8_lossy(&answer.body).into_owned();
    assert!(said.starts_with("<Error><Code>7</Code><Message>"), "{said}");
    assert_eq!(bench.buzzes().await, 1);
}

#[tokio::test]
async fn a_message_is_found_by_the_id_that_its_answer_names() {
    let bench = bench().await;
    let answer = bench.send(&bench.draft()).await;
    let id = bench.profile.message_id(&answer.body).expect("an id");
    let question = bench.profile.compose_lookup(Question::ById(&id), "acme");
    let found = bench.ask(&question.expect("a way")).await;
    assert_eq!(found.status, 200);
    assert_eq!(found.header("content-type"), Some("text/xml"));
    assert_eq!(bench.profile.message_id(&found.body), Some(id));
}

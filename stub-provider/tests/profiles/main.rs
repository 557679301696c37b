//! Every rule of every built-in profile, against the running provider. What is expected is what
//! the profile says; the requests are those that it composes.

mod bench;
#[path = "../lab/mod.rs"]
mod lab;
mod xml;

use std::{sync::Arc, time::Duration};

use bench::Bench;
use lab::{Client, OTHER, TO, Watch, delivered, wire};
use serde_json::Value;
use stub_provider::{
    HoldRule, Profile,
    event::EventKind,
    fault::{RequestKind, Stage},
    profile::{
        Binds, BodyEncoding, Composed, Draft, KeyForm, KeyScope, KeyUnit, Question, Replays, Rule,
        StatusClass,
    },
};

const REFUSED: &str = "+15005550001";

#[tokio::test]
async fn a_message_is_accepted_delivered_once_and_its_id_is_in_the_answer() {
    for bench in Bench::each().await {
        let answer = bench.send(&bench.draft()).await;
        bench.assert_accepted(&answer);
        let record = delivered(&bench.provider).await;
        let (_, messages) = record
            .as_object()
            .and_then(|keys| keys.iter().next())
            .expect("a delivery");
        assert_eq!(messages[0]["to"], TO, "{}", bench.name);
        assert_eq!(messages[0]["body"], "Your code is 471142", "{}", bench.name);
        assert_eq!(messages[0]["customer"], "acme", "{}", bench.name);
        assert_eq!(bench.buzzes().await, 1, "{}", bench.name);
    }
}

#[tokio::test]
async fn a_repeat_gets_the_stored_answer_byte_for_byte_or_the_refusal_of_a_used_key() {
    for bench in Bench::keyed().await {
        let first = bench.send(&bench.draft()).await;
        bench.assert_accepted(&first);
        for _ in 0..2 {
            let again = bench.send(&bench.draft()).await;
            bench.assert_second(&first, &again);
        }
        assert_eq!(bench.buzzes().await, 1, "{}", bench.name);
    }
}

#[tokio::test]
async fn another_request_under_a_key_is_refused_where_the_key_is_bound() {
    for bench in Bench::keyed().await {
        let first = bench.send(&bench.draft()).await;
        let other = Draft {
            text: "Your code is 000000",
            ..bench.draft()
        };
        let answer = bench.send(&other).await;
        match bench.profile.mismatch() {
            Some(mismatch) => bench.assert_error(&answer, &mismatch),
            None => bench.assert_second(&first, &answer),
        }
        assert_eq!(bench.buzzes().await, 1, "{}", bench.name);
    }
}

/// The same request in other bytes.
fn rewritten(profile: &Profile, composed: &Composed) -> Composed {
    let body = match profile.encoding() {
        BodyEncoding::Json => {
            let value: Value = serde_json::from_slice(&composed.body).expect("JSON");
            let members = value.as_object().expect("an object").iter().rev();
            let turned: serde_json::Map<_, _> = members
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
            format!("{:#}", Value::Object(turned)).into_bytes()
        }
        BodyEncoding::Form => {
            let text = String::from_utf8(composed.body.clone()).expect("a form");
            text.split('&')
                .rev()
                .collect::<Vec<_>>()
                .join("&")
                .into_bytes()
        }
    };
    assert_ne!(body, composed.body);
    Composed {
        body,
        ..composed.clone()
    }
}

#[tokio::test]
async fn a_key_binds_bytes_or_content_or_nothing() {
    for bench in Bench::keyed().await {
        let composed = bench.profile.compose(&bench.draft());
        let first = bench.ask(&composed).await;
        let answer = bench.ask(&rewritten(&bench.profile, &composed)).await;
        match (bench.profile.binds(), bench.profile.mismatch()) {
            (Binds::Bytes, Some(mismatch)) => bench.assert_error(&answer, &mismatch),
            (Binds::Bytes, None) => panic!("{}: bytes are bound", bench.name),
            (Binds::Content | Binds::Nothing, _) => bench.assert_second(&first, &answer),
        }
        assert_eq!(bench.buzzes().await, 1, "{}", bench.name);
    }
}

#[tokio::test]
async fn without_a_key_each_request_is_a_message_or_is_refused() {
    for bench in Bench::each().await {
        let keyless = Draft {
            key: None,
            ..bench.draft()
        };
        let answers = [bench.send(&keyless).await, bench.send(&keyless).await];
        if let Some(missing) = bench.profile.missing() {
            for answer in &answers {
                bench.assert_error(answer, &missing);
            }
            assert_eq!(bench.buzzes().await, 0, "{}", bench.name);
        } else {
            for answer in &answers {
                bench.assert_accepted(answer);
            }
            assert_eq!(bench.buzzes().await, 2, "{}", bench.name);
        }
    }
}

#[tokio::test]
async fn a_key_that_cannot_be_one_is_refused_and_nothing_is_delivered() {
    let mut tried = 0;
    for bench in Bench::keyed().await {
        let malformed = bench.profile.malformed().expect("a profile with a key");
        for (why, key) in bench.profile.malformed_keys() {
            let request = bench
                .profile
                .compose_with_key_as_written(&bench.draft(), &key);
            let answer = bench.ask(&request).await;
            bench.assert_error(&answer, &malformed);
            assert_eq!(bench.buzzes().await, 0, "{}: {why}", bench.name);
            tried += 1;
        }
    }
    assert!(tried > 12, "every profile with a key refuses some: {tried}");
}

#[tokio::test]
async fn the_longest_key_is_taken_and_so_is_a_quoted_one_where_both_forms_are() {
    for bench in Bench::keyed().await {
        let (_, most) = bench.profile.key_lengths();
        let longest = bench.key.repeat(most.div_ceil(bench.key.len()))[..most].to_owned();
        let is_uuid = bench.key.len() == 36;
        let key = if is_uuid { bench.key.clone() } else { longest };
        let draft = Draft {
            key: Some(&key),
            ..bench.draft()
        };
        let first = bench.send(&draft).await;
        bench.assert_accepted(&first);
        if bench.profile.key_form() == KeyForm::Either {
            let quoted = format!("\"{key}\"");
            let request = bench.profile.compose_with_key_as_written(&draft, &quoted);
            bench.assert_second(&first, &bench.ask(&request).await);
            assert_eq!(bench.buzzes().await, 1, "{}", bench.name);
        }
    }
}

#[tokio::test]
async fn a_key_in_flight_waits_or_is_refused() {
    for bench in Bench::keyed().await {
        let mut watch = Watch::new(&bench.provider);
        let only_first = HoldRule {
            attempts: stub_provider::attempts::Attempts::only(1),
            intent: None,
            request: RequestKind::Submit,
        };
        bench.provider.hold(Stage::BeforeAccept, only_first);
        let request = wire(&bench.profile.compose(&bench.draft()));
        let mut one = Client::connect(bench.provider.addr()).await;
        let mut two = Client::connect(bench.provider.addr()).await;
        one.send(&request).await;
        let held = watch.held().await;
        two.send(&request).await;
        let second = watch
            .until(|kind| match kind {
                EventKind::Arrived { attempt, .. } if *attempt != held => Some(*attempt),
                _ => None,
            })
            .await;
        if let Some(in_flight) = bench.profile.in_flight() {
            let answer = two.answer().await;
            bench.assert_error(&answer, &in_flight);
            bench.provider.release(held, Stage::BeforeAccept);
            bench.assert_accepted(&one.answer().await);
        } else {
            assert_ne!(second, held);
            bench.provider.release(held, Stage::BeforeAccept);
            let first = one.answer().await;
            bench.assert_accepted(&first);
            bench.assert_second(&first, &two.answer().await);
        }
        assert_eq!(bench.buzzes().await, 1, "{}", bench.name);
    }
}

#[tokio::test]
async fn equal_keys_of_two_customers_are_two_keys() {
    for bench in Bench::keyed().await {
        for customer in ["acme", "umbra"] {
            let draft = Draft {
                customer,
                ..bench.draft()
            };
            bench.assert_accepted(&bench.send(&draft).await);
        }
        assert_eq!(bench.buzzes().await, 2, "{}", bench.name);
    }
}

#[tokio::test]
async fn equal_keys_of_two_operations_are_two_keys_where_the_profile_says_so() {
    let mut of_operations = 0;
    for bench in Bench::keyed().await {
        let Some(elsewhere) = bench.profile.compose_elsewhere(&bench.draft()) else {
            continue;
        };
        assert_eq!(bench.profile.scope(), KeyScope::CustomerAndOperation);
        bench.assert_accepted(&bench.send(&bench.draft()).await);
        bench.assert_accepted(&bench.ask(&elsewhere).await);
        assert_eq!(bench.buzzes().await, 2, "{}", bench.name);
        of_operations += 1;
    }
    assert!(of_operations >= 2);

    // The other scope: the same key at another operation is another request.
    let source = Profile::source_of("stripe").expect("a built-in profile");
    let source = source.replacen("encoding ", "also = [\"/v1/notices\"]\nencoding ", 1);
    let stripe = Profile::parse(&source, "stripe.toml").expect("a sound profile");
    let bench = Bench::open(Arc::new(stripe)).await;
    bench.assert_accepted(&bench.send(&bench.draft()).await);
    let elsewhere = bench.profile.compose_elsewhere(&bench.draft());
    let answer = bench.ask(&elsewhere.expect("another operation")).await;
    let mismatch = bench.profile.mismatch().expect("it binds");
    bench.assert_error(&answer, &mismatch);
    assert_eq!(bench.buzzes().await, 1);
}

#[tokio::test]
async fn a_key_is_forgotten_after_its_retention_and_not_before() {
    for bench in Bench::keyed().await {
        let second = Duration::from_secs(1);
        let first = bench.send(&bench.draft()).await;
        let retention = bench.profile.retention();
        bench
            .provider
            .clock()
            .advance(retention.saturating_sub(second * 30));
        bench.assert_second(&first, &bench.send(&bench.draft()).await);
        bench.provider.clock().advance(second * 30);
        bench.assert_accepted(&bench.send(&bench.draft()).await);
        assert_eq!(bench.buzzes().await, 2, "{}", bench.name);
    }
}

#[tokio::test]
async fn refused_numbers_work_under_every_profile_and_use_the_key_up_where_it_says_so() {
    for bench in Bench::each().await {
        let refused = Draft {
            to: REFUSED,
            ..bench.draft()
        };
        let answer = bench.send(&refused).await;
        let said = String::from_utf8_lossy(&answer.body).into_owned();
        assert_eq!(bench.buzzes().await, 0, "{}: {said}", bench.name);
        assert!(
            said.contains("21211") || said.contains("not a valid phone number"),
            "{said}"
        );
        if !bench.profile.has_key() {
            continue;
        }
        let next = bench.send(&bench.draft()).await;
        match (
            bench.profile.keeps(StatusClass::Refused),
            bench.profile.mismatch(),
        ) {
            (true, Some(mismatch)) => bench.assert_error(&next, &mismatch),
            (true, None) => bench.assert_second(&answer, &next),
            (false, _) => bench.assert_accepted(&next),
        }
    }
}

#[tokio::test]
async fn a_sender_that_is_refused_is_refused_under_every_profile_that_names_one() {
    for bench in Bench::each().await {
        let draft = Draft {
            from: "+15005550007",
            ..bench.draft()
        };
        let answer = bench.send(&draft).await;
        // The payment API names no sender.
        let expected = usize::from(bench.name == "charges");
        let said = String::from_utf8_lossy(&answer.body);
        assert_eq!(bench.buzzes().await, expected, "{}: {said}", bench.name);
    }
}

#[tokio::test]
async fn a_stored_failure_comes_again_or_frees_the_key() {
    for bench in Bench::keyed().await {
        let failure = lab::fault(&serde_json::json!({
            "respond": { "stage": "after-accept", "status": 500, "stored": true }
        }));
        bench.provider.add_fault(lab::rule(1, 1, failure));
        let first = bench.send(&bench.draft()).await;
        assert_eq!(first.status, 500, "{}", bench.name);
        let second = bench.send(&bench.draft()).await;
        if bench.profile.keeps(StatusClass::Failed) {
            bench.assert_second(&first, &second);
            assert_eq!(bench.buzzes().await, 1, "{}", bench.name);
        } else {
            bench.assert_accepted(&second);
            assert_eq!(bench.buzzes().await, 2, "{}", bench.name);
        }
        let promised = match bench.profile.replays() {
            Replays::Everything | Replays::Nothing => true,
            Replays::Successes => false,
        };
        assert_eq!(bench.profile.keeps(StatusClass::Failed), promised);
    }
}

/// The request without its credential.
fn unsigned(composed: &Composed) -> Composed {
    let mut unsigned = composed.clone();
    unsigned
        .headers
        .retain(|(name, _)| name != "authorization" && name != "x-api-key");
    let body = String::from_utf8(unsigned.body).expect("text");
    unsigned.body = body.replace("&api_key=acme", "").into_bytes();
    unsigned
}

#[tokio::test]
async fn a_request_without_a_credential_is_refused_where_one_is_required() {
    for bench in Bench::each().await {
        let signed = bench.profile.compose(&bench.draft());
        let unsigned = unsigned(&signed);
        assert_ne!(signed, unsigned, "{}", bench.name);
        let answer = bench.ask(&unsigned).await;
        match bench.profile.unauthorised() {
            Some(unauthorised) => {
                bench.assert_error(&answer, &unauthorised);
                assert_eq!(bench.buzzes().await, 0, "{}", bench.name);
            }
            None => bench.assert_accepted(&answer),
        }
    }
}

#[tokio::test]
async fn a_message_is_found_in_every_way_that_the_profile_has_and_by_its_customer_only() {
    for bench in Bench::each().await {
        let answer = bench.send(&bench.draft()).await;
        let id = bench.profile.message_id(&answer.body).expect("an id");
        let mut ways = 0;
        for question in [
            Question::ById(&id),
            Question::ByKey(&bench.key),
            Question::To(TO),
        ] {
            let Some(request) = bench.profile.compose_lookup(question, "acme") else {
                continue;
            };
            ways += 1;
            let found = bench.ask(&request).await;
            let said = String::from_utf8_lossy(&found.body).into_owned();
            assert_eq!(found.status, 200, "{}: {said}", bench.name);
            if question == Question::ById(&id) {
                assert!(said.contains(&id), "{}: {said}", bench.name);
            } else {
                let ids = bench.profile.listed_ids(question, &found.body);
                assert_eq!(ids, Some(vec![id.clone()]), "{}: {said}", bench.name);
            }
            let request = bench.profile.compose_lookup(question, "umbra");
            let hidden = bench.ask(&request.expect("a way")).await;
            let said = String::from_utf8_lossy(&hidden.body).into_owned();
            assert!(
                !said.contains("471142") && !said.contains(&id),
                "{}: {said}",
                bench.name
            );
        }
        let rules = bench.profile.rules();
        let promised = rules.iter().find(|rule| rule.rule == Rule::Lookup);
        let none = promised.is_some_and(|rule| rule.value == "not possible");
        assert_eq!(ways == 0, none, "{}", bench.name);
    }
}

#[tokio::test]
async fn an_error_has_the_content_type_of_the_profile_and_says_what_is_wrong() {
    for bench in Bench::each().await {
        let empty = Draft {
            text: " ",
            ..bench.draft()
        };
        let answer = bench.send(&empty).await;
        assert_eq!(bench.buzzes().await, 0, "{}", bench.name);
        let rules = bench.profile.rules();
        let errors = rules.iter().find(|rule| rule.rule == Rule::Errors);
        let content_type = answer.header("content-type").expect("a content type");
        let promised = &errors.expect("a rule").value;
        assert!(
            promised.contains(content_type),
            "{}: {promised}",
            bench.name
        );
        let said = answer.json();
        assert!(said.is_object(), "{}: {said}", bench.name);
    }
}

fn recipients(keys: [&str; 2], text: &str) -> Composed {
    let body = serde_json::json!({
        "from": "+12025550100",
        "smsRecipients": [
            { "to": TO, "repeatabilityRequestId": keys[0] },
            { "to": OTHER, "repeatabilityRequestId": keys[1] },
        ],
        "message": text,
    });
    Composed {
        method: "POST",
        target: "/sms?api-version=2021-03-07".into(),
        headers: vec![("authorization".into(), "Bearer acme".into())],
        body: body.to_string().into_bytes(),
    }
}

#[tokio::test]
async fn a_key_of_a_recipient_is_judged_for_each_recipient_of_a_request() {
    let azure = Profile::builtin("azure").expect("a built-in profile");
    assert_eq!(azure.unit(), KeyUnit::Recipient);
    let [one, two, three] = [1, 2, 3].map(|n| azure.sample_key(n));
    let bench = Bench::open(azure).await;

    let first = bench.ask(&recipients([&one, &two], "hello")).await;
    assert_eq!(first.status, 202);
    let said = first.json();
    let parts = said["value"].as_array().expect("a part for each");
    assert_eq!(parts.len(), 2);
    assert_eq!(
        (&parts[0]["to"], &parts[1]["to"]),
        (&TO.into(), &OTHER.into())
    );
    assert_ne!(parts[0]["messageId"], parts[1]["messageId"]);
    assert_eq!(bench.buzzes().await, 2);

    // One recipient again and one under a new key: one replay, one delivery.
    let again = bench.ask(&recipients([&one, &three], "hello")).await;
    let mixed = again.json();
    assert_eq!(mixed["value"][0], parts[0], "the first result");
    assert_ne!(mixed["value"][1]["messageId"], parts[1]["messageId"]);
    assert_eq!(bench.buzzes().await, 3);

    // Other words under a known key: that recipient is rejected, the whole answer is 202.
    let other = bench.ask(&recipients([&one, &two], "other words")).await;
    assert_eq!(other.status, 202);
    for part in other.json()["value"].as_array().expect("a part for each") {
        assert_eq!(part["httpStatusCode"], 400);
        assert_eq!(part["repeatabilityResult"], "rejected");
    }
    assert_eq!(bench.buzzes().await, 3);
}

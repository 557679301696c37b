//! `/openapi.json`, for every profile.

mod lab;

use std::collections::BTreeSet;

use lab::{ask, get};
use serde_json::Value;
use stub_provider::{Config, Profile, Provider};

async fn document(profile: &str) -> Value {
    let config = Config {
        profile: Profile::builtin(profile).expect("a built-in profile"),
        ..Config::default()
    };
    let provider = Provider::start(config).await.expect("a provider");
    let answer = ask(provider.addr(), &get("/openapi.json")).await;
    assert_eq!(answer.status, 200);
    answer.json()
}

/// Every reference in the document.
fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(to)) = members.get("$ref") {
                found.insert(to.clone());
            }
            members
                .values()
                .for_each(|member| references(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[tokio::test]
async fn every_profile_is_described_with_the_answers_of_its_rules() {
    for name in Profile::names() {
        let profile = Profile::builtin(name).expect("a name of the list");
        let document = document(name).await;
        assert_eq!(document["openapi"], "3.1.0");
        let submit = &document["paths"][profile.submit_path()]["post"];
        let answers = submit["responses"].as_object().expect("answers");
        assert!(
            answers.keys().any(|status| status.starts_with('2')),
            "{name}"
        );
        for status in ["405", "413", "429", "503"] {
            assert!(answers.contains_key(status), "{name}: {status}");
        }
        assert!(submit["requestBody"]["content"].is_object(), "{name}");
        let mut found = BTreeSet::new();
        references(&document, &mut found);
        assert!(found.len() > 5, "{name}: {found:?}");
        for reference in found {
            let pointer = reference.strip_prefix('#').expect("a local reference");
            assert!(document.pointer(pointer).is_some(), "{name}: {reference}");
        }
    }
}

#[tokio::test]
async fn every_route_of_the_admin_api_is_described_with_its_methods() {
    let provider = lab::provider().await;
    let welcome = ask(provider.addr(), &get("/")).await.body;
    let welcome = String::from_utf8(welcome).expect("text");
    let document = document("v1").await;
    let mut routes = 0;
    for line in welcome.lines().map(str::trim) {
        let Some((methods, path)) = line.split_once(" /") else {
            continue;
        };
        let path = format!("/{path}");
        if path.starts_with("/v1/")
            || !methods
                .split(", ")
                .all(|m| ["GET", "POST", "DELETE"].contains(&m))
        {
            continue;
        }
        routes += 1;
        for method in methods.split(", ") {
            let operation = &document["paths"][&path][method.to_lowercase()];
            assert!(operation["responses"].is_object(), "{method} {path}");
        }
    }
    assert!(routes >= 12, "{routes}: {welcome}");
}

//! What a request says under each kind of profile, and that it is read back as it was meant.

use proptest::prelude::*;

use super::*;

const DRAFT: Draft<'_> = Draft {
    to: "+12025550142",
    text: "Your code is 471142",
    from: "+12025550100",
    key: Some("otp-1"),
    customer: "acme",
};

#[test]
fn a_message_becomes_the_request_of_v1() {
    let v1 = Profile::v1();
    let composed = v1.compose(&DRAFT);
    assert_eq!(
        (composed.method, composed.target.as_str()),
        ("POST", "/v1/messages")
    );
    let body: Value = serde_json::from_slice(&composed.body).expect("JSON");
    assert_eq!(body["to"], DRAFT.to);
    assert_eq!(body["body"], DRAFT.text);
    let header = |name: &str| {
        let found = composed.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    };
    assert_eq!(header("idempotency-key"), Some("otp-1"));
    assert_eq!(header("authorization"), Some("Bearer acme"));
    assert_eq!(header("content-type"), Some("application/json"));

    let target = |question| {
        let composed = v1.compose_lookup(question, "acme");
        composed.expect("v1 can be asked").target
    };
    assert_eq!(target(Question::ById("msg_1")), "/v1/messages/msg_1");
    assert_eq!(
        target(Question::ByKey("a key&more")),
        "/v1/messages?idempotency_key=a+key%26more"
    );
}

#[test]
fn the_id_is_found_in_an_answer_and_in_a_list() {
    let v1 = Profile::v1();
    assert_eq!(
        v1.message_id(br#"{"id":"msg_1","to":"x"}"#).as_deref(),
        Some("msg_1")
    );
    assert_eq!(v1.message_id(b"{"), None);
    let list = br#"{"messages":[{"id":"msg_1"},{"id":"msg_2"}]}"#;
    assert_eq!(
        v1.listed_ids(Question::ByKey("k"), list),
        Some(vec!["msg_1".into(), "msg_2".into()])
    );
    assert_eq!(v1.listed_ids(Question::ByKey("k"), b"{}"), None);
}

#[test]
fn every_built_in_profile_reads_what_it_composes() {
    for name in Profile::names() {
        let profile = Profile::builtin(name).expect("a built-in profile");
        let key = profile.sample_key(7);
        let composed = profile.compose(&Draft {
            key: Some(&key),
            ..DRAFT
        });
        let read = profile.read_back(&composed);
        let to = read.to.map(|to| profile.number(to.into()));
        assert_eq!(to.as_deref(), Some(DRAFT.to));
        assert_eq!(read.text.as_deref(), Some(DRAFT.text), "{name}");
        if profile.has_key() {
            let read = read.key.map(|written| profile.key.read(written.into()));
            assert_eq!(read, Some(Ok(Some(key.into()))), "{name}");
        }
        for (why, written) in profile.malformed_keys() {
            assert!(profile.key.read(written.into()).is_err(), "{name}: {why}");
        }
    }
}

proptest! {
    #[test]
    fn whatever_is_said_is_read_back(text in "\\PC{1,40}", key in "[ -~]{1,30}") {
        for name in ["v1", "ietf", "stripe", "onesignal"] {
            let Some(profile) = Profile::builtin(name) else { continue };
            let composed = profile.compose(&Draft { text: &text, key: Some(&key), ..DRAFT });
            let words = profile.read_back(&composed).text;
            prop_assert_eq!(words.as_deref(), Some(text.as_str()), "{}", name);
        }
    }

    #[test]
    fn sample_keys_differ(a: u64, b: u64) {
        for name in Profile::names() {
            let profile = Profile::builtin(name).expect("a built-in profile");
            prop_assert_eq!(profile.sample_key(a) == profile.sample_key(b), a == b);
        }
    }

    #[test]
    fn no_answer_makes_the_readers_fail(body: Vec<u8>) {
        let v1 = Profile::v1();
        let _ = v1.message_id(&body);
        let _ = v1.message_status(200, &body);
        let _ = v1.listed_ids(Question::ByKey("k"), &body);
    }
}

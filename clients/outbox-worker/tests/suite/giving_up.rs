//! Giving up: which rule stops a message, and what is claimed of it then.

use std::time::{Duration, Instant};

use crate::lab::{Lab, drain};
use crate::provider::{Act, Provider, accepting, submitting};

on_both_databases!(
    a_permanent_refusal_is_not_retried,
    a_refusal_after_an_ambiguous_attempt_is_not_called_dead,
    exhausted_after_ambiguity_is_unknown,
    exhausted_without_ambiguity_is_dead,
    a_lookup_settles_an_exhausted_message,
    an_unknown_message_is_asked_about_again_by_the_next_run,
    a_retry_after_beyond_all_patience_ends_the_message,
    an_expired_message_is_never_sent,
    nothing_is_sent_after_the_expiry,
    a_key_is_not_used_after_its_retention,
    a_changed_row_is_not_sent,
);

fn a_permanent_refusal_is_not_retried(lab: &Lab) {
    for (index, status) in [400, 401, 403, 404, 422].into_iter().enumerate() {
        let provider = submitting(move |_| Act::status(status));
        let intent = format!("login-{index}");
        lab.enqueue(&intent, &[]);
        drain(lab, &provider);
        assert_eq!(lab.status(&intent), ("dead".to_owned(), 1), "{status}");
        assert_eq!(provider.submissions().len(), 1);
    }
    let rules: Vec<_> = lab
        .lines("dead")
        .iter()
        .map(|letter| letter["rule"].clone())
        .collect();
    assert_eq!(rules, ["refused"; 5]);
}

fn a_refusal_after_an_ambiguous_attempt_is_not_called_dead(lab: &Lab) {
    let provider = submitting(|number| match number {
        1 => Act::WriteAndClose(Vec::new()),
        _ => Act::status(422),
    });
    lab.enqueue("login-1", &[]);
    drain(lab, &provider);
    assert_eq!(lab.status("login-1"), ("unknown".to_owned(), 2));
}

fn exhausted_after_ambiguity_is_unknown(lab: &Lab) {
    let provider = submitting(|_| Act::WriteAndClose(Vec::new()));
    lab.enqueue("login-1", &[]);
    drain(lab, &provider);
    assert_eq!(lab.status("login-1"), ("unknown".to_owned(), 5));
    assert_eq!(provider.submissions().len(), 5);
    let lookups = provider.lookups();
    let key = &lab.query("select id from sms_outbox")[0];
    assert!(!lookups.is_empty());
    assert!(
        lookups
            .iter()
            .all(|lookup| lookup.target == format!("/v1/messages?idempotency_key={key}"))
    );
    assert_eq!(lab.lines("dead")[0]["rule"], "attempts");
}

fn exhausted_without_ambiguity_is_dead(lab: &Lab) {
    let provider = submitting(|_| Act::status(503));
    lab.enqueue("login-1", &[]);
    drain(lab, &provider);
    assert_eq!(lab.status("login-1"), ("dead".to_owned(), 5));
    assert_eq!(provider.lookups().len(), 1);
}

fn a_lookup_settles_an_exhausted_message(lab: &Lab) {
    let provider = Provider::start(|number, request| match (request.method.as_str(), number) {
        ("POST", _) => Act::WriteAndClose(Vec::new()),
        (_, 1) => Act::respond(200, "", r#"{"messages":[{"status":"in_progress"}]}"#),
        _ => Act::respond(200, "", r#"{"id":"msg_7","status":"delivered"}"#),
    });
    lab.enqueue("login-1", &["--customer", "acme"]);
    drain(lab, &provider);
    assert_eq!(lab.status("login-1"), ("sent".to_owned(), 5));
    assert_eq!(lab.query("select provider_id from sms_outbox"), ["msg_7"]);
    assert_eq!(provider.lookups().len(), 2);
    assert_eq!(
        provider.lookups()[0].headers["authorization"],
        "Bearer acme"
    );
}

fn an_unknown_message_is_asked_about_again_by_the_next_run(lab: &Lab) {
    let silent = submitting(|_| Act::WriteAndClose(Vec::new()));
    lab.enqueue("login-1", &[]);
    drain(lab, &silent);
    assert_eq!(lab.status("login-1"), ("unknown".to_owned(), 5));
    let provider = Provider::start(|_, _| Act::respond(200, "", r#"{"id":"msg_7"}"#));
    drain(lab, &provider);
    assert_eq!(lab.status("login-1"), ("sent".to_owned(), 5));
    assert_eq!(provider.submissions().len(), 0);
}

fn a_retry_after_beyond_all_patience_ends_the_message(lab: &Lab) {
    let provider = submitting(|_| Act::respond(429, "retry-after: 86400\r\n", ""));
    lab.enqueue("login-1", &[]);
    drain(lab, &provider);
    assert_eq!(lab.status("login-1"), ("dead".to_owned(), 1));
    assert_eq!(lab.lines("dead")[0]["rule"], "retry-after");
}

fn an_expired_message_is_never_sent(lab: &Lab) {
    let provider = accepting();
    lab.enqueue("login-1", &["--expires-at", "2026-01-01T00:00:00.5Z"]);
    lab.enqueue("login-2", &["--expires-at", ""]);
    drain(lab, &provider);
    assert_eq!(lab.status("login-1"), ("dead".to_owned(), 0));
    assert_eq!(lab.status("login-2"), ("sent".to_owned(), 1));
    assert_eq!(lab.lines("dead")[0]["rule"], "expired");
}

fn nothing_is_sent_after_the_expiry(lab: &Lab) {
    let provider = submitting(|_| Act::status(503));
    let expiry = jiff::Timestamp::now() + jiff::SignedDuration::from_millis(900);
    let deadline = Instant::now() + Duration::from_millis(900);
    lab.enqueue("login-1", &["--expires-at", &expiry.to_string()]);
    lab.drain(&[
        ("SMS_API_BASE", &provider.url()),
        ("OUTBOX_MAX_ATTEMPTS", "1000000"),
    ]);
    assert_eq!(lab.lines("dead")[0]["rule"], "expired");
    assert!(provider.submissions().iter().all(|sent| sent.at < deadline));
}

fn a_key_is_not_used_after_its_retention(lab: &Lab) {
    let provider = submitting(|_| Act::respond(503, "retry-after: 3\r\n", ""));
    lab.enqueue("login-1", &[]);
    lab.drain(&[
        ("SMS_API_BASE", &provider.url()),
        ("SMS_KEY_RETENTION", "2s"),
    ]);
    assert_eq!(lab.status("login-1"), ("dead".to_owned(), 1));
    assert_eq!(lab.lines("dead")[0]["rule"], "retention");
}

fn a_changed_row_is_not_sent(lab: &Lab) {
    let provider = accepting();
    lab.enqueue("login-1", &[]);
    lab.query("update sms_outbox set body = 'Your code is 0000' returning id");
    drain(lab, &provider);
    assert_eq!(lab.status("login-1"), ("dead".to_owned(), 0));
    assert_eq!(lab.lines("dead")[0]["rule"], "fingerprint");
    assert_eq!(provider.submissions().len(), 0);
}

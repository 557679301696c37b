//! Sending: one key and one payload, whatever comes back.

use std::time::Duration;

use crate::lab::{IMPATIENT, Lab, drain, drain_impatiently, text};
use crate::provider::{
    Act, accepting, assert_one_key_and_one_payload, broken_success, nobody, submitting,
};

on_both_databases!(
    a_message_is_sent_once_and_its_attempt_recorded,
    a_lost_answer_is_retried_with_the_same_key_and_bytes,
    a_crash_between_send_and_settle_sends_the_same_bytes_again,
    a_broken_success_is_retried_under_the_same_key,
    retry_after_is_not_undercut,
    a_redirect_keeps_key_and_bytes_and_counts_as_an_attempt,
    a_redirect_to_another_origin_is_refused,
    the_second_provider_is_asked_when_the_first_cannot_be_reached,
    the_second_provider_is_never_asked_after_an_ambiguous_first,
);

fn a_message_is_sent_once_and_its_attempt_recorded(lab: &Lab) {
    let provider = accepting();
    lab.enqueue("login-1", &["--customer", "acme"]);
    assert_eq!(lab.status("login-1"), ("pending".to_owned(), 0));
    let log = drain(lab, &provider);
    assert_eq!(lab.status("login-1"), ("sent".to_owned(), 1));
    assert_eq!(lab.attempt_states(), ["ACCEPTED"]);
    let sent = provider.submissions();
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].target, "/v1/messages");
    assert_eq!(sent[0].headers["authorization"], "Bearer acme");
    assert_eq!(
        text(&sent[0].body),
        r#"{"to":"+12025550142","body":"Your code is 4711"}"#
    );
    assert_eq!(lab.query("select id from sms_outbox"), [sent[0].key()]);
    assert_eq!(lab.query("select id from login_challenge"), [sent[0].key()]);
    for secret in [sent[0].key(), "+12025550142", "4711"] {
        assert!(!log.contains(secret), "{secret} is in the log:\n{log}");
    }
}

fn a_lost_answer_is_retried_with_the_same_key_and_bytes(lab: &Lab) {
    let provider = submitting(|number| match number {
        1 => Act::Hang,
        2 => Act::WriteAndClose(Vec::new()),
        3 => Act::status(503),
        _ => Act::accept(),
    });
    lab.enqueue("login-1", &[]);
    drain_impatiently(lab, &provider);
    assert_eq!(lab.status("login-1"), ("sent".to_owned(), 4));
    assert_eq!(
        lab.attempt_states(),
        [
            "SUBMISSION_UNKNOWN",
            "SUBMISSION_UNKNOWN",
            "RETRYABLE",
            "ACCEPTED"
        ]
    );
    assert_eq!(provider.submissions().len(), 4);
    assert_one_key_and_one_payload(&provider.submissions());
}

fn a_crash_between_send_and_settle_sends_the_same_bytes_again(lab: &Lab) {
    let provider = submitting(|number| match number {
        1 => Act::Hang,
        _ => Act::accept(),
    });
    lab.enqueue("login-1", &[]);
    let url = provider.url();
    let mut env = vec![("SMS_API_BASE", url.as_str())];
    env.extend(IMPATIENT);
    let worker = lab.start_worker(&env);
    provider.next();
    worker.kill();
    assert_eq!(lab.status("login-1"), ("in_progress".to_owned(), 1));
    assert_eq!(lab.attempt_states(), ["STARTED"]);
    drain_impatiently(lab, &provider);
    assert_eq!(lab.status("login-1"), ("sent".to_owned(), 2));
    assert_eq!(lab.attempt_states(), ["SUBMISSION_UNKNOWN", "ACCEPTED"]);
    assert_eq!(provider.submissions().len(), 2);
    assert_one_key_and_one_payload(&provider.submissions());
}

fn a_broken_success_is_retried_under_the_same_key(lab: &Lab) {
    let provider = submitting(|number| match number {
        1 => broken_success(),
        2 => Act::respond(201, "", "{\"id\":"),
        3 => Act::WriteAndClose(b"HTTP/1.1 201 Crea".to_vec()),
        _ => Act::accept(),
    });
    lab.enqueue("login-1", &[]);
    drain(lab, &provider);
    assert_eq!(lab.status("login-1"), ("sent".to_owned(), 4));
    assert_one_key_and_one_payload(&provider.submissions());
}

fn retry_after_is_not_undercut(lab: &Lab) {
    let provider = submitting(|number| match number {
        1 => Act::respond(429, "retry-after: 1\r\n", ""),
        2 => Act::respond(503, "retry-after: -3\r\n", ""),
        _ => Act::accept(),
    });
    lab.enqueue("login-1", &[]);
    drain(lab, &provider);
    let at: Vec<_> = provider.submissions().iter().map(|sent| sent.at).collect();
    assert_eq!(lab.status("login-1"), ("sent".to_owned(), 3));
    assert!(
        at[1] - at[0] >= Duration::from_secs(1),
        "{:?}",
        at[1] - at[0]
    );
}

fn a_redirect_keeps_key_and_bytes_and_counts_as_an_attempt(lab: &Lab) {
    let provider = submitting(|number| match number {
        1 => Act::respond(307, "location: /eu/messages\r\n", ""),
        2 => Act::respond(308, "location: /eu/west/messages\r\n", ""),
        _ => Act::accept(),
    });
    lab.enqueue("login-1", &[]);
    drain(lab, &provider);
    assert_eq!(lab.status("login-1"), ("sent".to_owned(), 3));
    assert_eq!(
        lab.attempt_states(),
        ["REDIRECTED", "REDIRECTED", "ACCEPTED"]
    );
    let sent = provider.submissions();
    let targets: Vec<_> = sent.iter().map(|request| request.target.as_str()).collect();
    assert_eq!(
        targets,
        ["/v1/messages", "/eu/messages", "/eu/west/messages"]
    );
    assert_one_key_and_one_payload(&sent);
}

fn a_redirect_to_another_origin_is_refused(lab: &Lab) {
    let elsewhere = accepting();
    let location = format!("location: {}/v1/messages\r\n", elsewhere.url());
    let provider = submitting(move |_| Act::respond(307, &location, ""));
    lab.enqueue("login-1", &[]);
    drain(lab, &provider);
    assert_eq!(lab.status("login-1"), ("dead".to_owned(), 1));
    assert_eq!(elsewhere.submissions().len(), 0);
}

fn the_second_provider_is_asked_when_the_first_cannot_be_reached(lab: &Lab) {
    let second = accepting();
    lab.enqueue("login-1", &[]);
    lab.drain(&[
        ("SMS_API_BASE", &nobody()),
        ("SMS_API_BASE_2", &second.url()),
    ]);
    assert_eq!(lab.status("login-1"), ("sent".to_owned(), 2));
    assert_eq!(lab.attempt_states(), ["RETRYABLE", "ACCEPTED"]);
    assert_eq!(second.submissions().len(), 1);
}

fn the_second_provider_is_never_asked_after_an_ambiguous_first(lab: &Lab) {
    let first = submitting(|_| Act::WriteAndClose(Vec::new()));
    let second = accepting();
    lab.enqueue("login-1", &[]);
    let env = |base: &str| {
        vec![
            ("SMS_API_BASE", base.to_owned()),
            ("SMS_API_BASE_2", second.url()),
        ]
    };
    let output = lab
        .command(&["work", "--pass"])
        .envs(env(&first.url()))
        .output()
        .expect("the program starts");
    assert!(output.status.success());
    // Now the first is gone altogether, but it may have the message.
    let gone = nobody();
    lab.drain(&[("SMS_API_BASE", &gone), ("SMS_API_BASE_2", &second.url())]);
    assert_eq!(lab.status("login-1"), ("unknown".to_owned(), 5));
    assert_eq!(second.submissions().len(), 0);
}

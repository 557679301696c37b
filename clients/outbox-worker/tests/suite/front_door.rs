//! The front door: the same intent twice, at once, with other content, and what a locked
//! outbox answers.

use std::collections::HashSet;

use crate::lab::{IMPATIENT, Lab, drain, text};
use crate::provider::{Act, Request, accepting, submitting};

on_both_databases!(
    the_same_intent_again_is_one_message,
    the_same_intent_at_once_is_one_message,
    the_same_intent_with_other_content_is_a_conflict,
    two_customers_may_use_one_intent,
    a_key_that_the_caller_insists_on_is_sent_as_it_is,
    a_key_names_one_intent_of_a_customer,
    a_newer_challenge_cancels_the_waiting_older_one,
    a_newer_challenge_stops_the_retries_of_the_older_one,
    a_challenge_superseded_in_flight_is_not_sent_again,
    any_number_of_processes_may_migrate_at_once,
);

fn the_same_intent_again_is_one_message(lab: &Lab) {
    let provider = accepting();
    lab.enqueue("login-1", &[]);
    lab.enqueue("login-1", &[]);
    drain(lab, &provider);
    lab.enqueue("login-1", &[]);
    drain(lab, &provider);
    assert_eq!(provider.submissions().len(), 1);
    assert_eq!(lab.query("select id from login_challenge").len(), 1);
}

fn the_same_intent_at_once_is_one_message(lab: &Lab) {
    let args = ["enqueue", "login-1", "+12025550142", "Your code is 4711"];
    let running: Vec<_> = (0..8)
        .map(|_| lab.command(&args).spawn().expect("the program starts"))
        .collect();
    for mut child in running {
        assert!(child.wait().expect("it is ours").success());
    }
    assert_eq!(lab.query("select id from sms_outbox").len(), 1);
    assert_eq!(lab.query("select id from login_challenge").len(), 1);
}

fn the_same_intent_with_other_content_is_a_conflict(lab: &Lab) {
    lab.enqueue("login-1", &[]);
    for other in [
        ["enqueue", "login-1", "+12025550142", "Your code is 4712"],
        ["enqueue", "login-1", "+12025550143", "Your code is 4711"],
    ] {
        let output = lab.run(&other);
        assert_eq!(output.status.code(), Some(65));
        assert!(text(&output.stderr).contains("other content"));
    }
    assert_eq!(
        lab.query("select body from sms_outbox"),
        ["Your code is 4711"]
    );
}

fn two_customers_may_use_one_intent(lab: &Lab) {
    let provider = accepting();
    lab.enqueue("login-1", &["--customer", "acme"]);
    lab.enqueue("login-1", &["--customer", "zenith"]);
    drain(lab, &provider);
    let keys: HashSet<_> = provider
        .submissions()
        .iter()
        .map(|request| request.key().to_owned())
        .collect();
    assert_eq!(keys.len(), 2);
}

fn a_key_that_the_caller_insists_on_is_sent_as_it_is(lab: &Lab) {
    let provider = accepting();
    let keys = ["otp-A".to_owned(), "otp-a".to_owned(), "k".repeat(255)];
    for (number, key) in keys.iter().enumerate() {
        lab.enqueue(&format!("login-{number}"), &["--key", key]);
    }
    drain(lab, &provider);
    let sent = provider.submissions();
    let sent: HashSet<_> = sent.iter().map(Request::key).collect();
    assert_eq!(sent, keys.iter().map(String::as_str).collect());
    let unsendable = lab.run(&["enqueue", "login-9", "+12025550142", "x", "--key", "ключ"]);
    assert_eq!(unsendable.status.code(), Some(2));
}

fn a_key_names_one_intent_of_a_customer(lab: &Lab) {
    lab.enqueue("login-1", &["--key", "otp"]);
    lab.enqueue("login-1", &["--key", "otp"]);
    lab.enqueue("login-1", &["--key", "otp", "--customer", "acme"]);
    for (intent, key) in [("login-2", "otp"), ("login-1", "otp-2")] {
        let args = [
            "enqueue",
            intent,
            "+12025550142",
            "Your code is 4711",
            "--key",
            key,
        ];
        assert_eq!(lab.run(&args).status.code(), Some(65), "{intent} {key}");
    }
    assert_eq!(lab.query("select id from sms_outbox").len(), 2);
}

fn a_newer_challenge_cancels_the_waiting_older_one(lab: &Lab) {
    let provider = accepting();
    lab.enqueue("login-1", &["--login", "ada"]);
    lab.enqueue("login-2", &["--login", "grace"]);
    lab.enqueue("login-3", &["--login", "ada", "--customer", "other"]);
    lab.enqueue("login-4", &["--login", "ada"]);
    drain(lab, &provider);
    assert_eq!(lab.status("login-1"), ("cancelled".to_owned(), 0));
    for sent in ["login-2", "login-3", "login-4"] {
        assert_eq!(lab.status(sent), ("sent".to_owned(), 1), "{sent}");
    }
}

fn a_newer_challenge_stops_the_retries_of_the_older_one(lab: &Lab) {
    let provider = submitting(|number| match number {
        1 => Act::WriteAndClose(Vec::new()),
        _ => Act::accept(),
    });
    lab.enqueue("login-1", &["--login", "ada"]);
    let output = lab
        .command(&["work", "--pass"])
        .env("SMS_API_BASE", provider.url())
        .output()
        .expect("the program starts");
    assert!(output.status.success());
    lab.enqueue("login-2", &["--login", "ada"]);
    drain(lab, &provider);
    assert_eq!(lab.status("login-1"), ("unknown".to_owned(), 1));
    assert_eq!(lab.status("login-2"), ("sent".to_owned(), 1));
}

fn a_challenge_superseded_in_flight_is_not_sent_again(lab: &Lab) {
    let provider = submitting(|number| match number {
        1 => Act::Hang,
        _ => Act::accept(),
    });
    let url = provider.url();
    lab.enqueue("login-1", &["--login", "ada"]);
    let mut env = vec![("SMS_API_BASE", url.as_str())];
    env.extend(IMPATIENT);
    let worker = lab.start_worker(&env);
    provider.next();
    lab.enqueue("login-2", &["--login", "ada"]);
    assert!(worker.terminate());
    drain(lab, &provider);
    assert_eq!(lab.status("login-1"), ("unknown".to_owned(), 1));
    assert_eq!(lab.status("login-2"), ("sent".to_owned(), 1));
}

fn any_number_of_processes_may_migrate_at_once(lab: &Lab) {
    let running: Vec<_> = (0..8)
        .map(|_| {
            lab.command(&["migrate"])
                .spawn()
                .expect("the program starts")
        })
        .collect();
    for mut child in running {
        assert!(child.wait().expect("it is ours").success());
    }
    lab.enqueue("login-1", &[]);
}

#[test]
fn a_locked_outbox_refuses_a_message_with_a_temporary_failure() {
    use sqlx::{Connection, SqliteConnection};

    let lab = Lab::sqlite();
    assert!(lab.run(&["migrate"]).status.success());
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let mut lock = runtime.block_on(async {
        let mut open = SqliteConnection::connect(lab.url())
            .await
            .expect("it opens");
        sqlx::query("begin immediate")
            .execute(&mut open)
            .await
            .expect("nobody else writes");
        open
    });
    let output = lab
        .command(&["enqueue", "login-1", "+12025550142", "Your code is 4711"])
        .env("OUTBOX_BUSY_TIMEOUT", "100ms")
        .output()
        .expect("the program starts");
    assert_eq!(output.status.code(), Some(75), "{}", text(&output.stderr));
    runtime.block_on(async {
        sqlx::query("rollback")
            .execute(&mut lock)
            .await
            .expect("it was open");
    });
    assert!(lab.query("select id from sms_outbox").is_empty());
}

//! The worker as a process: several at once, a pass, a stop, a locked outbox, a wrong
//! environment.

use std::{
    collections::HashSet,
    io::{BufRead as _, BufReader},
    process::Stdio,
    sync::mpsc,
};

use crate::lab::{IMPATIENT, Lab, Running, text};
use crate::provider::{Act, PATIENCE, Request, accepting, submitting};

on_both_databases!(
    many_workers_never_send_one_message_twice,
    one_hanging_request_does_not_stall_the_others,
    a_pass_does_what_is_due_and_leaves_the_retry,
    a_terminated_worker_ends_its_attempt_and_settles_it,
);

fn many_workers_never_send_one_message_twice(lab: &Lab) {
    const MESSAGES: usize = 40;
    let provider = accepting();
    for number in 0..MESSAGES {
        lab.enqueue(&format!("login-{number}"), &[]);
    }
    let url = provider.url();
    let workers: Vec<_> = (0..3)
        .map(|_| {
            lab.command(&["work", "--once"])
                .env("SMS_API_BASE", &url)
                .env("OUTBOX_BATCH", "3")
                .spawn()
                .expect("the program starts")
        })
        .collect();
    for mut worker in workers {
        assert!(worker.wait().expect("it is ours").success());
    }
    let sent = provider.submissions();
    let keys: HashSet<_> = sent.iter().map(Request::key).collect();
    assert_eq!((sent.len(), keys.len()), (MESSAGES, MESSAGES));
    assert_eq!(lab.attempt_states(), vec!["ACCEPTED"; MESSAGES]);
}

fn one_hanging_request_does_not_stall_the_others(lab: &Lab) {
    let provider = submitting(|number| match number {
        1 => Act::Hang,
        _ => Act::accept(),
    });
    for number in 0..5 {
        lab.enqueue(&format!("login-{number}"), &[]);
    }
    // Longer than the test is patient: were the others behind it, they would not arrive.
    let worker = lab.start_worker(&[
        ("SMS_API_BASE", &provider.url()),
        ("OUTBOX_READ_TIMEOUT", "100s"),
        ("OUTBOX_LEASE", "1000s"),
    ]);
    let keys: HashSet<_> = (0..5).map(|_| provider.next().key().to_owned()).collect();
    assert_eq!(keys.len(), 5);
    worker.kill();
}

fn a_pass_does_what_is_due_and_leaves_the_retry(lab: &Lab) {
    let provider = submitting(|number| match number {
        1 => Act::Hang,
        _ => Act::accept(),
    });
    lab.enqueue("login-1", &[]);
    let pass = || {
        lab.command(&["work", "--pass"])
            .env("SMS_API_BASE", provider.url())
            .env("OUTBOX_BACKOFF_BASE", "1ms")
            .envs(IMPATIENT)
            .status()
            .expect("the program starts")
    };
    assert!(pass().success());
    assert_eq!(lab.status("login-1"), ("pending".to_owned(), 1));
    assert!(pass().success());
    assert_eq!(lab.status("login-1"), ("sent".to_owned(), 2));
}

fn a_terminated_worker_ends_its_attempt_and_settles_it(lab: &Lab) {
    let provider = submitting(|_| Act::Hang);
    lab.enqueue("login-1", &[]);
    let worker = lab.start_worker(&[
        ("SMS_API_BASE", &provider.url()),
        ("OUTBOX_BACKOFF_BASE", "100s"),
        ("OUTBOX_BACKOFF_CAP", "100s"),
        ("OUTBOX_READ_TIMEOUT", "1s"),
    ]);
    provider.next();
    assert!(worker.terminate());
    assert_eq!(lab.status("login-1"), ("pending".to_owned(), 1));
    assert_eq!(lab.attempt_states(), ["SUBMISSION_UNKNOWN"]);
}

#[test]
fn a_worker_waits_out_a_locked_outbox() {
    use sqlx::{Connection, SqliteConnection};

    let lab = Lab::sqlite();
    let provider = accepting();
    lab.enqueue("login-1", &[]);
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
    let mut worker = lab
        .command(&["work", "--once"])
        .env("SMS_API_BASE", provider.url())
        .env("OUTBOX_BUSY_TIMEOUT", "10ms")
        .stderr(Stdio::piped())
        .spawn()
        .map(Running)
        .expect("the program starts");
    let log = BufReader::new(worker.0.stderr.take().expect("it is piped"));
    let (say, lines) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        for line in log.lines() {
            // Read to the end, whoever still listens.
            let _ = say.send(line.expect("it is text"));
        }
    });
    // It has met the lock when it says so.
    while !lines
        .recv_timeout(PATIENCE)
        .expect("the worker says that it has met the lock")
        .contains("cannot be used")
    {}
    runtime.block_on(async {
        sqlx::query("rollback")
            .execute(&mut lock)
            .await
            .expect("it was open");
    });
    assert!(worker.0.wait().expect("it is ours").success());
    reader.join().expect("it has read to the end");
    assert_eq!(lab.status("login-1"), ("sent".to_owned(), 1));
}

#[test]
fn a_lease_that_a_slow_request_outlives_is_refused_at_the_start() {
    let lab = Lab::sqlite();
    let output = lab
        .command(&["work"])
        .env("SMS_API_BASE", "http://127.0.0.1:9")
        .env("OUTBOX_LEASE", "400ms")
        .output()
        .expect("the program starts");
    assert_eq!(output.status.code(), Some(78));
    assert!(text(&output.stderr).contains("OUTBOX_LEASE"));
}

#[test]
fn a_choice_of_logs_that_is_not_understood_is_said_and_stops_nothing() {
    let lab = Lab::sqlite();
    let output = lab
        .command(&["migrate"])
        .env("RUST_LOG", "worker=loud")
        .output()
        .expect("the program starts");
    assert!(output.status.success());
    assert!(text(&output.stderr).contains("RUST_LOG is not understood"));
}

#[test]
fn what_is_missing_or_wrong_in_the_environment_is_named() {
    let lab = Lab::sqlite();
    for (name, value) in [
        ("SMS_API_BASE", ""),
        ("SMS_API_BASE", "ftp://127.0.0.1"),
        ("OUTBOX_POLL", "soon"),
        ("PORT", "99999"),
        ("OUTBOX_BATCH", "0"),
    ] {
        let output = lab
            .command(&["work", "--once"])
            .env("SMS_API_BASE", "http://127.0.0.1:9")
            .env(name, value)
            .output()
            .expect("the program starts");
        assert_eq!(output.status.code(), Some(78), "{name}={value}");
        assert!(text(&output.stderr).contains(name), "{name}={value}");
    }
    let output = lab
        .command(&["migrate"])
        .env("DATABASE_URL", "mysql://127.0.0.1/outbox")
        .output()
        .expect("the program starts");
    assert_eq!(output.status.code(), Some(78));
}

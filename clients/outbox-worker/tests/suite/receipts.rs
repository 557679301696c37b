//! Receipts against a running worker: signed, stored before they are acknowledged,
//! applied once, and able to settle what no answer did.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use hmac::{Hmac, Mac};
use outbox_worker::message::hex;
use sha2::Sha256;

use crate::lab::{Lab, Running};
use crate::provider::{Act, PATIENCE, Provider};

on_both_databases!(
    a_receipt_settles_an_unknown_message,
    a_repeated_receipt_is_acknowledged_and_stored_once,
    a_late_receipt_does_not_take_the_delivery_back,
    a_receipt_with_a_bad_signature_has_no_effect,
    a_receipt_that_no_message_bears_is_kept,
    an_expired_message_was_accepted_and_stays_expired,
    a_message_from_a_phone_is_acknowledged_and_changes_nothing,
    a_receipt_that_cannot_be_read_is_refused,
    a_receipt_before_the_response_ends_the_retries,
    another_worker_takes_the_port_over,
    the_metrics_count_what_waits_for_a_person,
);

const SECRET: &str = "whsec_test";

/// The worker's own server.
struct Endpoint {
    port: u16,
}

impl Endpoint {
    /// A port that was free a moment ago.
    fn reserve() -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        Self {
            port: listener.local_addr().expect("it is bound").port(),
        }
    }

    fn port(&self) -> String {
        self.port.to_string()
    }

    /// One exchange; `None` while nobody listens.
    fn exchange(&self, head: &str, body: &str) -> Option<(u16, String)> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        let length = body.len();
        let request = format!(
            "{head}\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let status = answer.split(' ').nth(1)?.parse().ok()?;
        let text = answer.split_once("\r\n\r\n")?.1.to_owned();
        Some((status, text))
    }

    fn get(&self, path: &str) -> Option<(u16, String)> {
        self.exchange(&format!("GET {path} HTTP/1.1"), "")
    }

    /// Waits until the worker says that it is there.
    fn ready(&self) {
        let deadline = Instant::now() + PATIENCE;
        while self.get("/health").is_none() {
            assert!(Instant::now() < deadline, "the worker never listened");
            std::thread::yield_now();
        }
    }

    fn send(&self, secret: &str, body: &str) -> u16 {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("any length");
        mac.update(format!("1700000000.{body}").as_bytes());
        let signature = hex(&mac.finalize().into_bytes());
        let head = format!("POST /receipts HTTP/1.1\r\nx-signature: t=1700000000,v1={signature}");
        self.exchange(&head, body).expect("the worker answers").0
    }
}

fn receipt(event: &str, key: &str, status: &str) -> String {
    format!(
        r#"{{"event_id":"{event}","message_id":"msg_1","idempotency_key":"{key}","to":"+12025550142","status":"{status}","timestamp":"2026-03-01T12:00:00Z"}}"#
    )
}

fn delivery(lab: &Lab) -> String {
    lab.query("select delivery from sms_outbox").remove(0)
}

/// Makes the lab's one message `unknown`, and a worker that waits for receipts.
fn an_unknown_message(lab: &Lab) -> (Endpoint, Running, String) {
    lab.enqueue("login-1", &[]);
    let provider = Provider::start(|_, request| match request.method.as_str() {
        "POST" => Act::WriteAndClose(Vec::new()),
        _ => Act::status(404),
    });
    lab.drain(&[("SMS_API_BASE", &provider.url())]);
    assert_eq!(lab.status("login-1").0, "unknown");
    let key = lab.query("select id from sms_outbox").remove(0);
    let endpoint = Endpoint::reserve();
    // Retention is over, so that the worker leaves the message to the receipt.
    let worker = lab.start_worker(&[
        ("SMS_API_BASE", "http://127.0.0.1:9"),
        ("SMS_KEY_RETENTION", "0s"),
        ("PORT", &endpoint.port()),
    ]);
    endpoint.ready();
    (endpoint, worker, key)
}

fn a_receipt_settles_an_unknown_message(lab: &Lab) {
    let (endpoint, _worker, key) = an_unknown_message(lab);
    assert_eq!(
        endpoint.send(SECRET, &receipt("evt_1", &key, "queued")),
        200
    );
    assert_eq!(lab.status("login-1"), ("sent".to_owned(), 5));
    assert_eq!(lab.query("select provider_id from sms_outbox"), ["msg_1"]);
    assert_eq!(delivery(lab), "queued");
}

fn a_repeated_receipt_is_acknowledged_and_stored_once(lab: &Lab) {
    let (endpoint, _worker, key) = an_unknown_message(lab);
    let body = receipt("evt_1", &key, "sent");
    for _ in 0..3 {
        assert_eq!(endpoint.send(SECRET, &body), 200);
    }
    assert_eq!(lab.query("select event_id from sms_receipt"), ["evt_1"]);
}

fn a_late_receipt_does_not_take_the_delivery_back(lab: &Lab) {
    let (endpoint, _worker, key) = an_unknown_message(lab);
    for (event, status, then) in [
        ("evt_3", "delivered", "delivered"),
        ("evt_1", "queued", "delivered"),
        ("evt_2", "sent", "delivered"),
        ("evt_4", "undelivered", "delivered"),
    ] {
        assert_eq!(endpoint.send(SECRET, &receipt(event, &key, status)), 200);
        assert_eq!(delivery(lab), then, "after {status}");
    }
    assert_eq!(lab.status("login-1"), ("sent".to_owned(), 5));
}

fn a_receipt_with_a_bad_signature_has_no_effect(lab: &Lab) {
    let (endpoint, _worker, key) = an_unknown_message(lab);
    let body = receipt("evt_1", &key, "delivered");
    assert_eq!(endpoint.send("another secret", &body), 401);
    let unsigned = endpoint.exchange("POST /receipts HTTP/1.1", &body);
    assert_eq!(unsigned.expect("the worker answers").0, 401);
    assert_eq!(lab.status("login-1").0, "unknown");
    assert!(lab.query("select event_id from sms_receipt").is_empty());
}

fn a_receipt_that_no_message_bears_is_kept(lab: &Lab) {
    let (endpoint, _worker, _) = an_unknown_message(lab);
    assert_eq!(
        endpoint.send(SECRET, &receipt("evt_1", "other", "sent")),
        200
    );
    assert_eq!(lab.query("select event_id from sms_receipt"), ["evt_1"]);
    assert_eq!(lab.status("login-1").0, "unknown");
}

fn an_expired_message_was_accepted_and_stays_expired(lab: &Lab) {
    let (endpoint, _worker, key) = an_unknown_message(lab);
    for (event, status) in [("evt_3", "expired"), ("evt_2", "sent")] {
        assert_eq!(endpoint.send(SECRET, &receipt(event, &key, status)), 200);
        assert_eq!(delivery(lab), "expired", "after {status}");
    }
    assert_eq!(lab.status("login-1"), ("sent".to_owned(), 5));
}

fn a_message_from_a_phone_is_acknowledged_and_changes_nothing(lab: &Lab) {
    let (endpoint, _worker, _) = an_unknown_message(lab);
    let body = r#"{"type":"inbound","event_id":"evt_in_1","from":"+12025550142","body":"STOP"}"#;
    assert_eq!(endpoint.send("another secret", body), 401);
    assert_eq!(endpoint.send(SECRET, body), 200);
    assert!(lab.query("select event_id from sms_receipt").is_empty());
    assert_eq!(lab.status("login-1").0, "unknown");
}

fn a_receipt_that_cannot_be_read_is_refused(lab: &Lab) {
    let (endpoint, _worker, _) = an_unknown_message(lab);
    assert_eq!(endpoint.send(SECRET, r#"{"event_id":"evt_1"}"#), 400);
}

fn a_receipt_before_the_response_ends_the_retries(lab: &Lab) {
    lab.enqueue("login-1", &[]);
    let provider = Provider::start(|_, _| Act::Hang);
    let endpoint = Endpoint::reserve();
    let worker = lab.start_worker(&[
        ("SMS_API_BASE", &provider.url()),
        ("OUTBOX_READ_TIMEOUT", "1s"),
        ("PORT", &endpoint.port()),
    ]);
    let key = provider.next().key().to_owned();
    assert_eq!(endpoint.send(SECRET, &receipt("evt_1", &key, "sent")), 200);
    assert_eq!(lab.status("login-1"), ("sent".to_owned(), 1));
    // It lets the attempt time out before it ends, and must not schedule another.
    assert!(worker.terminate());
    assert_eq!(lab.status("login-1"), ("sent".to_owned(), 1));
    assert_eq!(lab.attempt_states(), ["SUBMISSION_UNKNOWN"]);
    assert_eq!(provider.submissions().len(), 1);
}

fn another_worker_takes_the_port_over(lab: &Lab) {
    let (endpoint, first, key) = an_unknown_message(lab);
    let _second = lab.start_worker(&[
        ("SMS_API_BASE", "http://127.0.0.1:9"),
        ("SMS_KEY_RETENTION", "0s"),
        ("PORT", &endpoint.port()),
    ]);
    first.kill();
    endpoint.ready();
    let status = endpoint.send(SECRET, &receipt("evt_1", &key, "sent"));
    assert_eq!(status, 200);
    assert_eq!(lab.status("login-1").0, "sent");
}

fn the_metrics_count_what_waits_for_a_person(lab: &Lab) {
    let (endpoint, _worker, _) = an_unknown_message(lab);
    let (status, page) = endpoint.get("/metrics").expect("the worker answers");
    assert_eq!(status, 200);
    for line in [
        "sms_outbox_dead_letters 1",
        "sms_outbox_messages{status=\"unknown\"} 1",
        "sms_outbox_messages{status=\"sent\"} 0",
        "sms_attempts{state=\"SUBMISSION_UNKNOWN\"} 5",
    ] {
        assert!(page.lines().any(|found| found == line), "{line}\n{page}");
    }
}

#[test]
fn a_receipt_is_not_acknowledged_while_it_cannot_be_stored() {
    use sqlx::{Connection, SqliteConnection};

    let lab = Lab::sqlite();
    lab.enqueue("login-1", &["--expires-at", "2026-01-01T00:00:00Z"]);
    lab.drain(&[("SMS_API_BASE", "http://127.0.0.1:9")]);
    let key = lab.query("select id from sms_outbox").remove(0);
    let endpoint = Endpoint::reserve();
    let _worker = lab.start_worker(&[
        ("SMS_API_BASE", "http://127.0.0.1:9"),
        ("OUTBOX_BUSY_TIMEOUT", "10ms"),
        ("PORT", &endpoint.port()),
    ]);
    endpoint.ready();
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
    let body = receipt("evt_1", &key, "sent");
    assert_eq!(endpoint.send(SECRET, &body), 503);
    runtime.block_on(async {
        sqlx::query("rollback")
            .execute(&mut lock)
            .await
            .expect("it was open");
    });
    assert_eq!(endpoint.send(SECRET, &body), 200);
}

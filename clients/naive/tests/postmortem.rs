//! What the postmortem says of this client must stay true, or it is no use as a warning.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};

use assert_cmd::Command;

/// One request as the provider sees it: its head, in lower case, and its body.
type Request = (String, String);

/// A provider that answers with these bytes, or not at all (empty), in this order; after
/// the last it goes on with it.
fn provider(answers: &'static [&'static str]) -> (String, Receiver<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("it is bound"));
    let (sender, requests) = channel();
    std::thread::spawn(move || {
        let last = answers.last().expect("at least one answer");
        let mut answers = answers.iter();
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream);
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap_or(0) > 0 {}
            let head = head.to_lowercase();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "))
                .map_or(0, |value| value.parse().expect("a number"));
            let mut body = vec![0; length];
            reader.read_exact(&mut body).expect("the body arrives");
            let body = String::from_utf8(body).expect("it is text");
            if sender.send((head, body)).is_err() {
                return;
            }
            let answer = answers.next().unwrap_or(last);
            let mut stream = reader.into_inner();
            if answer.is_empty() {
                // Keep the connection until the client is tired of it.
                let _ = stream.read(&mut [0]);
            } else {
                let _ = stream.write_all(answer.as_bytes());
            }
        }
    });
    (url, requests)
}

const ACCEPTED: &str =
    "HTTP/1.1 201 Created\r\nconnection: close\r\ncontent-length: 14\r\n\r\n{\"id\":\"msg_1\"}";
const REFUSED: &str =
    "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}";

fn naive(url: &str, timeout: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_naive"));
    command
        .args(["+12025550142", "Your code is 4711"])
        .env("SMS_API_BASE", url)
        .env("READ_TIMEOUT_MS", timeout);
    command
}

#[test]
fn on_a_good_day_it_sends_one_message() {
    let (url, requests) = provider(&[ACCEPTED]);
    naive(&url, "20000").assert().success();
    let (head, body) = requests.try_recv().expect("one request");
    assert!(head.starts_with("post /v1/messages "));
    assert_eq!(body, r#"{"to":"+12025550142","body":"Your code is 4711"}"#);
    assert!(requests.try_recv().is_err(), "and no second one");
}

#[test]
fn a_lost_answer_makes_it_ask_for_a_second_message_without_a_key() {
    let (url, requests) = provider(&["", ACCEPTED]);
    naive(&url, "1000").assert().success();
    let asked: Vec<_> = requests.try_iter().collect();
    assert!(asked.len() >= 2, "{asked:?}");
    assert!(asked.iter().all(|(head, _)| !head.contains("idempotency")));
}

#[test]
fn three_tries_in_vain_are_called_a_failure() {
    let (url, requests) = provider(&[REFUSED]);
    naive(&url, "20000").assert().code(1);
    assert_eq!(requests.try_iter().count(), 3);
}

#[test]
fn it_says_how_it_is_called() {
    Command::new(env!("CARGO_BIN_EXE_naive")).assert().code(2);
}

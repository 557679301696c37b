//! Where receipts go: an endpoint of a client that takes and answers them.

use serde_json::Value;
use stub_provider::signature::sign;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    sync::mpsc,
    time::timeout,
};

use super::LONG;

pub(crate) const SECRET: &str = "a secret";

pub(crate) struct Receipt {
    pub(crate) signature: String,
    pub(crate) body: String,
    pub(crate) said: Value,
}

impl Receipt {
    pub(crate) fn status(&self) -> &str {
        self.said["status"].as_str().expect("a status")
    }

    pub(crate) fn is_genuine(&self) -> bool {
        let unix = self.signature[2..].split(',').next().expect("a time");
        let unix = unix.parse().expect("seconds");
        self.signature == sign(SECRET, unix, self.body.as_bytes())
    }
}

/// An endpoint that answers with `statuses` in turn, then 200.
pub(crate) async fn endpoint(statuses: &[u16]) -> (String, mpsc::UnboundedReceiver<Receipt>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/receipts", listener.local_addr().expect("bound"));
    let (sender, receiver) = mpsc::unbounded_channel();
    let mut statuses: Vec<u16> = statuses.iter().rev().copied().collect();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let mut bytes = Vec::new();
            let (head, body) = loop {
                let text = String::from_utf8(bytes.clone()).expect("text");
                if let Some((head, body)) = text.split_once("\r\n\r\n")
                    && let Some(length) = head
                        .lines()
                        .find_map(|l| l.strip_prefix("content-length: "))
                    && body.len() == length.parse::<usize>().expect("a length")
                {
                    break (head.to_owned(), body.to_owned());
                }
                if stream.read_buf(&mut bytes).await.expect("readable") == 0 {
                    return;
                }
            };
            let status = statuses.pop().unwrap_or(200);
            let answer =
                format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            stream.write_all(answer.as_bytes()).await.expect("writable");
            let signature = head.lines().find_map(|l| l.strip_prefix("x-signature: "));
            let receipt = Receipt {
                signature: signature.expect("a signature").to_owned(),
                said: serde_json::from_str(&body).expect("JSON"),
                body,
            };
            if sender.send(receipt).is_err() {
                return;
            }
        }
    });
    (url, receiver)
}

pub(crate) async fn take(
    receipts: &mut mpsc::UnboundedReceiver<Receipt>,
    n: usize,
) -> Vec<Receipt> {
    let mut taken = Vec::new();
    for _ in 0..n {
        let next = timeout(LONG, receipts.recv()).await.expect("in time");
        taken.push(next.expect("an endpoint that runs"));
    }
    taken
}

pub(crate) fn statuses(receipts: &[Receipt]) -> Vec<&str> {
    receipts.iter().map(Receipt::status).collect()
}

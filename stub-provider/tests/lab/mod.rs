//! A client on a bare socket, and a provider to use it on.

#![expect(
    dead_code,
    reason = "each test file uses the part of the laboratory that it needs"
)]

pub(crate) mod endpoint;
pub(crate) mod process;

use std::{collections::BTreeMap, io, net::SocketAddr, time::Duration};

use serde_json::{Value, json};
use stub_provider::{
    Config, Provider,
    attempts::Attempts,
    event::{End, Event, EventKind},
    fault::{FaultRule, ProviderFault, RequestKind, Wrong},
    profile::Composed,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::mpsc::UnboundedReceiver,
    time::timeout,
};

pub(crate) const TO: &str = "+12025550142";
pub(crate) const OTHER: &str = "+12025550143";
/// Far above what anything here takes on a loaded machine.
pub(crate) const LONG: Duration = Duration::from_secs(20);

pub(crate) async fn provider() -> Provider {
    Provider::start(Config::default())
        .await
        .expect("a provider on a free port")
}

pub(crate) fn message(to: &str, body: &str) -> String {
    json!({ "to": to, "body": body }).to_string()
}

/// A POST of one message under `key`.
pub(crate) fn post(key: Option<&str>, body: &str) -> String {
    post_as(None, key, body)
}

pub(crate) fn post_as(customer: Option<&str>, key: Option<&str>, body: &str) -> String {
    let key = key.map(|key| format!("Idempotency-Key: {key}\r\n"));
    let customer = customer.map(|customer| format!("Authorization: Bearer {customer}\r\n"));
    format!(
        "POST /v1/messages HTTP/1.1\r\nHost: stub\r\n{}{}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        key.unwrap_or_default(),
        customer.unwrap_or_default(),
        body.len()
    )
}

pub(crate) fn get(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: stub\r\n\r\n")
}

/// A composed request as it goes over the wire.
pub(crate) fn wire(composed: &Composed) -> String {
    let mut text = format!(
        "{} {} HTTP/1.1\r\nHost: stub\r\nContent-Length: {}\r\n",
        composed.method,
        composed.target,
        composed.body.len()
    );
    for (name, value) in &composed.headers {
        text.extend([name, ": ", value, "\r\n"]);
    }
    text.push_str("\r\n");
    text.push_str(std::str::from_utf8(&composed.body).expect("a body of text"));
    text
}

pub(crate) fn with_body(method: &str, target: &str, body: &Value) -> String {
    let body = body.to_string();
    format!(
        "{method} {target} HTTP/1.1\r\nHost: stub\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a JSON body")
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// Without what may differ between a first answer and its replay.
    pub(crate) fn lasting(mut self) -> Self {
        self.headers.remove("date");
        self.headers.remove("idempotent-replayed");
        self
    }
}

/// What a bare socket gets to see.
#[derive(Debug, PartialEq)]
pub(crate) enum Seen {
    /// Bytes, then an orderly end.
    Eof(Vec<u8>),
    /// Bytes, then a reset.
    Reset(Vec<u8>),
}

pub(crate) struct Client(TcpStream);

impl Client {
    pub(crate) async fn connect(addr: SocketAddr) -> Self {
        Self(TcpStream::connect(addr).await.expect("a connection"))
    }

    pub(crate) async fn send(&mut self, request: &str) {
        self.0
            .write_all(request.as_bytes())
            .await
            .expect("the request leaves");
    }

    /// One answer; the connection stays open.
    pub(crate) async fn answer(&mut self) -> Answer {
        timeout(LONG, self.read_answer())
            .await
            .expect("an answer in time")
    }

    async fn read_answer(&mut self) -> Answer {
        read_answer(&mut self.0).await.expect("a whole answer")
    }

    pub(crate) async fn ask(&mut self, request: &str) -> Answer {
        self.send(request).await;
        self.answer().await
    }

    /// Reads on until `words` have come: everything so far.
    pub(crate) async fn read_until(&mut self, words: &str) -> String {
        let mut bytes = Vec::new();
        loop {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            if text.contains(words) {
                return text;
            }
            let read = timeout(LONG, self.0.read_buf(&mut bytes));
            let n = read
                .await
                .expect("the words in time")
                .expect("a readable socket");
            assert_ne!(n, 0, "the words come before the end: {text}");
        }
    }

    /// Everything to the end of the connection.
    pub(crate) async fn rest(&mut self) -> Seen {
        let mut bytes = Vec::new();
        loop {
            let read = timeout(LONG, self.0.read_buf(&mut bytes));
            match read.await.expect("the end in time") {
                Ok(0) => return Seen::Eof(bytes),
                Ok(_) => {}
                Err(e) if e.kind() == std::io::ErrorKind::ConnectionReset => {
                    return Seen::Reset(bytes);
                }
                Err(e) => panic!("neither an end nor a reset: {e}"),
            }
        }
    }

    /// Sends a FIN and goes on reading.
    pub(crate) async fn finish(&mut self) {
        self.0.shutdown().await.expect("an open connection");
    }

    /// Ends the connection with an RST.
    pub(crate) fn reset(self) {
        socket2::SockRef::from(&self.0)
            .set_linger(Some(Duration::ZERO))
            .expect("an open socket");
    }
}

async fn read_answer(stream: &mut TcpStream) -> io::Result<Answer> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    };
    let head = String::from_utf8(bytes[..head_end].to_vec()).expect("a readable head");
    let mut lines = head.lines();
    let status = lines
        .next()
        .and_then(|line| line.split(' ').nth(1)?.parse().ok())
        .expect("a status");
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length: usize = headers
        .get("content-length")
        .map_or(0, |length| length.parse().expect("a length"));
    while bytes.len() < head_end + length {
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    let body = bytes[head_end..].to_vec();
    Ok(Answer {
        status,
        headers,
        body,
    })
}

/// One request to a provider that may be gone before it has answered.
pub(crate) async fn try_ask(stream: &mut TcpStream, request: &str) -> io::Result<Answer> {
    stream.write_all(request.as_bytes()).await?;
    timeout(LONG, read_answer(stream))
        .await
        .expect("an answer or an end in time")
}

/// One request on a connection of its own.
pub(crate) async fn ask(addr: SocketAddr, request: &str) -> Answer {
    Client::connect(addr).await.ask(request).await
}

/// A fault on attempt `k` of each intent or key.
pub(crate) fn rule(id: u32, k: u32, fault: ProviderFault) -> FaultRule {
    FaultRule {
        id,
        attempts: Attempts::only(k),
        intent: None,
        key: None,
        to: None,
        request: RequestKind::Submit,
        wrong: Wrong::Provider(fault),
    }
}

/// A fault as a scenario writes it.
pub(crate) fn fault(written: &Value) -> ProviderFault {
    serde_json::from_value(written.clone()).expect("a fault")
}

pub(crate) async fn delivered(provider: &Provider) -> Value {
    ask(provider.addr(), &get("/admin/delivered")).await.json()
}

/// How many deliveries there are in all.
pub(crate) async fn buzzes(provider: &Provider) -> usize {
    delivered(provider)
        .await
        .as_object()
        .expect("an object")
        .values()
        .map(|list| list.as_array().expect("a list").len())
        .sum()
}

/// The events of a provider, read one after the other.
pub(crate) struct Watch {
    events: UnboundedReceiver<Event>,
    pub(crate) seen: Vec<Event>,
}

impl Watch {
    pub(crate) fn new(provider: &Provider) -> Self {
        Self {
            events: provider.subscribe(),
            seen: Vec::new(),
        }
    }

    /// Reads on until an event for which `pick` has an answer.
    pub(crate) async fn until<T>(&mut self, mut pick: impl FnMut(&EventKind) -> Option<T>) -> T {
        loop {
            let event = timeout(LONG, self.events.recv())
                .await
                .expect("the event in time")
                .expect("a provider that still runs");
            let picked = pick(&event.kind);
            self.seen.push(event);
            if let Some(picked) = picked {
                return picked;
            }
        }
    }

    /// Reads on until such an event was seen, now or before.
    pub(crate) async fn until_seen(&mut self, is: impl Fn(&EventKind) -> bool) {
        if !self.seen.iter().any(|event| is(&event.kind)) {
            self.until(|kind| is(kind).then_some(())).await;
        }
    }

    pub(crate) async fn end_of(&mut self, wanted: u64) -> End {
        self.until(|kind| match kind {
            EventKind::Ended { attempt, end } if *attempt == wanted => Some(*end),
            _ => None,
        })
        .await
    }

    pub(crate) async fn held(&mut self) -> u64 {
        self.until(|kind| match kind {
            EventKind::Held { attempt, .. } => Some(*attempt),
            _ => None,
        })
        .await
    }

    /// The names of the events of one attempt so far, in order.
    pub(crate) fn story(&self, of: u64) -> Vec<&'static str> {
        self.seen
            .iter()
            .filter_map(|event| match &event.kind {
                EventKind::Arrived { attempt, .. } if *attempt == of => Some("arrived"),
                EventKind::Held { attempt, .. } if *attempt == of => Some("held"),
                EventKind::FaultFired { attempt, .. } if *attempt == of => Some("fault"),
                EventKind::Delivered { attempt, .. } if *attempt == of => Some("delivered"),
                EventKind::Replayed { attempt, .. } if *attempt == of => Some("replayed"),
                EventKind::Answering { attempt, .. } if *attempt == of => Some("answering"),
                EventKind::Ended { attempt, .. } if *attempt == of => Some("ended"),
                _ => None,
            })
            .collect()
    }
}

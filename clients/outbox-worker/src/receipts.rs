//! The worker's own HTTP server: receipts in, health and metrics out.
//!
//! A receipt is acknowledged only when it is stored; until then the provider repeats it.
//! Its signature is checked over the bytes as they came. An old receipt sent again by
//! somebody who recorded it changes nothing, since its event id is known.

use std::convert::Infallible;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hmac::{Hmac, Mac};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use sha2::Sha256;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use crate::clock;
use crate::store::{Applied, Receipt, Store};

/// The largest receipt that is read.
const MAX_RECEIPT: usize = 64 * 1024;

/// How long a client may take over its request head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);

/// How long it may take over its body.
const BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// How often a worker that stands by looks whether the port has become free.
const STAND_BY: Duration = Duration::from_millis(250);

/// Serves on this port until told to stop. Of several workers on one host the first has
/// the port; the others stand by, and one of them takes over when it is gone.
///
/// # Errors
/// When the port cannot be had for another reason than that it is in use.
pub async fn start(
    port: u16,
    store: Store,
    secret: String,
    stop: CancellationToken,
) -> std::io::Result<()> {
    let address = ("127.0.0.1", port);
    match TcpListener::bind(address).await {
        Ok(listener) => {
            tokio::spawn(serve(listener, store, secret, stop));
        }
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            warn!(port, "the port is in use; standing by");
            tokio::spawn(async move {
                let listener = loop {
                    tokio::select! {
                        () = tokio::time::sleep(STAND_BY) => {}
                        () = stop.cancelled() => return,
                    }
                    if let Ok(listener) = TcpListener::bind(address).await {
                        break listener;
                    }
                };
                info!(port, "taking over the port");
                serve(listener, store, secret, stop).await;
            });
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

async fn serve(listener: TcpListener, store: Store, secret: String, stop: CancellationToken) {
    let app = Arc::new(App { store, secret });
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Out of file descriptors, most likely; some will be freed.
                    warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
            () = stop.cancelled() => return,
        };
        let app = Arc::clone(&app);
        tokio::spawn(async move {
            let service = service_fn(move |request| Arc::clone(&app).answer(request));
            let served = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIMEOUT)
                .serve_connection(TokioIo::new(stream), service)
                .await;
            if let Err(error) = served {
                debug!(%error, "a connection ended early");
            }
        });
    }
}

#[derive(Debug)]
struct App {
    store: Store,
    secret: String,
}

/// What a webhook is about; absent in a receipt of old.
#[derive(serde::Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    kind: String,
}

impl App {
    async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> Result<Response<Full<Bytes>>, Infallible> {
        let (status, text) = match (request.method(), request.uri().path()) {
            (&Method::POST, "/receipts") => self.receipt(request).await,
            (&Method::GET, "/health") => (StatusCode::OK, "ok\n".to_owned()),
            (&Method::GET, "/metrics") => self.metrics().await,
            _ => (StatusCode::NOT_FOUND, "not found\n".to_owned()),
        };
        let mut response = Response::new(Full::new(Bytes::from(text)));
        *response.status_mut() = status;
        response.headers_mut().insert(
            CONTENT_TYPE,
            hyper::header::HeaderValue::from_static("text/plain; charset=utf-8"),
        );
        Ok(response)
    }

    async fn receipt(&self, request: Request<Incoming>) -> (StatusCode, String) {
        let reply = |status: StatusCode, text: &str| (status, format!("{text}\n"));
        let signature = request
            .headers()
            .get("x-signature")
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned);
        let collected = Limited::new(request.into_body(), MAX_RECEIPT).collect();
        let Ok(Ok(body)) = tokio::time::timeout(BODY_TIMEOUT, collected).await else {
            return reply(StatusCode::BAD_REQUEST, "the body did not arrive whole");
        };
        let body = body.to_bytes();
        if !signature.is_some_and(|header| is_signed(&self.secret, &header, &body)) {
            warn!("a receipt with a bad signature was refused");
            return reply(StatusCode::UNAUTHORIZED, "bad signature");
        }
        // The same endpoint hears of messages from phones. Nobody here waits for one, and what is
        // not acknowledged comes again for ever.
        if let Ok(Kind { kind }) = serde_json::from_slice(&body)
            && kind == "inbound"
        {
            return reply(StatusCode::OK, "not a receipt: nothing to do");
        }
        let receipt: Receipt = match serde_json::from_slice(&body) {
            Ok(receipt) => receipt,
            Err(error) => return (StatusCode::BAD_REQUEST, format!("{error}\n")),
        };
        match self.store.receive(&receipt, clock::now()).await {
            Ok(applied) => {
                let status = receipt.status.as_str();
                match applied {
                    Applied::Duplicate => info!(status, "receipt repeated: nothing to do"),
                    Applied::Unmatched => info!(status, "receipt stored; no message bears its key"),
                    Applied::Matched { settled: true } => {
                        info!(status, "receipt settles an open message: sent");
                    }
                    Applied::Matched { settled: false } => info!(status, "receipt stored"),
                }
                reply(StatusCode::OK, "stored")
            }
            Err(error) => {
                warn!(%error, "a receipt could not be stored, so it is not acknowledged");
                reply(StatusCode::SERVICE_UNAVAILABLE, "not stored; send it again")
            }
        }
    }

    async fn metrics(&self) -> (StatusCode, String) {
        let counts = match self.store.counts().await {
            Ok(counts) => counts,
            Err(error) => return (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")),
        };
        let mut page = String::new();
        let now = clock::now();
        let of = |status: &str| {
            let found = counts.messages.iter().find(|(name, _)| name == status);
            found.map_or(0, |(_, count)| *count)
        };
        let dead = of("dead") + of("unknown");
        let overdue = counts
            .oldest_due
            .map_or(Duration::ZERO, |due| clock::until(now, due));
        let mut line = |text: std::fmt::Arguments<'_>| {
            page.push_str(&text.to_string());
        };
        line(format_args!(
            "# HELP sms_outbox_dead_letters Messages set aside for a person. Alert when above zero.\n\
             # TYPE sms_outbox_dead_letters gauge\nsms_outbox_dead_letters {dead}\n"
        ));
        line(format_args!(
            "# HELP sms_outbox_overdue_seconds How late the oldest pending message is.\n\
             # TYPE sms_outbox_overdue_seconds gauge\nsms_outbox_overdue_seconds {:.3}\n",
            overdue.as_secs_f64()
        ));
        line(format_args!(
            "# HELP sms_outbox_messages Messages by status.\n# TYPE sms_outbox_messages gauge\n"
        ));
        for status in [
            "pending",
            "in_progress",
            "sent",
            "dead",
            "unknown",
            "cancelled",
        ] {
            line(format_args!(
                "sms_outbox_messages{{status=\"{status}\"}} {}\n",
                of(status)
            ));
        }
        line(format_args!(
            "# HELP sms_attempts Attempts by how they ended.\n# TYPE sms_attempts gauge\n"
        ));
        for (state, count) in &counts.attempts {
            line(format_args!("sms_attempts{{state=\"{state}\"}} {count}\n"));
        }
        (StatusCode::OK, page)
    }
}

/// Checks `t=…,v1=hex(hmac-sha256(secret, t + "." + body))`, in constant time. Several
/// `v1` may stand there while a secret is being replaced.
#[must_use]
pub fn is_signed(secret: &str, header: &str, body: &[u8]) -> bool {
    let mut time = None;
    let mut signatures = Vec::new();
    for part in header.split(',') {
        match part.trim().split_once('=') {
            Some(("t", value)) => time = Some(value),
            Some(("v1", value)) => signatures.extend(unhex(value)),
            _ => {}
        }
    }
    let Some(time) = time else {
        return false;
    };
    signatures.iter().any(|signature| {
        // HMAC takes a secret of any length, so this never fails.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else {
            return false;
        };
        mac.update(time.as_bytes());
        mac.update(b".");
        mac.update(body);
        mac.verify_slice(signature).is_ok()
    })
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() || !text.len().is_multiple_of(2) {
        return None;
    }
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::hex;

    fn sign(secret: &str, time: &str, body: &[u8]) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("any length");
        mac.update(format!("{time}.").as_bytes());
        mac.update(body);
        format!("t={time},v1={}", hex(&mac.finalize().into_bytes()))
    }

    #[test]
    fn the_signature_of_the_known_answer_is_taken() {
        // RFC 4231 has no such form; this value was made with openssl:
        // printf '1700000000.{}' | openssl dgst -sha256 -hmac whsec_test
        let header = KNOWN;
        assert!(is_signed("whsec_test", header, b"{}"));
    }

    const KNOWN: &str =
        "t=1700000000,v1=35495024f4ef3f94e5a93e22221544c4b75e9a42300cd965ab81cb85cd994e91";

    #[test]
    fn any_change_to_secret_time_or_body_breaks_the_signature() {
        let good = sign("s", "1", b"body");
        assert!(is_signed("s", &good, b"body"));
        assert!(!is_signed("t", &good, b"body"));
        assert!(!is_signed("s", &good, b"bodY"));
        assert!(!is_signed("s", &good.replace("t=1", "t=2"), b"body"));
    }

    #[test]
    fn half_a_signature_is_none() {
        for header in [
            "",
            "t=1",
            "v1=00",
            "t=1,v1=",
            "t=1,v1=0",
            "t=1,v1=zz",
            "t=1,v1=é",
        ] {
            assert!(!is_signed("s", header, b"body"), "{header}");
        }
    }
}

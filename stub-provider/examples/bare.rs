//! The floor of the benchmark: a bare hyper server that reads each request, answers the bytes
//! that the provider would, and remembers nothing. `/bulk` has a mebibyte, `/close` closes.
//!
//! `cargo run --release -p stub-provider --example bare -- 127.0.0.1:9091`

use std::{convert::Infallible, net::SocketAddr};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{
    Request, Response, StatusCode, body::Incoming, header, server::conn::http1, service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// What `/bulk` answers: a mebibyte, for the throughput of what stands before this server.
static BULK: [u8; 1 << 20] = [b'x'; 1 << 20];
const BODY: &[u8] = br#"{"id":"msg_0123456789abcdef","to":"+12025550142","status":"queued"}"#;

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let (parts, body) = request.into_parts();
    body.collect().await?;
    let answer = match parts.uri.path() {
        "/bulk" => &BULK,
        _ => BODY,
    };
    let mut response = Response::new(Full::new(Bytes::from_static(answer)));
    if parts.uri.path() == "/close" {
        response.headers_mut().insert(
            header::CONNECTION,
            header::HeaderValue::from_static("close"),
        );
    }
    *response.status_mut() = StatusCode::CREATED;
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        header::HeaderValue::from_static("application/json"),
    );
    Ok(response)
}

#[tokio::main]
async fn main() -> Result<Infallible, Box<dyn std::error::Error>> {
    let addr = std::env::args().nth(1);
    let addr: SocketAddr = addr.as_deref().unwrap_or("127.0.0.1:9091").parse()?;
    let listener = TcpListener::bind(addr).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(async move {
            let served = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service_fn(answer))
                .await;
            if let Err(error) = served {
                eprintln!("a connection ended: {error}");
            }
        });
    }
}

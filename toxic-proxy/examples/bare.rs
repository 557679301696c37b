//! A bare HTTP server for measuring: it answers every request with the same
//! few bytes and remembers nothing.
//!
//! `bare HOST:PORT`

use std::convert::Infallible;
use std::error::Error;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

const ANSWER: &[u8] =
    br#"{"id":"msg_01jdxvfjwgf3xb0nryrmvm1c5t","to":"+12025550142","status":"queued"}"#;

async fn answer(_: Request<hyper::body::Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new(Full::new(Bytes::from_static(ANSWER))))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).ok_or("usage: bare HOST:PORT")?;
    let listener = TcpListener::bind(&address).await?;
    println!("listening");
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        tokio::spawn(async move {
            // A client that hangs up early is no news to a load generator.
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(socket), service_fn(answer))
                .await;
        });
    }
}

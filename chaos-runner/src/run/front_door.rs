//! Handing an intent to a client that is an HTTP server.
//!
//! Owns the one request that the `http` submit form describes. What its answer means is the
//! client file's to say.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Request, header::CONTENT_TYPE};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use tokio::{io::AsyncWriteExt as _, net::TcpStream};

use crate::client_file::{HttpSubmit, Values};

/// How long a caller waits for the client's answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Sends the request and returns the status; `None`: nobody knows. A caller that abandons hangs
/// up once the request is written.
pub async fn knock(http: &HttpSubmit, values: &Values, abandoned: bool) -> Option<u16> {
    let url = http.url.render(values);
    let body = http
        .json
        .as_ref()
        .map(|json| json.render(values).to_string())
        .unwrap_or_default();
    if abandoned {
        if let Err(error) = write_and_leave(http, values, &url, &body).await {
            tracing::debug!(%error, "the client's server was not there to be abandoned");
        }
        return None;
    }
    let mut request = Request::builder().method(http.method.clone()).uri(&url);
    if http.json.is_some() {
        request = request.header(CONTENT_TYPE, "application/json");
    }
    for (name, value) in &http.headers {
        request = request.header(name, value.render(values));
    }
    let request = match request.body(Full::new(Bytes::from(body))) {
        Ok(request) => request,
        Err(error) => {
            tracing::warn!(%error, url, "[submit] http does not make a request");
            return None;
        }
    };
    let client = Client::builder(TokioExecutor::new()).build_http();
    match tokio::time::timeout(PATIENCE, client.request(request)).await {
        Ok(Ok(response)) => Some(response.status().as_u16()),
        Ok(Err(error)) => {
            tracing::debug!(%error, "the client's server did not answer");
            None
        }
        Err(_) => None,
    }
}

async fn write_and_leave(
    http: &HttpSubmit,
    values: &Values,
    url: &str,
    body: &str,
) -> std::io::Result<()> {
    let uri: hyper::Uri = url.parse().map_err(std::io::Error::other)?;
    let (host, port) = (
        uri.host().unwrap_or("127.0.0.1"),
        uri.port_u16().unwrap_or(80),
    );
    let mut stream = TcpStream::connect((host, port)).await?;
    let mut request = format!(
        "{} {} HTTP/1.1\r\nhost: {host}:{port}\r\ncontent-length: {}\r\n",
        http.method,
        uri.path_and_query().map_or("/", |path| path.as_str()),
        body.len()
    );
    if http.json.is_some() {
        request.push_str("content-type: application/json\r\n");
    }
    for (name, value) in &http.headers {
        request.extend([name, ": ", &value.render(values), "\r\n"]);
    }
    request.extend(["\r\n", body]);
    stream.write_all(request.as_bytes()).await?;
    stream.flush().await
}

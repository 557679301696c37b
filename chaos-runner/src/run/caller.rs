//! A small caller of the Toxiproxy HTTP API, for what `toxiproxy_rust` cannot say.
//!
//! Owns the requests for `reset_peer`, `noop`, a toxicity, names of one's own, and toxics bound to one
//! connection (an extension of the embedded engine). Everything else goes through the crate.

use std::{net::SocketAddr, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{Method, Request, header::CONTENT_TYPE};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde_json::Value;

use super::error::Error;

/// A caller of one server. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Caller {
    api: SocketAddr,
    http: Client<HttpConnector, Full<Bytes>>,
}

/// No answer of a server on loopback takes longer.
const PATIENCE: Duration = Duration::from_secs(10);

impl Caller {
    /// A caller of the server at `api`.
    pub fn new(api: SocketAddr) -> Self {
        Self {
            api,
            http: Client::builder(TokioExecutor::new()).build_http(),
        }
    }

    /// Sends `body` (or nothing) and returns the JSON of a 2xx answer.
    ///
    /// # Errors
    ///
    /// When there is no answer, it is not a 2xx, or not JSON.
    pub async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, Error> {
        let doing = format!("{method} {path}");
        let failed = |why: String| Error::Toxiproxy {
            doing: doing.clone(),
            why,
        };
        let payload = body.map(Value::to_string).unwrap_or_default();
        let request = Request::builder()
            .method(method.clone())
            .uri(format!("http://{}{path}", self.api))
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(payload)))
            .map_err(|error| failed(error.to_string()))?;
        let exchange = async {
            let response = self
                .http
                .request(request)
                .await
                .map_err(|e| failed(e.to_string()))?;
            let status = response.status();
            let bytes = response
                .into_body()
                .collect()
                .await
                .map_err(|e| failed(e.to_string()))?
                .to_bytes();
            Ok((status, bytes))
        };
        let (status, bytes) = tokio::time::timeout(PATIENCE, exchange)
            .await
            .map_err(|_| failed(format!("no answer within {PATIENCE:?}")))??;
        if !status.is_success() {
            return Err(failed(format!(
                "answered {status}: {}",
                String::from_utf8_lossy(&bytes).trim()
            )));
        }
        if bytes.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&bytes).map_err(|error| failed(format!("answered no JSON: {error}")))
    }
}

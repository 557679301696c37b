//! Waiting until a worker is ready.
//!
//! Owns the three signs of it: a 2xx of its own server, a port that takes connections, a line in
//! its output. None of them tells by itself when it comes, so each is looked for again and again.

use std::{path::Path, time::Duration};

use bytes::Bytes;
use http_body_util::Empty;
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use stub_provider::duration::Span;
use tokio::net::TcpStream;

use crate::client_file::{Ready, Values};

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// Waits for the sign. `output` is the worker's output file, without the suffix.
///
/// # Errors
///
/// Why it is taken not to be ready, as a clause that follows "worker 1".
pub async fn wait(
    ready: &Ready,
    values: &Values,
    output: &Path,
    within: Duration,
) -> Result<(), String> {
    let looking = async {
        loop {
            if look(ready, values, output).await {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
    };
    tokio::time::timeout(within, looking).await.map_err(|_| {
        let sign = match ready {
            Ready::Http(url) => format!("{} to answer with a 2xx", url.render(values)),
            Ready::Port(port) => format!("port {} to take connections", port.render(values)),
            Ready::Log(words) => format!("a line with `{words}`"),
        };
        format!("was not ready within {}: waited for {sign}", Span(within))
    })
}

async fn look(ready: &Ready, values: &Values, output: &Path) -> bool {
    match ready {
        Ready::Http(url) => {
            let Ok(uri) = url.render(values).parse() else {
                return false;
            };
            let client: Client<_, Empty<Bytes>> =
                Client::builder(TokioExecutor::new()).build_http();
            client
                .get(uri)
                .await
                .is_ok_and(|response| response.status().is_success())
        }
        Ready::Port(port) => match port.render(values).parse::<u16>() {
            Ok(port) => TcpStream::connect(("127.0.0.1", port)).await.is_ok(),
            Err(_) => false,
        },
        Ready::Log(words) => ["stdout", "stderr"].iter().any(|suffix| {
            std::fs::read_to_string(output.with_extension(suffix))
                .is_ok_and(|text| text.lines().any(|line| line.contains(words.as_str())))
        }),
    }
}

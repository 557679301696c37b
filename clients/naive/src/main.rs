//! The client of the postmortem. It reads well, it has a timeout and it retries; it
//! passed every test and every review. It sends people their code two or three times,
//! because nothing in its request says that the second try is the same message.
//!
//! It is kept as it was: do not repair it.

use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;

const TRIES: u32 = 3;
const PAUSE: Duration = Duration::from_millis(100);

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [to, body] = args.as_slice() else {
        eprintln!("usage: naive TO BODY   (the provider's URL in SMS_API_BASE)");
        return ExitCode::from(2);
    };
    match send(to, body).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("naive: not sent: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn send(to: &str, body: &str) -> Result<(), Box<dyn std::error::Error>> {
    let base = std::env::var("SMS_API_BASE").unwrap_or("http://127.0.0.1:9090".to_owned());
    let url = format!("{base}/v1/messages");
    let http = reqwest::Client::builder()
        .no_proxy()
        .timeout(read_timeout()?)
        .build()?;

    let mut tries = 1;
    loop {
        let sent = http
            .post(&url)
            .json(&json!({ "to": to, "body": body }))
            .send()
            .await
            .and_then(reqwest::Response::error_for_status);
        match sent {
            Ok(_) => return Ok(()),
            Err(error) if tries < TRIES => {
                eprintln!("naive: try {tries} failed ({error}), trying again");
                tries += 1;
                tokio::time::sleep(PAUSE).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn read_timeout() -> Result<Duration, std::num::ParseIntError> {
    let millis = match std::env::var("READ_TIMEOUT_MS") {
        Ok(text) => text.parse()?,
        Err(_) => 10_000,
    };
    Ok(Duration::from_millis(millis))
}

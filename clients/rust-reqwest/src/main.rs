//! `rust-reqwest INTENT TO BODY [CUSTOMER] [KEY] [EXPIRES_AT]`: sends one SMS.
//!
//! Exit codes: 0 sent; 69 not sent, and not going to be; 75 nobody knows; 64 called wrongly.

use std::{env, error::Error, process::ExitCode, time::SystemTime};

use jiff::Timestamp;
use rust_reqwest::{Message, Outcome, Sender, policy::Policy};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(Outcome::Sent(_)) => ExitCode::SUCCESS,
        Ok(Outcome::Dead(why)) => {
            eprintln!("rust-reqwest: not sent: {why}");
            ExitCode::from(69)
        }
        Ok(Outcome::Unknown(why)) => {
            eprintln!("rust-reqwest: it may have been sent: {why}");
            ExitCode::from(75)
        }
        Err(error) => {
            eprintln!("rust-reqwest: {error}");
            ExitCode::from(64)
        }
    }
}

async fn run() -> Result<Outcome, Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let (Some(intent), Some(to), Some(body)) =
        (arguments.next(), arguments.next(), arguments.next())
    else {
        return Err("usage: rust-reqwest INTENT TO BODY [CUSTOMER] [KEY] [EXPIRES_AT]".into());
    };
    let mut given = || arguments.next().filter(|text| !text.is_empty());
    let customer = given().unwrap_or_else(|| "default".to_owned());
    let key = given().unwrap_or(intent);
    let expires_at = match given() {
        Some(text) => Some(SystemTime::from(text.parse::<Timestamp>()?)),
        None => None,
    };
    let message = Message {
        to,
        body,
        customer,
        key,
        expires_at,
    };
    let base = env::var("SMS_API_BASE").map_err(|_| "SMS_API_BASE must be the provider's URL")?;
    let sender = Sender::new(&base.parse()?, Policy::from_env()?)?;
    Ok(sender.send(&message).await)
}

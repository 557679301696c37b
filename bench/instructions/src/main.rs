//! Does one hot path a number of times; `bench/instructions.py` counts the instructions.
//!
//! `instructions PATH TIMES`

use std::{error::Error, hint::black_box, sync::Arc, time::Duration};

use chaos_judge::{checks::observe, history::view::View};
use stub_provider::{
    Profile,
    fingerprint::Fingerprint,
    ledger::{KeyId, Ledger},
    message::MessageId,
};
use toxic_proxy::{Attributes, toxics::Slicer};

use client::Client;
use relay::Relay;

#[path = "../../../stub-provider/benches/client/mod.rs"]
mod client;
#[path = "../../../toxic-proxy/benches/relay/mod.rs"]
mod relay;
#[path = "../../../chaos-judge/benches/run/mod.rs"]
mod run;

const BODY: &[u8] = br#"{"to":"+12025550142","body":"Your code is 471142"}"#;
const KEY: &str = r#""8e03978e-40d5-43e8-bc93-6894a57f9326""#;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, times] = &arguments[..] else {
        return Err("instructions PATH TIMES".into());
    };
    let times = times.parse()?;
    match path.as_str() {
        "request-new" => request_new(times)?,
        "request-replay" => request_replay(times)?,
        "ledger-accept" => ledger_accept(times),
        "ledger-replay" => ledger_replay(times),
        "fingerprint" => fingerprint(times),
        "key" => key(times)?,
        "relay" => relay(times, None)?,
        "slicer" => relay(times, Some(slicer()))?,
        "index" => index(times),
        "observe" => observe_all(times),
        _ => return Err(format!("there is no path `{path}`").into()),
    }
    Ok(())
}

type Done = Result<(), Box<dyn Error>>;

/// A request under a new key, from the client's write to the answer's last byte.
fn request_new(times: u64) -> Done {
    let mut client = Client::new()?;
    for number in 0..times {
        client.submit(&format!("otp-{number:08}"))?;
    }
    Ok(())
}

/// A request under a key that was answered.
fn request_replay(times: u64) -> Done {
    let mut client = Client::new()?;
    for _ in 0..=times {
        client.submit("otp-00000000")?;
    }
    Ok(())
}

fn ledger() -> (Ledger<Arc<str>>, Fingerprint, Arc<str>) {
    let ledger = Ledger::new(Duration::from_hours(24));
    let of = Fingerprint::of("POST", "/v1/messages", BODY);
    (ledger, of, "{}".into())
}

/// A new key: claimed, and settled with its answer and its message.
fn ledger_accept(times: u64) {
    let (ledger, of, answer) = ledger();
    for number in 0..times {
        let key = KeyId::new("default", &format!("otp-{number:08}"));
        let claim = ledger.arrive(&key, of, number, None, Duration::ZERO);
        black_box(claim);
        let message = Some(MessageId(number));
        ledger.settle(&key, number, Some(answer.clone()), message, Duration::ZERO);
    }
}

/// A key that was answered: its answer is found.
fn ledger_replay(times: u64) {
    let (ledger, of, answer) = ledger();
    let key = KeyId::new("default", "otp-00000000");
    let _ = ledger.arrive(&key, of, 0, None, Duration::ZERO);
    ledger.settle(&key, 0, Some(answer), Some(MessageId(0)), Duration::ZERO);
    for number in 0..times {
        let key = KeyId::new("default", black_box("otp-00000000"));
        black_box(ledger.arrive(&key, of, number, None, Duration::ZERO));
    }
}

/// The digest that a key is bound to.
fn fingerprint(times: u64) {
    for _ in 0..times {
        black_box(Fingerprint::of("POST", "/v1/messages", black_box(BODY)));
    }
}

/// Reading a key out of its header.
fn key(times: u64) -> Done {
    let profile = Profile::builtin("v1").ok_or("`v1` is built in")?;
    for _ in 0..times {
        black_box(profile.read_key(black_box(KEY)))?;
    }
    Ok(())
}

fn slicer() -> Attributes {
    Attributes::from(Slicer {
        average_size: 1024,
        size_variation: 512,
        delay: 0,
    })
}

/// 16 KiB through a proxy.
fn relay(times: u64, toxic: Option<Attributes>) -> Done {
    let mut relay = Relay::through(toxic)?;
    let data = vec![b'a'; 16 * 1024];
    for _ in 0..times {
        relay.pass(&data)?;
    }
    Ok(())
}

/// The index of a history of a thousand messages.
fn index(times: u64) {
    let history = run::history(1_000);
    for _ in 0..times {
        black_box(View::new(black_box(&history)));
    }
}

/// Every check over a history of a thousand messages.
fn observe_all(times: u64) {
    let history = run::history(1_000);
    let view = View::new(&history);
    for _ in 0..times {
        black_box(observe(black_box(&view)));
    }
}

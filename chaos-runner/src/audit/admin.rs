//! What can be asked of a provider that is made for tests: its faults and its clock.
//!
//! Owns those requests. No real provider has these pages; without them the rules that need them
//! are not checked, or decided by less.

use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};
use stub_provider::duration::Span;

use super::{
    api::Draft,
    bench::Bench,
    exchange::{Answer, Exchange, Sent},
    target::Target,
};

/// The admin API of a provider that is made for tests.
#[derive(Clone, Debug)]
pub struct Admin(pub Target);

/// A fault that was set, to be taken away again.
#[derive(Debug)]
pub(super) struct Fault(Option<u64>);

impl Admin {
    /// The first request under the draft's key will be worked on for `time`.
    pub(super) async fn hold(
        &self,
        bench: &Bench,
        draft: &Draft,
        time: Duration,
    ) -> Result<Fault, String> {
        let fault = json!({ "delay": { "stage": "before-accept", "for": Span(time) } });
        self.set(bench, draft, fault).await
    }

    /// The first request under the draft's key will fail with a 500 and send nothing; the 500 is
    /// stored under the key where `kept`.
    pub(super) async fn fail(
        &self,
        bench: &Bench,
        draft: &Draft,
        kept: bool,
    ) -> Result<Fault, String> {
        let mut fault = json!({ "respond": { "stage": "before-accept", "status": 500 } });
        if kept {
            fault["respond"]["stored"] = true.into();
        }
        self.set(bench, draft, fault).await
    }

    async fn set(&self, bench: &Bench, draft: &Draft, fault: Value) -> Result<Fault, String> {
        let rule = json!({ "attempt": 1, "key": draft.key, "provider": fault });
        let sent = request(&Method::POST, "/admin/faults", &rule);
        let exchange = bench
            .ask(&self.0, "the provider is told to go wrong", &sent)
            .await;
        let answer = done(&exchange)?;
        let shown: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        Ok(Fault(shown["id"].as_u64()))
    }

    /// Takes a fault away.
    pub(super) async fn lift(&self, bench: &Bench, fault: Fault) -> Result<(), String> {
        let Some(id) = fault.0 else {
            return Ok(());
        };
        let sent = request(
            &Method::DELETE,
            &format!("/admin/faults?id={id}"),
            &Value::Null,
        );
        let exchange = bench
            .ask(&self.0, "the provider is told to go right", &sent)
            .await;
        done(&exchange).map(|_| ())
    }

    /// Where its clock is.
    #[must_use]
    pub fn clock(&self) -> Target {
        let mut clock = self.0.clone();
        clock.prefix.push_str("/admin/clock");
        clock
    }
}

/// Moves a provider's clock forward.
pub(super) async fn advance(bench: &Bench, clock: &Target, by: Duration) -> Result<(), String> {
    let sent = request(&Method::POST, "", &json!({ "advance": Span(by) }));
    let what = format!("the clock is moved by {}", Span(by));
    let exchange = bench.ask(clock, &what, &sent).await;
    done(&exchange).map(|_| ())
}

fn request(method: &Method, target: &str, body: &Value) -> Sent {
    Sent {
        method: method.to_string(),
        target: target.to_owned(),
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: match body {
            Value::Null => Vec::new(),
            body => body.to_string().into_bytes(),
        },
    }
}

fn done(exchange: &Exchange) -> Result<&Answer, String> {
    match exchange.answer() {
        Some(answer) if answer.is_success() => Ok(answer),
        Some(answer) => Err(format!(
            "{}: {} ({})",
            exchange.what,
            exchange.result(),
            String::from_utf8_lossy(&answer.body).trim()
        )),
        None => Err(format!("{}: {}", exchange.what, exchange.result())),
    }
}

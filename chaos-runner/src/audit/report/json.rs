//! An audit as one JSON document, for programs.
//!
//! Owns the format and its version. Times are in milliseconds from the beginning of the audit.

use std::time::Duration;

use serde_json::{Value, json};

use super::{shown, verdict};
use crate::audit::{
    exchange::{Exchange, Outcome},
    result::{Audited, Checked},
    rule::DRAFT,
};

/// The version of the document.
pub const FORMAT: u32 = 1;

/// The document.
#[must_use]
pub fn document(audited: &Audited) -> Value {
    json!({
        "format": FORMAT,
        "tool": env!("CARGO_PKG_VERSION"),
        "url": audited.url,
        "profile": audited.profile,
        "seed": audited.seed,
        "exit_code": audited.exit_code() as u8,
        "duration_ms": millis(audited.duration),
        "verdict": verdict(audited),
        "counts": {
            "broken": audited.count("broken"),
            "inconclusive": audited.count("inconclusive"),
            "kept": audited.count("kept"),
            "not_checked": audited.count("not-checked"),
            "not_applicable": audited.count("not-applicable"),
        },
        "first": audited.first.as_ref().map(exchange),
        "rules": audited.rules.iter().map(rule).collect::<Vec<_>>(),
    })
}

fn rule(checked: &Checked) -> Value {
    json!({
        "rule": checked.rule.id(),
        "promise": checked.rule.sentence(),
        "draft": DRAFT,
        "section": checked.rule.section(),
        "sources": checked.sources,
        "judgement": checked.judgement.as_str(),
        "seen": checked.judgement.text(),
        "proof": checked.broken().map(|broken| &broken.proof),
        "duration_ms": millis(checked.duration),
        "exchanges": checked.exchanges.iter().map(exchange).collect::<Vec<_>>(),
    })
}

fn exchange(exchange: &Exchange) -> Value {
    let request = &exchange.request;
    let (outcome, why) = match &exchange.outcome {
        Outcome::Answered(_) => ("answered", None),
        Outcome::Unknown(why) => ("unknown", Some(why)),
        Outcome::Unsent(why) => ("unsent", Some(why)),
        Outcome::Cut(how, _) => ("cut", Some(how)),
    };
    json!({
        "number": exchange.number,
        "what": exchange.what,
        "began_ms": millis(exchange.began),
        "written_ms": exchange.written.map(millis),
        "heard_ms": exchange.heard.map(millis),
        "ended_ms": millis(exchange.ended),
        "request": {
            "method": request.method,
            "target": request.target,
            "headers": shown(request).collect::<Vec<_>>(),
            "body": String::from_utf8_lossy(&request.body),
        },
        "outcome": outcome,
        "why": why,
        "answer": exchange.answer().map(|answer| json!({
            "status": answer.status,
            "counts": answer.counts,
            "headers": answer.headers,
            "body": String::from_utf8_lossy(&answer.body),
            "message": answer.message,
        })),
    })
}

fn millis(time: Duration) -> f64 {
    // A thousandth of a millisecond is as fine as a clock that people read.
    (time.as_secs_f64() * 1_000_000.0).round() / 1_000.0
}

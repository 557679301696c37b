//! The run as one JSON document, for programs.
//!
//! Owns the format and its version. Times are in milliseconds; histories are beside it, in the
//! directories that it names.

use serde_json::{Value, json};

use super::{failure::provoked_by, words::replay};
use crate::{
    diagnosis::{Finding, Standing},
    history::view::View,
    result::{KnownState, ScenarioResult, SuiteResult},
};

/// The version of the document.
pub const FORMAT: u32 = 1;

/// The document.
#[must_use]
pub fn document(suite: &SuiteResult) -> Value {
    json!({
        "format": FORMAT,
        "tool": env!("CARGO_PKG_VERSION"),
        "client": suite.client,
        "engine": suite.engine,
        "seed": suite.seed,
        "exit_code": suite.exit_code() as u8,
        "duration_ms": millis(suite.duration),
        "counts": {
            "fail": suite.count("fail"),
            "inconclusive": suite.count("inconclusive"),
            "pass": suite.count("pass"),
            "skipped": suite.count("skipped"),
        },
        "kinds": suite.kinds().into_iter().map(|(kind, severity, scenarios)| json!({
            "kind": kind,
            "severity": severity,
            "wrong": kind.wrong(),
            "remedy": kind.remedy(),
            "scenarios": scenarios.iter().map(|s| &s.name).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "known": suite.known.iter().map(|k| json!({
            "kind": k.id,
            "reason": k.known.reason,
            "until": k.known.until.to_string(),
            "state": match k.state {
                KnownState::Shows => "shows",
                KnownState::NoLongerShows => "no-longer-shows",
                KnownState::Expired => "expired",
            },
        })).collect::<Vec<_>>(),
        "baseline": scenario(suite, &suite.baseline),
        "scenarios": suite.scenarios.iter().map(|s| scenario(suite, s)).collect::<Vec<_>>(),
    })
}

fn scenario(suite: &SuiteResult, result: &ScenarioResult) -> Value {
    json!({
        "name": result.name,
        "title": result.title,
        "file": result.file,
        "verdict": result.verdict.as_str(),
        "reason": result.verdict.reason(),
        "duration_ms": millis(result.duration),
        "directory": result.directory.as_ref().map(|d| d.display().to_string()),
        "replay": replay(suite, result),
        "findings": result.findings.iter().map(|f| finding(result, f)).collect::<Vec<_>>(),
        "missed": result.missed,
        "unreached": result.unreached.iter().map(|u| json!({
            "fault": u.fault,
            "line": u.line,
            "text": u.text,
            "intents": u.intents,
        })).collect::<Vec<_>>(),
    })
}

fn finding(result: &ScenarioResult, finding: &Finding) -> Value {
    let provoked = provoked_by(result, finding);
    let requests: Vec<Value> = result
        .history
        .as_ref()
        .map(|history| {
            let view = View::new(history);
            finding
                .attempts
                .iter()
                .take(2)
                .filter_map(|id| view.attempt(*id))
                .map(|a| {
                    json!({
                        "attempt": a.id,
                        "seq": a.arrived.seq,
                        "intent": a.intent,
                        "key": a.key,
                        "method": a.request.method,
                        "target": a.request.target,
                        "body": a.request.body,
                    })
                })
                .collect()
        })
        .unwrap_or_default();
    json!({
        "kind": finding.kind,
        "severity": finding.severity,
        "standing": match &finding.standing {
            Standing::Counts => "counts",
            Standing::Known(_) => "known",
            Standing::Expected => "expected",
            Standing::Doubtful { .. } => "doubtful",
            Standing::Minor => "minor",
        },
        "or_narrower": finding.or_narrower,
        "detail": finding.detail,
        "intents": finding.intents,
        "evidence": finding.evidence,
        "attempts": finding.attempts,
        "requests": requests,
        "provoked_by": provoked.map(|(place, fault)| json!({ "place": place, "fault": fault })),
    })
}

fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

//! What the page shows first: the verdict, the kinds, and every scenario in a few words.

use std::{io, time::Duration};

use serde_json::{Value, json};

use super::{Sources, chunk::Chunks, detail};
use crate::{
    diagnosis::{Finding, Standing},
    exit_code::ExitCode,
    history::{History, view::View},
    report::{
        sequence::Sequence,
        summary::{clearest, to_do},
        words::{replay, replay_all},
    },
    result::{KnownState, ScenarioResult, SuiteResult},
};

/// The document. What is looked at later goes into `chunks`.
pub(super) fn document(
    suite: &SuiteResult,
    sources: &Sources,
    chunks: &mut Chunks,
) -> io::Result<Value> {
    let scenarios = suite
        .all()
        .map(|result| scenario(suite, result, sources, chunks))
        .collect::<io::Result<Vec<Value>>>()?;
    let sources = if sources.is_empty() {
        None
    } else {
        Some(chunks.add(sources)?)
    };
    Ok(json!({
        "tool": env!("CARGO_PKG_VERSION"),
        "client": suite.client,
        "engine": suite.engine,
        // As a text: a script's numbers end at 2^53.
        "seed": suite.seed.to_string(),
        "at": directory(suite),
        "duration_ms": millis(suite.duration),
        "verdict": verdict(suite.exit_code()),
        "exit_code": suite.exit_code() as u8,
        "to_do": to_do(suite),
        "replay": replay_all(suite),
        "counts": {
            "fail": suite.count("fail"),
            "inconclusive": suite.count("inconclusive"),
            "pass": suite.count("pass"),
            "skipped": suite.count("skipped"),
        },
        "kinds": kinds(suite),
        "known": suite.known.iter().map(|known| json!({
            "kind": known.id,
            "reason": known.known.reason,
            "until": known.known.until.to_string(),
            "state": match known.state {
                KnownState::Shows => "shows",
                KnownState::NoLongerShows => "no-longer-shows",
                KnownState::Expired => "expired",
            },
        })).collect::<Vec<_>>(),
        "sources": sources,
        "scenarios": scenarios,
    }))
}

/// The run's verdict, in a word.
pub(super) fn verdict(code: ExitCode) -> &'static str {
    match code {
        ExitCode::Pass => "pass",
        ExitCode::Violation => "fail",
        ExitCode::Inconclusive => "inconclusive",
        ExitCode::NothingRan => "nothing ran",
        ExitCode::Interrupted => "interrupted",
        ExitCode::Usage | ExitCode::Harness => "broken",
    }
}

/// The run's directory, which is named by its time.
fn directory(suite: &SuiteResult) -> Option<String> {
    let run = suite.baseline.directory.as_ref()?.parent()?;
    Some(run.file_name()?.to_string_lossy().into_owned())
}

/// The kinds that count, each with the scenario that shows it most clearly.
fn kinds(suite: &SuiteResult) -> Vec<Value> {
    let place = |wanted: &ScenarioResult| suite.all().position(|s| std::ptr::eq(s, wanted));
    let mut all = Vec::new();
    for (kind, severity, scenarios) in suite.kinds() {
        let Some((shown, _)) = clearest(&scenarios, kind) else {
            continue;
        };
        let nth = shown.findings.iter().position(|f| f.kind == kind);
        let sequence = nth
            .and_then(|nth| shown.findings.get(nth))
            .zip(shown.history.as_deref())
            .map(|(finding, history)| {
                detail::sequence(&Sequence::of(&View::new(history), finding))
            });
        all.push(json!({
            "kind": kind,
            "severity": severity,
            "wrong": kind.wrong(),
            "remedy": kind.remedy(),
            "scenarios": scenarios.iter().filter_map(|s| place(s)).collect::<Vec<_>>(),
            "clearest": place(shown),
            "finding": nth,
            "sequence": sequence,
        }));
    }
    all
}

fn scenario(
    suite: &SuiteResult,
    result: &ScenarioResult,
    sources: &Sources,
    chunks: &mut Chunks,
) -> io::Result<Value> {
    let history = result.history.as_deref();
    let detail = history
        .map(|history| detail::add(history, &result.findings, chunks))
        .transpose()?;
    Ok(json!({
        "name": result.name,
        "title": result.title,
        "file": result.file,
        "source": Some(source_of(result)).filter(|key| sources.contains_key(key)),
        "tags": history.map(|h| &h.tags),
        "verdict": result.verdict.as_str(),
        "reason": result.verdict.reason(),
        "duration_ms": millis(result.duration),
        "replay": replay(suite, result),
        "findings": result.findings.iter().map(|f| finding(history, f)).collect::<Vec<_>>(),
        "missed": result.missed,
        "unreached": result.unreached.iter().map(|u| json!({
            "line": u.line,
            "text": u.text,
        })).collect::<Vec<_>>(),
        "intents": history.map_or(0, |h| h.intents.len()),
        "events": history.map_or(0, |h| h.events.len()),
        "detail": detail,
    }))
}

/// By what a scenario's text is known: its file, or its name in the standard suite.
#[must_use]
fn source_of(result: &ScenarioResult) -> String {
    let name = || result.name.split('[').next().unwrap_or(&result.name);
    result.file.clone().unwrap_or_else(|| name().to_owned())
}

fn finding(history: Option<&History>, finding: &Finding) -> Value {
    let fault = history.and_then(|h| h.faults.iter().find(|f| Some(f.id) == finding.fault));
    let (standing, why) = match &finding.standing {
        Standing::Counts => ("counts", None),
        Standing::Known(reason) => ("known", Some(reason)),
        Standing::Expected => ("expected", None),
        Standing::Doubtful { .. } => ("doubtful", None),
        Standing::Minor => ("minor", None),
    };
    json!({
        "kind": finding.kind,
        "severity": finding.severity,
        "wrong": finding.kind.wrong(),
        "remedy": finding.kind.remedy(),
        "standing": standing,
        "why": why,
        "or_narrower": finding.or_narrower,
        "detail": finding.detail,
        "intents": finding.intents.len(),
        "line": fault.map(|f| f.line).filter(|line| *line > 0),
        "fault": fault.map(|f| &f.text),
    })
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

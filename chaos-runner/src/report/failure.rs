//! One kind of defect, told to people: in plain words, with the two requests that prove it, the
//! diagram, the line that provoked it, and the command that runs it again.

use std::fmt::Write as _;

use owo_colors::OwoColorize as _;

use super::{
    diagram::diagram,
    words::{WIDTH, counted, cut, replay, visible, wrap},
};
use crate::{
    diagnosis::Finding,
    history::{Payload, view::AttemptView, view::View},
    result::{ScenarioResult, SuiteResult},
    severity::Severity,
};

/// The most that is shown of a body, in columns of text.
const BODY: usize = 240;
/// Headers that say nothing about the message.
const DULL: [&str; 8] = [
    "accept",
    "accept-encoding",
    "authorization",
    "connection",
    "content-length",
    "host",
    "traceparent",
    "user-agent",
];

/// Tells `finding`, with the other scenarios in which the same kind shows. Coloured; for a plain
/// text the colours are stripped on the way out.
#[must_use]
pub fn failure(
    suite: &SuiteResult,
    scenario: &ScenarioResult,
    finding: &Finding,
    others: &[&ScenarioResult],
) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}", heading(finding));
    for line in wrap(finding.kind.wrong(), WIDTH - 2) {
        let _ = writeln!(text, "  {line}");
    }
    let _ = writeln!(text);
    labelled(&mut text, "seen in", &seen_in(scenario, finding));
    labelled(&mut text, "what", &finding.detail);
    if let Some((place, fault)) = provoked_by(scenario, finding) {
        labelled(&mut text, "provoked", &place);
        labelled(&mut text, "", &fault);
    }
    if let Some(history) = &scenario.history {
        let view = View::new(history);
        let cited: Vec<&AttemptView<'_>> = finding
            .attempts
            .iter()
            .filter_map(|id| view.attempt(*id))
            .collect();
        for attempt in cited.iter().take(2) {
            let _ = writeln!(text);
            text.push_str(&request(attempt));
        }
        let _ = writeln!(text);
        text.push_str(&diagram(&view, finding));
        let _ = writeln!(text);
    }
    labelled(&mut text, "to do", finding.kind.remedy());
    // A command is copied: it stays in one line, whatever its length.
    let _ = writeln!(text, "  {:<9} {}", "replay", replay(suite, scenario).bold());
    if !others.is_empty() {
        let names: Vec<&str> = others.iter().map(|s| s.name.as_str()).collect();
        labelled(
            &mut text,
            "also in",
            &format!("{}: {}", counted(others.len(), "scenario"), listed(&names)),
        );
    }
    text
}

/// The first line: the id, how grave, and whether a narrower kind may be the true one.
fn heading(finding: &Finding) -> String {
    let id = finding.kind.as_str();
    let rest = format!(
        " ({}{})",
        finding.severity,
        if finding.or_narrower {
            "; or a narrower kind, whose control was not run"
        } else {
            ""
        }
    );
    if finding.severity == Severity::Note {
        format!("{}{rest}", id.bold())
    } else {
        format!("{}{rest}", id.red().bold())
    }
}

fn seen_in(scenario: &ScenarioResult, finding: &Finding) -> String {
    let intents = match finding.intents.as_slice() {
        [] => String::new(),
        [one] => format!(", intent {one}"),
        [first, rest @ ..] => format!(", intent {first} and {} more", rest.len()),
    };
    format!("{}{intents}: {}", scenario.name, scenario.title)
}

/// File and line of the fault that provoked it; `None` where no file of the client's author has it.
#[must_use]
pub fn provoked_at(scenario: &ScenarioResult, finding: &Finding) -> Option<(String, usize)> {
    let history = scenario.history.as_ref()?;
    let fault = history.faults.iter().find(|f| Some(f.id) == finding.fault);
    let line = fault.map_or(1, |fault| fault.line.max(1));
    history.file.clone().map(|file| (file, line))
}

/// File and line of the fault that provoked it, and the fault.
#[must_use]
pub fn provoked_by(scenario: &ScenarioResult, finding: &Finding) -> Option<(String, String)> {
    let history = scenario.history.as_ref()?;
    let fault = history
        .faults
        .iter()
        .find(|f| Some(f.id) == finding.fault)?;
    let file = history
        .file
        .clone()
        .unwrap_or_else(|| format!("{} (of the standard suite)", scenario.name));
    let place = if fault.line > 0 {
        format!("{file}:{}", fault.line)
    } else {
        file
    };
    Some((place, fault.text.clone()))
}

fn labelled(text: &mut String, label: &str, what: &str) {
    for (nth, line) in wrap(what, WIDTH - 12).into_iter().enumerate() {
        let label = if nth == 0 { label } else { "" };
        let _ = writeln!(text, "  {label:<9} {line}");
    }
}

/// A request as the wire had it: line, telling headers, body.
fn request(attempt: &AttemptView<'_>) -> String {
    let mut text = String::new();
    let request = attempt.request;
    let first = format!("#{} {} {}", attempt.id, request.method, request.target);
    #[expect(clippy::cast_precision_loss, reason = "a time for people")]
    let millis = attempt.arrived.at_us as f64 / 1_000.0;
    let _ = writeln!(
        text,
        "  {:<56} {millis:>12.1} ms",
        cut(&visible(&first), 56).bold().to_string()
    );
    for (name, value) in &request.headers {
        if !DULL.contains(&name.as_str()) {
            let _ = writeln!(
                text,
                "     {}",
                cut(&visible(&format!("{name}: {value}")), WIDTH - 5)
            );
        }
    }
    if attempt.key.is_none() {
        let _ = writeln!(text, "     (no key)");
    }
    let body = match &request.body {
        Payload::Text(body) => visible(&body.replace(['\n', '\r'], " ")),
        Payload::Bytes(bytes) => format!("({} bytes that are not text)", bytes.len()),
    };
    for line in wrap(&cut(&body, BODY), WIDTH - 5) {
        let _ = writeln!(text, "     {line}");
    }
    text
}

/// The first few names, and how many more there are.
fn listed(names: &[&str]) -> String {
    const SHOWN: usize = 6;
    if names.len() <= SHOWN {
        names.join(", ")
    } else {
        format!(
            "{} and {} more",
            names[..SHOWN].join(", "),
            names.len() - SHOWN
        )
    }
}

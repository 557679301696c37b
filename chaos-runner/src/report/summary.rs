//! The end of a run, told to people: what was found, what could not be said, and what to do.

use std::{fmt::Write as _, time::Duration};

use owo_colors::OwoColorize as _;

use super::{
    failure::failure,
    words::{WIDTH, counted, time, wrap},
};
use crate::{
    diagnosis::{Finding, Standing},
    result::{KnownState, ScenarioResult, SuiteResult},
    severity::Severity,
    verdict::Verdict,
};

/// From here on a scenario counts as slow: most take a tenth of it.
const LONG: Duration = Duration::from_secs(5);

/// One line for a scenario, with a second one for its reason or its findings. Coloured.
#[must_use]
pub fn line(result: &ScenarioResult) -> String {
    let word = result.verdict.as_str();
    let padded = format!("{word:>12}");
    let word = match result.verdict {
        Verdict::Pass => padded.green().to_string(),
        Verdict::Fail => padded.to_uppercase().red().bold().to_string(),
        Verdict::Inconclusive(_) => padded.yellow().to_string(),
        Verdict::Skipped(_) => padded.dimmed().to_string(),
    };
    let took = if matches!(result.verdict, Verdict::Skipped(_)) {
        String::new()
    } else {
        time(result.duration)
    };
    let name = super::words::cut(&result.name, 54);
    let mut text = format!("{word}  {name:<54} {took:>10}");
    text.truncate(text.trim_end().len());
    text.push('\n');
    for said in reasons(result) {
        for part in wrap(&said, WIDTH - 14) {
            let _ = writeln!(text, "{:14}{part}", "");
        }
    }
    text
}

/// What there is to say of a scenario beside its verdict.
fn reasons(result: &ScenarioResult) -> Vec<String> {
    let mut said = Vec::new();
    if let Some(reason) = result.verdict.reason() {
        said.push(reason.to_owned());
    }
    if !matches!(result.verdict, Verdict::Inconclusive(_)) {
        for finding in &result.findings {
            let narrower = if finding.or_narrower {
                ", or a narrower kind"
            } else {
                ""
            };
            let standing = match &finding.standing {
                Standing::Counts => String::new(),
                Standing::Known(reason) => format!(" (known: {reason})"),
                Standing::Expected => " (as the scenario expects)".to_owned(),
                Standing::Doubtful { .. } => " (doubtful: the client had no processor)".to_owned(),
                Standing::Minor => format!(" ({}, does not count)", finding.severity),
            };
            said.push(format!("{}{narrower}{standing}", finding.kind));
        }
    }
    for missed in &result.missed {
        said.push(format!("{missed} was expected and did not show"));
    }
    // Where nothing can be said, the reason has been given.
    let said_all = matches!(result.verdict, Verdict::Inconclusive(_));
    for unreached in result.unreached.iter().filter(|_| !said_all) {
        said.push(format!(
            "line {}: the client had no need to come to it ({})",
            unreached.line, unreached.text
        ));
    }
    said
}

/// The findings in full, then the counts, then what to do. Coloured.
#[must_use]
pub fn summary(suite: &SuiteResult) -> String {
    let mut text = String::new();
    let baseline_failed = matches!(suite.baseline.verdict, Verdict::Inconclusive(_));
    if !baseline_failed {
        for (kind, _, scenarios) in suite.kinds() {
            let Some((shown, others)) = clearest(&scenarios, kind) else {
                continue;
            };
            let Some(finding) = shown.counting().find(|f| f.kind == kind) else {
                continue;
            };
            let _ = writeln!(text, "{}", "─".repeat(WIDTH).dimmed());
            text.push_str(&failure(suite, shown, finding, &others));
        }
    }
    let _ = writeln!(text, "{}", "─".repeat(WIDTH).dimmed());
    let _ = writeln!(text, "{}", counts(suite));
    if let Some(slow) = slow(suite) {
        for line in wrap(&slow, WIDTH) {
            let _ = writeln!(text, "{line}");
        }
    }
    for known in &suite.known {
        let said = match known.state {
            KnownState::Shows => continue,
            KnownState::NoLongerShows => {
                format!("known: {} no longer shows: its entry can go", known.id)
            }
            KnownState::Expired => format!(
                "known: {} was let through until {}, and counts again",
                known.id, known.known.until
            ),
        };
        for line in wrap(&said, WIDTH) {
            let _ = writeln!(text, "{line}");
        }
    }
    for line in wrap(&to_do(suite), WIDTH) {
        let _ = writeln!(text, "{}", line.bold());
    }
    text
}

/// The scenario that shows a kind most clearly (surely, as what it mostly is, alone, with the
/// fewest events), and the others.
pub(super) fn clearest<'s>(
    scenarios: &[&'s ScenarioResult],
    kind: crate::bug_kind::BugKind,
) -> Option<(&'s ScenarioResult, Vec<&'s ScenarioResult>)> {
    let size = |s: &ScenarioResult| {
        let unsure = s.findings.iter().any(|f| f.kind == kind && f.or_narrower);
        let unusual = s
            .findings
            .iter()
            .any(|f| f.kind == kind && f.severity != kind.severity());
        let beside = s.counting().count();
        let events = s.history.as_ref().map_or(0, |h| h.events.len());
        (unsure, unusual, beside, events)
    };
    let first = *scenarios.iter().min_by_key(|s| size(s))?;
    let others = scenarios
        .iter()
        .copied()
        .filter(|s| !std::ptr::eq(*s, first))
        .collect();
    Some((first, others))
}

/// Whether a finding is real, and does not fail the run all the same.
fn let_through(finding: &Finding) -> bool {
    match finding.standing {
        Standing::Known(_) => true,
        Standing::Minor => finding.severity > Severity::Note,
        Standing::Counts | Standing::Expected | Standing::Doubtful { .. } => false,
    }
}

pub(super) fn counts(suite: &SuiteResult) -> String {
    let mut parts = Vec::new();
    for (word, shown) in [
        ("fail", "failed"),
        ("inconclusive", "inconclusive"),
        ("pass", "passed"),
        ("skipped", "skipped"),
    ] {
        let count = suite.count(word);
        if count > 0 || word == "pass" {
            let part = format!("{count} {shown}");
            parts.push(match word {
                "fail" => part.red().bold().to_string(),
                "inconclusive" => part.yellow().to_string(),
                "pass" => part.green().to_string(),
                _ => part,
            });
        }
    }
    format!(
        "{} of {} in {}\nclient {}, engine {}, seed {}",
        parts.join(", "),
        counted(suite.scenarios.len(), "scenario"),
        time(suite.duration),
        suite.client,
        suite.engine,
        suite.seed
    )
}

/// The scenarios that took longest, where any took long; `None` where none did.
fn slow(suite: &SuiteResult) -> Option<String> {
    let mut long: Vec<&ScenarioResult> = suite.all().filter(|s| s.duration >= LONG).collect();
    long.sort_by_key(|scenario| std::cmp::Reverse(scenario.duration));
    let named: Vec<String> = long
        .iter()
        .take(3)
        .map(|scenario| format!("{} {}", scenario.name, time(scenario.duration)))
        .collect();
    (!named.is_empty()).then(|| format!("slow: {}", named.join(", ")))
}

/// What to do, in one or two sentences.
pub(super) fn to_do(suite: &SuiteResult) -> String {
    use crate::exit_code::ExitCode;
    if let Verdict::Inconclusive(why) = &suite.baseline.verdict {
        return format!(
            "Without any fault the client does not deliver each message once: {why}. Nothing can be \
             learnt from faults until it does. Look at its output{}.",
            suite
                .baseline
                .directory
                .as_ref()
                .map(|d| format!(" in {}", d.display()))
                .unwrap_or_default()
        );
    }
    match suite.exit_code() {
        ExitCode::Violation => {
            let kinds = suite.kinds();
            match kinds.first() {
                Some((kind, _, scenarios)) => format!(
                    "Begin with {kind} ({}): {}",
                    counted(scenarios.len(), "scenario"),
                    kind.remedy()
                ),
                None => "A defect that a scenario is meant to catch did not show: the scenario or \
                         the client has changed."
                    .to_owned(),
            }
        }
        ExitCode::Inconclusive => "Nothing is proven wrong, and nothing is proven right where a \
                                   scenario is inconclusive: the reason stands beside it."
            .to_owned(),
        ExitCode::NothingRan => "No scenario ran: there was none, or all were skipped for the \
                                 reasons beside them."
            .to_owned(),
        ExitCode::Interrupted => {
            "The run was interrupted: nothing is said of what did not run.".to_owned()
        }
        _ if suite.all().any(|s| s.findings.iter().any(let_through)) => {
            "Nothing that counts: what is known, or less grave than was asked for, stands above."
                .to_owned()
        }
        _ => "Nothing to do: no message was lost or sent twice, whatever went wrong.".to_owned(),
    }
}

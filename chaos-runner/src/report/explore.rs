//! An exploration, told to people: what was covered, what was found, what to do.

use std::{fmt::Write as _, path::Path, sync::Arc, time::Duration};

use owo_colors::OwoColorize as _;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::{
    failure::failure,
    words::{WIDTH, command, counted, time, wrap},
};
use crate::{
    exit_code::ExitCode,
    explore::{
        Explored,
        certificate::{badge, coverage},
        confirm::Confirmed,
        result::{Exploration, KindFound, Level},
    },
    result::{ScenarioResult, SuiteResult},
    verdict::Verdict,
};

/// One line for a level that is through. Coloured.
#[must_use]
pub fn level(level: &Level) -> String {
    let counts = &level.counts;
    let mut parts = vec![format!("{} passed", counts.passed).green().to_string()];
    if counts.failed > 0 {
        parts.push(format!("{} failed", counts.failed).red().bold().to_string());
    }
    if counts.lost > 0 {
        parts.push(format!("{} lost", counts.lost).yellow().to_string());
    }
    let took = Duration::from_millis(level.millis);
    let per_second = rate(counts.run, took);
    let what = if level.length == 0 {
        "at random".to_owned()
    } else {
        counted(level.length, "fault")
    };
    let mut line = format!(
        "{what:>10}  {} in {} ({per_second:.0} a second): {}",
        counted(usize::try_from(counts.run).unwrap_or(usize::MAX), "script"),
        time(took),
        parts.join(", "),
    );
    if counts.covered > 0 {
        let _ = write!(line, "; {} longer ones covered", counts.covered);
    }
    line.push('\n');
    line
}

/// One line in the midst of an exploration: how far it is, and how long it may still take.
#[must_use]
pub fn so_far(done: u64, total: u64, failed: u64, took: Duration) -> String {
    let per_second = rate(done, took);
    #[expect(clippy::cast_precision_loss, reason = "a time for people")]
    let left = total.saturating_sub(done) as f64 / per_second.max(0.1);
    let left = Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX);
    format!(
        "            {done} of {total} scripts, {per_second:.0} a second, about {} left, {failed} failed\n",
        time(Duration::from_secs(left.as_secs())),
    )
}

fn rate(scripts: u64, took: Duration) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let scripts = scripts as f64;
    scripts / took.as_secs_f64().max(0.001)
}

/// Everything that was found, with what proves it. Coloured.
#[must_use]
pub fn failures(explored: &Explored) -> String {
    let mut text = String::new();
    for confirmed in &explored.confirmed {
        let (suite, scenario) = as_a_run(explored, confirmed);
        let _ = writeln!(text, "{}", "─".repeat(WIDTH).dimmed());
        text.push_str(&failure(&suite, &scenario, &confirmed.proof.0, &[]));
        text.push_str(&smallest(&confirmed.found));
    }
    text
}

/// What an exploration adds to a failure.
fn smallest(found: &KindFound) -> String {
    let mut text = String::new();
    let company = if found.company > 1 {
        format!(" ({} messages at once)", found.company)
    } else {
        String::new()
    };
    let scripts: Vec<String> = std::iter::once(&found.script)
        .chain(&found.beside)
        .map(ToString::to_string)
        .collect();
    let told = [
        ("smallest", format!("{}{company}", scripts.join(" | "))),
        ("nearest", found.neighbour.clone().unwrap_or_default()),
        (
            "seen",
            format!(
                "in {}; reproduced {} of {} alone",
                counted(
                    usize::try_from(found.scripts).unwrap_or(usize::MAX),
                    "script"
                ),
                found.reproduced,
                found.runs
            ),
        ),
    ];
    for (label, what) in told.iter().filter(|(_, what)| !what.is_empty()) {
        for (nth, line) in wrap(what, WIDTH - 12).into_iter().enumerate() {
            let label = if nth == 0 { label } else { "" };
            let _ = writeln!(text, "  {label:<9} {line}");
        }
    }
    text
}

/// A failure as the reports of runs have it.
fn as_a_run(explored: &Explored, confirmed: &Confirmed) -> (SuiteResult, ScenarioResult) {
    let (finding, history) = &confirmed.proof;
    let file = confirmed.found.scenario.as_ref();
    let scenario = ScenarioResult {
        name: confirmed.found.script.slug(),
        title: history.title.clone(),
        file: file.map(|path| path.display().to_string()),
        verdict: Verdict::Fail,
        findings: vec![finding.clone()],
        missed: Vec::new(),
        unreached: Vec::new(),
        history: Some(Arc::clone(history)),
        duration: Duration::ZERO,
        directory: None,
    };
    let suite = SuiteResult {
        client: explored.exploration.client.clone(),
        client_words: explored.exploration.client_words.clone(),
        engine: explored.engine.clone(),
        seed: explored.exploration.seed,
        baseline: scenario.clone(),
        scenarios: Vec::new(),
        known: Vec::new(),
        duration: Duration::ZERO,
        interrupted: false,
    };
    (suite, scenario)
}

/// The end: one line for each kind, the counts, and what to do. Coloured.
#[must_use]
pub fn summary(explored: &Exploration) -> String {
    let mut text = format!("{}\n", "─".repeat(WIDTH).dimmed());
    if let Some(why) = &explored.baseline {
        let said = format!(
            "Without any fault the client does not deliver each message once: {why}. Nothing can \
             be learnt from faults until it does."
        );
        for line in wrap(&said, WIDTH) {
            let _ = writeln!(text, "{}", line.bold());
        }
        return text;
    }
    for found in &explored.kinds {
        let _ = writeln!(
            text,
            "{:>26}  {}",
            found.kind.as_str().red().bold().to_string(),
            found.script
        );
    }
    for found in &explored.unconfirmed {
        for line in wrap(&unconfirmed(found), WIDTH) {
            let _ = writeln!(text, "{}", line.yellow());
        }
    }
    let counts = &explored.counts;
    let took = Duration::from_millis(explored.millis);
    let _ = writeln!(
        text,
        "{} of {} scripts known ({:.1} %): {} run, {} covered without running, in {}",
        counts.known(),
        explored.total,
        (coverage(explored) * 1_000.0).floor() / 10.0,
        counts.run,
        counts.covered,
        time(took),
    );
    let _ = writeln!(
        text,
        "client {}, {} faults, depth {}, seed {}, part {}",
        explored.client,
        explored.alphabet.letters().len(),
        explored.depth,
        explored.seed,
        explored.shard
    );
    if let Some(said) = unsteady(explored) {
        for line in wrap(&said, WIDTH) {
            let _ = writeln!(text, "{line}");
        }
    }
    let told = explored.slow.iter().chain(&explored.stopped);
    for said in told.chain(&explored.doubts) {
        for line in wrap(said, WIDTH) {
            let _ = writeln!(text, "{}", line.yellow());
        }
    }
    for line in wrap(&to_do(explored), WIDTH) {
        let _ = writeln!(text, "{}", line.bold());
    }
    if let Some(badge) = badge(explored) {
        let _ = writeln!(text, "\n{badge}");
    }
    text
}

/// What is said of a kind that did not come back.
pub(super) fn unconfirmed(found: &KindFound) -> String {
    format!(
        "{} showed in {} ({}) and did not come back alone: 0 of {}",
        found.kind,
        counted(
            usize::try_from(found.scripts).unwrap_or(usize::MAX),
            "script"
        ),
        found.script,
        found.runs
    )
}

/// What is said of scripts whose bad manners a busy machine explains.
pub(super) fn unsteady(explored: &Exploration) -> Option<String> {
    let scripts = usize::try_from(explored.unsteady).unwrap_or(usize::MAX);
    (scripts > 0).then(|| {
        format!(
            "{} showed bad manners among many messages and none when run again among few: the \
             machine was busy",
            counted(scripts, "script")
        )
    })
}

/// The command that runs a script again that was saved as a scenario.
#[must_use]
pub fn again(explored: &Exploration, scenario: &Path) -> String {
    let scenario = scenario.display().to_string();
    command(
        "replay",
        &[&scenario],
        explored.seed,
        &explored.client_words,
    )
}

/// What to do next, in a sentence or two.
pub(super) fn to_do(explored: &Exploration) -> String {
    match explored.exit_code() {
        ExitCode::Violation => match explored.kinds.first() {
            Some(found) => format!("Begin with {}: {}", found.kind, found.kind.remedy()),
            None => String::new(),
        },
        ExitCode::Inconclusive => "Nothing is proven wrong, and not everything is known: this is \
                                   no pass."
            .to_owned(),
        ExitCode::NothingRan => "No script ran.".to_owned(),
        ExitCode::Interrupted => "It was interrupted: nothing is said of what did not run.".into(),
        _ => "Nothing to do: no message was lost or sent twice, whatever went wrong.".to_owned(),
    }
}

/// The exploration as `JUnit`'s XML: a case for each length, and one for each kind that was found.
///
/// # Errors
///
/// The XML cannot be written.
pub fn junit(
    explored: &Exploration,
    failures: &[Confirmed],
) -> Result<String, quick_junit::SerializeError> {
    let mut report = Report::new("chaos-runner explore");
    let mut tests = TestSuite::new(explored.client.clone());
    for level in &explored.levels {
        let status = if level.counts.lost > 0 {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_type("lost").set_message(format!(
                "nothing can be said of {} scripts",
                level.counts.lost
            ));
            status
        } else {
            TestCaseStatus::success()
        };
        let name = format!("{} scripts of {} faults", level.counts.run, level.length);
        let mut case = TestCase::new(name, status);
        case.set_classname(explored.client.clone());
        case.set_time(Duration::from_millis(level.millis));
        tests.add_test_case(case);
    }
    for found in &explored.kinds {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        let again = failures
            .iter()
            .find(|confirmed| confirmed.found.kind == found.kind)
            .and_then(|confirmed| confirmed.found.scenario.as_ref())
            .map(|path| format!("\nscenario: {}", path.display()))
            .unwrap_or_default();
        status
            .set_type(found.kind.as_str())
            .set_message(found.kind.wrong())
            .set_description(anstream::adapter::strip_str(&smallest(found)).to_string() + &again);
        let mut case = TestCase::new(found.kind.as_str(), status);
        case.set_classname(explored.client.clone());
        tests.add_test_case(case);
    }
    for why in explored.baseline.iter().chain(&explored.stopped) {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_type("incomplete").set_message(why.clone());
        let mut case = TestCase::new("complete", status);
        case.set_classname(explored.client.clone());
        tests.add_test_case(case);
    }
    report.add_test_suite(tests);
    report.to_string()
}

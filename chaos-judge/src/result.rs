//! What a run came to: a value that every report reads.
//!
//! Owns [`ScenarioResult`] and [`SuiteResult`]. How a verdict is reached is the judgement's.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use jiff::civil::Date;

use crate::{
    bug_kind::BugKind,
    diagnosis::{Finding, Standing},
    exit_code::ExitCode,
    history::History,
    severity::Severity,
    verdict::Verdict,
};

/// One scenario as it was run, before it is judged.
#[derive(Clone, Debug)]
pub struct ScenarioRun {
    /// Its name, as the plan has it.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Its file, where it has one.
    pub file: Option<String>,
    /// What was observed, or why it was not run.
    pub ran: Ran,
    /// How long it took.
    pub duration: Duration,
    /// Where its history and the client's output are kept.
    pub directory: Option<PathBuf>,
}

/// Whether a scenario was run.
#[derive(Clone, Debug)]
pub enum Ran {
    /// It was.
    Observed(Arc<History>),
    /// The client or the engine lacks what it needs.
    Skipped(String),
    /// The harness could not run it to its end.
    Broken(String),
}

impl ScenarioRun {
    /// A run of which nothing but its history is known.
    #[must_use]
    pub fn of(history: Arc<History>) -> Self {
        Self {
            name: history.scenario.clone(),
            title: history.title.clone(),
            file: history.file.clone(),
            ran: Ran::Observed(history),
            duration: Duration::ZERO,
            directory: None,
        }
    }
}

/// A fault whose attempt the client had no need to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreached {
    /// Its id in the plan.
    pub fault: u32,
    /// The line of the scenario's file on which it stands; 0 where there is none.
    pub line: usize,
    /// The fault, in one line.
    pub text: String,
    /// Of which intents.
    pub intents: Vec<usize>,
}

/// One scenario, judged.
#[derive(Clone, Debug)]
pub struct ScenarioResult {
    /// Its name.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Its file, where it has one.
    pub file: Option<String>,
    /// The judgement.
    pub verdict: Verdict,
    /// What was found, the gravest first.
    pub findings: Vec<Finding>,
    /// Findings that the scenario is meant to catch, and that are absent.
    pub missed: Vec<String>,
    /// Faults that the client had no need to meet.
    pub unreached: Vec<Unreached>,
    /// What was observed; `None` where it was not run.
    pub history: Option<Arc<History>>,
    /// How long it took.
    pub duration: Duration,
    /// Where its history and the client's output are kept.
    pub directory: Option<PathBuf>,
}

impl ScenarioResult {
    /// The findings that count against the client.
    pub fn counting(&self) -> impl Iterator<Item = &Finding> {
        self.findings
            .iter()
            .filter(|f| f.standing == Standing::Counts)
    }
}

/// What a run is judged by, beside what was observed.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Findings that are let through, by id, as the client file has them.
    pub known: BTreeMap<String, Known>,
    /// The day on which it is judged.
    pub today: Date,
    /// The least severity that fails a run.
    pub min_severity: Severity,
}

impl Rules {
    /// Nothing is known, and all but notes fails.
    #[must_use]
    pub fn strict(today: Date) -> Self {
        Self {
            known: BTreeMap::new(),
            today,
            min_severity: Severity::Policy,
        }
    }

    /// What the client file says of a kind, where it lets it through today.
    #[must_use]
    pub fn lets_through(&self, kind: BugKind) -> Option<&Known> {
        self.known
            .get(kind.as_str())
            .filter(|known| known.holds_on(self.today))
    }
}

/// A finding that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Why it is let through.
    pub reason: String,
    /// The last day on which it is.
    pub until: Date,
}

impl Known {
    /// Whether it is still let through on a day.
    #[must_use]
    pub fn holds_on(&self, day: Date) -> bool {
        day <= self.until
    }
}

/// What became of an entry in the client file's `[known]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownState {
    /// It was found, and let through.
    Shows,
    /// It was not found: the entry can go.
    NoLongerShows,
    /// Its date has passed: it counts again.
    Expired,
}

/// An entry in the client file's `[known]`, with what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownResult {
    /// The id.
    pub id: String,
    /// The reason and the date.
    pub known: Known,
    /// What became of it.
    pub state: KnownState,
}

/// A whole run, judged.
#[derive(Clone, Debug)]
pub struct SuiteResult {
    /// The client's name.
    pub client: String,
    /// The words that choose the client on the command line (`--client client.toml`, or
    /// `-- ./send {to} {body}`); for whoever called it to fill in.
    pub client_words: Vec<String>,
    /// The engine of the network faults.
    pub engine: String,
    /// The seed.
    pub seed: u64,
    /// The run without faults that goes first.
    pub baseline: ScenarioResult,
    /// The scenarios, in the order of the run.
    pub scenarios: Vec<ScenarioResult>,
    /// The entries of the client file's `[known]`.
    pub known: Vec<KnownResult>,
    /// How long it took, end to end; for whoever measured it to fill in.
    pub duration: Duration,
    /// Whether it was interrupted; for whoever saw it to fill in.
    pub interrupted: bool,
}

impl SuiteResult {
    /// The baseline and the scenarios.
    pub fn all(&self) -> impl Iterator<Item = &ScenarioResult> {
        std::iter::once(&self.baseline).chain(&self.scenarios)
    }

    /// How many scenarios have a verdict, by its word (`pass`, `fail`, `inconclusive`, `skipped`).
    #[must_use]
    pub fn count(&self, word: &str) -> usize {
        self.scenarios
            .iter()
            .filter(|s| s.verdict.as_str() == word)
            .count()
    }

    /// The kinds that count against the client, with the scenarios in which they show, the gravest
    /// first.
    #[must_use]
    pub fn kinds(&self) -> Vec<(BugKind, Severity, Vec<&ScenarioResult>)> {
        let mut kinds: BTreeMap<BugKind, (Severity, Vec<&ScenarioResult>)> = BTreeMap::new();
        for scenario in self.all() {
            for finding in scenario.counting() {
                let entry = kinds
                    .entry(finding.kind)
                    .or_insert((finding.severity, Vec::new()));
                entry.0 = entry.0.max(finding.severity);
                entry.1.push(scenario);
            }
        }
        let mut kinds: Vec<_> = kinds
            .into_iter()
            .map(|(kind, (severity, scenarios))| (kind, severity, scenarios))
            .collect();
        kinds.sort_by_key(|(kind, severity, scenarios)| {
            (
                std::cmp::Reverse(*severity),
                std::cmp::Reverse(scenarios.len()),
                *kind,
            )
        });
        kinds
    }

    /// How the program ends. A failed baseline leaves nothing to say of the rest.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        if self.interrupted {
            return ExitCode::Interrupted;
        }
        let verdicts = || self.all().map(|s| &s.verdict);
        if verdicts().any(|v| *v == Verdict::Fail) {
            ExitCode::Violation
        } else if verdicts().any(|v| matches!(v, Verdict::Inconclusive(_))) {
            ExitCode::Inconclusive
        } else if self
            .scenarios
            .iter()
            .all(|s| matches!(s.verdict, Verdict::Skipped(_)))
        {
            ExitCode::NothingRan
        } else {
            ExitCode::Pass
        }
    }
}

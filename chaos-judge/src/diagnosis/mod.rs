//! From symptoms to bug kinds, over all histories of a run.
//!
//! Owns [`diagnose`]: a pure function. A narrower kind holds only where its trigger is present and
//! its control (the same shape without the trigger) is clean; otherwise the more general kind
//! takes the finding, and the narrower ones are not named beside it.

mod explain;
mod facts;
mod keys;

#[cfg(test)]
mod finding_tests;
#[cfg(test)]
mod general_tests;
#[cfg(test)]
mod honest_tests;
#[cfg(test)]
mod kind_tests;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    bug_kind::BugKind,
    checks::{Growth, Symptom, SymptomKind, decide_growth, flat_waits, late_waits, observe},
    history::{History, retry::Cause, view::View},
    intent::Outcome,
    severity::Severity,
};
pub use facts::Facts;

/// A history with what the checks saw in it.
#[derive(Clone, Debug)]
pub struct Judged<'h> {
    /// The history, indexed.
    pub view: View<'h>,
    /// What was seen.
    pub symptoms: Vec<Symptom>,
    /// What could not be decided, by the tag of the check.
    pub undecided: Vec<(&'static str, String)>,
    /// The symptoms of each intent, by their place.
    by_intent: BTreeMap<Option<usize>, Vec<usize>>,
}

impl<'h> Judged<'h> {
    /// Runs every check over `history`.
    #[must_use]
    pub fn new(history: &'h History) -> Self {
        let view = View::new(history);
        let (symptoms, undecided) = observe(&view);
        let mut by_intent: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (at, symptom) in symptoms.iter().enumerate() {
            by_intent.entry(symptom.intent).or_default().push(at);
        }
        Self {
            view,
            symptoms,
            undecided,
            by_intent,
        }
    }

    /// Everything that was seen of an intent (`None`: of none alone).
    pub fn of(&self, intent: Option<usize>) -> impl Iterator<Item = &Symptom> {
        self.by_intent
            .get(&intent)
            .into_iter()
            .flatten()
            .map(|at| &self.symptoms[*at])
    }
}

/// A defect that was seen in one scenario, with what proves it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What is wrong.
    pub kind: BugKind,
    /// How grave it is here: a note where the evidence shows it to be harmless.
    pub severity: Severity,
    /// In which scenario.
    pub scenario: String,
    /// Of which intents; empty: of none alone.
    pub intents: Vec<usize>,
    /// The `seq` of the events that prove it, for the first of the intents.
    pub evidence: Vec<u64>,
    /// The requests that show it, for the first of the intents.
    pub attempts: Vec<u64>,
    /// The fault that provoked it, by its id in the plan.
    pub fault: Option<u32>,
    /// What was seen, in one line.
    pub detail: String,
    /// Whether a narrower kind may be the true one: its control was not run.
    pub or_narrower: bool,
    /// Whether it counts against the client.
    pub standing: Standing,
}

/// Whether a finding counts against the client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It fails the scenario.
    #[default]
    Counts,
    /// The client file says that it is known, and why; it is let through.
    Known(String),
    /// The scenario is meant to catch it.
    Expected,
    /// It rests on what the client did when, and the client was without a processor for so long.
    Doubtful {
        /// Microseconds.
        starved_us: u64,
    },
    /// It is less grave than what the run is asked to fail on, or a mere note.
    Minor,
}

/// A name for a symptom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Named {
    kind: BugKind,
    severity: Severity,
    or_narrower: bool,
}

impl Named {
    fn surely(kind: BugKind) -> Self {
        Self {
            kind,
            severity: kind.severity(),
            or_narrower: false,
        }
    }

    fn or_narrower(kind: BugKind) -> Self {
        Self {
            or_narrower: true,
            ..Self::surely(kind)
        }
    }

    fn graded(kind: BugKind, severity: Severity) -> Self {
        Self {
            severity,
            ..Self::surely(kind)
        }
    }
}

/// Names what was seen in `runs`: by run, the gravest first.
#[must_use]
pub fn diagnose(runs: &[Judged<'_>]) -> Vec<Finding> {
    let facts = Facts::of(runs);
    let mut findings = Vec::new();
    for run in runs {
        let symptoms: Vec<&Symptom> = run.symptoms.iter().collect();
        findings.extend(named(&facts, run, &symptoms));
    }
    flat_over_all(runs, &mut findings);
    findings
}

/// Names what was seen in `run` of each intent by itself (under `None`: of none alone), given what
/// is true over all histories.
#[must_use]
pub fn diagnose_each(facts: &Facts, run: &Judged<'_>) -> BTreeMap<Option<usize>, Vec<Finding>> {
    run.by_intent
        .keys()
        .map(|intent| {
            let symptoms: Vec<&Symptom> = run.of(*intent).collect();
            (*intent, named(facts, run, &symptoms))
        })
        .filter(|(_, findings)| !findings.is_empty())
        .collect()
}

/// Names these symptoms of a run, the gravest first.
fn named(facts: &Facts, run: &Judged<'_>, symptoms: &[&Symptom]) -> Vec<Finding> {
    let mut found: BTreeMap<BugKind, Finding> = BTreeMap::new();
    for symptom in symptoms {
        if let Some(named) = explain::name(facts, run, symptom) {
            add(&mut found, run, symptom, named);
        }
    }
    for symptom in symptoms {
        if let Some(named) = unexplained(facts, run, symptom, &found) {
            add(&mut found, run, symptom, named);
        }
    }
    let mut found: Vec<Finding> = found.into_values().collect();
    found.sort_by_key(|f| (std::cmp::Reverse(f.severity), f.kind));
    found
}

fn add(found: &mut BTreeMap<BugKind, Finding>, run: &Judged<'_>, symptom: &Symptom, named: Named) {
    let entry = found.entry(named.kind).or_insert_with(|| Finding {
        kind: named.kind,
        severity: named.severity,
        scenario: run.view.history.scenario.clone(),
        intents: Vec::new(),
        evidence: symptom.evidence.clone(),
        attempts: symptom.attempts.clone(),
        fault: provoked_by(run, symptom),
        detail: symptom.detail.clone(),
        or_narrower: named.or_narrower,
        standing: Standing::Counts,
    });
    entry.severity = entry.severity.max(named.severity);
    entry.or_narrower &= named.or_narrower;
    if let Some(intent) = symptom.intent
        && !entry.intents.contains(&intent)
    {
        entry.intents.push(intent);
    }
}

/// The fault that acted on a cited request, else the first that acted before the last proof.
fn provoked_by(run: &Judged<'_>, symptom: &Symptom) -> Option<u32> {
    let on_cited = symptom
        .attempts
        .iter()
        .filter_map(|id| run.view.attempt(*id))
        .find_map(|a| a.fired.first().map(|(_, fault)| *fault));
    let last = symptom.evidence.iter().max().copied().unwrap_or(0);
    on_cited.or_else(|| {
        run.view
            .fired
            .iter()
            .find(|(mark, .., intent)| {
                mark.seq <= last
                    && (intent.is_none() || symptom.intent.is_none() || *intent == symptom.intent)
            })
            .map(|(_, fault, ..)| *fault)
    })
}

/// Names what no kind explains: by its symptom, unless a finding on the same intent accounts
/// for it.
fn unexplained(
    facts: &Facts,
    run: &Judged<'_>,
    symptom: &Symptom,
    found: &BTreeMap<BugKind, Finding>,
) -> Option<Named> {
    let accounted = |least: Severity| {
        found.values().any(|f| {
            !f.kind.is_symptom()
                && f.severity > Severity::Note
                && f.severity.max(f.kind.severity()) > least
                && symptom.intent.is_some_and(|i| f.intents.contains(&i))
        })
    };
    match symptom.kind {
        SymptomKind::DeliveredTooOften { cause } if !accounted(least_beyond(run, symptom)) => {
            let keyless_api = !run.view.history.provider.has_key;
            match cause {
                Some(Cause::Retention) => Some(Named::surely(BugKind::KeyOutlived)),
                Some(Cause::Ambiguous | Cause::Restart) if keyless_api => {
                    Some(Named::surely(BugKind::AmbiguousAsFailed))
                }
                Some(Cause::ServerError) if keyless_api => {
                    Some(Named::surely(BugKind::RetriedAcceptedFiveHundred))
                }
                Some(Cause::BrokenSuccess) if keyless_api => {
                    Some(Named::surely(BugKind::BadSuccessRetried))
                }
                _ => facts
                    .general()
                    .filter(|_| cause == Some(Cause::Success))
                    .map(Named::surely)
                    .or_else(|| Some(Named::surely(BugKind::DuplicateDelivery))),
            }
        }
        SymptomKind::DeliveredTooSeldom if !accounted(Severity::Note) => {
            Some(Named::surely(BugKind::LostMessage))
        }
        SymptomKind::UnexpectedOutcome
            if !accounted(Severity::Note) && !still_busy(run, symptom) =>
        {
            Some(Named::surely(BugKind::UnexpectedOutcome))
        }
        _ => None,
    }
}

/// The severity beyond which a finding accounts for too many deliveries. Bad manners do for one
/// that should not have come at all, and for no second one.
fn least_beyond(run: &Judged<'_>, symptom: &Symptom) -> Severity {
    let deliveries = symptom.intent.map_or(0, |i| run.view.deliveries(i).len());
    if deliveries == 1 {
        Severity::Note
    } else {
        Severity::Policy
    }
}

/// Whether the time limit cut short what was still going on: nothing can be said of the outcome.
fn still_busy(run: &Judged<'_>, symptom: &Symptom) -> bool {
    let pending = symptom
        .intent
        .and_then(|i| run.view.belief(i))
        .is_some_and(|b| b.outcome == Some(Outcome::Pending));
    pending && run.view.timed_out.is_some()
}

/// Waits that are too few in each history can be enough in all of them together.
fn flat_over_all(runs: &[Judged<'_>], findings: &mut Vec<Finding>) {
    let Some(one) = runs.first() else { return };
    if findings.iter().any(|f| f.kind == BugKind::NoBackoff) {
        return;
    }
    let by_run: Vec<_> = runs.iter().map(|r| late_waits(&r.view)).collect();
    if decide_growth(&one.view.history.client.policy, &by_run.concat()) != Growth::Flat {
        return;
    }
    let most = by_run.iter().zip(runs).max_by_key(|(waits, _)| waits.len());
    if let Some((_, run)) = most {
        let named = Named::surely(BugKind::NoBackoff);
        let mut found = BTreeMap::new();
        add(&mut found, run, &flat_waits(&by_run.concat()), named);
        let own = most.map(|(waits, _)| flat_waits(waits));
        for (_, mut finding) in found {
            if let Some(own) = &own {
                finding.evidence.clone_from(&own.evidence);
                finding.attempts.clone_from(&own.attempts);
            }
            findings.push(finding);
        }
    }
}

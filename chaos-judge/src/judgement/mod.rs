//! From histories and findings to verdicts.
//!
//! Owns [`judge_suite`] and [`judge_alone`]: pure. The order is that of [`Verdict`]; a proven
//! defect stays proven even where a fault did not act, but not where the client fails without
//! any fault.

mod doubt;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

pub use doubt::doubtful;

use crate::{
    checks::waits_as_told,
    diagnosis::{Finding, Judged, Standing, diagnose},
    history::{History, view::View},
    intent::Outcome,
    reach::reach,
    result::{KnownResult, KnownState, Ran, Rules, ScenarioResult, ScenarioRun, SuiteResult},
    severity::Severity,
    verdict::Verdict,
};

/// The name under which the run without faults goes.
pub const BASELINE: &str = "baseline";

/// Judges a whole run: the kinds are those that all its histories together support.
#[must_use]
pub fn judge_suite(baseline: &ScenarioRun, runs: &[ScenarioRun], rules: &Rules) -> SuiteResult {
    let everything: Vec<&ScenarioRun> = std::iter::once(baseline).chain(runs).collect();
    let observed: Vec<Judged<'_>> = everything
        .iter()
        .filter_map(|run| match &run.ran {
            Ran::Observed(history) => Some(Judged::new(history)),
            Ran::Skipped(_) | Ran::Broken(_) => None,
        })
        .collect();
    let findings = diagnose(&observed);
    let broken = match &baseline.ran {
        Ran::Observed(history) => baseline_failure(&View::new(history)),
        Ran::Broken(why) => Some(why.clone()),
        // Histories alone are judged again: what is not among them says nothing.
        Ran::Skipped(_) => None,
    };
    let result_of = |run: &ScenarioRun, is_baseline: bool| -> ScenarioResult {
        let judged = match &run.ran {
            Ran::Observed(history) => observed
                .iter()
                .find(|j| std::ptr::eq(j.view.history, Arc::as_ptr(history))),
            Ran::Skipped(_) | Ran::Broken(_) => None,
        };
        let own: Vec<Finding> = findings
            .iter()
            .filter(|f| judged.is_some() && f.scenario == run.name)
            .cloned()
            .collect();
        let spoilt = broken.as_deref().map(|why| {
            if is_baseline {
                why.to_owned()
            } else {
                format!("the client fails without any fault: {why}")
            }
        });
        result(run, judged, own, spoilt, rules)
    };
    let base = result_of(baseline, true);
    let scenarios: Vec<ScenarioResult> = runs.iter().map(|run| result_of(run, false)).collect();
    let known = known_results(rules, std::iter::once(&base).chain(&scenarios));
    let facts = everything.iter().find_map(|run| match &run.ran {
        Ran::Observed(history) => Some(history),
        Ran::Skipped(_) | Ran::Broken(_) => None,
    });
    SuiteResult {
        client: facts.map(|h| h.client.name.clone()).unwrap_or_default(),
        client_words: Vec::new(),
        interrupted: false,
        engine: facts.map(|h| h.engine.clone()).unwrap_or_default(),
        seed: facts.map_or(0, |h| h.seed),
        baseline: base,
        scenarios,
        known,
        duration: Duration::ZERO,
    }
}

/// Judges one scenario by itself, for a line while the run goes on: a kind is then the most
/// general one that this history supports.
#[must_use]
pub fn judge_alone(run: &ScenarioRun, baseline: Option<&History>, rules: &Rules) -> ScenarioResult {
    let Ran::Observed(history) = &run.ran else {
        return result(run, None, Vec::new(), None, rules);
    };
    let mut judged = vec![Judged::new(history)];
    judged.extend(baseline.map(Judged::new));
    let own = diagnose(&judged)
        .into_iter()
        .filter(|f| f.scenario == run.name)
        .collect();
    let spoilt = if run.name == BASELINE {
        baseline_failure(&judged[0].view)
    } else {
        baseline
            .and_then(|b| baseline_failure(&View::new(b)))
            .map(|why| format!("the client fails without any fault: {why}"))
    };
    result(run, judged.first(), own, spoilt, rules)
}

fn result(
    run: &ScenarioRun,
    judged: Option<&Judged<'_>>,
    mut findings: Vec<Finding>,
    spoilt: Option<String>,
    rules: &Rules,
) -> ScenarioResult {
    let (mut missed, mut unreached) = (Vec::new(), Vec::new());
    let verdict = match (&run.ran, judged) {
        (Ran::Skipped(why), _) => Verdict::Skipped(why.clone()),
        (Ran::Broken(why), _) => Verdict::Inconclusive(why.clone()),
        (Ran::Observed(_), None) => Verdict::Inconclusive("nothing was observed".into()),
        (Ran::Observed(history), Some(judged)) => {
            let expected = &history.expect.findings;
            for finding in &mut findings {
                finding.standing = standing(finding, expected, rules, &judged.view);
            }
            let caught: BTreeSet<&str> = findings.iter().map(|f| f.kind.as_str()).collect();
            missed = expected
                .iter()
                .filter(|id| !caught.contains(id.as_str()))
                .cloned()
                .collect();
            let reached = reach(&judged.view);
            unreached.clone_from(&reached.unreached);
            let counts = findings.iter().any(|f| f.standing == Standing::Counts);
            if let Some(why) = spoilt {
                Verdict::Inconclusive(why)
            } else if counts {
                Verdict::Fail
            } else if let Some(why) = findings.iter().find_map(doubtful) {
                Verdict::Inconclusive(why)
            } else if let Some(why) = nothing_to_say(judged, &reached) {
                Verdict::Inconclusive(why)
            } else if missed.is_empty() {
                Verdict::Pass
            } else {
                Verdict::Fail
            }
        }
    };
    ScenarioResult {
        name: run.name.clone(),
        title: run.title.clone(),
        file: run.file.clone(),
        verdict,
        findings,
        missed,
        unreached,
        history: match &run.ran {
            Ran::Observed(history) => Some(Arc::clone(history)),
            Ran::Skipped(_) | Ran::Broken(_) => None,
        },
        duration: run.duration,
        directory: run.directory.clone(),
    }
}

/// Whether a finding counts against the client.
#[must_use]
pub fn standing(
    finding: &Finding,
    expected: &[String],
    rules: &Rules,
    view: &View<'_>,
) -> Standing {
    if expected.iter().any(|id| id == finding.kind.as_str()) {
        Standing::Expected
    } else if finding.severity < rules.min_severity || finding.severity == Severity::Note {
        Standing::Minor
    } else if let Some(known) = rules.lets_through(finding.kind)
        // What is known does not excuse something graver of the same kind.
        && finding.severity <= finding.kind.severity()
    {
        Standing::Known(known.reason.clone())
    } else if let Some(starved_us) = doubt::doubt(finding, view) {
        Standing::Doubtful { starved_us }
    } else {
        Standing::Counts
    }
}

/// Why nothing can be said of a history in which nothing is wrong.
fn nothing_to_say(judged: &Judged<'_>, reached: &crate::reach::Reach) -> Option<String> {
    let view = &judged.view;
    let history = view.history;
    let counted = view
        .intents()
        .any(|i| view.own_count(i.number).is_some_and(|n| n > 0));
    if view.attempts.is_empty() && reached.fired == 0 && !counted {
        return Some("the client never called the provider".into());
    }
    if let Some(missing) = reached.missing.first() {
        return Some(missing.why.clone());
    }
    if !history.faults.is_empty() && reached.fired == 0 {
        return Some("no fault acted: the client came to none of them".into());
    }
    if let Some(busy) = still_pending(view) {
        return Some(format!(
            "the time limit was reached while intent {busy} was being worked on"
        ));
    }
    if history.client.tells_outcome
        && let Some(mute) = view.intents().find(|i| view.belief(i.number).is_none())
    {
        return Some(format!(
            "nobody could learn what the client believes of intent {}",
            mute.number
        ));
    }
    judged
        .undecided
        .iter()
        .find(|(tag, _)| history.tags.iter().any(|t| t == tag))
        .map(|(_, why)| why.clone())
}

/// The first intent that was not finished at the time limit, unless it waits as it was told.
fn still_pending(view: &View<'_>) -> Option<usize> {
    view.timed_out?;
    view.intents()
        .find(|i| {
            view.belief(i.number)
                .is_none_or(|b| b.outcome == Some(Outcome::Pending))
                && !waits_as_told(view, i.number)
        })
        .map(|i| i.number)
}

/// Why the run without faults shows that nothing can be learnt from those with faults.
#[must_use]
pub fn baseline_failure(view: &View<'_>) -> Option<String> {
    if view.attempts.is_empty() {
        return Some("the client never called the provider".into());
    }
    for intent in view.intents() {
        let alike = view.alike(intent.number);
        let delivered: usize = alike.iter().map(|n| view.deliveries(*n).len()).sum();
        if delivered != alike.len() {
            return Some(format!(
                "intent {} was delivered {delivered} times where {} should be",
                intent.number,
                alike.len()
            ));
        }
        match view.belief(intent.number).map(|b| b.outcome) {
            Some(Some(Outcome::Sent)) => {}
            Some(Some(other)) => {
                return Some(format!(
                    "intent {} was delivered, and the client says `{other}`",
                    intent.number
                ));
            }
            Some(None) => {
                return Some(format!(
                    "intent {} was delivered, and the client has no record of it",
                    intent.number
                ));
            }
            None if view.history.client.tells_outcome => {
                return Some(format!(
                    "nobody could learn what the client believes of intent {}",
                    intent.number
                ));
            }
            None => {}
        }
    }
    view.timed_out
        .map(|_| "the client did not finish in time".to_owned())
}

fn known_results<'r>(
    rules: &Rules,
    results: impl Iterator<Item = &'r ScenarioResult>,
) -> Vec<KnownResult> {
    let shown: BTreeSet<&str> = results
        .flat_map(|r| r.findings.iter().map(|f| f.kind.as_str()))
        .collect();
    rules
        .known
        .iter()
        .map(|(id, known)| KnownResult {
            id: id.clone(),
            known: known.clone(),
            state: if !shown.contains(id.as_str()) {
                KnownState::NoLongerShows
            } else if known.holds_on(rules.today) {
                KnownState::Shows
            } else {
                KnownState::Expired
            },
        })
        .collect()
}

#[cfg(test)]
mod tests;

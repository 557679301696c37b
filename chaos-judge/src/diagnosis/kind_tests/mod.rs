//! From histories to exactly the kind that they show: at least one case for each.

use super::{Finding, Judged, diagnose};
use crate::{
    bug_kind::BugKind,
    history::{
        History,
        builder::{Tale, tale},
    },
    intent::Outcome,
    severity::Severity,
};

mod answers;
mod keys;
mod life;
mod waits;

pub(in crate::diagnosis) fn findings(histories: &[History]) -> Vec<Finding> {
    let judged: Vec<Judged<'_>> = histories.iter().map(Judged::new).collect();
    diagnose(&judged)
}

/// The kinds that count, each once, in the order of the reference.
pub(in crate::diagnosis) fn kinds(histories: &[History]) -> Vec<BugKind> {
    let mut kinds: Vec<BugKind> = findings(histories)
        .into_iter()
        .filter(|f| f.severity > Severity::Note)
        .map(|f| f.kind)
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// 503 once, then accepted, under these keys: the control of many kinds.
pub(in crate::diagnosis) fn refused(first: Option<&str>, second: Option<&str>) -> History {
    tale("refused", 1)
        .ask(1, first)
        .refuse(503)
        .ask(1, second)
        .accept()
        .all_sent()
}

fn clean_control() -> History {
    refused(Some("k"), Some("k"))
}

/// Accepted, no answer, then asked again under `second`.
pub(in crate::diagnosis) fn ambiguous(second: Option<&str>) -> Tale {
    tale("ambiguous", 1)
        .ask(1, Some("k"))
        .deliver()
        .hang()
        .ask(1, second)
}

/// Killed after acceptance, then asked again under `second`.
fn restarted(second: Option<&str>) -> History {
    tale("restarted", 1)
        .ask(1, Some("k"))
        .deliver()
        .kill()
        .ask(1, second)
        .accept()
        .all_sent()
}

#[test]
fn what_no_kind_explains_is_named_by_its_symptom() {
    let double = tale("double", 1)
        .ask(1, Some("a"))
        .accept()
        .ask(1, Some("b"))
        .accept()
        .all_sent();
    assert_eq!(kinds(&[double]), [BugKind::DuplicateDelivery]);
    let outcome = tale("outcome", 1)
        .given(|h| h.expect.outcomes = vec![Outcome::Sent])
        .ask(1, Some("k"))
        .accept()
        .believe(1, Outcome::Unknown)
        .settle();
    assert_eq!(kinds(&[outcome]), [BugKind::UnexpectedOutcome]);
    let lost = tale("lost", 1)
        .given(|h| h.expect.deliveries = Some(1))
        .ask(1, Some("k"))
        .refuse(400)
        .believe(1, Outcome::Failed)
        .settle();
    assert_eq!(kinds(&[lost]), [BugKind::LostMessage]);
    let stray = tale("stray", 1)
        .ask(1, Some("k"))
        .accept()
        .stray()
        .accept()
        .all_sent();
    assert_eq!(kinds(&[stray]), [BugKind::StrayAttempt]);
}

#[test]
fn every_finding_cites_its_proof_and_the_fault_that_provoked_it() {
    let found = findings(&[refused(Some("a"), Some("b"))]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].attempts, [1, 2]);
    assert_eq!(found[0].evidence.len(), 2);
    assert_eq!(found[0].fault, Some(1));
    assert_eq!(found[0].intents, [1]);
}

//! What is doubtful among many is run again among few, then alone.
//!
//! Owns the reruns of scripts that were lost or failed in a crowd, and what they change: a lost
//! script is never a pass, and a busy machine is never a defect of the client. Owns [`Doubts`] too:
//! what only many messages together show cannot be run again alone.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    explorer::{Explorer, LEAST_BATCH, Progress},
    reading::{Came, Seen},
    script::Script,
};
use crate::{bug_kind::BugKind, diagnosis::Finding, run::Error, severity::Severity};

/// How many doubtful scripts share a lab when they are run again.
const FEW: usize = 16;
/// How many doubtful scripts are run alone before the rest is taken as it is.
const MOST: usize = 100;

/// What many messages together seemed to show, on a machine that was too busy to prove it.
#[derive(Debug, Default)]
pub(super) struct Doubts {
    /// Of how many messages, and why it proves nothing.
    seen: Vec<(usize, String)>,
    /// The most messages of which nothing of that kind was seen.
    clear: usize,
}

impl Doubts {
    /// Takes note of what a batch of so many messages showed.
    pub(super) fn weigh(&mut self, messages: usize, doubt: Option<String>) {
        match doubt {
            Some(why) => self.seen.push((messages, why)),
            None => self.clear = self.clear.max(messages),
        }
    }

    /// What is left of them: a client that does wrong does so in every batch, so that one at least
    /// as large in which nothing was seen takes a doubt away.
    pub(super) fn left(&self) -> Vec<String> {
        let left = self.seen.iter().filter(|(size, _)| *size > self.clear);
        let mut left: Vec<String> = left.map(|(_, why)| why.clone()).collect();
        left.sort();
        left.dedup();
        left
    }
}

impl Explorer<'_> {
    /// Runs what was lost, or failed among many, again: fewer at once, then alone.
    pub(super) async fn again(&mut self, seen: &mut [Seen]) -> Result<(), Error> {
        let lost = seen.iter().filter(|one| is_lost(one)).count();
        if lost * 10 > seen.len() && seen.len() >= LEAST_BATCH {
            self.slow = Some(format!(
                "the client did not finish {lost} of {} scripts in time with up to {} at once: it \
                 is the client that is slow; try a smaller --batch or fewer --jobs",
                seen.len(),
                self.settings.batch
            ));
        }
        let bad = seen.iter().filter(|one| behaves_badly(one)).count();
        // Where many behave badly, it is not the crowd that makes them.
        let some_behave_badly = bad <= MOST || bad * 4 <= seen.len();
        let depth = self.settings.depth;
        for alone in [false, true] {
            // One script that shows a kind for sure is enough.
            let sure: BTreeSet<BugKind> = seen
                .iter()
                .flat_map(|one| findings(one).iter().map(|finding| finding.kind))
                .chain(self.shown.keys().copied())
                .collect();
            // What failed among few as well is believed; what is lost there too is run alone.
            let is_doubtful = |one: &&Seen| {
                is_lost(one)
                    || (!alone && some_behave_badly && behaves_badly(one))
                    || may_be_extended_in_vain(one, depth)
                    || one.doubted.iter().any(|kind| !sure.contains(kind))
            };
            let mut doubtful: Vec<Script> = seen
                .iter()
                .filter(is_doubtful)
                .map(|one| one.script.clone())
                .collect();
            if doubtful.is_empty() || self.stop.is_some() || self.labs.is_cancelled() {
                return Ok(());
            }
            let size = if alone { 1 } else { FEW };
            if alone {
                doubtful.truncate(MOST);
            }
            (self.told)(Progress::Again {
                scripts: doubtful.len(),
                alone,
            });
            let retried: BTreeMap<Script, Seen> = self
                .read_all(doubtful, size)
                .await?
                .into_iter()
                .map(|one| (one.script.clone(), one))
                .collect();
            for one in seen.iter_mut() {
                if let Some(better) = retried.get(&one.script) {
                    self.unsteady += u64::from(reconsider(one, better, depth));
                }
            }
        }
        Ok(())
    }
}

/// Takes what a script showed among fewer in place of what it showed among many. Whether it failed
/// there and does not here.
fn reconsider(one: &mut Seen, again: &Seen, depth: usize) -> bool {
    let believed = !behaves_badly(one) && !may_be_extended_in_vain(one, depth);
    match (&mut one.came, &again.came) {
        // What was run again for something else that it may show keeps what it has shown.
        (Came::Fail(known), came) if believed => {
            if let Came::Fail(more) = came {
                let new = |finding: &&Finding| known.iter().all(|k| k.kind != finding.kind);
                let more: Vec<Finding> = more.iter().filter(new).cloned().collect();
                known.extend(more);
            }
            one.doubted.clone_from(&again.doubted);
            false
        }
        (Came::Fail(_), Came::Pass) => {
            *one = again.clone();
            true
        }
        (Came::Lost(_), _) | (Came::Fail(_), Came::Fail(_)) => {
            *one = again.clone();
            false
        }
        (Came::Pass, Came::Pass | Came::Fail(_)) if one.gave_up => {
            *one = again.clone();
            false
        }
        _ => false,
    }
}

/// What it failed by.
fn findings(one: &Seen) -> &[Finding] {
    match &one.came {
        Came::Fail(findings) => findings,
        Came::Pass | Came::Lost(_) => &[],
    }
}

/// Whether longer scripts would be run because of what the client did in vain: whether a script is
/// extended must not depend on how busy the machine was.
fn may_be_extended_in_vain(one: &Seen, depth: usize) -> bool {
    one.gave_up && one.attempts > one.script.len() && one.script.len() < depth
}

fn is_lost(one: &Seen) -> bool {
    matches!(one.came, Came::Lost(_))
}

/// Whether it failed by bad manners alone. A message that was harmed stays harmed, however busy the
/// machine was.
fn behaves_badly(one: &Seen) -> bool {
    let findings = findings(one);
    !findings.is_empty() && findings.iter().all(|f| f.severity <= Severity::Policy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{diagnosis::Standing, explore::letter::Letter};

    fn seen(kinds: &[BugKind], doubted: &[BugKind]) -> Seen {
        let finding = |kind: &BugKind| Finding {
            kind: *kind,
            severity: kind.severity(),
            scenario: "a".into(),
            intents: vec![1],
            evidence: Vec::new(),
            attempts: Vec::new(),
            fault: None,
            detail: String::new(),
            or_narrower: false,
            standing: Standing::Counts,
        };
        Seen {
            script: Script(vec![Letter::RateLimited]),
            attempts: 2,
            gave_up: false,
            came: match kinds {
                [] => Came::Pass,
                _ => Came::Fail(kinds.iter().map(finding).collect()),
            },
            doubted: doubted.to_vec(),
        }
    }

    #[test]
    fn harm_stays_and_what_was_doubted_comes_on_top() {
        let (harm, manners) = (BugKind::NoKey, BugKind::RetryAfterIgnored);
        let mut one = seen(&[harm], &[manners]);
        let quiet = seen(&[harm, manners], &[]);
        assert!(!reconsider(&mut one, &quiet, 2));
        assert_eq!(one, quiet);
        let mut one = seen(&[harm], &[manners]);
        assert!(!reconsider(&mut one, &seen(&[], &[]), 2));
        assert_eq!(one, seen(&[harm], &[]));
    }

    #[test]
    fn bad_manners_that_are_not_seen_again_were_the_machines() {
        let manners = BugKind::RetryAfterIgnored;
        let mut one = seen(&[manners], &[]);
        assert!(reconsider(&mut one, &seen(&[], &[]), 2));
        assert_eq!(one, seen(&[], &[]));
    }

    #[test]
    fn what_a_client_did_that_had_given_up_is_taken_from_the_quieter_run() {
        let mut one = Seen {
            gave_up: true,
            ..seen(&[BugKind::NoKey], &[])
        };
        assert!(reconsider(&mut one, &seen(&[], &[]), 2));
        assert_eq!(one, seen(&[], &[]));
    }

    #[test]
    fn a_doubt_of_many_messages_stays_until_as_many_show_nothing() {
        let mut doubts = Doubts::default();
        assert!(doubts.left().is_empty());
        doubts.weigh(300, Some("it looks like no-jitter".into()));
        doubts.weigh(300, Some("it looks like no-jitter".into()));
        doubts.weigh(16, None);
        assert_eq!(doubts.left(), ["it looks like no-jitter"]);
        doubts.weigh(300, None);
        assert!(doubts.left().is_empty());
    }
}

//! What is doubtful among many is run again among few, then alone.
//!
//! Owns the reruns of scripts that were lost or failed in a crowd, and what they change: a lost
//! script is never a pass, and a busy machine is never a defect of the client. Owns [`Doubts`] too:
//! what only many messages together show cannot be run again alone.

use std::collections::BTreeMap;

use super::{
    explorer::{Explorer, LEAST_BATCH, Progress},
    reading::{Came, Seen},
    script::Script,
};
use crate::{run::Error, severity::Severity};

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
            // What failed among few as well is believed; what is lost there too is run alone.
            // Whether a script is extended must not depend on how busy the machine was.
            let is_doubtful = |one: &&Seen| {
                is_lost(one)
                    || (!alone && some_behave_badly && behaves_badly(one))
                    || (one.gave_up && one.attempts > one.script.len() && one.script.len() < depth)
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
                    self.reconsider(one, better);
                }
            }
        }
        Ok(())
    }

    /// Takes what a script showed among fewer in place of what it showed among many.
    fn reconsider(&mut self, one: &mut Seen, again: &Seen) {
        match (&one.came, &again.came) {
            (Came::Lost(_), _) | (Came::Fail(_), Came::Fail(_)) => *one = again.clone(),
            (Came::Fail(_), Came::Pass) => {
                self.unsteady += 1;
                *one = again.clone();
            }
            (Came::Pass, Came::Pass | Came::Fail(_)) if one.gave_up => *one = again.clone(),
            _ => {}
        }
    }
}

fn is_lost(one: &Seen) -> bool {
    matches!(one.came, Came::Lost(_))
}

/// Whether it failed by bad manners alone. A message that was harmed stays harmed, however busy the
/// machine was.
fn behaves_badly(one: &Seen) -> bool {
    match &one.came {
        Came::Fail(findings) => findings.iter().all(|f| f.severity <= Severity::Policy),
        Came::Pass | Came::Lost(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

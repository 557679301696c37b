//! Scripts carried out in batches, several labs at once.
//!
//! Owns the division into batches, the labs that run at once, and the end of the time. What is done
//! with a batch's history is its caller's.

use std::{
    cmp::Reverse,
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use super::{
    batch,
    explorer::{Explorer, LEAST_BATCH, Progress, blocking},
    script::Script,
};
use crate::{
    history::History,
    plan::Plan,
    run::{Error, labs::Labs},
};

/// How often it is told how far a level is.
const TICK: Duration = Duration::from_millis(500);

impl Explorer<'_> {
    /// Runs scripts in batches of up to `size`, and does `work` on each history as it comes. What
    /// was not begun before the end of the time is not among the answers.
    pub(super) async fn each_batch<T: Send + 'static>(
        &mut self,
        scripts: Vec<Script>,
        size: usize,
        work: Work<T>,
    ) -> Result<Vec<(Vec<Script>, Result<T, String>)>, Error> {
        let mut batches = divide(scripts, size, self.settings.jobs);
        // Whoever waits longest begins first, so that a batch does not end with one that waits.
        let timing = self.settings.timing();
        for batch in &mut batches {
            batch.sort_by_cached_key(|script| Reverse(script.wait(timing)));
        }
        self.run_batches(batches, work).await
    }

    /// Runs these batches, several at once.
    pub(super) async fn run_batches<T: Send + 'static>(
        &mut self,
        batches: Vec<Vec<Script>>,
        work: Work<T>,
    ) -> Result<Vec<(Vec<Script>, Result<T, String>)>, Error> {
        let mut waiting = batches.into_iter().enumerate();
        let mut running = tokio::task::JoinSet::new();
        let mut through = BTreeMap::new();
        let before = self.labs.finished();
        let mut ticks = tokio::time::interval(TICK);
        loop {
            if self.out_of_time() && self.stop.is_none() {
                self.stop = Some("no time was left (--max-time)".into());
            }
            while self.stop.is_none()
                && !self.labs.is_cancelled()
                && running.len() < self.settings.jobs.max(1)
            {
                let Some((at, scripts)) = waiting.next() else {
                    break;
                };
                self.batches += 1;
                let name = format!("batch-{}", self.batches);
                let plan = batch::plan(&name, &scripts, self.settings.timing(), self.settings.seed);
                let (labs, work) = (self.labs.clone(), Arc::clone(&work));
                running.spawn(async move { (at, one_batch(labs, plan, scripts, work).await) });
            }
            let joined = tokio::select! {
                joined = running.join_next() => joined,
                _ = ticks.tick() => {
                    self.tell_how_far(self.labs.finished() - before);
                    continue;
                }
            };
            let Some(joined) = joined else {
                break;
            };
            let (at, ended) = joined.map_err(|error| Error::Panic {
                scenario: "a batch".into(),
                what: error.to_string(),
            })?;
            if let Some((scripts, done)) = ended? {
                through.insert(at, (scripts, done));
            }
        }
        Ok(through.into_values().collect())
    }

    /// Tells how many messages of a level the client has finished with; of those that are run
    /// again there is nothing to tell.
    fn tell_how_far(&mut self, run: u64) {
        if !self.repeating {
            let failed = self.counts.failed + self.failing.load(Ordering::Relaxed);
            (self.told)(Progress::Running { run, failed });
        }
    }

    fn out_of_time(&self) -> bool {
        let limit = self.settings.max_time;
        limit.is_some_and(|limit| self.began.elapsed() >= limit)
    }
}

/// A batch that was observed.
pub(super) struct Task {
    /// Its history.
    pub(super) history: History,
    /// Its scripts.
    pub(super) scripts: Vec<Script>,
}

/// What is done with a batch's history.
pub(super) type Work<T> = Arc<dyn Fn(Task) -> T + Send + Sync>;

type Batched<T> = Option<(Vec<Script>, Result<T, String>)>;

/// Runs one batch, and does its work on what was seen; `None`: interrupted.
async fn one_batch<T: Send + 'static>(
    labs: Labs,
    plan: Plan,
    scripts: Vec<Script>,
    work: Work<T>,
) -> Result<Batched<T>, Error> {
    let directory = labs.directory_of(&plan.name);
    let observed = labs.observe(Arc::new(plan)).await;
    let done = match observed {
        Ok(None) => None,
        Ok(Some(history)) => {
            let task = Task {
                history,
                scripts: scripts.clone(),
            };
            Some(Ok(blocking(move || work(task)).await?))
        }
        // The client could not even be started: nothing is known of these scripts.
        Err(error) => Some(Err(error.to_string())),
    };
    // What is worth keeping is seen again alone.
    if let Err(error) = std::fs::remove_dir_all(&directory) {
        tracing::debug!(%error, directory = %directory.display(), "a batch's directory stays");
    }
    Ok(done.map(|done| (scripts, done)))
}

/// Divides scripts into batches of up to `size`, and of no more than one where a script needs a
/// lab to itself.
fn divide(scripts: Vec<Script>, size: usize, jobs: usize) -> Vec<Vec<Script>> {
    let (alone, shared): (Vec<Script>, Vec<Script>) =
        scripts.into_iter().partition(Script::is_exclusive);
    let useful = shared.len().div_ceil(LEAST_BATCH).min(jobs.max(1));
    let parts = shared.len().div_ceil(size.max(1)).max(useful).max(1);
    let each = shared.len().div_ceil(parts).max(1);
    let mut batches: Vec<Vec<Script>> = shared.chunks(each).map(<[Script]>::to_vec).collect();
    batches.extend(alone.into_iter().map(|script| vec![script]));
    batches
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::explore::letter::Letter;

    proptest! {
        #[test]
        fn every_script_is_in_exactly_one_batch_and_none_is_too_large(
            lengths in prop::collection::vec(prop::sample::select(Letter::ALL.to_vec()), 0..300),
            size in 1_usize..100, jobs in 1_usize..5,
        ) {
            let scripts: Vec<Script> = lengths.into_iter().map(|l| Script(vec![l])).collect();
            let batches = divide(scripts.clone(), size, jobs);
            prop_assert!(batches.iter().all(|b| (1..=size).contains(&b.len())));
            prop_assert!(batches.iter().all(|b| b.len() == 1 || !b.iter().any(Script::is_exclusive)));
            let mut all = batches.concat();
            all.sort_unstable();
            let mut wanted = scripts;
            wanted.sort_unstable();
            prop_assert_eq!(all, wanted);
        }
    }

    #[test]
    fn a_large_level_keeps_every_lab_busy_and_a_small_one_is_not_divided() {
        let many = vec![Script(vec![Letter::Unavailable]); 1_000];
        assert_eq!(divide(many, 2_000, 2).len(), 2);
        let few = vec![Script(vec![Letter::Unavailable]); 60];
        assert_eq!(divide(few, 2_000, 2).len(), 1);
    }
}

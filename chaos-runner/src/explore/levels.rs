//! The levels of an exploration: all scripts of one length, then those that are one fault longer.
//!
//! Owns which scripts are run, extended and counted. Carrying them out is [`super::batches`]'.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Instant,
};

use super::{
    batches::Work,
    explorer::{Explorer, Progress, Shown, blocking, millis},
    reading::{Came, Reading, Seen, read},
    result::{Counts, Level},
    script::Script,
    tree::{Tree, shuffle},
};
use crate::{
    diagnosis::{Facts, Finding, Judged},
    history::History,
    run::Error,
};

/// Scripts of up to this many faults are the controls by which narrower kinds are told from
/// general ones. Every part of a shared exploration runs them all.
const CONTROL: usize = 2;
/// How many messages go out at once without any fault, to see what shows in company only.
const COMPANY: usize = 8;
impl Explorer<'_> {
    pub(super) async fn levels(&mut self, tree: &Tree) -> Result<(), Error> {
        let quiet = vec![Script::default(); COMPANY];
        self.level(0, quiet, tree).await?;
        let mut open = vec![Script::default()];
        // What decides whether a script is extended, every part must know.
        let shared = CONTROL.max(tree.depth.saturating_sub(1));
        for length in 1..=tree.depth {
            let mut scripts = tree.extend(&open);
            if length > shared {
                scripts.retain(|script| self.settings.shard.has(&script.slug()));
            }
            shuffle(&mut scripts, self.settings.seed);
            open = self.level(length, scripts, tree).await?;
            open.sort_unstable();
            if self.stop.is_some() || self.labs.is_cancelled() || open.is_empty() {
                break;
            }
            if self.settings.fail_fast && !self.shown.is_empty() && length < tree.depth {
                self.stop = Some("a script failed (--fail-fast)".into());
                break;
            }
        }
        Ok(())
    }

    /// Runs the scripts of one level. Returns those after which the client made another attempt.
    async fn level(
        &mut self,
        length: usize,
        scripts: Vec<Script>,
        tree: &Tree,
    ) -> Result<Vec<Script>, Error> {
        let began = Instant::now();
        (self.told)(Progress::Level {
            length,
            scripts: scripts.len(),
        });
        let wanted = scripts.len();
        self.failing.store(0, Ordering::Relaxed);
        let mut seen = if length <= CONTROL {
            self.controls(scripts).await?
        } else {
            self.read_all(scripts, self.settings.batch).await?
        };
        self.repeating = true;
        self.again(&mut seen).await?;
        self.repeating = false;
        // From here on they are among the counts.
        self.failing.store(0, Ordering::Relaxed);
        if seen.len() < wanted && self.stop.is_none() {
            self.stop = Some("it was interrupted".into());
        }
        let mut level = Level {
            length,
            ..Level::default()
        };
        let mut open = Vec::new();
        for one in &seen {
            let extended = one.attempts > one.script.len();
            if extended {
                open.push(one.script.clone());
            }
            if !self.settings.shard.has(&one.script.slug()) {
                continue;
            }
            self.note(one, length, &mut level.counts);
            if !extended && length > 0 && !matches!(one.came, Came::Lost(_)) {
                level.counts.covered += tree.below(length);
            }
        }
        // What goes out without any fault is not among the scripts.
        if length > 0 {
            level.millis = millis(began.elapsed());
            self.counts.add(&level.counts);
            self.levels.push(level.clone());
            (self.told)(Progress::Through(level));
        }
        Ok(open)
    }

    fn note(&mut self, one: &Seen, length: usize, counts: &mut Counts) {
        counts.run += 1;
        let verdict = match &one.came {
            Came::Pass => {
                counts.passed += 1;
                "pass".to_owned()
            }
            Came::Lost(why) => {
                counts.lost += 1;
                format!("lost\t{why}")
            }
            Came::Fail(findings) => {
                counts.failed += 1;
                for finding in findings {
                    self.show(&one.script, finding);
                }
                let kinds: Vec<&str> = findings.iter().map(|f| f.kind.as_str()).collect();
                format!("fail\t{}", kinds.join(","))
            }
        };
        if length > 0 {
            self.verdicts
                .push(format!("{}\t{verdict}", one.script.slug()));
        }
    }

    fn show(&mut self, script: &Script, finding: &Finding) {
        self.shown
            .entry(finding.kind)
            .or_insert_with(|| Shown {
                scripts: Vec::new(),
                count: 0,
                finding: finding.clone(),
            })
            .add(script, finding);
    }

    /// Runs the scripts that decide which kinds are told apart, and reads them once all are there.
    async fn controls(&mut self, scripts: Vec<Script>) -> Result<Vec<Seen>, Error> {
        let size = self.settings.batch;
        let keep: Work<History> = Arc::new(|task| task.history);
        let kept = self.each_batch(scripts, size, keep).await?;
        let known = Arc::clone(&self.facts);
        let rules = self.settings.rules.clone();
        let read_them = move || {
            let judged: Vec<Option<Judged<'_>>> = kept
                .iter()
                .map(|(_, history)| history.as_ref().ok().map(Judged::new))
                .collect();
            let facts = judged
                .iter()
                .flatten()
                .fold((*known).clone(), |facts, judged| {
                    facts.join(&Facts::of(std::slice::from_ref(judged)))
                });
            let readings: Vec<(Vec<Script>, Result<Reading, String>)> = kept
                .iter()
                .zip(&judged)
                .map(|((scripts, history), judged)| {
                    let reading = match (judged, history) {
                        (Some(judged), _) => Ok(read(judged, scripts, &facts, &rules)),
                        (None, Err(why)) => Err(why.clone()),
                        (None, Ok(_)) => Err("nothing was observed".into()),
                    };
                    (scripts.clone(), reading)
                })
                .collect();
            (facts, readings)
        };
        let (facts, readings) = blocking(read_them).await?;
        self.facts = Arc::new(facts);
        Ok(self.collect(readings))
    }

    /// Runs scripts and reads each batch as it comes.
    pub(super) async fn read_all(
        &mut self,
        scripts: Vec<Script>,
        size: usize,
    ) -> Result<Vec<Seen>, Error> {
        let facts = Arc::clone(&self.facts);
        let rules = self.settings.rules.clone();
        let failing = Arc::clone(&self.failing);
        let work: Work<Reading> = Arc::new(move |task| {
            let reading = read(&Judged::new(&task.history), &task.scripts, &facts, &rules);
            failing.fetch_add(reading.failed(), Ordering::Relaxed);
            reading
        });
        let readings = self.each_batch(scripts, size, work).await?;
        Ok(self.collect(readings))
    }

    fn collect(&mut self, readings: Vec<(Vec<Script>, Result<Reading, String>)>) -> Vec<Seen> {
        let mut all = Vec::new();
        for (scripts, reading) in readings {
            match reading {
                Ok(reading) => {
                    for finding in &reading.together {
                        self.show(&Script::default(), finding);
                    }
                    self.doubts.weigh(scripts.len(), reading.doubt);
                    all.extend(reading.each);
                }
                Err(why) => all.extend(scripts.into_iter().map(|script| Seen {
                    script,
                    attempts: 0,
                    gave_up: false,
                    came: Came::Lost(why.clone()),
                    doubted: Vec::new(),
                })),
            }
        }
        all
    }
}

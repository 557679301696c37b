//! An exploration's cases drawn at random, each run in a lab of its own.
//!
//! Owns the loop over them and what is noted of each. Drawing and shrinking are
//! [`super::random`]'s.

use std::{sync::Arc, time::Instant};

use super::{
    batches::Work,
    explorer::{Explorer, Progress, millis},
    random::{Case, draw},
    reading::{Came, Reading, read},
    result::{Counts, Level},
    script::Script,
};
use crate::{bug_kind::BugKind, diagnosis::Judged, run::Error};

/// How many cases are drawn before the clock is looked at.
const CASES: usize = 32;

impl Explorer<'_> {
    /// Runs cases drawn at random, each in a lab of its own.
    pub(super) async fn cases(&mut self, count: u64) -> Result<(), Error> {
        let began = Instant::now();
        let settings = self.settings;
        let mut counts = Counts::default();
        let mine: Vec<u64> = (1..=count)
            .filter(|nth| settings.shard.has(&format!("case-{nth}")))
            .collect();
        for some in mine.chunks(CASES) {
            if self.stop.is_some() || self.labs.is_cancelled() {
                break;
            }
            let cases = some
                .iter()
                .map(|nth| draw(settings.seed, *nth, &settings.alphabet, settings.depth).0)
                .collect();
            let facts = Arc::clone(&self.facts);
            let rules = settings.rules.clone();
            let work: Work<Reading> = Arc::new(move |task| {
                read(&Judged::new(&task.history), &task.scripts, &facts, &rules)
            });
            for (scripts, reading) in self.run_batches(cases, work).await? {
                self.note_case(&Case(scripts), reading, &mut counts);
            }
            if settings.fail_fast && counts.failed > 0 {
                break;
            }
        }
        let level = Level {
            length: 0,
            counts,
            millis: millis(began.elapsed()),
        };
        self.counts.add(&level.counts);
        self.levels.push(level.clone());
        (self.told)(Progress::Through(level));
        Ok(())
    }

    fn note_case(&mut self, case: &Case, reading: Result<Reading, String>, counts: &mut Counts) {
        counts.run += 1;
        let name = case
            .0
            .iter()
            .map(Script::slug)
            .collect::<Vec<_>>()
            .join(" | ");
        let (each, together, doubt) = match reading {
            Ok(reading) => (reading.each, reading.together, reading.doubt),
            Err(why) => {
                counts.lost += 1;
                self.verdicts.push(format!("{name}\tlost\t{why}"));
                return;
            }
        };
        let mut kinds: Vec<BugKind> = together.iter().map(|finding| finding.kind).collect();
        for one in &each {
            if let Came::Fail(findings) = &one.came {
                kinds.extend(findings.iter().map(|finding| finding.kind));
            }
        }
        kinds.sort_unstable();
        kinds.dedup();
        let lost = each.iter().find_map(|one| match &one.came {
            Came::Lost(why) => Some(why),
            _ => None,
        });
        let lost = lost.or(doubt.as_ref());
        let verdict = if !kinds.is_empty() {
            counts.failed += 1;
            let words: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
            format!("fail\t{}", words.join(","))
        } else if let Some(why) = lost {
            counts.lost += 1;
            format!("lost\t{why}")
        } else {
            counts.passed += 1;
            "pass".into()
        };
        self.verdicts.push(format!("{name}\t{verdict}"));
        for kind in kinds {
            let entry = self.drawn.entry(kind).or_insert_with(|| (case.clone(), 0));
            entry.1 += 1;
        }
    }
}

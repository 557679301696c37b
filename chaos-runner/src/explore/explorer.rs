//! The exploration: level by level, in batches, several labs at once.
//!
//! Owns the order of levels, which scripts are extended, and the counts. What a history says is
//! [`super::reading`]'s; what is made of a failure is [`super::confirm`]'s.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;

use super::{
    batches::Work,
    confirm,
    confirm::Confirmed,
    letter::{Alphabet, Timing},
    random::Case,
    reading::{Came, Reading, Seen, read},
    result::{Counts, Exploration, FORMAT, Level},
    script::{Script, Shard, hash},
    tree::{Tree, shuffle},
};
use crate::{
    bug_kind::BugKind,
    client_file::ClientFile,
    diagnosis::{Facts, Finding, Judged},
    history::{History, view::View},
    judgement::baseline_failure,
    plan::Plan,
    result::Rules,
    run::{Error, labs::Labs},
};

/// Scripts of up to this many faults are the controls by which narrower kinds are told from
/// general ones. Every part of a shared exploration runs them all.
const CONTROL: usize = 2;
/// How many messages go out at once without any fault, to see what shows in company only.
const COMPANY: usize = 8;
/// A level with no more scripts for each lab is not divided any further.
pub(super) const LEAST_BATCH: usize = 64;

/// What to explore.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The client under test.
    pub client: Arc<ClientFile>,
    /// The words that choose it on the command line.
    pub client_words: Vec<String>,
    /// The faults.
    pub alphabet: Alphabet,
    /// The most faults in a script.
    pub depth: usize,
    /// The seed of messages and orders.
    pub seed: u64,
    /// How many labs at once, at least 1.
    pub jobs: usize,
    /// The most scripts in one lab.
    pub batch: usize,
    /// Which part.
    pub shard: Shard,
    /// When to stop.
    pub max_time: Option<Duration>,
    /// How many cases are drawn at random once each fault has been run by itself; `None`: all
    /// scripts are run instead.
    pub random: Option<u64>,
    /// Whether to stop after the level of the first failure.
    pub fail_fast: bool,
    /// What counts.
    pub rules: Rules,
    /// Below which directory to leave what was seen.
    pub base: PathBuf,
}

impl Settings {
    /// What the letters need to know of the client.
    #[must_use]
    pub fn timing(&self) -> Timing {
        Timing {
            read_timeout: self.client.policy.read_timeout.map(|span| span.0),
        }
    }
}

/// What an exploration tells while it goes on.
#[derive(Clone, Debug)]
pub enum Progress {
    /// It begins.
    Begins {
        /// How many scripts there are.
        total: u64,
        /// Where it leaves what it saw.
        directory: PathBuf,
    },
    /// A level begins.
    Level {
        /// How many faults each of its scripts has.
        length: usize,
        /// How many of them are to be run.
        scripts: usize,
    },
    /// A batch is through.
    Batch {
        /// How many of the level's scripts have been run.
        run: usize,
        /// How many failed so far, over all levels; those of the first levels are read at the
        /// level's end.
        failed: u64,
    },
    /// A level is through.
    Through(Level),
    /// A failure is run again alone.
    Confirming(BugKind, Script),
}

/// What came of an exploration.
#[derive(Debug)]
pub struct Explored {
    /// The value that is kept.
    pub exploration: Exploration,
    /// The failures with their histories, in the order of [`Exploration::kinds`].
    pub confirmed: Vec<Confirmed>,
    /// One line for each script in the order of the run: its verdict, and the kinds that showed.
    pub verdicts: Vec<String>,
    /// Where it left what it saw.
    pub directory: PathBuf,
    /// The engine's name.
    pub engine: String,
}

/// A kind as it showed among many scripts.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    /// The smallest scripts in which it did, in their order; not more than a few.
    pub(super) scripts: Vec<Script>,
    /// In how many.
    pub(super) count: u64,
    /// What was seen in the first.
    pub(super) finding: Finding,
}

/// How many scripts are kept for each kind.
const KEPT: usize = 8;

impl Shown {
    fn add(&mut self, script: &Script, finding: &Finding) {
        self.count += 1;
        let at = self.scripts.partition_point(|known| known < script);
        if at == 0 {
            self.finding = finding.clone();
        }
        self.scripts.insert(at, script.clone());
        self.scripts.truncate(KEPT);
    }
}

/// An exploration under way.
pub(super) struct Explorer<'t> {
    pub(super) settings: &'t Settings,
    pub(super) labs: Labs,
    pub(super) told: &'t mut (dyn FnMut(Progress) + Send),
    pub(super) facts: Arc<Facts>,
    pub(super) began: Instant,
    pub(super) batches: u64,
    pub(super) stop: Option<String>,
    pub(super) slow: Option<String>,
    pub(super) unsteady: u64,
    pub(super) counts: Counts,
    pub(super) levels: Vec<Level>,
    pub(super) shown: BTreeMap<BugKind, Shown>,
    /// Kinds that showed in a case drawn at random: the first of them, and in how many.
    pub(super) drawn: BTreeMap<BugKind, (Case, u64)>,
    pub(super) verdicts: Vec<String>,
}

/// Explores.
///
/// # Errors
///
/// When the harness could not do its work.
pub async fn explore(
    settings: &Settings,
    cancel: CancellationToken,
    told: &mut (dyn FnMut(Progress) + Send),
) -> Result<Explored, Error> {
    let client = Arc::clone(&settings.client);
    let labs = Labs::open(client, settings.seed, None, &settings.base, &cancel).await?;
    let mut explorer = Explorer {
        settings,
        labs: labs.clone(),
        told,
        facts: Arc::default(),
        began: Instant::now(),
        batches: 0,
        stop: None,
        slow: None,
        unsteady: 0,
        counts: Counts::default(),
        levels: Vec::new(),
        shown: BTreeMap::new(),
        drawn: BTreeMap::new(),
        verdicts: Vec::new(),
    };
    let result = explorer.run().await;
    let cleared = labs.close().await;
    let whole = result?;
    cleared?;
    Ok(whole)
}

impl Explorer<'_> {
    async fn run(&mut self) -> Result<Explored, Error> {
        let began = jiff::Timestamp::now();
        let cases = self.settings.random;
        let tree = Tree {
            alphabet: self.settings.alphabet.clone(),
            depth: if cases.is_some() {
                1
            } else {
                self.settings.depth
            },
        };
        let total = tree.total().saturating_add(cases.unwrap_or(0));
        (self.told)(Progress::Begins {
            total,
            directory: self.labs.directory().to_owned(),
        });
        let baseline = self.baseline().await?;
        if baseline.is_none() {
            self.levels(&tree).await?;
            if let Some(cases) = cases {
                self.cases(cases).await?;
            }
        }
        let (confirmed, unconfirmed) = if baseline.is_none() && !self.labs.is_cancelled() {
            let shown = std::mem::take(&mut self.shown);
            let drawn = std::mem::take(&mut self.drawn);
            confirm::confirm(self, shown, drawn).await?
        } else {
            (Vec::new(), Vec::new())
        };
        let settings = self.settings;
        let exploration = Exploration {
            explore_format: FORMAT,
            tool: env!("CARGO_PKG_VERSION").into(),
            client: settings.client.name.clone(),
            client_file: fingerprint(settings),
            client_words: settings.client_words.clone(),
            alphabet: settings.alphabet.clone(),
            depth: settings.depth,
            seed: settings.seed,
            shard: settings.shard,
            total,
            random: cases.is_some(),
            counts: self.counts,
            levels: std::mem::take(&mut self.levels),
            kinds: confirmed.iter().map(|c| c.found.clone()).collect(),
            unconfirmed,
            baseline,
            stopped: self.stop.take(),
            slow: self.slow.take(),
            unsteady: self.unsteady,
            interrupted: self.labs.is_cancelled(),
            millis: millis(self.began.elapsed()),
            began: began.to_string(),
        };
        Ok(Explored {
            exploration,
            confirmed,
            verdicts: std::mem::take(&mut self.verdicts),
            directory: self.labs.directory().to_owned(),
            engine: self.labs.engine(),
        })
    }

    /// Why the client is not fit to be explored: it fails without any fault.
    async fn baseline(&mut self) -> Result<Option<String>, Error> {
        let plan = Arc::new(Plan::baseline(self.settings.seed));
        let Some(history) = self.labs.observe(plan).await? else {
            return Ok(None);
        };
        crate::run::directory::write_history(self.labs.directory(), &history)?;
        Ok(baseline_failure(&View::new(&history)))
    }

    async fn levels(&mut self, tree: &Tree) -> Result<(), Error> {
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
        let mut seen = if length <= CONTROL {
            self.controls(scripts).await?
        } else {
            self.read_all(scripts, self.settings.batch).await?
        };
        self.again(&mut seen).await?;
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
        if length > 0 {
            level.millis = millis(began.elapsed());
            self.counts.add(&level.counts);
            self.levels.push(level.clone());
        }
        (self.told)(Progress::Through(level));
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
        let work: Work<Reading> =
            Arc::new(move |task| read(&Judged::new(&task.history), &task.scripts, &facts, &rules));
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
                    all.extend(reading.each);
                }
                Err(why) => all.extend(scripts.into_iter().map(|script| Seen {
                    script,
                    attempts: 0,
                    came: Came::Lost(why.clone()),
                })),
            }
        }
        all
    }
}

/// Does work that keeps a processor busy, away from the labs.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Error::Panic {
            scenario: "the reading of a history".into(),
            what: error.to_string(),
        })
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Which client file, or which command, was explored.
fn fingerprint(settings: &Settings) -> String {
    let text = settings
        .client
        .file
        .as_ref()
        .and_then(|file| std::fs::read_to_string(file).ok())
        .unwrap_or_else(|| settings.client_words.join("\0"));
    format!("{:016x}", hash(&text))
}

//! An exploration from its start to its end.
//!
//! Owns its state, the client's run without faults, and what came of it. The scripts are
//! `levels`' and `cases`', what is made of a failure is [`super::confirm`]'s.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, atomic::AtomicU64},
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;

use super::{
    confirm,
    confirm::Confirmed,
    doubt::Doubts,
    random::Case,
    result::{Counts, Exploration, FORMAT, Level},
    script::Script,
    settings::Settings,
    tree::Tree,
};
use crate::{
    bug_kind::BugKind,
    diagnosis::{Facts, Finding},
    history::view::View,
    judgement::baseline_failure,
    run::{Error, labs::Labs},
    scenario,
};

/// A level with no more scripts for each lab is not divided any further.
pub(super) const LEAST_BATCH: usize = 64;

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
    /// A level is under way.
    Running {
        /// How many of its scripts the client has finished with.
        run: u64,
        /// How many failed so far, over all levels; those of the first levels are read at the
        /// level's end.
        failed: u64,
    },
    /// What was doubtful is run again.
    Again {
        /// How many scripts.
        scripts: usize,
        /// Whether each has a lab to itself.
        alone: bool,
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
    /// In how many; 0: only in several together.
    pub(super) count: u64,
    /// What was seen in the first.
    pub(super) finding: Finding,
}

/// How many scripts are kept for each kind.
const KEPT: usize = 8;

impl Shown {
    pub(super) fn add(&mut self, script: &Script, finding: &Finding) {
        // In how many batches it showed, where it shows in no script alone, says nothing.
        if !script.is_empty() {
            self.count += 1;
        }
        let at = self.scripts.partition_point(|known| known < script);
        if self.scripts.get(at) == Some(script) {
            return;
        }
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
    pub(super) doubts: Doubts,
    /// How many scripts of the level failed so far, before what is doubtful is run again.
    pub(super) failing: Arc<AtomicU64>,
    /// Whether what is doubtful is run again.
    pub(super) repeating: bool,
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
        doubts: Doubts::default(),
        failing: Arc::default(),
        repeating: false,
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
            self.repeating = true;
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
            client_version: settings.client_version.clone(),
            client_file: settings.fingerprint(),
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
            doubts: self.doubts.left(),
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
        let plan = Arc::new(scenario::baseline(self.settings.seed));
        let Some(history) = self.labs.observe(plan).await? else {
            return Ok(None);
        };
        crate::run::directory::write_history(self.labs.directory(), &history)?;
        Ok(baseline_failure(&View::new(&history)))
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

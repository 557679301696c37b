//! A run as it is kept in its directory: what was run, by which rules it is judged, which part of
//! the whole it is.
//!
//! Owns `run.json`. The histories lie beside it; judged again, they give the same result.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::{
    diagnostic::FileError,
    explore::script::Shard,
    history::{History, read},
    result::{Known, Ran, Rules, ScenarioRun},
    severity::Severity,
};

/// The version of the format; a reader refuses a higher one.
pub const FORMAT: u32 = 1;

/// The file's name.
pub const FILE: &str = "run.json";

/// A run as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// The version of this format, [`FORMAT`].
    pub run_format: u32,
    /// The version of the tool.
    pub tool: String,
    /// The client's name.
    pub client: String,
    /// The words that choose it.
    pub client_words: Vec<String>,
    /// The seed.
    pub seed: u64,
    /// Which part of the scenarios.
    pub shard: Shard,
    /// The least severity that fails.
    pub min_severity: Severity,
    /// What is let through.
    pub known: BTreeMap<String, KeptKnown>,
    /// Whether it was interrupted.
    pub interrupted: bool,
    /// The baseline first, then every scenario.
    pub runs: Vec<KeptRun>,
}

/// A finding that is let through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptKnown {
    /// Why.
    pub reason: String,
    /// The last day.
    pub until: Date,
}

/// One scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptRun {
    /// Its name.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Its file, where it has one.
    pub file: Option<String>,
    /// Where its history is, from the directory of the run; `None`: it was not run.
    pub directory: Option<PathBuf>,
    /// Why it was skipped.
    pub skipped: Option<String>,
    /// Why it was not run to its end.
    pub broken: Option<String>,
    /// How long it took, in milliseconds.
    pub millis: u64,
}

impl KeptRun {
    /// What is kept of a run in a directory below `base`.
    #[must_use]
    pub fn of(run: &ScenarioRun, base: &Path) -> Self {
        let within = |path: &PathBuf| path.strip_prefix(base).unwrap_or(path).to_owned();
        let (skipped, broken) = match &run.ran {
            Ran::Observed(_) => (None, None),
            Ran::Skipped(why) => (Some(why.clone()), None),
            Ran::Broken(why) => (None, Some(why.clone())),
        };
        Self {
            name: run.name.clone(),
            title: run.title.clone(),
            file: run.file.clone(),
            directory: run.directory.as_ref().map(within),
            skipped,
            broken,
            millis: u64::try_from(run.duration.as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// The run, with its history from disk.
    fn load(self, base: &Path) -> Result<ScenarioRun, FileError> {
        let directory = self.directory.map(|within| base.join(within));
        let ran = match (self.skipped, self.broken, &directory) {
            (Some(why), ..) => Ran::Skipped(why),
            (_, Some(why), _) => Ran::Broken(why),
            (_, _, Some(at)) => Ran::Observed(Arc::new(history(&at.join("history.json"))?)),
            _ => Ran::Broken("nothing was kept of it".into()),
        };
        Ok(ScenarioRun {
            name: self.name,
            title: self.title,
            file: self.file,
            ran,
            duration: Duration::from_millis(self.millis),
            directory,
        })
    }
}

/// Reads the history in a file.
///
/// # Errors
///
/// It cannot be read, is no history, or is of a later version.
pub fn history(path: &Path) -> Result<History, FileError> {
    let name = path.display().to_string();
    let text = fs::read_to_string(path)
        .map_err(|error| FileError::new(&name, format!("`{name}` cannot be read: {error}")))?;
    read::read(&text, &name)
}

impl Kept {
    /// Reads the run in a directory: the file, and every history that it names, the baseline
    /// first.
    ///
    /// # Errors
    ///
    /// A file is missing, damaged or of a later version.
    pub fn load(directory: &Path) -> Result<(Self, Vec<ScenarioRun>), FileError> {
        let path = directory.join(FILE);
        let name = path.display().to_string();
        let wrong = |why: String| FileError::new(&name, format!("`{name}` {why}"));
        let text = fs::read_to_string(&path).map_err(|e| wrong(format!("cannot be read: {e}")))?;
        let mut kept: Self =
            serde_json::from_str(&text).map_err(|e| wrong(format!("is no kept run: {e}")))?;
        if kept.run_format > FORMAT {
            return Err(wrong(format!(
                "is of format {}, written by chaos-runner {}; this one reads up to {FORMAT}",
                kept.run_format, kept.tool
            )));
        }
        let runs = std::mem::take(&mut kept.runs)
            .into_iter()
            .map(|run| run.load(directory))
            .collect::<Result<_, _>>()?;
        Ok((kept, runs))
    }

    /// What the run is judged by on a day.
    #[must_use]
    pub fn rules(&self, today: Date) -> Rules {
        let known = self.known.iter().map(|(id, known)| {
            let known = Known {
                reason: known.reason.clone(),
                until: known.until,
            };
            (id.clone(), known)
        });
        Rules {
            known: known.collect(),
            min_severity: self.min_severity,
            ..Rules::strict(today)
        }
    }
}

impl From<&Known> for KeptKnown {
    fn from(known: &Known) -> Self {
        Self {
            reason: known.reason.clone(),
            until: known.until,
        }
    }
}

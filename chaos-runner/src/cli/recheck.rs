//! `recheck`: saved histories judged again; nothing is run.
//!
//! Owns the way from paths to histories and from those to a report. The judgement is that of
//! every run.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use clap::Args;
use jiff::Zoned;

use super::{CommandError, Files, OutputArgs, page, tell};
use crate::{
    diagnostic::FileError,
    exit_code::ExitCode,
    judgement::{BASELINE, judge_suite},
    kept::{self, FILE, Kept},
    result::{Ran, Rules, ScenarioRun},
    severity::Severity,
};

/// What can be typed after `recheck`.
#[derive(Debug, Args)]
pub struct RecheckArgs {
    /// Histories: files, or directories of runs, as they were left.
    #[arg(value_name = "HISTORY", required = true)]
    pub histories: Vec<PathBuf>,
    /// The least severity that fails: duplicate, loss, wrong-outcome, policy or note [default: as
    /// the run was told, else policy].
    #[arg(long, value_name = "SEVERITY")]
    pub min_severity: Option<Severity>,
    /// Reports into files.
    #[command(flatten)]
    pub files: Files,
    /// Write the page to look at (HTML) to this file.
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
}

impl RecheckArgs {
    /// Judges the histories again, and says how the program ends.
    ///
    /// # Errors
    ///
    /// A file that is missing, damaged or of a later version.
    pub fn execute(&self, output: OutputArgs) -> Result<ExitCode, CommandError> {
        let began = Instant::now();
        let today = Zoned::now().date();
        let mut rules = Rules::strict(today);
        let mut runs = Vec::new();
        let mut words = Vec::new();
        for path in &self.histories {
            if path.join(FILE).is_file() {
                let (from, loaded) = Kept::load(path)?;
                let told = from.rules(today);
                rules.known.extend(told.known);
                rules.min_severity = told.min_severity;
                words = from.client_words;
                runs.extend(loaded);
            } else {
                runs.extend(below(path)?);
            }
        }
        rules.min_severity = self.min_severity.unwrap_or(rules.min_severity);
        let (baseline, scenarios) = with_baseline_first(runs);
        let mut result = judge_suite(&baseline, &scenarios, &rules);
        result.client_words = words;
        result.duration = began.elapsed();
        let code = result.exit_code();
        if let Some(path) = &self.page {
            page::write(path, &result, &page::sources_of(&result))?;
        }
        tell::suite(result, output, &self.files)?;
        Ok(code)
    }
}

/// The run without faults, or a word that there is none, and the others.
pub(super) fn with_baseline_first(runs: Vec<ScenarioRun>) -> (ScenarioRun, Vec<ScenarioRun>) {
    let (mut baselines, others): (Vec<_>, Vec<_>) =
        runs.into_iter().partition(|run| run.name == BASELINE);
    let baseline = if baselines.is_empty() {
        ScenarioRun {
            name: BASELINE.into(),
            title: "The client without faults".into(),
            file: None,
            ran: Ran::Skipped("not among the histories".into()),
            duration: std::time::Duration::ZERO,
            directory: None,
        }
    } else {
        baselines.swap_remove(0)
    };
    (baseline, others)
}

/// The history in a file, or every history below a directory.
fn below(path: &Path) -> Result<Vec<ScenarioRun>, FileError> {
    let mut files = Vec::new();
    find(path, &mut files)?;
    if files.is_empty() {
        let name = path.display().to_string();
        return Err(FileError::new(
            &name,
            format!("no history.json is below `{name}`"),
        ));
    }
    files.sort();
    files
        .iter()
        .map(|file| {
            let mut run = ScenarioRun::of(Arc::new(kept::history(file)?));
            run.directory = file.parent().map(Path::to_owned);
            Ok(run)
        })
        .collect()
}

fn find(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), FileError> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let name = path.display().to_string();
    let wrong =
        |error: std::io::Error| FileError::new(&name, format!("`{name}` cannot be read: {error}"));
    for entry in fs::read_dir(path).map_err(wrong)? {
        let entry = entry.map_err(wrong)?.path();
        // `latest` is another name for one of the runs.
        if entry.is_symlink() {
            continue;
        }
        if entry.is_dir() {
            find(&entry, files)?;
        } else if entry.file_name().is_some_and(|n| n == "history.json") {
            files.push(entry);
        }
    }
    Ok(())
}

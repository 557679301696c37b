//! `merge`: the parts of a run or of an exploration, joined into one report and one exit code.
//!
//! Owns reading the parts and telling of the whole. A part that is missing is named, and makes the
//! whole inconclusive.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use clap::Args;
use jiff::Zoned;

use super::{CommandError, Files, OutputArgs, page, tell};
use crate::{
    diagnostic::FileError,
    exit_code::ExitCode,
    explore::{
        SCRIPTS,
        certificate::certificate,
        result::{Exploration, FORMAT},
        script::Shard,
    },
    history::view::View,
    judgement::{BASELINE, baseline_failure, judge_suite},
    kept::{FILE, Kept},
    report::explore as told,
    result::{Ran, ScenarioRun},
};

/// What can be typed after `merge`.
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// The directories of the parts, as `run --shard` or `explore --shard` left them.
    #[arg(value_name = "DIR", required = true)]
    pub parts: Vec<PathBuf>,
    /// Reports into files.
    #[command(flatten)]
    pub files: Files,
    /// Write the page to look at (HTML) to this file.
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
    /// Write the certificate of a whole exploration to this file.
    #[arg(long, value_name = "FILE")]
    pub certificate: Option<PathBuf>,
}

/// A line for each script that was run. A part that was handed over without has none.
fn verdicts(parts: &[PathBuf]) -> Result<Vec<String>, FileError> {
    let mut lines = Vec::new();
    for part in parts {
        let path = part.join(SCRIPTS);
        match fs::read_to_string(&path) {
            Ok(text) => lines.extend(text.lines().map(str::to_owned)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => {
                let name = path.display().to_string();
                let why = format!("`{name}` cannot be read: {error}");
                return Err(FileError::new(&name, why));
            }
        }
    }
    Ok(lines)
}

/// The file of an exploration.
const EXPLORATION: &str = "explore.json";

impl MergeArgs {
    /// Joins the parts, tells of the whole, and says how the program ends.
    ///
    /// # Errors
    ///
    /// A part that is damaged, that is there twice, or that is of another whole.
    pub fn execute(&self, output: OutputArgs) -> Result<ExitCode, CommandError> {
        let parts: Vec<PathBuf> = self.parts.iter().map(|part| found(part)).collect();
        if parts.iter().all(|part| part.join(EXPLORATION).is_file()) {
            self.explorations(&parts)
        } else if parts.iter().all(|part| part.join(FILE).is_file()) {
            self.runs(&parts, output)
        } else {
            let lacks =
                |part: &&PathBuf| !part.join(EXPLORATION).is_file() && !part.join(FILE).is_file();
            let error = match parts.iter().find(lacks) {
                Some(part) => FileError::new(
                    &part.display().to_string(),
                    format!("`{}` is the directory of no run", part.display()),
                ),
                None => FileError::new(
                    "the command line",
                    "runs and explorations cannot be merged with each other",
                ),
            };
            Err(error.into())
        }
    }

    fn explorations(&self, parts: &[PathBuf]) -> Result<ExitCode, CommandError> {
        let explored = parts
            .iter()
            .map(|part| exploration(&part.join(EXPLORATION)))
            .collect::<Result<Vec<_>, _>>()?;
        let whole =
            Exploration::merge(explored).map_err(|why| FileError::new("the command line", why))?;
        if let Some(path) = &self.files.json {
            let text = serde_json::to_string_pretty(&whole).map_err(std::io::Error::from)?;
            fs::write(path, text + "\n")?;
        }
        if let Some(path) = &self.certificate {
            let text =
                serde_json::to_string_pretty(&certificate(&whole)).map_err(std::io::Error::from)?;
            fs::write(path, text + "\n")?;
        }
        if let Some(path) = &self.files.junit {
            let text = told::junit(&whole, &[]).map_err(std::io::Error::other)?;
            fs::write(path, text)?;
        }
        if let Some(path) = &self.page {
            page::write_exploration(path, &whole, &verdicts(parts)?)?;
        }
        let mut out = anstream::AutoStream::new(std::io::stdout(), anstream::ColorChoice::global());
        for level in &whole.levels {
            out.write_all(told::level(level).as_bytes())?;
        }
        out.write_all(told::summary(&whole).as_bytes())?;
        out.flush()?;
        Ok(whole.exit_code())
    }

    fn runs(&self, parts: &[PathBuf], output: OutputArgs) -> Result<ExitCode, CommandError> {
        let began = Instant::now();
        let loaded = parts
            .iter()
            .map(|part| Kept::load(part))
            .collect::<Result<Vec<_>, _>>()?;
        let (whole, runs) = join(loaded).map_err(|why| FileError::new("the command line", why))?;
        let (baseline, scenarios) = with_worst_baseline(runs);
        let rules = whole.rules(Zoned::now().date());
        let mut result = judge_suite(&baseline, &scenarios, &rules);
        result.client_words.clone_from(&whole.client_words);
        result.interrupted = whole.interrupted;
        result.duration = began.elapsed();
        let code = result.exit_code();
        if let Some(path) = &self.page {
            page::write(path, &result, &page::sources_of(&result))?;
        }
        tell::suite(result, output, &self.files)?;
        Ok(code)
    }
}

/// A part may be named by the directory in which its run has one of its own.
fn found(part: &Path) -> PathBuf {
    let latest = part.join("latest");
    let is_run = |at: &Path| at.join(EXPLORATION).is_file() || at.join(FILE).is_file();
    if !is_run(part) && is_run(&latest) {
        latest
    } else {
        part.to_owned()
    }
}

fn exploration(path: &Path) -> Result<Exploration, FileError> {
    let name = path.display().to_string();
    let wrong = |why: String| FileError::new(&name, format!("`{name}` {why}"));
    let text = fs::read_to_string(path).map_err(|e| wrong(format!("cannot be read: {e}")))?;
    let part: Exploration =
        serde_json::from_str(&text).map_err(|e| wrong(format!("is no exploration: {e}")))?;
    if part.explore_format > FORMAT {
        return Err(wrong(format!(
            "is of format {}, written by chaos-runner {}; this one reads up to {FORMAT}",
            part.explore_format, part.tool
        )));
    }
    Ok(part)
}

/// Joins the parts of one run; each that is missing stands in it as a scenario that was not run.
fn join(parts: Vec<(Kept, Vec<ScenarioRun>)>) -> Result<(Kept, Vec<ScenarioRun>), String> {
    let mut parts = parts.into_iter();
    let Some((mut whole, mut runs)) = parts.next() else {
        return Err("there is nothing to merge".into());
    };
    let of = whole.shard.of;
    let mut present = vec![whole.shard.index];
    for (part, own) in parts {
        for (what, same) in [
            ("client", part.client == whole.client),
            ("seed", part.seed == whole.seed),
            ("version of the tool", part.tool == whole.tool),
            ("number of parts", part.shard.of == of),
        ] {
            if !same {
                return Err(format!("the parts are not of one run: another {what}"));
            }
        }
        if present.contains(&part.shard.index) {
            return Err(format!("part {} is there twice", part.shard));
        }
        present.push(part.shard.index);
        whole.interrupted |= part.interrupted;
        runs.extend(own);
    }
    for index in (1..=of).filter(|index| !present.contains(index)) {
        let name = format!("part {}", Shard { index, of });
        runs.push(ScenarioRun {
            title: name.clone(),
            name,
            file: None,
            ran: Ran::Broken("this part of the run is missing".into()),
            duration: Duration::ZERO,
            directory: None,
        });
    }
    whole.shard = Shard::WHOLE;
    Ok((whole, runs))
}

/// Each part has run the client without faults: if it failed once, nothing can be learned.
fn with_worst_baseline(mut runs: Vec<ScenarioRun>) -> (ScenarioRun, Vec<ScenarioRun>) {
    let fails = |run: &ScenarioRun| {
        run.name == BASELINE
            && match &run.ran {
                Ran::Observed(history) => baseline_failure(&View::new(history)).is_some(),
                Ran::Skipped(_) | Ran::Broken(_) => true,
            }
    };
    if let Some(at) = runs.iter().position(fails) {
        let worst = runs.remove(at);
        runs.insert(0, worst);
    }
    super::recheck::with_baseline_first(runs)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::severity::Severity;

    fn part(index: u32, of: u32, seed: u64) -> (Kept, Vec<ScenarioRun>) {
        let kept = Kept {
            run_format: 1,
            tool: "0".into(),
            client: "a".into(),
            client_words: Vec::new(),
            seed,
            shard: Shard { index, of },
            min_severity: Severity::Policy,
            known: BTreeMap::new(),
            interrupted: false,
            runs: Vec::new(),
        };
        (kept, Vec::new())
    }

    #[test]
    fn a_part_that_is_missing_stands_in_the_whole_as_not_run() {
        let (_, runs) = join(vec![part(1, 3, 1), part(3, 3, 1)]).expect("two of three");
        assert_eq!(runs.len(), 1);
        assert_eq!(runs[0].name, "part 2/3");
        assert!(matches!(runs[0].ran, Ran::Broken(_)));
        let (_, runs) = join(vec![part(2, 2, 1), part(1, 2, 1)]).expect("both");
        assert!(runs.is_empty());
    }

    #[test]
    fn parts_of_two_runs_and_a_part_twice_are_refused() {
        assert!(join(vec![part(1, 2, 1), part(2, 2, 9)]).is_err());
        assert!(join(vec![part(1, 2, 1), part(1, 2, 1)]).is_err());
    }
}

//! The standard suite, and which scenarios a command is about.
//!
//! Owns the embedded files of `scenarios/`, reading scenario files from disk, and the selection
//! by name, path and tag. What a scenario says is [`crate::scenario`]'s.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use crate::{
    diagnostic::{self, FileError, did_you_mean},
    scenario::{self, Scenario},
};

/// The embedded files: name and text, in the order of names.
const STANDARD: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/suite.rs"));

/// The file that people are told where an argument is wrong.
const COMMAND_LINE: &str = "the command line";

/// The name and the text of every embedded scenario file, in the order of names.
#[must_use]
pub fn files() -> &'static [(&'static str, &'static str)] {
    STANDARD
}

/// The standard suite.
///
/// # Errors
///
/// None in a released program: the tests read every embedded file.
pub fn standard() -> Result<Vec<Scenario>, FileError> {
    let mut all = Vec::new();
    for (file, source) in STANDARD {
        all.extend(embedded(file, source)?);
    }
    Ok(all)
}

/// The scenarios that are named, by path (a file, or a directory of them) or by name in the
/// standard suite (`hang`, or `hang[stage=after-accept]`); the whole standard suite where none
/// is. Of those, the ones that bear one of `tags`; all where `tags` is empty.
///
/// # Errors
///
/// A name that is not known, a file that cannot be read or is wrong, two scenarios of one name.
pub fn select(arguments: &[String], tags: &[String]) -> Result<Vec<Scenario>, FileError> {
    let mut selected = Vec::new();
    if arguments.is_empty() {
        selected = standard()?;
    }
    for argument in arguments {
        if is_path(argument) {
            for path in files_at(Path::new(argument))? {
                selected.extend(read(&path)?);
            }
        } else {
            selected.extend(named(argument)?);
        }
    }
    let mut seen: BTreeMap<&str, Option<&str>> = BTreeMap::new();
    for scenario in &selected {
        if let Some(other) = seen.insert(&scenario.name, scenario.file.as_deref()) {
            let place = |file: Option<&str>| file.unwrap_or("the standard suite").to_owned();
            return Err(FileError::new(
                COMMAND_LINE,
                format!("two of the scenarios are named `{}`", scenario.name),
            )
            .help(format!(
                "one is from {}, the other from {}: name each once, and give files different names",
                place(other),
                place(scenario.file.as_deref()),
            )));
        }
    }
    selected.retain(|s| tags.is_empty() || s.tags.iter().any(|tag| tags.contains(tag)));
    Ok(selected)
}

/// The text of the one file that an argument names, by path or by name in the standard suite.
///
/// # Errors
///
/// A name that is not known, or a file that cannot be read.
pub fn source(argument: &str) -> Result<String, FileError> {
    if is_path(argument) {
        return read_text(Path::new(argument));
    }
    let stem = argument.split('[').next().unwrap_or(argument);
    STANDARD
        .iter()
        .find(|(file, _)| file.strip_suffix(".toml") == Some(stem))
        .map(|(_, source)| (*source).to_owned())
        .ok_or_else(|| unknown(argument))
}

fn embedded(file: &str, source: &str) -> Result<Vec<Scenario>, FileError> {
    let mut scenarios = scenario::load(source, file)?;
    for scenario in &mut scenarios {
        scenario.file = None;
    }
    Ok(scenarios)
}

fn named(argument: &str) -> Result<Vec<Scenario>, FileError> {
    let stem = argument.split('[').next().unwrap_or(argument);
    let Some((file, source)) = STANDARD
        .iter()
        .find(|(file, _)| file.strip_suffix(".toml") == Some(stem))
    else {
        return Err(unknown(argument));
    };
    let scenarios = embedded(file, source)?;
    if stem == argument {
        return Ok(scenarios);
    }
    let names: Vec<String> = scenarios.iter().map(|s| s.name.clone()).collect();
    let one: Vec<Scenario> = scenarios
        .into_iter()
        .filter(|scenario| scenario.name == argument)
        .collect();
    if one.is_empty() {
        return Err(
            FileError::new(COMMAND_LINE, format!("there is no scenario `{argument}`"))
                .help(format!("there are: {}", names.join(", "))),
        );
    }
    Ok(one)
}

fn unknown(argument: &str) -> FileError {
    let names = STANDARD
        .iter()
        .filter_map(|(file, _)| file.strip_suffix(".toml"));
    let help = did_you_mean(argument, names).map_or_else(
        || "`chaos-runner list` names them all; a path ends in .toml or has a `/`".to_owned(),
        |guess| format!("did you mean `{guess}`? `chaos-runner list` names them all"),
    );
    FileError::new(
        COMMAND_LINE,
        format!("there is no scenario `{argument}` in the standard suite"),
    )
    .help(help)
}

fn is_path(argument: &str) -> bool {
    let toml = Path::new(argument)
        .extension()
        .is_some_and(|ending| ending == "toml");
    toml || argument.contains('/') || Path::new(argument).is_dir()
}

fn files_at(path: &Path) -> Result<Vec<PathBuf>, FileError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let unreadable = |error: &std::io::Error| {
        FileError::new(
            &path.display().to_string(),
            format!("the directory `{}` cannot be read: {error}", path.display()),
        )
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(|error| unreadable(&error))? {
        let file = entry.map_err(|error| unreadable(&error))?.path();
        if file.extension().is_some_and(|ending| ending == "toml") {
            files.push(file);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(FileError::new(
            &path.display().to_string(),
            format!("there is no scenario in `{}`", path.display()),
        )
        .help("a scenario is a file that ends in .toml"));
    }
    Ok(files)
}

fn read(path: &Path) -> Result<Vec<Scenario>, FileError> {
    scenario::load(&read_text(path)?, &path.display().to_string())
}

fn read_text(path: &Path) -> Result<String, FileError> {
    diagnostic::source(path, "the scenario")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{
        checks::{Basis, CHECKS, FEWEST_MESSAGES, HISTORIES},
        plan::Place,
    };

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn every_embedded_scenario_is_valid_and_says_why() {
        let all = standard().unwrap_or_else(|error| panic!("{}", error.report(false)));
        assert!(STANDARD.len() >= 40, "only {} files", STANDARD.len());
        let names: BTreeSet<&str> = all.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names.len(), all.len());
        for scenario in &all {
            assert!(
                scenario.why.ends_with('.'),
                "{}: one sentence",
                scenario.name
            );
            assert!(!scenario.tags.is_empty(), "{}: no tag", scenario.name);
        }
    }

    /// How many messages a standard scenario has, and how often each is refused of five attempts.
    fn samples_of(name: &str) -> (usize, usize) {
        let one = select(&words(&[name]), &[]).expect("a standard scenario");
        let plan = one[0].plan(1);
        let Place::Attempts(attempts) = &plan.faults[0].place else {
            panic!("the fault acts on attempts");
        };
        // The last of five attempts is followed by none.
        let refused = (1..=4).filter(|k| attempts.contains(*k)).count();
        (plan.intents.len(), refused)
    }

    #[test]
    fn the_statistical_checks_have_the_samples_that_their_figures_are_for() {
        let mut statistics = 0;
        for check in CHECKS {
            if let Basis::Statistic(statistic) = check.basis {
                assert_eq!(samples_of(statistic.tag), statistic.samples);
                statistics += 1;
            }
        }
        assert_eq!(statistics, 2);
    }

    #[test]
    fn few_standard_scenarios_have_samples_enough_to_accuse() {
        let many = standard()
            .expect("the standard suite is right")
            .iter()
            .filter(|scenario| scenario.plan(1).intents.len() >= FEWEST_MESSAGES)
            .count();
        // One more: those of all histories together.
        assert!(many < usize::from(HISTORIES), "{many}");
    }

    #[test]
    fn a_name_selects_all_values_of_its_matrix_and_a_full_name_one() {
        let all = select(&words(&["hang"]), &[]).expect("in the suite");
        assert_eq!(all.len(), 2);
        let one = select(&words(&["hang[stage=after-accept]"]), &[]).expect("in the suite");
        assert_eq!(one[0].name, "hang[stage=after-accept]");
        assert!(select(&words(&["hang[stage=never]"]), &[]).is_err());
    }

    #[test]
    fn a_tag_selects_what_bears_it() {
        let all = select(&[], &words(&["receipt"])).expect("the suite");
        assert!(!all.is_empty());
        assert!(all.iter().all(|s| s.tags.contains(&"receipt".to_owned())));
        assert!(
            select(&[], &words(&["no-such-tag"]))
                .expect("the suite")
                .is_empty()
        );
    }

    #[test]
    fn a_name_that_is_not_known_is_answered_with_the_one_that_was_meant() {
        let error = select(&words(&["timeout-after-acept"]), &[]).expect_err("a slip");
        assert!(error.report(false).contains("`timeout-after-accept`"));
    }

    #[test]
    fn the_same_scenario_twice_is_refused() {
        assert!(select(&words(&["hang", "hang[stage=after-accept]"]), &[]).is_err());
    }
}

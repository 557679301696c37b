//! A judged run, told and written where the user wants it, by the commands that run nothing.

use std::{fs, io};

use super::{CommandError, Files, OutputArgs, Verbosity};
use crate::{
    report::{
        console::{Loudness, Reporter, SuiteEvent},
        json, junit,
    },
    result::SuiteResult,
};

/// Tells of a run that is over: a line for each scenario, then the summary.
pub(super) fn suite(
    result: SuiteResult,
    output: OutputArgs,
    files: &Files,
) -> Result<(), CommandError> {
    if let Some(path) = &files.json {
        fs::write(path, json::document(&result).to_string())?;
    }
    if let Some(path) = &files.junit {
        let text = junit::document(&result).map_err(io::Error::other)?;
        fs::write(path, text)?;
    }
    let loudness = if output.verbosity() == Verbosity::Quiet {
        Loudness::Quiet
    } else {
        Loudness::Normal
    };
    let mut reporter = Reporter::stdout(anstream::ColorChoice::global(), loudness);
    reporter.tell(&SuiteEvent::SuiteStarted {
        count: result.scenarios.len(),
        expected: std::time::Duration::ZERO,
    })?;
    for scenario in &result.scenarios {
        reporter.tell(&SuiteEvent::ScenarioFinished {
            result: Box::new(scenario.clone()),
        })?;
    }
    reporter.tell(&SuiteEvent::SuiteFinished {
        result: Box::new(result),
    })?;
    Ok(())
}

//! `replay`: one saved failing script again, several times.
//!
//! Owns the arguments; it is a run of the same scenario under names of their own.

use std::{num::NonZeroUsize, path::PathBuf};

use clap::Args;

use super::{
    Files, OutputArgs, RunOptions,
    run::{CLIENT, SEED, client, seed},
};
use crate::{diagnostic::FileError, explore::script::Shard, severity::Severity, suite};

/// What can be typed after `replay`.
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// The scenario that failed, as it was saved.
    #[arg(value_name = "FAILURE.toml")]
    pub failure: String,
    /// The client under test.
    #[arg(long, value_name = "FILE", default_value = CLIENT, conflicts_with = "command")]
    pub client: PathBuf,
    /// A bare command as the client.
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<String>,
    /// How often it is run.
    #[arg(long, value_name = "N", default_value = "3")]
    pub times: NonZeroUsize,
    /// The seed, as the report of the failure has it [default: 1].
    #[arg(long, value_name = "N", value_parser = seed)]
    pub seed: Option<u64>,
    /// Where the run leaves a directory of its own.
    #[arg(long, value_name = "DIR", default_value = "target/chaos")]
    pub report: PathBuf,
}

impl ReplayArgs {
    /// The run that it is.
    ///
    /// # Errors
    ///
    /// A file that is wrong, with its place.
    pub fn options(self, output: OutputArgs) -> Result<RunOptions, FileError> {
        let (client, client_words) = client(&self.client, &self.command)?;
        let mut scenarios = Vec::new();
        for scenario in suite::select(&[self.failure], &[])? {
            for nth in 1..=self.times.get() {
                let mut again = scenario.clone();
                if nth > 1 {
                    again.name = format!("{} ({nth})", scenario.name);
                }
                scenarios.push(again);
            }
        }
        Ok(RunOptions {
            client,
            scenarios,
            seed: self.seed.unwrap_or(SEED),
            // Nothing else may disturb it.
            jobs: NonZeroUsize::MIN,
            max_time: None,
            fail_fast: false,
            report: self.report,
            files: Files::default(),
            toxiproxy: None,
            min_severity: Severity::Policy,
            verbosity: output.verbosity(),
            client_words,
            shard: Shard::WHOLE,
            replay: true,
        })
    }
}

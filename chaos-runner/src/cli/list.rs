//! `list`: the scenarios by name.

use std::io::{self, Write};

use clap::Args;
use serde_json::json;

use super::CommandError;
use crate::suite;

/// What can be typed after `list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Scenarios: files, directories, or names in the standard suite; none: the whole suite.
    #[arg(value_name = "SCENARIO")]
    pub scenarios: Vec<String>,
    /// Only scenarios that bear this tag; may be given several times.
    #[arg(long, value_name = "TAG")]
    pub only: Vec<String>,
    /// One line of JSON for each scenario.
    #[arg(long)]
    pub json: bool,
}

impl ListArgs {
    /// Prints the list.
    ///
    /// # Errors
    ///
    /// A name or a file that is wrong; an output that cannot be written.
    pub fn run(&self) -> Result<(), CommandError> {
        let scenarios = suite::select(&self.scenarios, &self.only)?;
        let mut out = anstream::AutoStream::auto(io::stdout().lock());
        let width = scenarios.iter().map(|s| s.name.len()).max().unwrap_or(0);
        for scenario in &scenarios {
            if self.json {
                let line = json!({
                    "name": scenario.name,
                    "title": scenario.title,
                    "why": scenario.why,
                    "tags": scenario.tags,
                    "needs": scenario.needs,
                    "file": scenario.file,
                });
                writeln!(out, "{line}")?;
            } else {
                writeln!(
                    out,
                    "{:width$}  {}  [{}]",
                    scenario.name,
                    scenario.title,
                    scenario.tags.join(", ")
                )?;
            }
        }
        out.flush()?;
        Ok(())
    }
}

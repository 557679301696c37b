//! Reports into files of the user's choice, beside what a run leaves in its directory.

use std::path::PathBuf;

use clap::Args;

/// Where a report is wanted too.
#[derive(Clone, Debug, Default, Args)]
pub struct Files {
    /// Write a report in `JUnit`'s XML to this file.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write a JSON report to this file.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

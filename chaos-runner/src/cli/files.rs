//! Reports into files of the user's choice, beside what a run leaves in its directory.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Args;

use crate::diagnostic::FileError;

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

impl Files {
    /// Makes sure, before anything runs, that the reports can be written: what takes minutes, or
    /// sends messages that cost money, is not done in vain. What is there already stays as it is.
    ///
    /// # Errors
    ///
    /// Which cannot.
    pub(super) fn ready(&self) -> Result<(), FileError> {
        let wanted = [&self.junit, &self.json].into_iter().flatten();
        wanted.map(PathBuf::as_path).try_for_each(ready)
    }
}

fn ready(path: &Path) -> Result<(), FileError> {
    let opened = fs::File::options().append(true).create(true).open(path);
    opened.map(drop).map_err(|error| {
        let path = path.display();
        FileError::new(
            "the command line",
            format!("the report {path} cannot be written: {error}"),
        )
        .help("name another file; nothing was run")
    })
}

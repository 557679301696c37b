//! `man`: the manual pages, in the form that `man` reads.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use clap::{Args, CommandFactory as _};
use clap_mangen::Man;

use super::{Cli, CommandError};
use crate::diagnostic::FileError;

/// What can be typed after `man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write a page for the program and one for each command to this directory, in place of
    /// printing the program's.
    #[arg(value_name = "DIR")]
    pub directory: Option<PathBuf>,
}

impl ManArgs {
    /// Prints the page, or writes all of them.
    ///
    /// # Errors
    ///
    /// An output or a file that cannot be written.
    pub fn run(&self) -> Result<(), CommandError> {
        let program = Cli::command();
        let Some(directory) = &self.directory else {
            let mut page = Vec::new();
            Man::new(program).render(&mut page)?;
            let mut out = io::stdout().lock();
            out.write_all(&page)?;
            out.flush()?;
            return Ok(());
        };
        write_all(program, directory).map_err(|error| {
            let name = directory.display().to_string();
            FileError::new(
                &name,
                format!("pages cannot be written to `{name}`: {error}"),
            )
            .into()
        })
    }
}

fn write_all(program: clap::Command, directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    clap_mangen::generate_to(program.disable_help_subcommand(true), directory)
}

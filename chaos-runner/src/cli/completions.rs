//! `completions`: what lets a shell complete the command line.

use std::io::{self, Write};

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use super::{Cli, CommandError};

/// What can be typed after `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Which shell.
    #[arg(value_enum)]
    pub shell: Shell,
}

impl CompletionsArgs {
    /// Prints the script.
    ///
    /// # Errors
    ///
    /// An output that cannot be written.
    pub fn run(&self) -> Result<(), CommandError> {
        // The generator panics where it cannot write, as into a pipe that was closed: it gets a
        // buffer.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "chaos-runner", &mut script);
        let mut out = io::stdout().lock();
        out.write_all(&script)?;
        out.flush()?;
        Ok(())
    }
}

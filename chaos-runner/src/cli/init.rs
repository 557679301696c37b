//! `init`: something to begin with that runs as it is.
//!
//! Owns the three files that it writes: a client file with every key explained, a client in
//! thirty lines of shell, and a first scenario.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::PathBuf,
};

use clap::Args;

use super::CommandError;
use crate::diagnostic::FileError;

/// The files, in the order in which they are written.
const FILES: [(&str, &str); 3] = [
    ("client.toml", include_str!("init/client.toml")),
    ("send.sh", include_str!("init/send.sh")),
    ("scenarios/first.toml", include_str!("init/first.toml")),
];

/// What can be typed after `init`.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// The directory to write to.
    #[arg(value_name = "DIR", default_value = ".")]
    pub directory: PathBuf,
}

impl InitArgs {
    /// Writes the files; nothing is overwritten.
    ///
    /// # Errors
    ///
    /// One of the files is there already, or cannot be written.
    pub fn run(&self) -> Result<(), CommandError> {
        let paths: Vec<PathBuf> = FILES
            .iter()
            .map(|(name, _)| self.directory.join(name))
            .collect();
        // All are looked at before the first is written, so that a refusal changes nothing.
        for path in &paths {
            if path.symlink_metadata().is_ok() {
                let name = path.display().to_string();
                return Err(FileError::new(&name, format!("`{name}` is there already"))
                    .help("nothing was written: name an empty directory, or remove the file")
                    .into());
            }
        }
        for (path, (_, text)) in paths.iter().zip(FILES) {
            write_new(path, text).map_err(|error| {
                let name = path.display().to_string();
                FileError::new(&name, format!("`{name}` cannot be written: {error}"))
            })?;
        }
        let mut out = anstream::AutoStream::auto(io::stdout().lock());
        for path in &paths {
            writeln!(out, "wrote {}", path.display())?;
        }
        writeln!(
            out,
            "\nnow: chaos-runner run {} --client {}",
            paths[2].display(),
            paths[0].display()
        )?;
        out.flush()?;
        Ok(())
    }
}

fn write_new(path: &PathBuf, text: &str) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)?
        .write_all(text.as_bytes())
}

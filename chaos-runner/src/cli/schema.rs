//! `schema`: the file formats, for editors and for people.

use std::io::{self, Write};

use clap::{Args, ValueEnum};

use super::CommandError;
use crate::schema;

/// What can be typed after `schema`.
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Which file.
    #[arg(value_enum)]
    pub file: SchemaFile,
    /// The reference for people, in Markdown, in place of the JSON schema.
    #[arg(long)]
    pub markdown: bool,
}

/// The file formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemaFile {
    /// A scenario.
    Scenario,
    /// A client file.
    Client,
    /// A profile: a provider's API.
    Profile,
}

impl SchemaArgs {
    /// Prints the schema.
    ///
    /// # Errors
    ///
    /// An output that cannot be written.
    pub fn run(&self) -> Result<(), CommandError> {
        let text = match (self.file, self.markdown) {
            (SchemaFile::Scenario, false) => schema::scenario(),
            (SchemaFile::Client, false) => schema::client(),
            (SchemaFile::Profile, false) => schema::profile(),
            (SchemaFile::Scenario, true) => schema::scenario_reference(),
            (SchemaFile::Client, true) => schema::client_reference(),
            (SchemaFile::Profile, true) => schema::profile_reference(),
        };
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()?;
        Ok(())
    }
}

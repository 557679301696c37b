//! Client files: from TOML to a valid [`ClientFile`].
//!
//! Owns the file format (`file`), templates, the checks that make a file valid (`resolve`,
//! `submit`, `outcome`, `field`, `commands`) and the question whether a client has what a scenario
//! needs (`need`). Running the client is the run's.

mod bare;
mod command;
mod commands;
mod field;
mod file;
mod need;
mod outcome;
mod resolve;
mod submit;
mod template;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use stub_provider::Profile;

pub use command::CommandLine;
pub(crate) use file::RawClientFile;
pub use file::{Capability, Until};
pub use template::{IntentValues, LabValues, Placeholder, Template, Values};

use crate::{
    diagnostic::{self, FileError},
    document::{Document, hint},
    intent::Outcome,
    policy::Policy,
    result::Known,
};

/// How long a submission or a worker may take where the file does not say.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A client under test: how a message enters it, what sends, and how to learn what it believes.
#[derive(Clone, Debug)]
pub struct ClientFile {
    /// Its name, for reports.
    pub name: String,
    /// The file, as it was named; `None` for a bare command.
    pub file: Option<PathBuf>,
    /// The directory in which every command runs, absolute.
    pub dir: PathBuf,
    /// The environment of every command, beside the runner's own.
    pub env: BTreeMap<String, Template>,
    /// Run once for each scenario, before anything else.
    pub setup: Option<CommandLine>,
    /// How a message enters the client.
    pub submit: Submit,
    /// How long one submission may take.
    pub submit_timeout: Duration,
    /// What sends; `None`: the submission does.
    pub worker: Option<Worker>,
    /// How to learn what the client believes.
    pub outcome: OutcomeProbe,
    /// The client's own words for the outcomes.
    pub words: BTreeMap<String, Outcome>,
    /// The provider's API that the client speaks, with the key where the file says it stands.
    pub profile: Arc<Profile>,
    /// What the client promises.
    pub policy: Policy,
    /// Findings that are known, by id.
    pub known: BTreeMap<String, Known>,
    /// Where the client takes receipts.
    pub callback: Option<Template>,
    /// The client's own database.
    pub database: Option<Template>,
    /// What it can do that the rest does not show.
    pub capabilities: BTreeSet<Capability>,
}

/// How a message enters the client.
#[derive(Clone, Debug, PartialEq)]
pub enum Submit {
    /// A command, once for each message.
    Command(CommandLine),
    /// A command, once, with a line of JSON for each message ([`IntentValues::json_line`]).
    Stdin(CommandLine),
    /// An HTTP request for each message.
    Http(HttpSubmit),
}

/// One HTTP request for each message, to the client's own server.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpSubmit {
    /// The method.
    pub method: hyper::Method,
    /// The URL.
    pub url: Template,
    /// The headers.
    pub headers: BTreeMap<String, Template>,
    /// The body; `None`: none.
    pub json: Option<JsonTemplate>,
    /// The statuses that mean that the client has taken the message; empty: any 2xx.
    pub accept: Vec<u16>,
}

impl HttpSubmit {
    /// Whether a status means that the client has taken the message.
    #[must_use]
    pub fn accepts(&self, status: u16) -> bool {
        if self.accept.is_empty() {
            (200..300).contains(&status)
        } else {
            self.accept.contains(&status)
        }
    }
}

/// JSON with placeholders in its texts.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonTemplate {
    /// A text.
    Text(Template),
    /// Anything without texts.
    Plain(serde_json::Value),
    /// A list.
    List(Vec<JsonTemplate>),
    /// An object.
    Object(Vec<(String, JsonTemplate)>),
}

impl JsonTemplate {
    /// The JSON with the values in place.
    #[must_use]
    pub fn render(&self, values: &Values) -> serde_json::Value {
        match self {
            Self::Text(template) => template.render(values).into(),
            Self::Plain(value) => value.clone(),
            Self::List(items) => items.iter().map(|item| item.render(values)).collect(),
            Self::Object(entries) => entries
                .iter()
                .map(|(key, value)| (key.clone(), value.render(values)))
                .collect(),
        }
    }

    fn placeholders(&self, into: &mut BTreeSet<Placeholder>) {
        match self {
            Self::Text(template) => into.extend(template.placeholders()),
            Self::Plain(_) => {}
            Self::List(items) => items.iter().for_each(|item| item.placeholders(into)),
            Self::Object(entries) => entries.iter().for_each(|(_, v)| v.placeholders(into)),
        }
    }
}

/// What sends.
#[derive(Clone, Debug, PartialEq)]
pub struct Worker {
    /// The command.
    pub command: CommandLine,
    /// How many run at once, at least 1.
    pub workers: u32,
    /// How to see that it is ready; `None`: it is when it runs.
    pub ready: Option<Ready>,
    /// When its work is over.
    pub until: Until,
    /// Whether it is started again after a kill; false for a one-shot, which is run again.
    pub restart: bool,
    /// How long the whole scenario may take it.
    pub timeout: Duration,
}

/// How to see that a worker is ready.
#[derive(Clone, Debug, PartialEq)]
pub enum Ready {
    /// This URL answers with a 2xx.
    Http(Template),
    /// This port takes connections.
    Port(Template),
    /// A line with these words stands on its standard output or error.
    Log(String),
}

/// How to learn what the client believes.
#[derive(Clone, Debug, PartialEq)]
pub enum OutcomeProbe {
    /// A query.
    Sql {
        /// `sqlite://…` or `postgres://…`.
        url: Template,
        /// Its columns: `intent` or `to`, `outcome`, and `attempts` where the client counts.
        query: Template,
    },
    /// A command that prints one line of JSON for each message.
    Command(CommandLine),
    /// The submit command's exit code.
    ExitCode(ExitCodes),
}

/// What the submit command's exit codes mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExitCodes {
    /// Those that are named.
    pub codes: BTreeMap<u8, Outcome>,
    /// Any other, and an end by a signal.
    pub other: Outcome,
}

impl Default for ExitCodes {
    /// 0 for sent, any other for unknown.
    fn default() -> Self {
        Self {
            codes: BTreeMap::from([(0, Outcome::Sent)]),
            other: Outcome::Unknown,
        }
    }
}

impl ExitCodes {
    /// The outcome for an exit code; `None`: ended by a signal.
    #[must_use]
    pub fn outcome(&self, code: Option<i32>) -> Outcome {
        code.and_then(|code| u8::try_from(code).ok())
            .and_then(|code| self.codes.get(&code))
            .copied()
            .unwrap_or(self.other)
    }
}

impl ClientFile {
    /// Reads a client file and checks that its commands can be run.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or what is wrong with it, with the place.
    pub fn load(path: &Path) -> Result<Self, FileError> {
        let name = path.display().to_string();
        let source = diagnostic::source(path, "the client file")
            .map_err(|error| error.help("`chaos-runner init` writes one to begin with"))?;
        let absolute = std::path::absolute(path)
            .map_err(|error| FileError::new(&name, format!("this path leads nowhere: {error}")))?;
        let dir = absolute.parent().unwrap_or(&absolute);
        let (mut client, document) = parse_with(&source, &name, dir)?;
        commands::check_commands(&client, &document)?;
        client.file = Some(path.to_owned());
        Ok(client)
    }

    /// Reads a client file's text; `dir` is where its commands run. Whether they can be run is
    /// not looked at.
    ///
    /// # Errors
    ///
    /// What is wrong with the text, with the place.
    pub fn parse(source: &str, file: &str, dir: &Path) -> Result<Self, FileError> {
        parse_with(source, file, dir).map(|(client, _)| client)
    }

    /// A client that is one command, run once for each message in the current directory: exit
    /// code 0 means sent, any other unknown.
    ///
    /// # Errors
    ///
    /// A wrong placeholder, no command at all, or one that cannot be run.
    pub fn for_command(words: &[String]) -> Result<Self, FileError> {
        bare::bare_command(words, &current_dir()?)
    }

    /// Whether the client is asked what it believes; else its exit code is all there is.
    #[must_use]
    pub fn tells_outcome(&self) -> bool {
        !matches!(self.outcome, OutcomeProbe::ExitCode(_))
    }

    /// Whether the client's database is one of a server, rather than a file or unknown.
    #[must_use]
    pub fn has_database_server(&self) -> bool {
        self.database
            .as_ref()
            .is_some_and(|url| url.begins_with("postgres"))
    }

    /// Every placeholder that stands in the form of submission.
    pub(crate) fn submit_placeholders(&self) -> BTreeSet<Placeholder> {
        match &self.submit {
            Submit::Command(command) => command.parts().flat_map(Template::placeholders).collect(),
            // Every line has these, whether the client reads them or not.
            Submit::Stdin(_) => BTreeSet::from([
                Placeholder::Intent,
                Placeholder::Customer,
                Placeholder::To,
                Placeholder::Body,
                Placeholder::ExpiresAt,
            ]),
            Submit::Http(http) => {
                let mut found = http.url.placeholders();
                found.extend(http.headers.values().flat_map(Template::placeholders));
                if let Some(json) = &http.json {
                    json.placeholders(&mut found);
                }
                found
            }
        }
    }
}

fn parse_with<'i>(
    source: &'i str,
    file: &'i str,
    dir: &Path,
) -> Result<(ClientFile, Document<'i>), FileError> {
    let document = Document::parse(source, file, hint)?;
    commands::slips(&document)?;
    let raw: RawClientFile = document.read()?;
    let client = resolve::client(raw, &document, dir)?;
    Ok((client, document))
}

fn current_dir() -> Result<PathBuf, FileError> {
    env::current_dir().map_err(|error| {
        FileError::new(
            "the command line",
            format!("the current directory is gone: {error}"),
        )
    })
}

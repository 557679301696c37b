//! `run`: the arguments, and what they mean.

use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
    str::FromStr,
    thread,
    time::Duration,
};

use clap::Args;
use stub_provider::duration::Span;

use super::{Files, OutputArgs, Verbosity};
use crate::{
    client_file::ClientFile, diagnostic::FileError, explore::script::Shard, scenario::Scenario,
    severity::Severity, suite,
};

/// The seed where none is given: the same messages every time.
pub(super) const SEED: u64 = 1;

/// The client file where none is given.
pub(super) const CLIENT: &str = "client.toml";

/// What can be typed after `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Scenarios: files, directories, or names in the standard suite; none: the whole suite.
    #[arg(value_name = "SCENARIO")]
    pub scenarios: Vec<String>,
    /// The client under test.
    #[arg(long, value_name = "FILE", default_value = CLIENT, conflicts_with = "command")]
    pub client: PathBuf,
    /// A bare command as the client, run once for each message: exit code 0 means sent, any
    /// other unknown. For instance: run -- ./send {to} {body}
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<String>,
    /// The seed of all randomness: a number, or `random` [default: 1].
    #[arg(long, value_name = "N", value_parser = seed)]
    pub seed: Option<u64>,
    /// How many scenarios run at once [default: two for each core].
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// Only scenarios that bear this tag; may be given several times.
    #[arg(long, value_name = "TAG")]
    pub only: Vec<String>,
    /// How long the whole run may take, as in 10m; what is not done by then does not run.
    #[arg(long, value_name = "TIME")]
    pub max_time: Option<Span>,
    /// Stop at the first scenario that fails.
    #[arg(long)]
    pub fail_fast: bool,
    /// Where each run leaves a directory of its own, with a page to look at (report.html), the
    /// histories, and a diagram of each finding (SVG); `latest` is a link to the last.
    #[arg(long, value_name = "DIR", default_value = "target/chaos")]
    pub report: PathBuf,
    /// Reports into files.
    #[command(flatten)]
    pub files: Files,
    /// Use this Toxiproxy server, by the address of its API, in place of the embedded engine.
    #[arg(long, value_name = "HOST:PORT")]
    pub toxiproxy: Option<Toxiproxy>,
    /// Only this part of the scenarios, as in 1/4; `merge` joins the parts.
    #[arg(long, value_name = "I/N", default_value_t = Shard::WHOLE)]
    pub shard: Shard,
    /// The least severity that fails the run: duplicate, loss, wrong-outcome, policy or note.
    #[arg(long, value_name = "SEVERITY", default_value_t = Severity::Policy)]
    pub min_severity: Severity,
}

/// The address of a Toxiproxy server's API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toxiproxy {
    /// A name or an IP address.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl FromStr for Toxiproxy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "write a host and a port, as in localhost:8474".to_owned();
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let port = port.parse().map_err(|_| wrong())?;
        if host.is_empty() || host.contains('/') {
            return Err(wrong());
        }
        Ok(Self {
            host: host.to_owned(),
            port,
        })
    }
}

pub(super) fn seed(text: &str) -> Result<u64, String> {
    if text == "random" {
        return Ok(rand::random());
    }
    text.parse()
        .map_err(|_| "a seed is a whole number that is not negative, or `random`".to_owned())
}

/// What a run is asked to do.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The client under test.
    pub client: ClientFile,
    /// What it is put through, in order; may be empty where no scenario bears the tags.
    pub scenarios: Vec<Scenario>,
    /// The seed of all randomness.
    pub seed: u64,
    /// How many scenarios run at once.
    pub jobs: NonZeroUsize,
    /// How long the whole run may take.
    pub max_time: Option<Duration>,
    /// Whether to stop at the first scenario that fails.
    pub fail_fast: bool,
    /// Where the run leaves a directory of its own.
    pub report: PathBuf,
    /// Where reports are wanted too.
    pub files: Files,
    /// The Toxiproxy server; `None`: the embedded engine.
    pub toxiproxy: Option<Toxiproxy>,
    /// The least severity that fails the run.
    pub min_severity: Severity,
    /// How much is said.
    pub verbosity: Verbosity,
    /// The words that choose the client, for the command that replays a scenario:
    /// `--client client.toml`, or `-- ./send {to} {body}`.
    pub client_words: Vec<String>,
    /// Which part of the scenarios it is.
    pub shard: Shard,
    /// Whether it is one failure again, of which is said how often it came back.
    pub replay: bool,
}

impl RunArgs {
    /// Reads the client file and the scenarios.
    ///
    /// # Errors
    ///
    /// A file or a name that is wrong, with its place.
    pub fn options(self, output: OutputArgs) -> Result<RunOptions, FileError> {
        let (client, client_words) = client(&self.client, &self.command)?;
        let mut scenarios = suite::select(&self.scenarios, &self.only)?;
        scenarios.retain(|scenario| self.shard.has(&scenario.name));
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        // Scenarios wait more than they work; with more of them at once, a client starved of its
        // processor would run into its own timeouts.
        let jobs = self
            .jobs
            .or_else(|| NonZeroUsize::new(2 * cores))
            .unwrap_or(NonZeroUsize::MIN);
        self.files.ready()?;
        Ok(RunOptions {
            client,
            scenarios,
            seed: self.seed.unwrap_or(SEED),
            jobs,
            max_time: self.max_time.map(|span| span.0),
            fail_fast: self.fail_fast,
            report: self.report,
            files: self.files,
            toxiproxy: self.toxiproxy,
            min_severity: self.min_severity,
            verbosity: output.verbosity(),
            client_words,
            shard: self.shard,
            replay: false,
        })
    }
}

/// The client under test, and the words that choose it.
pub(super) fn client(
    path: &Path,
    command: &[String],
) -> Result<(ClientFile, Vec<String>), FileError> {
    if !command.is_empty() {
        let mut words = vec!["--".to_owned()];
        words.extend_from_slice(command);
        return Ok((ClientFile::for_command(command)?, words));
    }
    if path == Path::new(CLIENT) && !path.exists() {
        return Err(FileError::new(
            "the command line",
            "there is no client to test: no client.toml here, and no --client",
        )
        .help(
            "name one with --client FILE, give a command after `--` \
             (run -- ./send {to} {body}), or let `chaos-runner init` write one",
        ));
    }
    let words = vec!["--client".to_owned(), path.display().to_string()];
    Ok((ClientFile::load(path)?, words))
}

//! `explore`: the arguments, and what is made of them.
//!
//! Owns the way from the arguments to an exit code, and the files that are left. Exploring is
//! [`crate::explore`]'s, the words are the reports'.

use std::{
    fs,
    io::{self, IsTerminal as _, Write as _},
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::Zoned;
use stub_provider::duration::Span;
use tokio_util::sync::CancellationToken;

use super::{
    Files, OutputArgs, Verbosity, page,
    run::{CLIENT, SEED, client, seed},
};
use crate::{
    diagnostic::FileError,
    exit_code::ExitCode,
    explore::{
        Explored, Progress, SCRIPTS, Settings, alphabet::Alphabet, certificate, explore,
        script::Shard,
    },
    report::explore as told,
    result::Rules,
    run::{Error, interrupt},
    severity::Severity,
};

/// The most faults in a script where the user does not say.
const DEPTH: usize = 3;
/// The same of a script drawn at random: beyond what can be exhausted.
const RANDOM_DEPTH: usize = 8;
/// The most scripts at once where the user does not say.
const BATCH: usize = 2_000;
/// How long between two lines that tell how far it is, where there is no bar.
const PAUSE: Duration = Duration::from_secs(10);
/// The most that there are messages for.
const MOST: usize = 10_000;

/// What can be typed after `explore`.
#[derive(Debug, Args)]
pub struct ExploreArgs {
    /// The client under test.
    #[arg(long, value_name = "FILE", default_value = CLIENT, conflicts_with = "command")]
    pub client: PathBuf,
    /// A bare command as the client, run once for each message: exit code 0 means sent, any
    /// other unknown. For instance: explore -- ./send {to} {body}
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<String>,
    /// Which version of the client it is, for the certificate.
    #[arg(long, value_name = "VERSION")]
    pub client_version: Option<String>,
    /// The most faults in a script: each meets one attempt, then all is well [default: 3; with
    /// --random 8].
    #[arg(long, value_name = "N")]
    pub depth: Option<NonZeroUsize>,
    /// The faults: standard, all, toxics, processes, or names of single ones, with commas between
    /// [default: standard; with --random all,toxics,processes].
    #[arg(long, value_name = "SET")]
    pub faults: Option<Alphabet>,
    /// Draw this many cases at random in place of all scripts: up to --depth faults for each of
    /// one to three messages, shrunk when one fails.
    #[arg(long, value_name = "CASES", num_args = 0..=1, default_missing_value = "100")]
    pub random: Option<u64>,
    /// The seed of messages and orders: a number, or `random` [default: 1].
    #[arg(long, value_name = "N", value_parser = seed)]
    pub seed: Option<u64>,
    /// How many labs at once, each with a client of its own [default: one for each core].
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// The most scripts in one lab: what the client can work through at once, up to 10000.
    #[arg(long, value_name = "N", default_value_t = BATCH)]
    pub batch: usize,
    /// Only this part of the scripts, as in 1/4; `merge` joins the parts.
    #[arg(long, value_name = "I/N", default_value_t = Shard::WHOLE)]
    pub shard: Shard,
    /// How long it may take, as in 10m; it then says how much is covered, and is no pass.
    #[arg(long, value_name = "TIME")]
    pub max_time: Option<Span>,
    /// Stop after the length at which a script fails: the smallest is found by then.
    #[arg(long)]
    pub fail_fast: bool,
    /// Where each run leaves a directory of its own, with a page to look at (report.html), a square
    /// in it for each script, and the histories of what failed; `latest` is a link to the last.
    #[arg(long, value_name = "DIR", default_value = "target/chaos")]
    pub report: PathBuf,
    /// Reports into files.
    #[command(flatten)]
    pub files: Files,
    /// The least severity that fails a script: duplicate, loss, wrong-outcome, policy or note.
    #[arg(long, value_name = "SEVERITY", default_value_t = Severity::Policy)]
    pub min_severity: Severity,
}

impl ExploreArgs {
    /// Explores, tells of it, and says how the program ends.
    ///
    /// # Errors
    ///
    /// A client file or an argument that is wrong.
    pub fn execute(self, output: OutputArgs) -> Result<ExitCode, FileError> {
        let settings = self.settings()?;
        Ok(match self.explore(&settings, output.verbosity()) {
            Ok(code) => code,
            Err(error) => {
                anstream::eprintln!("error: {error}");
                ExitCode::Harness
            }
        })
    }

    fn settings(&self) -> Result<Settings, FileError> {
        let wrong = |why: String| FileError::new("the command line", why);
        let (client, client_words) = client(&self.client, &self.command)?;
        if self.batch == 0 || self.batch > MOST {
            return Err(wrong(format!("--batch {}: from 1 to {MOST}", self.batch)));
        }
        let deaf = client.policy.read_timeout.is_none();
        let alphabet = match (&self.faults, self.random) {
            (Some(faults), _) => faults.clone(),
            (None, None) => Alphabet::default(),
            (None, Some(_)) => Alphabet::whole(!deaf),
        };
        let late = alphabet.letters().iter().find(|l| l.needs_read_timeout());
        if let (true, Some(letter)) = (deaf, late) {
            return Err(wrong(format!(
                "--faults: {letter} comes after the client's read timeout"
            ))
            .help("say it in the client file: [policy] read-timeout = \"1s\""));
        }
        let depth = if self.random.is_some() {
            RANDOM_DEPTH
        } else {
            DEPTH
        };
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let rules = Rules {
            known: client.known.clone(),
            min_severity: self.min_severity,
            ..Rules::strict(Zoned::now().date())
        };
        self.files.ready()?;
        Ok(Settings {
            client: Arc::new(client),
            client_version: self.client_version.clone(),
            client_words,
            alphabet,
            depth: self.depth.map_or(depth, NonZeroUsize::get),
            seed: self.seed.unwrap_or(SEED),
            jobs: self.jobs.map_or(cores, NonZeroUsize::get),
            batch: self.batch,
            shard: self.shard,
            max_time: self.max_time.map(|span| span.0),
            random: self.random,
            fail_fast: self.fail_fast,
            rules,
            base: self.report.clone(),
        })
    }

    fn explore(&self, settings: &Settings, verbosity: Verbosity) -> Result<ExitCode, Error> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(Error::io("starting the runtime"))?;
        let mut teller = Teller::new(verbosity);
        let explored = runtime.block_on(async {
            let cancel: CancellationToken = interrupt::token()?;
            explore(settings, cancel, &mut |progress| teller.hear(&progress)).await
        })?;
        teller.bar.finish_and_clear();
        let exploration = &explored.exploration;
        let mut text = told::failures(&explored);
        text.push_str(&told::summary(exploration));
        teller.say(&text)?;
        self.leave(&explored)?;
        for confirmed in &explored.confirmed {
            if let Some(path) = &confirmed.found.scenario {
                teller.say(&format!("again: {}\n", told::again(exploration, path)))?;
            }
        }
        let code = exploration.exit_code();
        if code != ExitCode::Pass {
            let page = explored.directory.join(page::FILE);
            teller.say(&format!("Look at {}\n", page.display()))?;
        }
        Ok(code)
    }

    /// Leaves the reports where the run has its directory, and where the user wants them.
    fn leave(&self, explored: &Explored) -> Result<(), Error> {
        let exploration = &explored.exploration;
        let document = pretty(exploration)?;
        write(&explored.directory.join("explore.json"), &document)?;
        let certificate = pretty(&certificate::certificate(exploration))?;
        write(&explored.directory.join("certificate.json"), &certificate)?;
        let verdicts = explored.verdicts.join("\n") + "\n";
        write(&explored.directory.join(SCRIPTS), &verdicts)?;
        let path = explored.directory.join(page::FILE);
        page::write_exploration(&path, exploration, &explored.verdicts)
            .map_err(Error::io(format!("writing {}", path.display())))?;
        if let Some(path) = &self.files.json {
            write(path, &document)?;
        }
        if let Some(path) = &self.files.junit {
            let text = told::junit(exploration, &explored.confirmed)
                .map_err(|error| Error::io("writing the JUnit report")(io::Error::other(error)))?;
            write(path, &text)?;
        }
        Ok(())
    }
}

pub(super) fn pretty(value: &impl serde::Serialize) -> Result<String, Error> {
    serde_json::to_string_pretty(value)
        .map(|text| text + "\n")
        .map_err(|error| Error::io("writing a report")(error.into()))
}

pub(super) fn write(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(Error::io(format!("writing {}", path.display())))
}

/// Tells of an exploration as it goes: a bar on a terminal, a line for each length.
struct Teller {
    out: anstream::AutoStream<io::Stdout>,
    bar: ProgressBar,
    quiet: bool,
    done: u64,
    total: u64,
    began: Instant,
    /// When it was last told how far it is, where there is no bar.
    told: Instant,
}

impl Teller {
    fn new(verbosity: Verbosity) -> Self {
        let quiet = verbosity == Verbosity::Quiet;
        let target = if io::stderr().is_terminal() && !quiet {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        if let Ok(style) = ProgressStyle::with_template(
            "{bar:24} {pos}/{len} scripts, {per_sec}, {eta} left {msg}",
        ) {
            bar.set_style(style);
        }
        Self {
            out: anstream::AutoStream::new(io::stdout(), anstream::ColorChoice::global()),
            bar,
            quiet,
            done: 0,
            total: 0,
            began: Instant::now(),
            told: Instant::now(),
        }
    }

    fn hear(&mut self, progress: &Progress) {
        match progress {
            Progress::Begins { total, directory } => {
                self.bar.set_length(*total);
                self.total = *total;
                self.tell(&format!(
                    "{total} scripts; what is seen is left in {}\n",
                    directory.display()
                ));
            }
            Progress::Level { .. } => {}
            Progress::Running { run, failed } => {
                self.bar.set_position(self.done + run);
                self.bar.set_message(format!("{failed} failed"));
                self.tell_plainly(self.done + run, *failed);
            }
            Progress::Again { scripts, alone } => {
                let company = if *alone { "alone" } else { "among few" };
                self.bar
                    .set_message(format!("{scripts} doubtful, again {company}"));
            }
            Progress::Through(level) => {
                self.done += level.counts.run + level.counts.covered;
                self.bar.set_position(self.done);
                if level.length > 0 {
                    self.tell(&told::level(level));
                }
            }
            Progress::Confirming(kind, script) => {
                self.bar
                    .set_message(format!("again alone: {kind} ({script})"));
            }
        }
    }

    /// How far it is, now and then, where there is no bar to see it by.
    fn tell_plainly(&mut self, done: u64, failed: u64) {
        if self.bar.is_hidden() && self.told.elapsed() >= PAUSE {
            self.told = Instant::now();
            let line = told::so_far(done, self.total, failed, self.began.elapsed());
            self.tell(&line);
        }
    }

    /// A reader who has gone away does not end the exploration.
    fn tell(&mut self, text: &str) {
        if !self.quiet {
            let bar = self.bar.clone();
            let out = &mut self.out;
            let written = bar.suspend(|| out.write_all(text.as_bytes()));
            if let Err(error) = written {
                tracing::debug!(%error, "nobody reads standard output");
            }
        }
    }

    fn say(&mut self, text: &str) -> Result<(), Error> {
        match self.out.write_all(text.as_bytes()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Error::io("writing to standard output")(error))
            }
            _ => Ok(()),
        }
    }
}

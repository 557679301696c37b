//! The command line: what can be typed, and the commands that run nothing.
//!
//! Owns the arguments of every command and turns those of `run` into [`RunOptions`]. Running is
//! the run's.

mod audit;
mod completions;
mod execute;
mod explore;
mod files;
mod init;
mod list;
mod man;
mod merge;
mod page;
mod recheck;
mod replay;
mod run;
mod schema;
mod show;
mod tell;

use std::io;

use anstream::ColorChoice;
use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};

pub use audit::AuditArgs;
pub use completions::CompletionsArgs;
pub use explore::ExploreArgs;
pub use files::Files;
pub use init::InitArgs;
pub use list::ListArgs;
pub use man::ManArgs;
pub use merge::MergeArgs;
pub use recheck::RecheckArgs;
pub use replay::ReplayArgs;
pub use run::{RunArgs, RunOptions, Toxiproxy};
pub use schema::SchemaArgs;
pub use show::ShowArgs;

use crate::{diagnostic::FileError, exit_code::ExitCode};

/// Proves that an SMS client delivers each message exactly once, whatever the network, the
/// provider and its own process do.
///
/// Exit codes: 0 pass, 1 violation, 2 usage or configuration, 3 inconclusive, 4 nothing ran,
/// 5 the harness itself failed, 130 interrupted.
#[derive(Debug, Parser)]
#[command(name = "chaos-runner", version, arg_required_else_help = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// What holds for every command.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run scenarios against a client and judge it.
    Run(RunArgs),
    /// Check whether a provider keeps what its profile promises about idempotency keys.
    Audit(Box<AuditArgs>),
    /// Run every fault script up to a depth against a client, none left out.
    Explore(ExploreArgs),
    /// Run one saved failing scenario again, several times.
    Replay(ReplayArgs),
    /// Judge saved histories again; nothing is run.
    Recheck(RecheckArgs),
    /// Join the parts of a run or an exploration into one report and one exit code.
    Merge(MergeArgs),
    /// Name the scenarios.
    List(ListArgs),
    /// Print a scenario as it is written, or what becomes of it.
    Show(ShowArgs),
    /// Write a client file, a client and a first scenario to begin with.
    Init(InitArgs),
    /// Print the JSON schema, or the reference, of a file format.
    Schema(SchemaArgs),
    /// Print what lets a shell complete commands and options.
    Completions(CompletionsArgs),
    /// Print the manual page, or write those of all commands.
    Man(ManArgs),
}

/// How the program speaks.
#[derive(Clone, Copy, Debug, Args)]
pub struct OutputArgs {
    /// When to use colour.
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t)]
    pub color: ColorArg,
    /// Say only what went wrong.
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say more; twice: also the harness's own log.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorArg {
    /// On a terminal that knows it.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How much is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Only what went wrong.
    Quiet,
    /// One line for each scenario, and what went wrong.
    #[default]
    Normal,
    /// Every step.
    Verbose,
    /// Every step, and the harness's own log.
    Debug,
}

impl OutputArgs {
    /// Makes every later output obey `--color`.
    pub fn apply(self) {
        let choice = match self.color {
            ColorArg::Auto => ColorChoice::Auto,
            ColorArg::Always => ColorChoice::Always,
            ColorArg::Never => ColorChoice::Never,
        };
        choice.write_global();
    }

    /// How much is said.
    #[must_use]
    pub fn verbosity(self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, 0) => Verbosity::Normal,
            (false, 1) => Verbosity::Verbose,
            (false, _) => Verbosity::Debug,
        }
    }
}

/// Why a command that runs nothing came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The arguments or a file are wrong.
    #[error(transparent)]
    File(#[from] FileError),
    /// The output cannot be written.
    #[error("the output cannot be written: {0}")]
    Output(#[from] io::Error),
}

impl CommandError {
    /// Says on standard error what is wrong, and how the program ends.
    #[must_use]
    pub fn report(&self) -> ExitCode {
        match self {
            Self::File(error) => {
                let colour = anstream::AutoStream::choice(&io::stderr()) != ColorChoice::Never;
                anstream::eprint!("{}", error.report(colour));
                ExitCode::Usage
            }
            // Whoever closed the pipe has read what they wanted.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::Pass,
            Self::Output(_) => {
                anstream::eprintln!("error: {self}");
                ExitCode::Harness
            }
        }
    }
}

/// The reference of the command line, in Markdown: every command and flag as `--help` has them.
#[must_use]
pub fn reference() -> String {
    let mut text = String::from(
        "# The command line\n\nWritten from the program itself; `chaos-runner help` and `--help` say the same.\n",
    );
    let mut program = Cli::command().term_width(96).disable_help_subcommand(true);
    program.build();
    let mut section = |name: &str, command: &mut clap::Command| {
        let help = command.render_long_help().to_string();
        let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
        text.extend([
            "\n## ",
            name,
            "\n\n```text\n",
            lines.join("\n").trim_end(),
            "\n```\n",
        ]);
    };
    section("chaos-runner", &mut program.clone());
    for command in program.get_subcommands_mut() {
        let name = format!("chaos-runner {}", command.get_name());
        section(&name, command);
    }
    text
}

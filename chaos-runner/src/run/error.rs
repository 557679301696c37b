//! What can go wrong with the harness itself; what goes wrong with the client is a verdict.

use std::io;

use thiserror::Error;

use super::process::Invocation;

/// The harness could not do its work.
#[derive(Debug, Error)]
pub enum Error {
    /// A system call failed.
    #[error("{doing}: {source}")]
    Io {
        /// What was being done.
        doing: String,
        /// Why it failed.
        source: io::Error,
    },
    /// A command of the client file could not be started.
    #[error("cannot start `{command}` ({table} in the client file): {source}")]
    Start {
        /// The command line.
        command: String,
        /// The table of the client file that names it.
        table: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The setup command failed.
    #[error("the [setup] command {how}; its output is in {output}")]
    Setup {
        /// How it ended, or that it did not.
        how: String,
        /// Where its output is.
        output: String,
    },
    /// A worker was not ready in time, or ended before it was.
    #[error("worker {worker} {why}; its output is in {output}")]
    NotReady {
        /// Which worker.
        worker: u32,
        /// What happened.
        why: String,
        /// Where its output is.
        output: String,
    },
    /// Toxiproxy refused, or did not do what it said.
    #[error("Toxiproxy: {doing}: {why}")]
    Toxiproxy {
        /// What was being done.
        doing: String,
        /// What came of it.
        why: String,
    },
    /// The embedded engine failed.
    #[error("the embedded proxy: {0}")]
    Engine(String),
    /// The stub provider failed.
    #[error("the stub provider: {0}")]
    Provider(String),
    /// The client's outcome could not be asked for.
    #[error("[outcome] {what}: {why}")]
    Outcome {
        /// What was asked.
        what: String,
        /// Why it failed.
        why: String,
    },
    /// The client's database could not be disturbed.
    #[error("[database] {url}: {why}")]
    Database {
        /// The database.
        url: String,
        /// Why.
        why: String,
    },
    /// A part of the harness panicked.
    #[error("a bug of the harness in scenario {scenario}: {what}; please report it")]
    Panic {
        /// Which scenario.
        scenario: String,
        /// The panic's message.
        what: String,
    },
}

impl Error {
    /// A command that could not be started.
    pub(super) fn start(
        what: &Invocation,
        table: &'static str,
    ) -> impl FnOnce(io::Error) -> Self + use<> {
        let command = what.to_string();
        move |source| Self::Start {
            command,
            table,
            source,
        }
    }

    /// An I/O error with what was being done.
    pub fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }
}

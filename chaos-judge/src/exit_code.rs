//! The exit codes of the program: a contract with every script that calls it.

use std::process;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ExitCode {
    /// Every scenario that ran passed.
    Pass = 0,
    /// The client did something wrong.
    Violation = 1,
    /// The arguments or a file are wrong; nothing ran.
    Usage = 2,
    /// Nothing can be said of at least one scenario, and none failed.
    Inconclusive = 3,
    /// No scenario ran: none was selected, or all were skipped.
    NothingRan = 4,
    /// The harness itself failed; nothing is said of the client.
    Harness = 5,
    /// Interrupted from outside (Ctrl-C, SIGTERM).
    Interrupted = 130,
}

impl From<ExitCode> for process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code as u8)
    }
}

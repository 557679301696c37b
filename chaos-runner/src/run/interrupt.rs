//! Ctrl-C and SIGTERM.
//!
//! Owns the wish to stop. The first signal ends the run in order: faults healed, processes
//! ended, what was recorded written. The second ends the runner at once; the guardian clears up.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::error::Error;
use crate::exit_code::ExitCode;

/// A token that is cancelled by the first signal.
///
/// # Errors
///
/// When the system lets no handler be set.
pub fn token() -> Result<CancellationToken, Error> {
    let cannot = "watching for Ctrl-C";
    let mut interrupt = signal(SignalKind::interrupt()).map_err(Error::io(cannot))?;
    let mut terminate = signal(SignalKind::terminate()).map_err(Error::io(cannot))?;
    let token = CancellationToken::new();
    let wish = token.clone();
    tokio::spawn(async move {
        for nth in 0.. {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            if nth == 0 {
                wish.cancel();
            } else {
                std::process::exit(ExitCode::Interrupted as i32);
            }
        }
    });
    Ok(token)
}

//! Which log lines a program of the harness writes.

use std::env;

use tracing_subscriber::filter::{LevelFilter, Targets};

/// What `RUST_LOG` chooses (`info`, `stub_provider=debug,hyper=off`), or else everything up to a
/// level. A `RUST_LOG` that is not understood is for another program: it is said on standard error
/// and ignored.
#[must_use]
pub fn chosen(otherwise: LevelFilter) -> Targets {
    let otherwise = Targets::new().with_default(otherwise);
    let Some(said) = env::var("RUST_LOG").ok().filter(|said| !said.is_empty()) else {
        return otherwise;
    };
    said.parse().unwrap_or_else(|error| {
        eprintln!("warning: RUST_LOG={said} is not understood and ignored: {error}");
        otherwise
    })
}

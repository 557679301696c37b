//! Every fault script up to a depth, none left out.
//!
//! A script says what attempts 1, 2, 3… of one message meet; then all is well. The stub knows
//! attempt *k* of intent *i*, so that one client works through thousands of scripts at once, each
//! message under its own. The map:
//!
//! - [`letter`]: the faults, [`action`] and [`alphabet`] what they stand for and which are asked
//!   for; [`script`]: sequences of them, and the parts of a shared exploration;
//!   [`tree`]: all of them, level by level.
//! - [`batch`]: from scripts to a plan; [`reading`]: from the plan's history to a verdict for each.
//! - [`explorer`]: from the start to the end, with [`settings`], `levels` (all scripts of a length),
//!   `batches` (several labs at once), `doubt` (what is run again) and `cases` (at random);
//!   [`confirm`] and [`neighbour`]: what is made of a failure.
//! - [`random`]: scripts beyond exhaustion, for several messages, shrunk when one fails.
//! - [`result`] and [`certificate`]: what is kept.
//!
//! A script is extended only where the client made another attempt after it: else no longer one
//! that begins with it differs from it, and those are counted as covered.

pub mod action;
pub mod alphabet;
pub mod batch;
mod batches;
mod cases;
pub mod certificate;
pub mod confirm;
mod doubt;
pub mod explorer;
pub mod letter;
mod levels;
pub mod neighbour;
pub mod random;
pub mod reading;
pub mod result;
pub mod script;
pub mod settings;
pub mod tree;

pub use explorer::{Explored, Progress, explore};
pub use settings::Settings;

/// The file of a run's directory that has a line for each script.
pub const SCRIPTS: &str = "scripts.tsv";

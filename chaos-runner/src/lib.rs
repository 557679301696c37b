//! Proves that an SMS client delivers each message exactly once, whatever the network, the
//! provider and its own process do.
//!
//! Data flows one way:
//!
//! - [`scenario`] and [`client_file`] read TOML; what is wrong is said with its place
//!   ([`diagnostic`]). [`suite`] holds the embedded scenarios.
//! - A [`scenario::Scenario`] and a seed make a [`plan::Plan`]: every message ([`intent`]) and
//!   every [`fault`] with its place.
//! - [`run`] carries plans out and records a [`history`].
//! - [`checks`] see symptoms in it, [`diagnosis`] names the [`bug_kind`], [`judgement`] gives the
//!   [`verdict`] (all three are [`chaos_judge`]'s, as are the words up to here), and [`report`]
//!   says all that.
//! - [`cli`] and [`exit_code`] are the program's face, [`schema`] the file formats'.
//!
//! ```
//! use chaos_runner::{plan::Place, scenario};
//!
//! let text = r#"
//!     title = "The provider accepts, the answer never arrives"
//!     why   = "A read timeout after acceptance is the original double send."
//!
//!     [[fault]]
//!     attempt = 1
//!     toxic.timeout = { stream = "downstream", attributes = { timeout = 0 } }
//! "#;
//! let scenarios = scenario::load(text, "lost-answer.toml")?;
//! let plan = scenarios[0].plan(1);
//!
//! assert_eq!(plan.name, "lost-answer");
//! assert!(plan.intents[0].to.starts_with("+1"));
//! assert!(matches!(&plan.faults[0].place, Place::Attempts(k) if k.contains(1)));
//!
//! // A slip is answered with its place and with what was meant.
//! let error = scenario::load(&text.replace("attempt", "atempt"), "lost-answer.toml").unwrap_err();
//! assert_eq!(error.line(), Some(6));
//! assert!(error.report(false).contains("did you mean `attempt`?"));
//! # Ok::<(), chaos_runner::diagnostic::FileError>(())
//! ```

pub use chaos_judge::{
    bug_kind, checks, diagnosis, exit_code, fault, history, intent, judgement, plan, policy, reach,
    result, severity, verdict,
};

pub mod audit;
pub mod cli;
pub mod client_file;
pub mod diagnostic;
mod document;
pub mod explore;
pub mod kept;
pub mod report;
pub mod run;
pub mod scenario;
pub mod schema;
pub mod suite;

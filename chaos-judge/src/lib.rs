//! From the history of a run to its findings and its verdict.
//!
//! Pure: no clock, no I/O, no randomness. What runs scenarios records a [`history`]; this judges
//! it, now or years later.
//!
//! - The words: a message to be sent is an [`intent`]; what goes wrong, a [`fault`]; both, with
//!   their places, are a [`plan`]; what the client says of its waits, its [`policy`].
//! - [`checks`] see symptoms in a history, [`diagnosis`] names the [`bug_kind`] and its
//!   [`severity`], [`reach`] says whether every fault acted, [`judgement`] gives the [`verdict`].
//! - A [`result`](mod@result) is what all reports read, and has the program's [`exit_code`].
//!
//! ```
//! use std::sync::Arc;
//!
//! use chaos_judge::{
//!     bug_kind::BugKind,
//!     history::read::read,
//!     judgement::judge_alone,
//!     result::{Rules, ScenarioRun},
//!     verdict::Verdict,
//! };
//! use jiff::civil::date;
//!
//! // What a run kept of a client whose request timed out after the provider had accepted it, and
//! // which sent it again.
//! let kept = include_str!("../examples/no-key.json");
//! let history = read(kept, "no-key.json")?;
//!
//! let run = ScenarioRun::of(Arc::new(history));
//! let judged = judge_alone(&run, None, &Rules::strict(date(2026, 11, 30)));
//! assert_eq!(judged.verdict, Verdict::Fail);
//! assert_eq!(judged.findings[0].kind, BugKind::NoKey);
//! // The two requests that prove it are events of the history.
//! assert_eq!(judged.findings[0].evidence.len(), 2);
//! # Ok::<(), stub_provider::diagnostic::FileError>(())
//! ```

pub mod bug_kind;
pub mod checks;
pub mod diagnosis;
pub mod exit_code;
pub mod fault;
pub mod history;
pub mod intent;
pub mod judgement;
pub mod plan;
pub mod policy;
pub mod reach;
pub mod result;
pub mod severity;
pub mod verdict;

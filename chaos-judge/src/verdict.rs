//! The judgement of one scenario.
//!
//! Owns [`Verdict`] and its order. What leads to it is the checks' and the diagnosis'; a broken
//! harness is an error, never a verdict.

use serde::{Deserialize, Serialize};

/// The judgement of one scenario; the order is that of gravity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The scenario needs what this client or engine does not have.
    Skipped(String),
    /// Nothing is wrong, and every fault that should have fired did.
    Pass,
    /// Nothing can be said.
    Inconclusive(String),
    /// The client did something wrong.
    Fail,
}

impl Verdict {
    /// The word used in reports.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Skipped(_) => "skipped",
            Self::Pass => "pass",
            Self::Inconclusive(_) => "inconclusive",
            Self::Fail => "fail",
        }
    }

    /// Why, where there is a reason to give.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Skipped(reason) | Self::Inconclusive(reason) => Some(reason),
            Self::Pass | Self::Fail => None,
        }
    }
}

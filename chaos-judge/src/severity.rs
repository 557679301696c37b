//! How grave a finding is.
//!
//! Owns [`Severity`] and its order. Which kind has which is [`crate::bug_kind`]'s.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How grave a finding is, from the least to the most.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing; never fails a run.
    Note,
    /// Bad manners towards the provider: no message is harmed by it alone.
    Policy,
    /// The client believes, or tells its caller, what is not so.
    WrongOutcome,
    /// A message that was to be sent is not.
    Loss,
    /// A phone buzzes twice for one message, or may.
    Duplicate,
}

impl Severity {
    /// Every severity, from the least grave to the gravest.
    pub const ALL: [Self; 5] = [
        Self::Note,
        Self::Policy,
        Self::WrongOutcome,
        Self::Loss,
        Self::Duplicate,
    ];

    /// The word used in files and reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Policy => "policy",
            Self::WrongOutcome => "wrong-outcome",
            Self::Loss => "loss",
            Self::Duplicate => "duplicate",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Severity {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|s| s.as_str() == word)
            .ok_or_else(|| {
                format!(
                    "`{word}` is not a severity: it is one of duplicate, loss, wrong-outcome, policy, note"
                )
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duplicate_is_the_gravest_and_a_note_the_least() {
        let mut all = Severity::ALL;
        all.sort_unstable();
        assert_eq!(all, Severity::ALL);
        assert_eq!("loss".parse(), Ok(Severity::Loss));
        assert!("grave".parse::<Severity>().is_err());
    }
}

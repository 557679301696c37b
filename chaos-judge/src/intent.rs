//! What the business wants sent, and what the client believes became of it.
//!
//! Owns [`Intent`] and [`Outcome`]. How an intent is invented from a seed is the plan's, how an
//! outcome is asked for is the run's.

use std::{fmt, str::FromStr, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One SMS that the business wants sent. Its identity is independent of any idempotency key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// 1, 2, 3… in the order of submission.
    pub number: usize,
    /// Its identity in the business: a UUID drawn from the seed.
    pub id: String,
    /// The customer on whose behalf it goes out.
    pub customer: String,
    /// The recipient, in E.164.
    pub to: String,
    /// The words, which contain the code.
    pub body: String,
    /// The one-time code that tells this message from others.
    pub code: String,
    /// How long after its submission the message is still of use; `None`: for ever.
    pub expires_after: Option<Duration>,
    /// A key on which the caller insists; `None`: the client chooses.
    pub key: Option<String>,
}

/// What the client believes became of an intent.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Not finished: the client means to go on.
    Pending,
    /// The provider has it.
    Sent,
    /// Nothing was delivered: a claim that can be wrong.
    Failed,
    /// The client knows that it does not know.
    Unknown,
    /// Given up and set aside for a person: no claim about delivery.
    Dead,
}

impl Outcome {
    /// Every outcome, in the order of the reference.
    pub const ALL: [Self; 5] = [
        Self::Pending,
        Self::Sent,
        Self::Failed,
        Self::Unknown,
        Self::Dead,
    ];

    /// Whether the client has finished with the intent.
    #[must_use]
    pub fn is_final(self) -> bool {
        self != Self::Pending
    }

    /// The word used in files and reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Sent => "sent",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::Dead => "dead",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Outcome {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|o| o.as_str() == word)
            .ok_or_else(|| {
                format!(
                    "`{word}` is not an outcome: it is one of sent, failed, unknown, dead, pending"
                )
            })
    }
}

//! The rules that can stop a message, each with the name it bears in the database,
//! in the log and in the dead letter queue.

/// Which rule stopped a message; the `rule` column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// The provider refused it for good.
    Refused,
    /// All attempts are used up.
    Attempts,
    /// It expired.
    Expired,
    /// It is too old to be sent.
    Age,
    /// The provider may have forgotten the key, so a retry could be a second message.
    Retention,
    /// The provider asked for a longer wait than is worth it.
    RetryAfter,
    /// The row no longer matches the fingerprint stored with its key.
    Fingerprint,
    /// A newer challenge for the same login made it useless.
    Superseded,
}

impl Rule {
    const ALL: [Self; 8] = [
        Self::Refused,
        Self::Attempts,
        Self::Expired,
        Self::Age,
        Self::Retention,
        Self::RetryAfter,
        Self::Fingerprint,
        Self::Superseded,
    ];

    /// As the `rule` column holds it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Attempts => "attempts",
            Self::Expired => "expired",
            Self::Age => "age",
            Self::Retention => "retention",
            Self::RetryAfter => "retry-after",
            Self::Fingerprint => "fingerprint",
            Self::Superseded => "superseded",
        }
    }

    /// Reads the `rule` column; empty means that no rule has stopped the message.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| rule.as_str() == text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_reads_back_from_its_name() {
        for rule in Rule::ALL {
            assert_eq!(Rule::parse(rule.as_str()), Some(rule));
        }
        assert_eq!(Rule::parse(""), None);
    }
}

//! [`Rule`]: one promise of a provider, and where it is documented.
//!
//! Owns the names of the rules, which section of the IETF draft each is about, and a profile's
//! rules in words. Keeping them is the provider's; checking them at another provider is not done
//! here.

use std::{
    fmt::{self, Write as _},
    str::FromStr,
};

use super::{
    Binds, KeyForm, KeyScope, KeyShape, KeyUnit, Profile, Replays, StatusClass, errors::Row,
};
use crate::{duration::Span, place::Place};

/// The draft that the sections are of.
pub const DRAFT: &str = "draft-ietf-httpapi-idempotency-key-header-07";

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident $word:literal $section:expr;)*) => {
        /// A promise that a provider makes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule {
            $($(#[$doc])* $name,)*
        }

        impl Rule {
            /// Every rule, in the order of a profile's table.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Its name, as profile files and reports write it.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word),* }
            }

            /// The section of [`DRAFT`] that it is about; `None`: the draft says nothing of it.
            #[must_use]
            pub fn draft_section(self) -> Option<&'static str> {
                match self { $(Self::$name => $section),* }
            }
        }
    };
}

rules! {
    /// Where the key stands, and what one key is of.
    Key "key" Some("2");
    /// How a key is written, and how long it may be.
    Form "form" Some("2.1");
    /// Among what a key is unique.
    Scope "scope" Some("2.2");
    /// What a key is bound to.
    Binding "binding" Some("2.4");
    /// What a request without a key becomes.
    Missing "missing" Some("2.7");
    /// What a key gets that cannot be one.
    Malformed "malformed" Some("2.1");
    /// What a known key with another request gets.
    Mismatch "mismatch" Some("2.7");
    /// What a key gets whose first request is still being worked on.
    InFlight "in-flight" Some("2.6");
    /// What a later request under a key gets.
    Replay "replay" Some("2.6");
    /// How long an answer is kept.
    Retention "retention" Some("2.3");
    /// The shape of errors.
    Errors "errors" Some("2.7");
    /// Whom a request is from.
    Authentication "authentication" None;
    /// How one asks what became of a message.
    Lookup "lookup" None;
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::ALL
            .iter()
            .copied()
            .find(|rule| rule.as_str() == word)
            .ok_or_else(|| format!("`{word}` is not a rule"))
    }
}

/// Where a rule is publicly documented.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The page; `None`: the provider does not document it.
    pub url: Option<String>,
    /// What is said there, in one sentence of ours.
    pub says: String,
}

/// A rule of one profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileRule {
    /// Which rule.
    pub rule: Rule,
    /// What holds under the profile, in words.
    pub value: String,
    /// Where it is documented; `None` where the profile does not say.
    pub source: Option<Source>,
}

impl Profile {
    /// Every rule of the profile, in words.
    #[must_use]
    pub fn rules(&self) -> Vec<ProfileRule> {
        Rule::ALL
            .iter()
            .map(|rule| ProfileRule {
                rule: *rule,
                value: self.rule(*rule),
                source: self.sources.get(rule).cloned(),
            })
            .collect()
    }

    fn rule(&self, rule: Rule) -> String {
        if !self.has_key() && Self::is_about_keys(rule) {
            return match rule {
                Rule::Key => "there is none",
                Rule::Missing => "delivered as a new message, each time",
                _ => "does not apply",
            }
            .into();
        }
        let key = &self.key;
        let errors = &self.errors;
        match rule {
            Rule::Key => match key.unit {
                KeyUnit::Request => format!("`{}`", key.place),
                KeyUnit::Recipient => format!("`{}`, one for each recipient", key.place),
            },
            Rule::Form => self.form_in_words(),
            Rule::Scope => match key.scope {
                KeyScope::Customer => "the customer".into(),
                KeyScope::CustomerAndOperation => "the customer, method and path".into(),
            },
            Rule::Binding => match key.binds {
                Binds::Bytes => "method, path and every byte of the body".into(),
                Binds::Content => {
                    "method, path and content: order and white space do not count".into()
                }
                Binds::Nothing => "nothing".into(),
            },
            Rule::Missing => match &errors.missing {
                None => "delivered as a new message, each time".into(),
                Some(row) => row_in_words(row),
            },
            Rule::Malformed => row_in_words(&errors.malformed),
            Rule::Mismatch => match (key.binds, key.replays) {
                (Binds::Nothing, Replays::Nothing) => "refused like any used key".into(),
                (Binds::Nothing, _) => "not noticed: the stored answer".into(),
                _ => row_in_words(&errors.mismatch),
            },
            Rule::InFlight => match &errors.in_flight {
                None => "waits for the first, and gets its answer".into(),
                Some(row) => row_in_words(row),
            },
            Rule::Replay => self.replay_in_words(),
            Rule::Retention => format!("{} from the answer", Span(key.retention)),
            Rule::Errors => errors.in_words(),
            Rule::Authentication => self.authentication.in_words(),
            Rule::Lookup => self.lookup.in_words(),
        }
    }

    /// Whether a rule is about keys, and says nothing where there are none.
    fn is_about_keys(rule: Rule) -> bool {
        !matches!(rule, Rule::Errors | Rule::Authentication | Rule::Lookup)
    }

    fn form_in_words(&self) -> String {
        let key = &self.key;
        let mut words = match (key.shape, &key.place, key.form) {
            (KeyShape::Uuid, ..) => "a UUID".to_owned(),
            (_, Place::Header(_), KeyForm::Quoted) => "a quoted string".to_owned(),
            (_, Place::Header(_), KeyForm::Either) => "bare or a quoted string".to_owned(),
            _ => "bare".to_owned(),
        };
        if key.shape == KeyShape::Any {
            let least = key.min_length.max(1);
            let _ = write!(words, ", {least} to {} bytes", key.max_length);
        }
        if let Some(characters) = &key.characters {
            let _ = write!(words, ", of `{characters}`");
        }
        words
    }

    fn replay_in_words(&self) -> String {
        let key = &self.key;
        let frees = |class| key.frees.contains(&class);
        let leaves = match (frees(StatusClass::Refused), frees(StatusClass::Failed)) {
            (true, true) => "; an error frees the key",
            (true, false) => "; an answer 4xx frees the key",
            (false, true) => "; an answer 5xx frees the key",
            (false, false) => "",
        };
        let header = key
            .replay_header
            .as_ref()
            .map(|name| format!(", with `{name}: true`"))
            .unwrap_or_default();
        match key.replays {
            Replays::Everything => {
                format!("the stored status and body, success or error{header}{leaves}")
            }
            Replays::Successes => format!("the stored status and body{header}{leaves}"),
            Replays::Nothing => format!("{}{leaves}", row_in_words(&self.errors.used)),
        }
    }
}

fn row_in_words(row: &Row) -> String {
    let mut words = row.status.as_u16().to_string();
    if let Some(code) = &row.code {
        let _ = write!(words, " `{code}`");
    }
    if let Some(wait) = row.retry_after {
        let _ = write!(words, ", `Retry-After` {wait}");
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_read_back_by_its_name() {
        for rule in Rule::ALL {
            assert_eq!(rule.as_str().parse::<Rule>(), Ok(*rule));
        }
        assert!("keys".parse::<Rule>().is_err());
    }
}

//! The rules of an audit, one file each.
//!
//! A rule observes (it sends what it needs) and then judges what was observed with a function of
//! plain data. Owns [`Rule`]: their ids, their sentences, the sections that they come from.

mod concurrency;
mod customer_scope;
mod in_flight;
mod key_form;
mod key_length;
mod mismatch;
mod replay;
mod reset_during_answer;
mod restart;
mod retention;
mod stored_errors;

use std::{
    fmt::{self, Write as _},
    str::FromStr,
};

use super::{bench::Bench, judgement::Judgement};
use crate::diagnostic::did_you_mean;

/// The document that most rules come from.
pub const DRAFT: &str = "draft-ietf-httpapi-idempotency-key-header-07";

/// What a rule says of itself.
struct About {
    id: &'static str,
    /// What a provider must do, in one sentence.
    sentence: &'static str,
    /// The section of the draft.
    section: &'static str,
    /// What the audit needs beyond the API itself, for the reference.
    needs: &'static str,
}

macro_rules! rules {
    ($($rule:ident $module:ident;)+) => {
        /// One promise of a provider.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule {
            $(#[doc = concat!("See `", stringify!($module), "`.")] $rule,)+
        }

        impl Rule {
            /// Every rule, in the order in which they are checked: those that move the clock or
            /// restart the provider come last.
            pub const ALL: &'static [Self] = &[$(Self::$rule),+];

            fn about(self) -> &'static About {
                match self { $(Self::$rule => &$module::ABOUT),+ }
            }

            /// Puts the provider to the test.
            pub(super) async fn check(self, bench: &Bench) -> Judgement {
                match self { $(Self::$rule => $module::check(bench).await),+ }
            }
        }
    };
}

rules! {
    Replay replay;
    Mismatch mismatch;
    InFlight in_flight;
    Concurrency concurrency;
    CustomerScope customer_scope;
    KeyForm key_form;
    KeyLength key_length;
    StoredErrors stored_errors;
    ResetDuringAnswer reset_during_answer;
    Retention retention;
    Restart restart;
}

impl Rule {
    /// The id by which reports and `--only` name it.
    #[must_use]
    pub fn id(self) -> &'static str {
        self.about().id
    }

    /// What a provider must do, in one sentence.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        self.about().sentence
    }

    /// The section of [`DRAFT`] that it comes from.
    #[must_use]
    pub fn section(self) -> &'static str {
        self.about().section
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        if let Some(rule) = Self::ALL.iter().find(|rule| rule.id() == word) {
            return Ok(*rule);
        }
        let ids = || Self::ALL.iter().map(|rule| rule.id());
        Err(did_you_mean(word, ids()).map_or_else(
            || {
                let all: Vec<&str> = ids().collect();
                format!("there is no rule `{word}`; there are: {}", all.join(", "))
            },
            |guess| format!("there is no rule `{word}`; did you mean `{guess}`?"),
        ))
    }
}

/// The rules as a table in Markdown.
#[must_use]
pub fn table() -> String {
    let mut text = String::from(
        "| rule | what a provider must do | section of the draft | what the audit needs for it |\n\
         |---|---|---|---|\n",
    );
    for rule in Rule::ALL {
        let about = rule.about();
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} |",
            about.id, about.sentence, about.section, about.needs
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_rule_is_found_by_its_id() {
        for rule in Rule::ALL {
            assert_eq!(rule.id().parse(), Ok(*rule));
            assert!(rule.sentence().ends_with('.'), "{rule}");
        }
        let ids: BTreeSet<&str> = Rule::ALL.iter().map(|rule| rule.id()).collect();
        assert_eq!(ids.len(), Rule::ALL.len());
    }

    #[test]
    fn a_slip_is_answered_with_the_rule_that_was_meant() {
        let error = "concurency".parse::<Rule>().expect_err("a slip");
        assert!(error.contains("did you mean `concurrency`"), "{error}");
        let error = "zebra".parse::<Rule>().expect_err("no rule");
        assert!(error.contains("stored-errors"), "{error}");
    }
}

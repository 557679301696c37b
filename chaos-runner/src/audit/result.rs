//! [`Audited`]: what an audit came to.
//!
//! Owns the counts and the exit code. How it is told is the reports'.

use std::time::Duration;

use super::{
    exchange::Exchange,
    judgement::{Broken, Judgement},
    rule::Rule,
};
use crate::exit_code::ExitCode;

/// What an audit came to.
#[derive(Clone, Debug)]
pub struct Audited {
    /// The provider.
    pub url: String,
    /// The name of the profile.
    pub profile: String,
    /// What it speaks, in one line.
    pub title: String,
    /// The seed of keys, numbers and words.
    pub seed: u64,
    /// One plain message, sent before all else.
    pub first: Option<Exchange>,
    /// Whether the profile has no key at all.
    pub keyless: bool,
    /// Each rule, in the order in which they were checked.
    pub rules: Vec<Checked>,
    /// Whether it was interrupted: rules may be missing then.
    pub interrupted: bool,
    /// How long it took.
    pub duration: Duration,
}

/// One rule that was checked, or was not.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The rule.
    pub rule: Rule,
    /// What is said of it.
    pub judgement: Judgement,
    /// Where the profile's promise is documented: addresses.
    pub sources: Vec<String>,
    /// Everything that was sent for it.
    pub exchanges: Vec<Exchange>,
    /// How long it took.
    pub duration: Duration,
}

impl Checked {
    /// The broken promise, where it is one.
    #[must_use]
    pub fn broken(&self) -> Option<&Broken> {
        match &self.judgement {
            Judgement::Broken(broken) => Some(broken),
            _ => None,
        }
    }

    /// The exchanges that prove a broken promise, the clearest first.
    pub fn proof(&self) -> impl Iterator<Item = &Exchange> {
        let numbers = self.broken().map(|broken| broken.proof.as_slice());
        numbers.unwrap_or_default().iter().filter_map(|number| {
            self.exchanges
                .iter()
                .find(|exchange| exchange.number == *number)
        })
    }
}

impl Audited {
    /// How many rules came to that word.
    #[must_use]
    pub fn count(&self, word: &str) -> usize {
        let of_that_word = |checked: &&Checked| checked.judgement.as_str() == word;
        self.rules.iter().filter(of_that_word).count()
    }

    /// The rules that are broken.
    pub fn broken(&self) -> impl Iterator<Item = &Checked> {
        self.rules.iter().filter(|rule| rule.broken().is_some())
    }

    /// How the program ends.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        if self.interrupted {
            ExitCode::Interrupted
        } else if self.count("broken") > 0 {
            ExitCode::Violation
        } else if self.count("inconclusive") > 0 {
            ExitCode::Inconclusive
        } else if self.count("kept") > 0 {
            ExitCode::Pass
        } else {
            ExitCode::NothingRan
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn audited(judgements: &[Judgement]) -> Audited {
        Audited {
            url: "http://127.0.0.1:9090".into(),
            profile: "v1".into(),
            title: String::new(),
            seed: 1,
            first: None,
            keyless: false,
            rules: judgements
                .iter()
                .zip(Rule::ALL)
                .map(|(judgement, rule)| Checked {
                    rule: *rule,
                    judgement: judgement.clone(),
                    sources: Vec::new(),
                    exchanges: Vec::new(),
                    duration: Duration::ZERO,
                })
                .collect(),
            interrupted: false,
            duration: Duration::ZERO,
        }
    }

    #[test]
    fn the_gravest_judgement_decides_how_the_program_ends() {
        let kept = Judgement::kept("a");
        let unchecked = Judgement::NotChecked("b".into());
        let undecided = Judgement::undecided("c");
        let broken = Judgement::broken("d", []);
        for (judgements, code) in [
            (vec![kept.clone(), unchecked.clone()], ExitCode::Pass),
            (
                vec![kept.clone(), undecided.clone()],
                ExitCode::Inconclusive,
            ),
            (vec![undecided, kept, broken], ExitCode::Violation),
            (vec![unchecked], ExitCode::NothingRan),
        ] {
            assert_eq!(audited(&judgements).exit_code(), code, "{judgements:?}");
        }
    }

    #[test]
    fn an_interrupted_audit_says_so_whatever_it_found() {
        let mut audited = audited(&[Judgement::broken("a", [])]);
        audited.interrupted = true;
        assert_eq!(audited.exit_code(), ExitCode::Interrupted);
    }
}

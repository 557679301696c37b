//! The scripts around a failing one, by which it is explained.
//!
//! Owns which they are, and which of those that pass is the nearest. Pure.

use super::{alphabet::Alphabet, letter::Letter, script::Script};

/// A script that differs from a failing one in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// The script.
    pub script: Script,
    /// In which place, from 0.
    pub at: usize,
    /// What stands there in place of the fault; `None`: nothing, the later ones move up.
    pub instead: Option<Letter>,
}

/// Every neighbour of a script, the nearest first: one other fault in one place, then one fault
/// less. Of two that are equally near, the one that differs later.
#[must_use]
pub fn neighbours(script: &Script, alphabet: &Alphabet) -> Vec<Neighbour> {
    let mut all: Vec<Neighbour> = Vec::new();
    for (at, old) in script.0.iter().enumerate() {
        for letter in alphabet.letters().iter().filter(|letter| *letter != old) {
            all.push(Neighbour {
                script: script.with(at, *letter),
                at,
                instead: Some(*letter),
            });
        }
    }
    all.sort_by_key(|n| {
        let distance = n
            .instead
            .map_or(0, |letter| distance(script.0[n.at], letter));
        (distance, std::cmp::Reverse(n.at), n.instead)
    });
    let shorter = (0..script.len()).rev().map(|at| Neighbour {
        script: script.without(at),
        at,
        instead: None,
    });
    all.extend(shorter);
    all
}

/// How unlike two faults are: twins differ in acceptance alone.
fn distance(a: Letter, b: Letter) -> u32 {
    if a.twin() == Some(b) {
        0
    } else if a.is_after_acceptance() == b.is_after_acceptance() {
        1
    } else {
        2
    }
}

impl Neighbour {
    /// The difference, in words: "passes when …".
    #[must_use]
    pub fn explain(&self, failing: &Script) -> String {
        let attempt = self.at + 1;
        let old = failing.0.get(self.at).map_or("no fault", |l| l.as_str());
        match self.instead {
            Some(letter) => {
                format!("passes when attempt {attempt} meets {letter} in place of {old}")
            }
            None if failing.len() == 1 => "passes when nothing goes wrong".into(),
            None => format!("passes without the {old} at attempt {attempt}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn standard() -> Alphabet {
        Alphabet::default()
    }

    proptest! {
        #[test]
        fn every_neighbour_differs_in_one_place_and_none_is_left_out(
            letters in prop::collection::vec(prop::sample::select(Letter::ALL[..12].to_vec()), 1..4),
        ) {
            let script = Script(letters);
            let all = neighbours(&script, &standard());
            prop_assert_eq!(all.len(), script.len() * 11 + script.len());
            let replaced: BTreeSet<&Script> = all
                .iter()
                .filter(|n| n.instead.is_some())
                .map(|n| &n.script)
                .collect();
            prop_assert_eq!(replaced.len(), script.len() * 11);
            for other in replaced {
                let differ = other.0.iter().zip(&script.0).filter(|(a, b)| a != b).count();
                prop_assert_eq!(differ, 1);
            }
        }
    }

    #[test]
    fn a_twin_is_nearer_than_the_same_stage_and_that_nearer_than_the_other() {
        let alphabet: Alphabet = "all".parse().expect("a set");
        let script = Script(vec![Letter::HangAfter]);
        let all = neighbours(&script, &alphabet);
        assert_eq!(all[0].instead, Some(Letter::HangBefore));
        let first_before = all.iter().skip(1).position(|n| {
            n.instead
                .is_some_and(|letter| !letter.is_after_acceptance())
        });
        let last_after = all
            .iter()
            .skip(1)
            .rposition(|n| n.instead.is_some_and(Letter::is_after_acceptance));
        assert!(last_after < first_before);
    }

    #[test]
    fn the_difference_is_said_in_words() {
        let failing = Script(vec![Letter::Unavailable, Letter::ResetBefore]);
        let neighbour = Neighbour {
            script: failing.with(1, Letter::Unavailable),
            at: 1,
            instead: Some(Letter::Unavailable),
        };
        assert_eq!(
            neighbour.explain(&failing),
            "passes when attempt 2 meets unavailable in place of reset-before"
        );
    }
}

//! The tree of all scripts up to a depth, level by level.
//!
//! Owns the enumeration, the order in which a level is run, and the arithmetic of what a script
//! that is not extended stands for. Pure.

use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

use super::{alphabet::Alphabet, script::Script};

/// All scripts of 1 to `depth` faults over an alphabet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The letters.
    pub alphabet: Alphabet,
    /// The most faults in a script.
    pub depth: usize,
}

impl Tree {
    /// How many scripts there are; as many as fit where there are more.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.below(0)
    }

    /// How many scripts begin with a given one of `length` faults and are longer.
    #[must_use]
    pub fn below(&self, length: usize) -> u64 {
        let letters = self.alphabet.letters().len() as u64;
        let (mut sum, mut level) = (0_u64, 1_u64);
        for _ in length..self.depth {
            level = level.saturating_mul(letters);
            sum = sum.saturating_add(level);
        }
        sum
    }

    /// Every script that is one fault longer than one of `open`, in their order.
    #[must_use]
    pub fn extend(&self, open: &[Script]) -> Vec<Script> {
        open.iter()
            .filter(|script| script.len() < self.depth)
            .flat_map(|script| {
                let letters = self.alphabet.letters().iter();
                letters.map(|letter| script.then(*letter))
            })
            .collect()
    }
}

/// The order in which a level is run. Neighbours in the order of names wait for alike things, such
/// as a read timeout: mixed by the seed, each batch has some of each.
pub fn shuffle(level: &mut [Script], seed: u64) {
    let length = level.first().map_or(0, Script::len) as u64;
    level.sort_unstable();
    level.shuffle(&mut ChaCha8Rng::seed_from_u64(
        seed ^ length.rotate_left(32),
    ));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::explore::letter::Letter;

    fn tree(letters: usize, depth: usize) -> Tree {
        Tree {
            alphabet: Alphabet::new(Letter::ALL[..letters].iter().copied()),
            depth,
        }
    }

    fn all(tree: &Tree) -> Vec<Script> {
        let mut all = Vec::new();
        let mut level = vec![Script::default()];
        loop {
            level = tree.extend(&level);
            if level.is_empty() {
                return all;
            }
            all.extend(level.clone());
        }
    }

    #[test]
    fn twelve_letters_make_1884_scripts_to_depth_three_and_22620_to_depth_four() {
        assert_eq!(tree(12, 3).total(), 1_884);
        assert_eq!(tree(12, 4).total(), 22_620);
    }

    proptest! {
        #[test]
        fn the_enumeration_is_complete_and_without_repeats(letters in 1_usize..6, depth in 0_usize..5) {
            let tree = tree(letters, depth);
            let all = all(&tree);
            prop_assert_eq!(all.len() as u64, tree.total());
            let distinct: BTreeSet<&Script> = all.iter().collect();
            prop_assert_eq!(distinct.len(), all.len());
            prop_assert!(all.iter().all(|s| (1..=depth).contains(&s.len())));
            prop_assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "breadth first");
        }

        #[test]
        fn a_script_that_is_not_extended_stands_for_all_that_begin_with_it(
            letters in 1_usize..5, depth in 1_usize..5, pick in any::<prop::sample::Index>(),
        ) {
            let tree = tree(letters, depth);
            let all = all(&tree);
            let prefix = pick.get(&all);
            let longer = all
                .iter()
                .filter(|s| s.len() > prefix.len() && s.0.starts_with(&prefix.0))
                .count();
            prop_assert_eq!(tree.below(prefix.len()), longer as u64);
        }

        #[test]
        fn the_seed_alone_decides_the_order_of_a_level(seed in any::<u64>()) {
            let level = tree(4, 2).extend(&tree(4, 2).extend(&[Script::default()]));
            let mut one = level.clone();
            shuffle(&mut one, seed);
            let mut other: Vec<Script> = level.iter().rev().cloned().collect();
            shuffle(&mut other, seed);
            prop_assert_eq!(&one, &other);
            let (a, b): (BTreeSet<_>, BTreeSet<_>) = (one.iter().collect(), level.iter().collect());
            prop_assert_eq!(a, b);
        }
    }
}

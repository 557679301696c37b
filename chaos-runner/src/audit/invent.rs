//! Keys, numbers and words, invented from a seed.
//!
//! Owns the randomness of an audit. Without a seed every run has keys of its own, so that a real
//! provider never saw one before.

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// Invents what requests say.
#[derive(Debug)]
pub(super) struct Inventor {
    rng: ChaCha8Rng,
    messages: u32,
}

impl Inventor {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            rng: ChaCha8Rng::seed_from_u64(seed),
            messages: 0,
        }
    }

    /// A number for a key that was never used.
    pub(super) fn draw(&mut self) -> u64 {
        self.rng.random()
    }

    /// Words that no other message has.
    pub(super) fn words(&mut self) -> String {
        self.messages += 1;
        // The count makes them different, the draw makes them look like what they are.
        let code = self.rng.random_range(100..1000);
        format!("Your login code is {code}{:03}", self.messages)
    }

    /// A number that is kept free for fiction, so that no phone rings.
    pub(super) fn number(&mut self) -> String {
        format!("+120255501{:02}", self.rng.random_range(0..100))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_seed_decides_everything() {
        let draw = |seed| {
            let mut inventor = Inventor::new(seed);
            (inventor.draw(), inventor.words(), inventor.number())
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1).0, draw(2).0);
    }

    #[test]
    fn words_differ() {
        let mut inventor = Inventor::new(1);
        let words: BTreeSet<String> = (0..100).map(|_| inventor.words()).collect();
        assert_eq!(words.len(), 100);
    }
}

//! Which intent a request is for.
//!
//! Owns the list of messages that the business wants sent and the match of a request against it:
//! by recipient, then by the code in its words, then by order. The idempotency key is never used
//! for this: what the key does is what is being judged.
//!
//! Where recipient and code leave several intents (equal words to one number, or a client that
//! writes its own text), requests go round among them: each goes to the one with the fewest so
//! far, the lowest number first. Such intents can only be judged by their counts together.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use crate::fault::RequestKind;

/// One message that is expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedIntent {
    /// The recipient, in E.164.
    pub to: String,
    /// A word that stands in this message only (its one-time code). Two intents to one recipient
    /// may have the same one: then they are told apart by order and count.
    pub code: String,
    /// The customer on whose behalf it goes out.
    pub customer: String,
}

/// Every expected message, with the count of what came for each. Clones share the counts: two
/// providers of one run count the attempts of an intent together.
#[derive(Clone, Debug, Default)]
pub struct Intents(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    expected: Vec<ExpectedIntent>,
    by_recipient: HashMap<String, Vec<usize>>,
    counts: Mutex<Vec<Count>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    attempts: u32,
    lookups: u32,
    accepted: u32,
}

impl Intents {
    /// The intents of a run; each is known by its place in the list.
    #[must_use]
    pub fn new(expected: Vec<ExpectedIntent>) -> Self {
        let mut by_recipient: HashMap<String, Vec<usize>> = HashMap::new();
        for (number, intent) in expected.iter().enumerate() {
            by_recipient
                .entry(intent.to.clone())
                .or_default()
                .push(number);
        }
        let counts = Mutex::new(vec![Count::default(); expected.len()]);
        Self(Arc::new(Inner {
            expected,
            by_recipient,
            counts,
        }))
    }

    /// Whether none are known: then attempts are counted by key.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.expected.is_empty()
    }

    /// The intents, in their order.
    #[must_use]
    pub fn expected(&self) -> &[ExpectedIntent] {
        &self.0.expected
    }

    /// Matches a submit request and counts it: the intent's number and which attempt of it this
    /// is, from 1. `None`: a stray.
    #[must_use]
    pub fn attempt(&self, to: Option<&str>, text: Option<&str>) -> Option<(usize, u32)> {
        let of_recipient = self.0.by_recipient.get(to?)?;
        let text = text.unwrap_or_default();
        let by_code = |number: &usize| {
            let code = &self.0.expected[*number].code;
            !code.is_empty() && text.contains(code.as_str())
        };
        let mut counts = self.counts();
        let fewest = |candidates: &mut dyn Iterator<Item = usize>| {
            candidates.min_by_key(|number| (counts[*number].attempts, *number))
        };
        let number = fewest(&mut of_recipient.iter().copied().filter(by_code))
            .or_else(|| fewest(&mut of_recipient.iter().copied()))?;
        counts[number].attempts += 1;
        Some((number, counts[number].attempts))
    }

    /// The intent to a number, where it is the only one.
    #[must_use]
    pub fn only_to(&self, to: &str) -> Option<usize> {
        match self.0.by_recipient.get(to)?.as_slice() {
            [only] => Some(*only),
            _ => None,
        }
    }

    /// Counts one more request of a kind for an intent that is known already.
    #[must_use]
    pub fn count(&self, number: usize, kind: RequestKind) -> u32 {
        self.step(number, |count| match kind {
            RequestKind::Submit => &mut count.attempts,
            RequestKind::Lookup => &mut count.lookups,
        })
    }

    /// Counts one more accepted message of an intent: which one it is, from 1.
    #[must_use]
    pub fn accepted(&self, number: usize) -> u32 {
        self.step(number, |count| &mut count.accepted)
    }

    fn step(&self, number: usize, which: impl Fn(&mut Count) -> &mut u32) -> u32 {
        let mut counts = self.counts();
        let Some(count) = counts.get_mut(number) else {
            return 1;
        };
        let count = which(count);
        *count += 1;
        *count
    }

    fn counts(&self) -> std::sync::MutexGuard<'_, Vec<Count>> {
        self.0.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "+12025550142";
    const TWO: &str = "+12025550143";

    fn intents(list: &[(&str, &str)]) -> Intents {
        let expected = list.iter().map(|(to, code)| ExpectedIntent {
            to: (*to).into(),
            code: (*code).into(),
            customer: "default".into(),
        });
        Intents::new(expected.collect())
    }

    #[test]
    fn the_recipient_alone_decides_where_it_is_enough() {
        let intents = intents(&[(ONE, "111"), (TWO, "222")]);
        assert_eq!(intents.attempt(Some(TWO), Some("own words")), Some((1, 1)));
        assert_eq!(intents.attempt(Some(TWO), None), Some((1, 2)));
        assert_eq!(intents.attempt(Some(ONE), Some("code 222")), Some((0, 1)));
    }

    #[test]
    fn the_code_tells_two_intents_to_one_number_apart() {
        let intents = intents(&[(ONE, "111"), (ONE, "222")]);
        assert_eq!(intents.attempt(Some(ONE), Some("222")), Some((1, 1)));
        assert_eq!(intents.attempt(Some(ONE), Some("222")), Some((1, 2)));
        assert_eq!(intents.attempt(Some(ONE), Some("111")), Some((0, 1)));
    }

    #[test]
    fn equal_words_go_round_so_that_the_counts_are_right() {
        let intents = intents(&[(ONE, "111"), (ONE, "111")]);
        let got: Vec<_> = (0..4)
            .map(|_| intents.attempt(Some(ONE), Some("111")))
            .collect();
        assert_eq!(
            got,
            [Some((0, 1)), Some((1, 1)), Some((0, 2)), Some((1, 2))]
        );
    }

    #[test]
    fn an_unknown_recipient_is_a_stray() {
        let intents = intents(&[(ONE, "111")]);
        assert_eq!(intents.attempt(Some(TWO), Some("111")), None);
        assert_eq!(intents.attempt(None, Some("111")), None);
    }

    #[test]
    fn clones_count_together() {
        let first = intents(&[(ONE, "111")]);
        let second = first.clone();
        assert_eq!(first.attempt(Some(ONE), None), Some((0, 1)));
        assert_eq!(second.attempt(Some(ONE), None), Some((0, 2)));
    }
}

//! [`Duplicates`]: deliveries that no one wanted.
//!
//! Owns the rule by which a delivery counts as a duplicate, for `/metrics`. A delivery is one
//! where another was made before it
//!
//! - for the same intent, where intents are known; or else
//! - under the same key of the same customer, however long ago; or else, without a key,
//! - for the same customer, recipient and words within the retention.
//!
//! It is only counted: what is delivered is decided elsewhere.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

use dashmap::DashMap;

use crate::{event::Reading, record::Attempt, tally::Count};

/// What was delivered so far, as far as it is needed.
#[derive(Debug, Default)]
pub(crate) struct Duplicates {
    intents: DashMap<usize, ()>,
    /// When the last delivery of those words was.
    keyless: DashMap<u128, Duration>,
    count: Count,
}

impl Duplicates {
    /// A delivery was made. `known_key`: one was made under its key before.
    pub(crate) fn delivered(
        &self,
        by: &Attempt,
        known_key: bool,
        now: Duration,
        retention: Duration,
    ) {
        let again = if let Some(intent) = by.intent() {
            self.intents.insert(intent, ()).is_some()
        } else if by.has_key {
            known_key
        } else {
            self.keyless
                .insert(words(&by.reading()), now)
                .is_some_and(|before| now.saturating_sub(before) < retention)
        };
        if again {
            self.count.one_more();
        }
    }

    /// A delivery is not on record any more.
    pub(crate) fn drop_words(&self, by: &Attempt, at: Duration) {
        if by.intent().is_none() && !by.has_key {
            self.keyless
                .remove_if(&words(&by.reading()), |_, last| *last == at);
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count.get()
    }

    /// Forgets what was delivered; the count goes on.
    pub(crate) fn forget(&self) {
        self.intents.clear();
        self.keyless.clear();
    }
}

/// 128 bits of customer, recipient and words: too many for two messages to meet by chance.
fn words(reading: &Reading<&str>) -> u128 {
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, &reading.customer, &reading.to, &reading.text).hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(0) << 64 | half(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::RequestKind;

    const HOUR: Duration = Duration::from_hours(1);

    fn reading(key: Option<&str>, text: &str) -> Reading {
        Reading {
            kind: RequestKind::Submit,
            customer: "default".into(),
            key: key.map(Into::into),
            to: Some("+12025550142".into()),
            text: Some(text.into()),
            intent: None,
            ordinal: 1,
        }
    }

    fn counted(deliveries: &[(Reading, bool, u64)]) -> u64 {
        let duplicates = Duplicates::default();
        for (reading, known_key, minutes) in deliveries {
            let now = Duration::from_mins(*minutes);
            let by = Attempt::that_says(&reading.borrowed());
            duplicates.delivered(&by, *known_key, now, HOUR);
        }
        duplicates.count()
    }

    #[test]
    fn without_a_key_the_same_words_to_the_same_number_are_a_duplicate_for_a_while() {
        let same = || reading(None, "111");
        assert_eq!(counted(&[(same(), false, 0), (same(), false, 59)]), 1);
        assert_eq!(counted(&[(same(), false, 0), (same(), false, 60)]), 0);
        assert_eq!(
            counted(&[(same(), false, 0), (reading(None, "222"), false, 1)]),
            0
        );
        let other = Reading {
            customer: "acme".into(),
            ..same()
        };
        assert_eq!(counted(&[(same(), false, 0), (other, false, 1)]), 0);
    }

    #[test]
    fn under_a_key_only_the_key_decides() {
        let same = |key| reading(Some(key), "111");
        assert_eq!(counted(&[(same("a"), false, 0), (same("b"), false, 1)]), 0);
        assert_eq!(counted(&[(same("a"), false, 0), (same("a"), true, 999)]), 1);
    }

    #[test]
    fn where_intents_are_known_they_decide() {
        let of = |intent, key| Reading {
            intent: Some(intent),
            ..reading(key, "111")
        };
        let deliveries = [
            (of(0, None), false, 0),
            (of(1, None), false, 0),
            (of(0, Some("a")), false, 0),
        ];
        assert_eq!(counted(&deliveries), 1);
    }
}

//! The messages of a scenario, invented from the seed.
//!
//! Owns numbers, words, codes and caller's keys. Equal seed and scenario name: equal messages.
//! Every number is one that is kept free for fiction (`+1 NPA 555 01XX`), so that no person can
//! be called, and passes libphonenumber, so that a client which validates lets it through.

use std::time::Duration;

use rand::{Rng, SeedableRng, seq::index};
use rand_chacha::ChaCha8Rng;

use super::file::CallerKeys;
use crate::intent::Intent;

/// Area codes in service, 100 fictional numbers each.
const AREA_CODES: [u16; 100] = [
    201, 202, 203, 205, 206, 207, 208, 209, 210, 212, 213, 214, 215, 216, 217, 218, 219, 224, 225,
    228, 229, 231, 234, 239, 240, 248, 251, 252, 253, 254, 256, 260, 262, 267, 269, 270, 272, 276,
    281, 301, 302, 303, 304, 305, 307, 308, 309, 310, 312, 313, 314, 315, 316, 317, 318, 319, 320,
    321, 323, 325, 330, 331, 334, 336, 337, 339, 346, 347, 351, 352, 360, 361, 385, 386, 401, 402,
    404, 405, 406, 407, 408, 409, 410, 412, 413, 414, 415, 417, 419, 423, 424, 425, 430, 432, 434,
    435, 440, 443, 478, 479,
];

/// The most messages in one scenario: one fictional number each.
pub(crate) const MOST: usize = AREA_CODES.len() * 100;

/// The length of a long key, the longest that providers take.
const LONG_KEY: usize = 255;

/// The messages to be invented.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) count: usize,
    pub(crate) same_recipient: bool,
    pub(crate) identical_body: bool,
    pub(crate) close_ids: bool,
    pub(crate) customers: usize,
    pub(crate) expires_after: Option<Duration>,
    pub(crate) caller_keys: Option<CallerKeys>,
}

impl Wanted {
    /// One message to one customer.
    pub(crate) const ONE: Self = Self {
        count: 1,
        same_recipient: false,
        identical_body: false,
        close_ids: false,
        customers: 1,
        expires_after: None,
        caller_keys: None,
    };
}

/// Invents the messages.
pub(crate) fn intents(wanted: &Wanted, scenario: &str, seed: u64) -> Vec<Intent> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ fingerprint(scenario));
    let count = wanted.count.min(MOST);
    let numbers = index::sample(&mut rng, MOST, count);
    let codes = index::sample(&mut rng, 900_000, count);
    let keys = wanted.caller_keys.map(|kind| KeyMaker::new(kind, &mut rng));
    let mut id: [u8; 16] = rng.clone().random();
    (0..count)
        .map(|at| {
            let number = numbers.index(if wanted.same_recipient { 0 } else { at });
            let code = codes.index(if wanted.identical_body { 0 } else { at }) + 100_000;
            if wanted.close_ids {
                id[15] = id[15].wrapping_add(1);
            } else {
                id = rng.random();
            }
            Intent {
                number: at + 1,
                id: uuid::Builder::from_random_bytes(id).into_uuid().to_string(),
                customer: customer(at, wanted.customers),
                to: format!("+1{}55501{:02}", AREA_CODES[number / 100], number % 100),
                body: format!("Your login code is {code}"),
                code: code.to_string(),
                expires_after: wanted.expires_after,
                key: keys.as_ref().map(|keys| keys.key(at / wanted.customers)),
            }
        })
        .collect()
}

fn customer(at: usize, customers: usize) -> String {
    if customers <= 1 {
        return "default".to_owned();
    }
    let letter = u8::try_from(at % customers)
        .ok()
        .filter(|n| *n < 26)
        .map_or('z', |n| char::from(b'a' + n));
    format!("customer-{letter}")
}

/// The keys on which the caller insists.
struct KeyMaker {
    kind: CallerKeys,
    word: String,
}

impl KeyMaker {
    fn new(kind: CallerKeys, rng: &mut ChaCha8Rng) -> Self {
        let length = match kind {
            CallerKeys::Plain => 8,
            CallerKeys::Case => 16,
            CallerKeys::Long => LONG_KEY - 5,
        };
        // Letters only, so that every place of the word has an upper and a lower case.
        let word = (0..length)
            .map(|_| char::from(rng.random_range(b'a'..=b'z')))
            .collect();
        Self { kind, word }
    }

    fn key(&self, at: usize) -> String {
        match self.kind {
            CallerKeys::Plain => format!("otp-{}-{}", self.word, at + 1),
            CallerKeys::Long => format!("{}{:05}", self.word, at + 1),
            CallerKeys::Case => self
                .word
                .chars()
                .enumerate()
                .map(|(bit, letter)| {
                    if at >> bit & 1 == 1 {
                        letter.to_ascii_uppercase()
                    } else {
                        letter
                    }
                })
                .collect(),
        }
    }
}

/// FNV-1a: the same on every machine and in every version, which std's hasher does not promise.
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn wanted(count: usize) -> Wanted {
        Wanted {
            count,
            ..Wanted::ONE
        }
    }

    #[test]
    fn every_message_has_a_number_a_code_and_an_identity_of_its_own() {
        let intents = intents(&wanted(500), "many", 7);
        let distinct =
            |field: fn(&Intent) -> &str| intents.iter().map(field).collect::<BTreeSet<_>>().len();
        assert_eq!(distinct(|i| &i.to), 500);
        assert_eq!(distinct(|i| &i.code), 500);
        assert_eq!(distinct(|i| &i.id), 500);
        assert!(intents.iter().all(|i| i.body.contains(&i.code)));
        assert!(
            intents
                .iter()
                .all(|i| i.to.len() == 12 && i.to[5..].starts_with("55501"))
        );
    }

    #[test]
    fn the_seed_and_the_name_decide_and_nothing_else() {
        assert_eq!(intents(&wanted(3), "a", 1), intents(&wanted(3), "a", 1));
        assert_ne!(intents(&wanted(3), "a", 1), intents(&wanted(3), "a", 2));
        assert_ne!(intents(&wanted(3), "a", 1), intents(&wanted(3), "b", 1));
    }

    #[test]
    fn equal_words_to_one_number_are_still_two_messages() {
        let both = Wanted {
            same_recipient: true,
            identical_body: true,
            ..wanted(2)
        };
        let intents = intents(&both, "twice", 1);
        assert_eq!(intents[0].to, intents[1].to);
        assert_eq!(intents[0].body, intents[1].body);
        assert_ne!(intents[0].id, intents[1].id);
    }

    #[test]
    fn close_identities_differ_only_at_their_end() {
        let close = Wanted {
            close_ids: true,
            ..wanted(256)
        };
        let intents = intents(&close, "close", 1);
        let distinct: BTreeSet<&str> = intents.iter().map(|i| i.id.as_str()).collect();
        assert_eq!(distinct.len(), 256);
        assert!(intents.iter().all(|i| i.id[..34] == intents[0].id[..34]));
    }

    #[test]
    fn two_customers_insist_on_equal_keys() {
        let shared = Wanted {
            customers: 2,
            caller_keys: Some(CallerKeys::Plain),
            ..wanted(4)
        };
        let intents = intents(&shared, "shared", 1);
        let customers: Vec<&str> = intents.iter().map(|i| i.customer.as_str()).collect();
        assert_eq!(
            customers,
            ["customer-a", "customer-b", "customer-a", "customer-b"]
        );
        assert_eq!(intents[0].key, intents[1].key);
        assert_ne!(intents[0].key, intents[2].key);
    }

    #[test]
    fn long_keys_differ_only_at_the_end_and_case_keys_only_in_case() {
        let of = |kind| {
            let kinds = Wanted {
                caller_keys: Some(kind),
                ..wanted(2)
            };
            intents(&kinds, "keys", 1)
                .into_iter()
                .map(|i| i.key.expect("the caller insists on a key"))
                .collect::<Vec<_>>()
        };
        let long = of(CallerKeys::Long);
        assert_eq!(long[0].len(), 255);
        assert_eq!(long[0][..250], long[1][..250]);
        assert_ne!(long[0], long[1]);
        let case = of(CallerKeys::Case);
        assert_ne!(case[0], case[1]);
        assert_eq!(case[0].to_lowercase(), case[1].to_lowercase());
    }
}

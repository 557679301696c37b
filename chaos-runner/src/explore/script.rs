//! A script: the faults that attempts 1, 2, 3… of one message meet; then all is well.
//!
//! Owns [`Script`] with its order (shorter first), its name and its hash, which decides the
//! [`Shard`].

use std::{cmp::Ordering, fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};

use super::{action::Timing, letter::Letter};

/// The faults of attempts 1, 2, 3… of one message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Script(pub Vec<Letter>);

impl Script {
    /// How many faults it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing goes wrong in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The script with one more fault at its end.
    #[must_use]
    pub fn then(&self, letter: Letter) -> Self {
        let mut letters = self.0.clone();
        letters.push(letter);
        Self(letters)
    }

    /// The script with another fault at a place, from 0.
    #[must_use]
    pub fn with(&self, at: usize, letter: Letter) -> Self {
        let mut letters = self.0.clone();
        if let Some(place) = letters.get_mut(at) {
            *place = letter;
        }
        Self(letters)
    }

    /// The script without the fault at a place, from 0.
    #[must_use]
    pub fn without(&self, at: usize) -> Self {
        let mut letters = self.0.clone();
        if at < letters.len() {
            letters.remove(at);
        }
        Self(letters)
    }

    /// Whether it needs a lab to itself.
    #[must_use]
    pub fn is_exclusive(&self) -> bool {
        self.0.iter().any(|letter| letter.is_exclusive())
    }

    /// How long its faults keep its message from going on, at least.
    #[must_use]
    pub fn wait(&self, timing: Timing) -> Duration {
        self.0.iter().map(|letter| letter.wait(timing)).sum()
    }

    /// A name that is fit for a file.
    #[must_use]
    pub fn slug(&self) -> String {
        let words: Vec<&str> = self.0.iter().map(|letter| letter.as_str()).collect();
        if words.is_empty() {
            "no-fault".into()
        } else {
            words.join("+")
        }
    }

    /// FNV-1a of its name: the same on every machine, in every version and in every alphabet.
    #[must_use]
    pub fn hash(&self) -> u64 {
        hash(&self.slug())
    }
}

impl Ord for Script {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.len(), &self.0).cmp(&(other.len(), &other.0))
    }
}

impl PartialOrd for Script {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("no fault");
        }
        let words: Vec<&str> = self.0.iter().map(|letter| letter.as_str()).collect();
        f.write_str(&words.join(", "))
    }
}

/// FNV-1a.
#[must_use]
pub fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// One part of a run that several machines share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Shard {
    /// Which part, from 1.
    pub index: u32,
    /// Of how many.
    pub of: u32,
}

impl Shard {
    /// The whole.
    pub const WHOLE: Self = Self { index: 1, of: 1 };

    /// Whether what has this name is in this part. It stays where it is when others are added.
    #[must_use]
    pub fn has(self, name: &str) -> bool {
        // The low bits of FNV alone are not spread well enough.
        let mixed = hash(name).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        mixed % u64::from(self.of) + 1 == u64::from(self.index)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no part: write i/n, as in 1/4");
        let (index, of) = text.split_once('/').ok_or_else(wrong)?;
        let index = index.trim().parse().map_err(|_| wrong())?;
        let of = of.trim().parse().map_err(|_| wrong())?;
        if index == 0 || index > of {
            return Err(format!(
                "there is no part {index} of {of}: they are 1 to {of}"
            ));
        }
        Ok(Self { index, of })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn script() -> impl Strategy<Value = Script> {
        prop::collection::vec(prop::sample::select(Letter::ALL.to_vec()), 0..6).prop_map(Script)
    }

    proptest! {
        #[test]
        fn each_script_is_in_exactly_one_of_n_parts(script in script(), of in 1_u32..9) {
            let parts = (1..=of)
                .filter(|index| Shard { index: *index, of }.has(&script.slug()))
                .count();
            prop_assert_eq!(parts, 1);
        }

        #[test]
        fn shorter_scripts_come_first_and_the_order_is_total(a in script(), b in script()) {
            if a.len() < b.len() {
                prop_assert!(a < b);
            }
            prop_assert_eq!(a == b, a.cmp(&b) == Ordering::Equal);
        }

        #[test]
        fn a_part_is_read_as_it_is_written(index in 1_u32..9, more in 0_u32..9) {
            let shard = Shard { index, of: index + more };
            prop_assert_eq!(shard.to_string().parse::<Shard>(), Ok(shard));
        }
    }

    #[test]
    fn parts_are_of_about_one_size() {
        let letters = &Letter::ALL[..12];
        let mut counts = [0_u32; 4];
        for a in letters {
            for b in letters {
                for c in letters {
                    let name = Script(vec![*a, *b, *c]).slug();
                    let part = (0..4).find(|i| {
                        Shard {
                            index: i + 1,
                            of: 4,
                        }
                        .has(&name)
                    });
                    counts[part.expect("one of them") as usize] += 1;
                }
            }
        }
        assert!(counts.iter().all(|n| (360..=510).contains(n)), "{counts:?}");
    }

    #[test]
    fn what_is_no_part_is_refused() {
        for text in ["0/4", "5/4", "1", "a/b", "1/0", ""] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }
}

//! [`MessageId`]: the name of an accepted message.
//!
//! Owns the two-way mapping between a message's number and the id that clients see. The mapping
//! is a permutation keyed by the seed, so ids look random, never repeat, are the same for the same
//! seed, and need no table to be read back.

use std::fmt;

/// The number of a message in the order of acceptance, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(pub u64);

/// The permutation of one seed.
#[derive(Clone, Copy, Debug)]
pub struct Naming(u64);

const PREFIX: &str = "msg_";
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

impl Naming {
    /// The naming that belongs to `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(scramble(seed ^ ODD))
    }

    /// The id of a message as clients see it: `msg_` and 16 hexadecimal digits.
    #[must_use]
    pub fn name(self, id: MessageId) -> String {
        let mut text = String::with_capacity(PREFIX.len() + 16);
        text.push_str(PREFIX);
        push_hex(&mut text, scramble(id.0.wrapping_add(self.0)));
        text
    }

    /// Whose id `text` is; `None` where it cannot be one.
    #[must_use]
    pub fn parse(self, text: &str) -> Option<MessageId> {
        let hex = text.strip_prefix(PREFIX)?;
        if hex.len() != 16 || !hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return None;
        }
        let scrambled = u64::from_str_radix(hex, 16).ok()?;
        Some(MessageId(unscramble(scrambled).wrapping_sub(self.0)))
    }
}

/// Appends 16 lower-case hexadecimal digits.
pub(crate) fn push_hex(text: &mut String, value: u64) {
    push_hex_digits(text, value, 16);
}

/// Adds the last hexadecimal digits of a number.
pub(crate) fn push_hex_digits(text: &mut String, value: u64, digits: u32) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for shift in (0..digits).rev() {
        text.push(char::from(DIGITS[(value >> (shift * 4) & 15) as usize]));
    }
}

/// A permutation of all 64-bit numbers: odd multiplications and xor-shifts can each be undone.
pub(crate) fn scramble(mut x: u64) -> u64 {
    for _ in 0..2 {
        x ^= x >> 32;
        x = x.wrapping_mul(ODD);
    }
    x ^ (x >> 32)
}

fn unscramble(mut x: u64) -> u64 {
    let inverse = inverse_of_odd();
    x ^= x >> 32;
    for _ in 0..2 {
        x = x.wrapping_mul(inverse);
        x ^= x >> 32;
    }
    x
}

/// Newton's iteration for the inverse of an odd number modulo 2^64; each step doubles the bits.
const fn inverse_of_odd() -> u64 {
    let mut inverse = ODD;
    let mut step = 0;
    while step < 5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(ODD.wrapping_mul(inverse)));
        step += 1;
    }
    inverse
}

/// Prints the bare number; the id that clients see needs the seed.
impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_name_is_read_back_as_the_same_message(seed: u64, number: u64) {
            let naming = Naming::new(seed);
            prop_assert_eq!(naming.parse(&naming.name(MessageId(number))), Some(MessageId(number)));
        }

        #[test]
        fn no_text_makes_the_parser_fail(text: String) {
            let _ = Naming::new(1).parse(&text);
            let _ = Naming::new(1).parse(&format!("msg_{text}"));
        }
    }

    #[test]
    fn names_follow_the_seed() {
        let first = |seed| Naming::new(seed).name(MessageId(0));
        assert_eq!(first(1), first(1));
        assert_ne!(first(1), first(2));
    }
}

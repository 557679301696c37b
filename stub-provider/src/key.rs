//! [`KeyId`]: what a ledger knows a key by.
//!
//! Owns the scope of a key (its customer) and its digest. What is known under it is the ledger's.

use std::{
    hash::{Hash, Hasher},
    sync::Arc,
};

use sha2::{Digest as _, Sha256};

use crate::message::push_hex_digits;

/// A key in the scope of its customer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyId {
    digest: Digest,
    text: Arc<str>,
}

/// The first half of a SHA-256: a table of a million keys need not hold their texts, nor look at
/// them when it grows. Two texts that share it are not to be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Digest(u128);

impl Digest {
    fn of(text: &str) -> Self {
        let mut half = [0; 16];
        half.copy_from_slice(&Sha256::digest(text)[..16]);
        Self(u128::from_le_bytes(half))
    }
}

impl Hash for Digest {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u128(self.0);
    }
}

/// Takes a [`Digest`] as it is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hashed(u64);

impl Hasher for Hashed {
    fn write(&mut self, bytes: &[u8]) {
        // Never used for a digest; any other key is still hashed, if poorly.
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u128(&mut self, digest: u128) {
        // Every part of it is as good as any other.
        self.0 = u64::try_from(digest >> 64).unwrap_or_default();
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl KeyId {
    /// The key `key` of `customer`.
    #[must_use]
    pub fn new(customer: &str, key: &str) -> Self {
        // Neither part can hold a NUL where it came from a header; where it came from a body, the
        // length in front keeps two pairs from running together.
        let mut text = String::with_capacity(customer.len() + key.len() + 4);
        push_hex_digits(&mut text, customer.len() as u64, 4);
        text.push_str(customer);
        text.push_str(key);
        Self::from_text(&text)
    }

    /// What a table knows it by.
    pub(crate) fn digest(&self) -> Digest {
        self.digest
    }

    /// Customer and key in one text, for a store.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Customer and key.
    pub(crate) fn parts(&self) -> (&str, &str) {
        let (length, rest) = self.text.split_at(4);
        let length = usize::from_str_radix(length, 16).unwrap_or_default();
        rest.split_at_checked(length).unwrap_or(("", rest))
    }

    /// The key whose text this is.
    pub(crate) fn from_text(text: &str) -> Self {
        Self {
            digest: Digest::of(text),
            text: text.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn customers_and_keys_never_run_together() {
        assert_ne!(KeyId::new("a", "bc"), KeyId::new("ab", "c"));
        assert_ne!(KeyId::new("", "a"), KeyId::new("a", ""));
    }

    #[test]
    fn a_key_is_the_same_after_its_text_was_kept() {
        let key = KeyId::new("acme", "otp-1");
        assert_eq!(KeyId::from_text(key.text()), key);
        assert_eq!(key.parts(), ("acme", "otp-1"));
    }
}

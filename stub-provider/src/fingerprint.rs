//! [`Fingerprint`]: what a key is bound to.
//!
//! Owns the digest of method, path and body. Two requests under one key are the same request
//! exactly when their fingerprints are equal.

use sha2::{Digest, Sha256};

use crate::message::push_hex;

/// SHA-256 over method, path and body, each preceded by its length so that no two different
/// requests run together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The fingerprint of a request. `path` is the operation's path, without the query.
    #[must_use]
    pub fn of(method: &str, path: &str, body: &[u8]) -> Self {
        let mut digest = Sha256::new();
        digest.update((method.len() as u64).to_be_bytes());
        digest.update((path.len() as u64).to_be_bytes());
        digest.update(method);
        digest.update(path);
        digest.update(body);
        Self(digest.finalize().into())
    }

    /// Its bytes, for a store.
    pub(crate) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Its bytes in hexadecimal digits.
    pub(crate) fn hex(&self) -> String {
        let mut text = String::with_capacity(64);
        for part in self.0.chunks_exact(8) {
            let part = part.try_into().unwrap_or_default();
            push_hex(&mut text, u64::from_be_bytes(part));
        }
        text
    }

    /// The fingerprint whose bytes these are.
    pub(crate) fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn fingerprints_are_equal_exactly_when_method_path_and_body_are(
            a in ("[A-Z]{0,4}", "/[a-z/]{0,6}", prop::collection::vec(any::<u8>(), 0..8)),
            b in ("[A-Z]{0,4}", "/[a-z/]{0,6}", prop::collection::vec(any::<u8>(), 0..8)),
        ) {
            let of = |r: &(String, String, Vec<u8>)| Fingerprint::of(&r.0, &r.1, &r.2);
            prop_assert_eq!(of(&a) == of(&b), a == b);
            prop_assert_eq!(of(&a), of(&a.clone()));
        }
    }

    #[test]
    fn it_is_shown_as_its_bytes_in_hexadecimal_digits() {
        let bytes: [u8; 32] = std::array::from_fn(|place| u8::try_from(place).unwrap_or(0));
        let shown = Fingerprint::from_bytes(bytes).hex();
        assert!(shown.starts_with("000102030405060708") && shown.ends_with("1e1f"));
        assert_eq!(shown.len(), 64);
    }

    #[test]
    fn moving_a_byte_from_the_path_to_the_body_changes_the_fingerprint() {
        assert_ne!(
            Fingerprint::of("POST", "/ab", b"c"),
            Fingerprint::of("POST", "/a", b"bc")
        );
    }
}

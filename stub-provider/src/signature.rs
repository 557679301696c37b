//! The signature of a receipt.
//!
//! Owns its form: `t=<unix seconds>,v1=<hex of HMAC-SHA256(secret, "<t>.<body>")>`.

use hmac::{Hmac, Mac};
use sha2::Sha256;

/// The value of `X-Signature` for a body sent at `unix` (seconds).
///
/// # Panics
///
/// Never: HMAC takes a secret of any length.
#[must_use]
pub fn sign(secret: &str, unix: u64, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes())
        .expect("HMAC takes a secret of any length");
    mac.update(unix.to_string().as_bytes());
    mac.update(b".");
    mac.update(body);
    let digest = mac.finalize().into_bytes();
    let mut value = format!("t={unix},v1=");
    for byte in digest {
        value.push(char::from_digit(u32::from(byte >> 4), 16).unwrap_or('0'));
        value.push(char::from_digit(u32::from(byte & 15), 16).unwrap_or('0'));
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed with `printf '%s' '1700000000.{}' | openssl dgst -sha256 -hmac secret`.
    #[test]
    fn the_signature_is_what_openssl_computes() {
        assert_eq!(
            sign("secret", 1_700_000_000, b"{}"),
            "t=1700000000,v1=b8569b78799ff9e3cbff0fc2d63a33a2b57f3282abd07c37ae5e8e7d79a5f163"
        );
    }
}

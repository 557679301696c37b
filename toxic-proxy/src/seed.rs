//! Where randomness comes from: one generator for each toxic on each link.
//!
//! A generator depends on names and numbers alone (seed, proxy, connection,
//! stream, toxic, revision), never on which task ran first. Equal seeds and
//! an equal order of accepted connections give equal draws.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::toxic::Stream;

/// FNV-1a, 64 bits: stable between versions of Rust, unlike the standard hasher.
fn fnv1a(parts: &[&[u8]]) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for part in parts {
        // The length keeps ("ab", "c") apart from ("a", "bc").
        for byte in (part.len() as u64).to_le_bytes().iter().chain(part.iter()) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    hash
}

/// The generator of one toxic on one stream of one connection.
pub(crate) fn generator(
    seed: u64,
    proxy: &str,
    connection: u64,
    stream: Stream,
    toxic: &str,
    revision: u64,
) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(fnv1a(&[
        &seed.to_le_bytes(),
        proxy.as_bytes(),
        &connection.to_le_bytes(),
        stream.as_str().as_bytes(),
        toxic.as_bytes(),
        &revision.to_le_bytes(),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    fn draw(seed: u64, connection: u64, stream: Stream) -> u64 {
        generator(seed, "sms", connection, stream, "latency_downstream", 0).random()
    }

    #[test]
    fn equal_names_and_numbers_give_equal_draws() {
        assert_eq!(
            draw(7, 3, Stream::Downstream),
            draw(7, 3, Stream::Downstream)
        );
    }

    #[test]
    fn seed_connection_and_stream_each_change_the_draw() {
        let base = draw(7, 3, Stream::Downstream);
        assert_ne!(base, draw(8, 3, Stream::Downstream));
        assert_ne!(base, draw(7, 4, Stream::Downstream));
        assert_ne!(base, draw(7, 3, Stream::Upstream));
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        assert_ne!(fnv1a(&[b"ab", b"c"]), fnv1a(&[b"a", b"bc"]));
    }
}

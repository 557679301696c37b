//! Full jitter: how long to wait before the next try when the provider did not say.
//!
//! `sleep ~ U(0, min(cap, base * 2^n))`. Spreading the whole range, rather than adding
//! a little noise to a growing delay, is what keeps a thousand clients that failed
//! together from coming back together.

use std::time::Duration;

use rand::Rng;

/// The two numbers that shape the waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// Upper bound of the first wait.
    pub base: Duration,
    /// Upper bound of every wait.
    pub cap: Duration,
}

impl Backoff {
    /// The longest wait before retry number `retry`, counted from 0.
    #[must_use]
    pub fn ceiling(&self, retry: u32) -> Duration {
        let grown = 2u32
            .checked_pow(retry)
            .and_then(|factor| self.base.checked_mul(factor))
            .unwrap_or(self.cap);
        grown.min(self.cap)
    }

    /// A wait drawn evenly from zero to [`Backoff::ceiling`].
    pub fn draw(&self, retry: u32, rng: &mut impl Rng) -> Duration {
        draw_below(self.ceiling(retry), rng)
    }

    /// Equal jitter: half the ceiling for certain, the other half drawn. For a provider
    /// that cannot be reached: with full jitter a few lucky draws would use up every
    /// attempt in the first moments of an outage, while nobody there needs the spread.
    pub fn draw_upper_half(&self, retry: u32, rng: &mut impl Rng) -> Duration {
        let half = self.ceiling(retry) / 2;
        half + draw_below(half, rng)
    }
}

fn draw_below(ceiling: Duration, rng: &mut impl Rng) -> Duration {
    let nanos = u64::try_from(ceiling.as_nanos()).unwrap_or(u64::MAX);
    Duration::from_nanos(rng.random_range(0..=nanos))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;

    #[test]
    fn the_ceiling_doubles_until_the_cap() {
        let backoff = Backoff {
            base: Duration::from_millis(50),
            cap: Duration::from_millis(200),
        };
        let ceilings: Vec<_> = (0..5).map(|n| backoff.ceiling(n).as_millis()).collect();
        assert_eq!(ceilings, [50, 100, 200, 200, 200]);
    }

    #[test]
    fn the_draws_fill_the_whole_range() {
        let backoff = Backoff {
            base: Duration::from_secs(1),
            cap: Duration::from_secs(1),
        };
        let mut rng = StdRng::seed_from_u64(7);
        let mut eighths = [0u32; 8];
        for _ in 0..800 {
            let millis = backoff.draw(3, &mut rng).as_millis();
            eighths[usize::try_from(millis / 126).expect("under eight")] += 1;
        }
        // 100 expected in each; 50 is more than five standard deviations away.
        assert!(
            eighths.iter().all(|n| (50..=150).contains(n)),
            "{eighths:?}"
        );
    }

    proptest! {
        #[test]
        fn no_wait_passes_the_cap_or_the_ceiling(
            base in 0u64..100_000, cap in 0u64..100_000, retry in any::<u32>(), seed in any::<u64>()
        ) {
            let backoff = Backoff { base: Duration::from_millis(base), cap: Duration::from_millis(cap) };
            let wait = backoff.draw(retry, &mut StdRng::seed_from_u64(seed));
            prop_assert!(wait <= backoff.cap);
            prop_assert!(wait <= backoff.ceiling(retry));
        }

        #[test]
        fn equal_jitter_stays_in_the_upper_half(
            base in 0u64..100_000, cap in 0u64..100_000, retry in any::<u32>(), seed in any::<u64>()
        ) {
            let backoff = Backoff { base: Duration::from_millis(base), cap: Duration::from_millis(cap) };
            let wait = backoff.draw_upper_half(retry, &mut StdRng::seed_from_u64(seed));
            prop_assert!(wait >= backoff.ceiling(retry) / 2);
            prop_assert!(wait <= backoff.ceiling(retry));
        }

        #[test]
        fn the_ceiling_never_shrinks(base in 0u64..100_000, cap in 0u64..100_000, retry in 0u32..1000) {
            let backoff = Backoff { base: Duration::from_millis(base), cap: Duration::from_millis(cap) };
            prop_assert!(backoff.ceiling(retry) <= backoff.ceiling(retry + 1));
        }
    }
}

//! The binomial law: of `n` independent trials of probability `p`, how many come off.
//!
//! `0 < p < 1` throughout.

/// For each `k` from `n` down to 0: the chance that `k` or more come off.
fn tails(n: usize, p: f64) -> impl Iterator<Item = (usize, f64)> {
    #[expect(clippy::cast_precision_loss, reason = "counts of samples")]
    let real = |count: usize| count as f64;
    let odds = ((1.0 - p) / p).ln();
    // In logarithms: `p` to the power of a thousand is no number.
    let mut log = real(n) * p.ln();
    let mut tail = 0.0;
    (0..=n).rev().map(move |k| {
        tail += log.exp();
        log += odds + real(k).ln() - real(n - k + 1).ln();
        (k, tail)
    })
}

/// The chance that `k` or more come off.
pub(super) fn at_least(n: usize, k: usize, p: f64) -> f64 {
    tails(n, p)
        .find(|(hits, _)| *hits == k)
        .map_or(0.0, |(_, tail)| tail)
}

/// The chance that `k` or fewer come off.
pub(super) fn at_most(n: usize, k: usize, p: f64) -> f64 {
    // As many fail.
    at_least(n, n.saturating_sub(k), 1.0 - p)
}

/// The smallest `k` such that the chance of `k` or more is at most `chance`.
pub(super) fn rarely_reached(n: usize, p: f64, chance: f64) -> usize {
    tails(n, p)
        .take_while(|(_, tail)| *tail <= chance)
        .last()
        .map_or(n + 1, |(k, _)| k)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(left: f64, right: f64) -> bool {
        (left - right).abs() < 1e-12
    }

    #[test]
    fn throws_of_a_coin_come_out_as_one_would_count_them() {
        for (k, chance) in [(0, 1.0), (1, 0.875), (2, 0.5), (3, 0.125), (4, 0.0)] {
            assert!(close(at_least(3, k, 0.5), chance), "{k}");
        }
        for (k, chance) in [(0, 0.125), (1, 0.5), (2, 0.875), (3, 1.0), (4, 1.0)] {
            assert!(close(at_most(3, k, 0.5), chance), "{k}");
        }
    }

    #[test]
    fn an_uneven_coin_comes_out_as_one_would_count_it() {
        assert!(close(at_least(4, 4, 0.1), 1e-4));
        assert!(close(at_least(2, 1, 0.1), 0.19));
        assert!(close(at_most(2, 0, 0.9), 0.01));
        assert!(close(at_most(2, 1, 0.9), 0.19));
    }

    #[test]
    fn what_is_rarely_reached_is_the_first_count_that_is_rare_enough() {
        assert_eq!(rarely_reached(3, 0.5, 0.13), 3);
        assert_eq!(rarely_reached(3, 0.5, 0.51), 2);
        assert_eq!(rarely_reached(3, 0.5, 0.9), 1);
        // Not even all of them would be rare.
        assert_eq!(rarely_reached(3, 0.5, 0.1), 4);
    }

    #[test]
    fn a_thousand_trials_are_no_trouble() {
        assert!((at_least(1_000, 0, 0.01) - 1.0).abs() < 1e-9);
        assert!(at_least(1_000, 900, 0.01) < 1e-300);
    }
}

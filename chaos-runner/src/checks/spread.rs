//! Are the waits of many intents spread, as the client promises?
//!
//! Needs many samples: with too few, or with waits too short to stand out from the scheduler's
//! noise, it says so. The chance of accusing a client with full, equal or decorrelated jitter is
//! at most [`FALSE_ALARM`] for each history.

use super::{Observed, Symptom, SymptomKind};
use crate::history::{
    retry::{Cause, own_count, retries, wire_count},
    view::View,
};

/// The highest chance of a false alarm in one history, over all the groups that are tested.
pub(crate) const FALSE_ALARM: f64 = 1e-6;
/// A wait with a shorter limit does not stand out from the scheduler's noise, in microseconds.
const LEAST_LIMIT_US: u64 = 200_000;
/// The part of the first waits that must lie together.
const SHARE: f64 = 0.9;
/// The part of later waits: decorrelated jitter can leave up to seven in ten of them at its cap.
const LATER_SHARE: f64 = 0.96;
/// The width of the window in which they do, as a part of the narrowest range that a jitter of
/// any known kind draws from (equal jitter: half of the limit).
const WINDOW: f64 = 0.2;

/// Cites the requests that came back together.
pub(super) fn check(view: &View<'_>) -> Observed {
    let mut seen = Observed::default();
    // An absent promise is not checked, and a promise of equal waits is kept by equal waits.
    let Some(backoff) = view
        .history
        .client
        .policy
        .backoff
        .as_ref()
        .filter(|b| b.jitter)
    else {
        return seen;
    };
    let micros = |span: std::time::Duration| u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
    let (base, cap) = (micros(backoff.base.0), micros(backoff.cap.0));
    let mut enough = false;
    let deepest = view.history.client.policy.max_attempts.unwrap_or(8).min(8);
    for nth in 0..deepest as usize {
        let limit = base.saturating_mul(1 << nth).min(cap);
        if limit < LEAST_LIMIT_US {
            continue;
        }
        let width = window(limit);
        let mut waits: Vec<(u64, u64, u64)> = view
            .intents()
            .filter_map(|i| {
                let all = retries(view, i.number);
                // What a second layer sends, the client's own waits do not precede.
                if own_count(view, i.number).is_some_and(|own| own < wire_count(&all)) {
                    return None;
                }
                let retry = all.get(nth)?;
                let plain = matches!(
                    retry.cause,
                    Cause::Refusal | Cause::LateRefusal | Cause::ServerError
                ) && !asks_to_wait(retry.from.answer)
                    && !retry.resend;
                plain.then(|| (retry.gap_us(), retry.to.arrived.seq, retry.to.id))
            })
            .collect();
        waits.sort_unstable();
        let (first, count) = densest(&waits, width);
        let together = needed(waits.len(), nth);
        let chance = f64::from(deepest) * false_alarm(waits.len(), together);
        if chance > FALSE_ALARM {
            continue;
        }
        enough = true;
        if count >= together {
            let together = &waits[first..first + count];
            seen.saw(Symptom {
                kind: SymptomKind::WaitsCluster,
                intent: None,
                evidence: together.iter().take(8).map(|w| w.1).collect(),
                attempts: together.iter().take(2).map(|w| w.2).collect(),
                detail: format!(
                    "{count} of {} waits before retry {} lie within {} ms of {} ms",
                    waits.len(),
                    nth + 1,
                    width / 1_000,
                    together[0].0 / 1_000
                ),
            });
            return seen;
        }
    }
    if !enough {
        seen.open(format!(
            "not enough samples: 15 or more intents must be refused and come back after waits of \
             up to {} ms or more",
            LEAST_LIMIT_US / 1_000
        ));
    }
    seen
}

pub(super) fn asks_to_wait(
    answer: Option<(crate::history::view::Mark, &crate::history::Answer)>,
) -> bool {
    answer.is_some_and(|(_, a)| {
        a.headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("retry-after"))
    })
}

/// Where the window of `width` with the most waits begins, and how many it holds.
fn densest(sorted: &[(u64, u64, u64)], width: u64) -> (usize, usize) {
    (0..sorted.len())
        .map(|first| {
            let count = sorted[first..]
                .iter()
                .take_while(|w| w.0 - sorted[first].0 <= width)
                .count();
            (first, count)
        })
        .max_by_key(|(_, count)| *count)
        .unwrap_or((0, 0))
}

/// How wide the window is, for waits with this limit.
fn window(limit_us: u64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a part of a wait fits"
    )]
    let width = (limit_us as f64 / 2.0 * WINDOW) as u64;
    width
}

/// How many of `n` waits before retry `nth` (from 0) must lie together.
fn needed(n: usize, nth: usize) -> usize {
    let share = if nth == 0 { SHARE } else { LATER_SHARE };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a count of intents"
    )]
    let count = (n as f64 * share).ceil() as usize;
    count.max(2)
}

/// The chance that some window holds `m` of `n` waits of a client with jitter: at most one window
/// for each wait as its left edge, each further wait in it with probability [`WINDOW`].
fn false_alarm(n: usize, m: usize) -> f64 {
    if n < 2 || m < 2 {
        return 1.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "a count of intents")]
    let starts = n as f64;
    starts * binomial_at_least(n - 1, m - 1, WINDOW)
}

/// The chance of `k` or more successes in `n` trials of probability `p`.
pub(super) fn binomial_at_least(n: usize, k: usize, p: f64) -> f64 {
    let mut sum = 0.0;
    for hits in k..=n {
        sum += binomial(n, hits, p);
    }
    f64::min(sum, 1.0)
}

/// The chance of exactly `k` successes in `n` trials of probability `p`.
pub(super) fn binomial(n: usize, k: usize, p: f64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts of waits")]
    let log: f64 = (0..k)
        .map(|i| ((n - i) as f64).ln() - ((k - i) as f64).ln())
        .sum::<f64>()
        + k as f64 * p.ln()
        + (n - k) as f64 * (1.0 - p).ln();
    log.exp()
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::history::{
        History,
        builder::{backoff, tale},
    };

    /// A history of `waits.len()` intents, each refused once and back after its wait.
    pub(crate) fn herd(waits_ms: &[u64]) -> History {
        let count = waits_ms.len();
        let mut t =
            tale("herd", count).given(|h| h.client.policy.backoff = Some(backoff(400, 2_000)));
        for n in 1..=count {
            t = t.ask(n, Some(&format!("k{n}"))).refuse(503);
        }
        let mut history = t.history;
        // Come back: rewrite the clock of each second request from its own answer.
        let mut events = std::mem::take(&mut history.events);
        let mut seq = events.len() as u64;
        for (n, wait) in waits_ms.iter().enumerate() {
            let left = events
                .iter()
                .find(|e| {
                    matches!(&e.kind, crate::history::EventKind::Answering { attempt, .. } if *attempt == n as u64 + 1)
                })
                .map(|e| e.at_us)
                .expect("answered");
            let mut again = events
                .iter()
                .find(|e| {
                    matches!(&e.kind, crate::history::EventKind::Attempt { attempt, .. } if *attempt == n as u64 + 1)
                })
                .expect("asked")
                .clone();
            seq += 1;
            again.seq = seq;
            again.at_us = left + wait * 1_000;
            if let crate::history::EventKind::Attempt {
                attempt, ordinal, ..
            } = &mut again.kind
            {
                *attempt += count as u64;
                *ordinal = 2;
            }
            events.push(again);
        }
        history.events = events;
        history
    }

    #[test]
    fn full_equal_and_decorrelated_jitter_pass_for_many_seeds() {
        for seed in 0..100 {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let full: Vec<u64> = (0..50).map(|_| rng.random_range(0..400)).collect();
            let equal: Vec<u64> = (0..50).map(|_| rng.random_range(200..400)).collect();
            let decorrelated: Vec<u64> = (0..50).map(|_| rng.random_range(400..1_200)).collect();
            for waits in [full, equal, decorrelated] {
                assert_eq!(
                    check(&View::new(&herd(&waits))),
                    Observed::default(),
                    "{waits:?}"
                );
            }
        }
    }

    #[test]
    fn a_herd_that_comes_back_at_once_is_seen_through_the_schedulers_noise() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let waits: Vec<u64> = (0..50).map(|_| 400 + rng.random_range(0..15)).collect();
        let seen = check(&View::new(&herd(&waits)));
        assert_eq!(seen.symptoms[0].kind, SymptomKind::WaitsCluster);
    }

    #[test]
    fn few_samples_or_short_waits_decide_nothing() {
        for history in [herd(&[400; 8]), {
            let mut h = herd(&[50; 50]);
            h.client.policy.backoff = Some(backoff(50, 200));
            h
        }] {
            let seen = check(&View::new(&history));
            assert!(seen.symptoms.is_empty() && !seen.undecided.is_empty());
        }
    }

    #[test]
    fn without_a_promise_there_is_nothing_to_check() {
        let mut history = herd(&[400; 50]);
        history.client.policy.backoff = None;
        assert_eq!(check(&View::new(&history)), Observed::default());
    }

    #[test]
    fn the_chance_of_a_false_alarm_is_as_stated() {
        assert!(8.0 * false_alarm(50, needed(50, 0)) < FALSE_ALARM);
        assert!(8.0 * false_alarm(10, needed(10, 0)) > FALSE_ALARM);
        assert!((binomial_at_least(10, 0, 0.3) - 1.0).abs() < 1e-9);
    }
}

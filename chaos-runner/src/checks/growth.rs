//! Do the waits grow from one retry to the next?
//!
//! Needs many samples, and takes them from every history of a run: the later waits of a client
//! that backs off exceed its base, whichever way it draws them. The chance of accusing one is at
//! most [`super::spread::FALSE_ALARM`].

use super::{
    Observed, Symptom, SymptomKind,
    spread::{FALSE_ALARM, asks_to_wait, binomial},
};
use crate::history::{
    retry::{Cause, own_count, retries, wire_count},
    view::View,
};

/// What a wait must exceed the base by, beside a fifth of it, in microseconds.
const NOISE_US: u64 = 10_000;
/// The shortest base that can be judged, in microseconds.
const LEAST_BASE_US: u64 = 50_000;
/// A wait whose limit is this many times the base is a late one.
const LATE: u64 = 4;
/// The least chance that a late wait of a client with full jitter exceeds 1.2 times the base and
/// the noise: 1 - (1.2 * 50 + 10) / (4 * 50), at the shortest base that is judged.
const EXCEEDS: f64 = 0.65;

/// A late wait: how long it was, whether it exceeds the base, and the requests around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LateWait {
    pub(crate) wait_us: u64,
    pub(crate) exceeds: bool,
    pub(crate) intent: usize,
    pub(crate) evidence: Vec<u64>,
    pub(crate) attempts: Vec<u64>,
}

/// What many late waits say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Growth {
    /// They grow, or may.
    Grows,
    /// They do not.
    Flat,
    /// There are too few of them.
    TooFew,
}

/// Cites the late waits of this history.
pub(super) fn check(view: &View<'_>) -> Observed {
    let mut seen = Observed::default();
    // An absent promise is not checked.
    if view.history.client.policy.backoff.is_none() {
        return seen;
    }
    if testable(view).is_none() {
        seen.open("the promised backoff does not grow to four times its base, of 50 ms or more");
        return seen;
    }
    let waits = late_waits(view);
    match decide(&waits) {
        Growth::Grows => {}
        Growth::TooFew => seen.open(format!("not enough samples: {} late waits", waits.len())),
        Growth::Flat => seen.saw(symptom(&waits)),
    }
    seen
}

/// The symptom that these late waits are.
pub(crate) fn symptom(waits: &[LateWait]) -> Symptom {
    let longest = waits.iter().map(|w| w.wait_us).max().unwrap_or(0);
    Symptom {
        kind: SymptomKind::WaitsFlat,
        intent: waits.first().map(|w| w.intent),
        evidence: waits
            .iter()
            .flat_map(|w| w.evidence.clone())
            .take(8)
            .collect(),
        attempts: waits
            .first()
            .map(|w| w.attempts.clone())
            .unwrap_or_default(),
        detail: format!(
            "{} late waits, the longest {} ms: they do not grow",
            waits.len(),
            longest / 1_000
        ),
    }
}

/// The base, and the number of the first late wait (from 0), where the promise allows for one.
fn testable(view: &View<'_>) -> Option<(u64, usize)> {
    let backoff = view.history.client.policy.backoff.as_ref()?;
    let base = u64::try_from(backoff.base.0.as_micros()).ok()?;
    let cap = u64::try_from(backoff.cap.0.as_micros()).ok()?;
    // Under a shorter base the noise would make up too much of the threshold.
    (base >= LEAST_BASE_US && cap >= base.checked_mul(LATE)?).then_some((base, 2))
}

/// The late waits of a history.
pub(crate) fn late_waits(view: &View<'_>) -> Vec<LateWait> {
    let Some((base, first)) = testable(view) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for intent in view.intents() {
        let all = retries(view, intent.number);
        // One hop, one restart, one lost answer or a second layer of retries, and the count of
        // waits is not the client's.
        let all_its_own = own_count(view, intent.number).is_none_or(|own| own >= wire_count(&all));
        let plain = all_its_own
            && all.iter().all(|r| {
                matches!(
                    r.cause,
                    Cause::Refusal | Cause::LateRefusal | Cause::ServerError
                ) && !asks_to_wait(r.from.answer)
                    && !r.resend
            });
        if !plain {
            continue;
        }
        found.extend(all.iter().skip(first).map(|r| LateWait {
            wait_us: r.gap_us(),
            exceeds: r.gap_us() > base + base / 5 + NOISE_US,
            intent: intent.number,
            evidence: r.evidence(),
            attempts: r.attempts(),
        }));
    }
    found
}

/// What these late waits say.
pub(crate) fn decide(waits: &[LateWait]) -> Growth {
    let n = waits.len();
    let over = waits.iter().filter(|w| w.exceeds).count();
    let at_most = |k: usize| -> f64 { (0..=k).map(|x| binomial(n, x, EXCEEDS)).sum() };
    if at_most(0) > FALSE_ALARM {
        Growth::TooFew
    } else if at_most(over) <= FALSE_ALARM {
        Growth::Flat
    } else {
        Growth::Grows
    }
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

    fn constant_503(intents: usize, mut wait: impl FnMut(u32) -> u64) -> History {
        let mut t =
            tale("constant", intents).given(|h| h.client.policy.backoff = Some(backoff(50, 200)));
        for n in 1..=intents {
            let key = format!("k{n}");
            t = t.ask(n, Some(&key)).refuse(503);
            for k in 0..4 {
                t = t.wait(wait(k)).ask(n, Some(&key)).refuse(503);
            }
        }
        t.settle()
    }

    #[test]
    fn full_equal_and_decorrelated_jitter_pass_for_many_seeds() {
        for seed in 0..100 {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let limit = |k: u32| (50_u64 << k).min(200);
            let full = constant_503(20, |k| rng.random_range(0..limit(k)));
            assert_eq!(
                check(&View::new(&full)),
                Observed::default(),
                "full, {seed}"
            );
            let equal = constant_503(20, |k| limit(k) / 2 + rng.random_range(0..limit(k) / 2));
            assert_eq!(
                check(&View::new(&equal)),
                Observed::default(),
                "equal, {seed}"
            );
            let mut before = 50;
            let decorrelated = constant_503(20, |k| {
                if k == 0 {
                    before = 50;
                }
                before = rng.random_range(50..before * 3).min(200);
                before
            });
            assert_eq!(
                check(&View::new(&decorrelated)),
                Observed::default(),
                "decorrelated, {seed}"
            );
        }
    }

    #[test]
    fn flat_waits_and_a_tight_loop_are_seen() {
        for wait in [50, 0] {
            let seen = check(&View::new(&constant_503(20, |_| wait)));
            assert_eq!(seen.symptoms[0].kind, SymptomKind::WaitsFlat, "{wait} ms");
        }
    }

    #[test]
    fn the_waits_of_a_layer_that_the_client_does_not_count_are_not_its_own() {
        let mut t = tale("layered", 20).given(|h| h.client.policy.backoff = Some(backoff(50, 200)));
        for n in 1..=20 {
            let key = format!("k{n}");
            for k in 0..15 {
                let wait = if k % 3 == 0 { 40 << (k / 3) } else { 0 };
                t = t.wait(wait).ask(n, Some(&key)).refuse(503);
            }
            t = t.believe_counting(n, crate::intent::Outcome::Dead, 5);
        }
        let seen = check(&View::new(&t.settle()));
        assert!(seen.symptoms.is_empty() && !seen.undecided.is_empty());
    }

    #[test]
    fn a_few_waits_decide_nothing() {
        let seen = check(&View::new(&constant_503(1, |_| 50)));
        assert!(seen.symptoms.is_empty() && !seen.undecided.is_empty());
    }
}

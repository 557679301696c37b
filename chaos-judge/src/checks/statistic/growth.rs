//! Do the waits grow from one retry to the next?
//!
//! Owns the symptom, its proof and the test behind it. The samples of one history can be too few
//! and those of all histories of a run enough: the diagnosis asks again with all of them.
//!
//! # The test
//!
//! A *late* wait is one before the third retry of a message or a later one, where the promise has
//! grown to [`LATE`] times its base. It *exceeds* where it is longer than one and a half times the
//! base `b` and [`NOISE_US`] (`e`). Of `n` late waits, `x` exceed. The client is accused where
//! `P(Bin(n, p) ≤ x)` is at most [`FALSE_ALARM`], with `p` as follows.
//!
//! # The false-alarm rate
//!
//! Given all that was drawn before, a late wait of a client that backs off exceeds with a chance of
//! at least `p`, whichever way it draws. What is measured can be up to `e` shorter than what was
//! drawn (the answer left later than it is noted down), and longer by any noise, which only helps:
//! the chance of a draw over `1.5b + 2e` is what counts.
//!
//! - *no jitter*: always, from `b` of `4e` on;
//! - *equal jitter*, from `2b` on: always, from `b` of `4e` on;
//! - *full jitter*, uniform on `[0, L]` with `L` of `4b` or more: `1 - (1.5b+2e)/4b`, or more;
//! - *decorrelated jitter*, uniform on `[b, 3s]` with `s` of `b` or more, cut at the cap of `4b` or
//!   more: `1 - (0.5b+2e)/2b`, or more.
//!
//! `p` is the least of them ([`Promise::exceeds`]). The number that exceed is then at least
//! binomial, however the waits of one message depend on each other, and the rate at most what it
//! is compared with.
//!
//! # The power
//!
//! The waits of a client that does not back off stay at its base or below. Noise makes one of them
//! exceed with a chance of at most [`STRAY`]; with `c` the most that accuse, the client is accused
//! with a chance of at least `P(Bin(n, STRAY) ≤ c)`. Waits that do not grow but exceed all the
//! same are longer than a right client's may be, and harm nobody.

use super::{
    FALSE_ALARM, Figures, MOST_SAMPLES, POWER, Statistic, binomial, limit, micros, own_waits,
};
use crate::{
    checks::{Observed, Symptom, SymptomKind},
    history::view::View,
    policy::{Backoff, Policy},
};

/// What the check promises of itself.
pub(crate) const STATISTIC: Statistic = Statistic {
    tag: "backoff",
    honest: "waits that grow to four times the promised `base`, without jitter or with full, equal or decorrelated jitter, with any noise on top",
    broken: "waits that stay at the promised `base` or below, of which no more than one in ten is longer than one and a half times the base and 10 ms",
    samples: (30, 4),
    figures: |policy, messages, waits| {
        let samples = messages * waits.saturating_sub(FIRST_LATE);
        Promise::of(policy)?.figures(samples)
    },
};

/// What the clock and the scheduler make of a wait, in microseconds.
const NOISE_US: f64 = 10_000.0;
/// A wait whose limit is this many times the base is a late one.
const LATE: f64 = 4.0;
/// The number of the first late wait of a message, from 0.
const FIRST_LATE: usize = 2;
/// The part of the late waits of a broken client that exceed.
pub(super) const STRAY: f64 = 0.1;

/// A late wait: how long it was, whether it exceeds, and the requests around it.
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
    /// There are too few of them; so many are enough. `None`: no number is.
    TooFew(Option<usize>),
}

/// A promise of waits that grow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Promise<'p> {
    backoff: &'p Backoff,
}

impl<'p> Promise<'p> {
    /// The promise in `policy`; an absent one is not checked.
    pub(super) fn of(policy: &'p Policy) -> Option<Self> {
        policy.backoff.as_ref().map(|backoff| Self { backoff })
    }

    /// What a wait must be longer than to exceed, in microseconds.
    pub(super) fn threshold(self) -> f64 {
        1.5 * micros(self.backoff.base.0) + NOISE_US
    }

    /// The least chance that a late wait of an honest client exceeds; 0: there is none.
    pub(super) fn exceeds(self) -> f64 {
        let base = micros(self.backoff.base.0);
        if limit(self.backoff, FIRST_LATE) < LATE * base {
            return 0.0;
        }
        let full = 1.0 - (1.5 * base + 2.0 * NOISE_US) / (LATE * base);
        let decorrelated = 1.0 - (0.5 * base + 2.0 * NOISE_US) / (2.0 * base);
        full.min(decorrelated).max(0.0)
    }

    /// The most of `samples` late waits that may exceed for the client to be accused.
    pub(super) fn at_most(self, samples: usize) -> Option<usize> {
        let exceeds = self.exceeds();
        if exceeds <= 0.0 {
            return None;
        }
        // As many do not exceed.
        let short = binomial::rarely_reached(samples, 1.0 - exceeds, FALSE_ALARM);
        samples.checked_sub(short)
    }

    /// What so many late waits are good for. `None`: not even if none exceeds do they accuse.
    pub(super) fn figures(self, samples: usize) -> Option<Figures> {
        let exceeding = self.at_most(samples)?;
        Some(Figures {
            accuse: samples - exceeding,
            of: samples,
            false_alarm: binomial::at_most(samples, exceeding, self.exceeds()),
            power: binomial::at_most(samples, exceeding, STRAY),
        })
    }

    /// The smallest number of late waits that decides. `None`: there is none within reason.
    pub(super) fn samples(self) -> Option<usize> {
        (1..=MOST_SAMPLES).find(|samples| self.enough(*samples))
    }

    fn enough(self, samples: usize) -> bool {
        self.figures(samples)
            .is_some_and(|figures| figures.power >= POWER)
    }
}

/// Cites the late waits of this history.
pub(in crate::checks) fn check(view: &View<'_>) -> Observed {
    let mut seen = Observed::default();
    let policy = &view.history.client.policy;
    if policy.backoff.is_none() {
        return seen;
    }
    let waits = late_waits(view);
    match decide(policy, &waits) {
        Growth::Grows => {}
        Growth::Flat => seen.saw(symptom(&waits)),
        Growth::TooFew(Some(needed)) => seen.open(format!(
            "not enough samples for backoff: {} waits before a third retry or a later one, and it \
             takes {needed}",
            waits.len()
        )),
        Growth::TooFew(None) => seen.open(
            "not enough samples for backoff: the promised waits do not grow to four times a base \
             of 30 ms or more; let the client wait so in the tests",
        ),
    }
    seen
}

/// The symptom that these late waits are.
pub(crate) fn symptom(waits: &[LateWait]) -> Symptom {
    let longest = waits.iter().map(|w| w.wait_us).max().unwrap_or(0);
    let short = waits.iter().filter(|w| !w.exceeds).count();
    // What exceeds proves nothing.
    let first = waits.iter().find(|w| !w.exceeds);
    Symptom {
        kind: SymptomKind::WaitsFlat,
        intent: first.map(|w| w.intent),
        evidence: waits
            .iter()
            .filter(|w| !w.exceeds)
            .flat_map(|w| w.evidence.clone())
            .take(8)
            .collect(),
        attempts: first.map(|w| w.attempts.clone()).unwrap_or_default(),
        detail: format!(
            "{short} of {} late waits are no longer than the first may be, the longest is {} ms: \
             they do not grow",
            waits.len(),
            longest / 1_000
        ),
    }
}

/// The late waits of a history.
pub(crate) fn late_waits(view: &View<'_>) -> Vec<LateWait> {
    let Some(promise) = Promise::of(&view.history.client.policy) else {
        return Vec::new();
    };
    let threshold = promise.threshold();
    let mut found = Vec::new();
    for intent in view.intents() {
        let own = own_waits(view, intent.number);
        found.extend(own.iter().skip(FIRST_LATE).map(|retry| {
            let wait_us = retry.gap_us();
            #[expect(clippy::cast_precision_loss, reason = "a wait in microseconds")]
            let exceeds = wait_us as f64 > threshold;
            LateWait {
                wait_us,
                exceeds,
                intent: intent.number,
                evidence: retry.evidence(),
                attempts: retry.attempts(),
            }
        }));
    }
    found
}

/// What these late waits of a client with this policy say.
pub(crate) fn decide(policy: &Policy, waits: &[LateWait]) -> Growth {
    let Some(promise) = Promise::of(policy) else {
        return Growth::Grows;
    };
    let over = waits.iter().filter(|w| w.exceeds).count();
    if promise
        .at_most(waits.len())
        .is_some_and(|most| over <= most)
    {
        Growth::Flat
    } else if promise.enough(waits.len()) {
        Growth::Grows
    } else {
        Growth::TooFew(promise.samples())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        checks::statistic::promise,
        history::{
            History,
            builder::{backoff, tale},
        },
    };

    /// Intents that are refused for ever, and come back four times after `wait` (of the message
    /// and the retry, both from 0), in milliseconds.
    fn constant_503(intents: usize, wait: impl Fn(usize, usize) -> u64) -> History {
        let mut t =
            tale("constant", intents).given(|h| h.client.policy.backoff = Some(backoff(50, 200)));
        for n in 0..intents {
            let key = format!("k{n}");
            t = t.ask(n + 1, Some(&key)).refuse(503);
            for nth in 0..4 {
                t = t.wait(wait(n, nth)).ask(n + 1, Some(&key)).refuse(503);
            }
        }
        t.settle()
    }

    fn seen(history: &History) -> Observed {
        check(&View::new(history))
    }

    #[test]
    fn flat_waits_and_a_tight_loop_are_seen() {
        for wait in [50, 0] {
            let seen = seen(&constant_503(30, |_, _| wait));
            assert_eq!(seen.symptoms[0].kind, SymptomKind::WaitsFlat, "{wait} ms");
        }
    }

    #[test]
    fn waits_that_grow_pass() {
        assert_eq!(
            seen(&constant_503(30, |_, nth| [50, 100, 200, 200][nth])),
            Observed::default()
        );
    }

    #[test]
    fn only_waits_that_prove_it_are_cited() {
        // The first message's waits exceed.
        let history = constant_503(30, |n, _| if n == 0 { 90 } else { 40 });
        let seen = seen(&history);
        let symptom = &seen.symptoms[0];
        assert_eq!(symptom.intent, Some(2));
        assert_eq!(
            symptom.detail,
            "58 of 60 late waits are no longer than the first may be, the longest is 93 ms: they \
             do not grow"
        );
        // The requests around the second message's third wait: its third and its fourth.
        assert_eq!(symptom.attempts, [8, 9]);
        assert_eq!(symptom.evidence.len(), 8);
        let view = View::new(&history);
        assert_eq!(
            symptom.evidence[..2],
            [8, 9].map(|id| view.attempt(id).expect("a request").arrived.seq)
        );
    }

    #[test]
    fn a_wait_of_just_the_threshold_does_not_exceed() {
        // One and a half times 50 ms, and 10 ms; a request and its answer take three.
        for (wait, exceeds) in [(82, false), (83, true)] {
            let history = constant_503(1, |_, _| wait);
            let waits = late_waits(&View::new(&history));
            assert_eq!(waits.len(), 2);
            assert!(waits.iter().all(|w| w.exceeds == exceeds), "{wait} ms");
        }
    }

    #[test]
    fn a_few_waits_decide_nothing_and_say_how_many_it_takes() {
        let seen = seen(&constant_503(1, |_, _| 50));
        assert_eq!(seen.symptoms, []);
        assert_eq!(
            seen.undecided,
            [
                "not enough samples for backoff: 2 waits before a third retry or a later one, and \
                 it takes 55"
            ]
        );
    }

    #[test]
    fn waits_that_need_not_grow_decide_nothing_in_whatever_number() {
        let mut history = constant_503(60, |_, _| 50);
        for (base, cap) in [(50, 199), (5, 200)] {
            history.client.policy.backoff = Some(backoff(base, cap));
            let seen = seen(&history);
            assert_eq!(seen.symptoms, [], "{base} ms, {cap} ms");
            assert!(seen.undecided[0].contains("do not grow"), "{seen:?}");
        }
        history.client.policy.backoff = None;
        assert_eq!(seen(&history), Observed::default());
    }

    #[test]
    fn the_least_chance_is_that_of_the_family_that_exceeds_least() {
        let exceeds = |base, cap| {
            let policy = promise(base, cap);
            Promise::of(&policy).expect("backoff is promised").exceeds()
        };
        let close = |left: f64, right: f64| (left - right).abs() < 1e-9;
        // Full jitter: more than 95 of 200 ms.
        assert!(close(exceeds(50, 200), 0.525));
        assert!(close(exceeds(400, 2_000), 1.0 - 620.0 / 1_600.0));
        // Decorrelated jitter: 32.5 of the first 50 ms above the base do not.
        assert!(close(exceeds(25, 100), 0.35));
        assert!(close(exceeds(50, 199), 0.0));
        assert!(close(exceeds(10, 100), 0.0));
    }

    #[test]
    fn the_figures_are_those_of_the_largest_number_that_is_rare_enough() {
        let policy = promise(50, 200);
        let promise = Promise::of(&policy).expect("backoff is promised");
        let figures = promise.figures(60).expect("sixty can accuse");
        let most = promise.at_most(60).expect("sixty can accuse");
        assert_eq!((figures.accuse, figures.of), (60 - most, 60));
        let false_alarm = |exceeding| binomial::at_most(60, exceeding, 0.525);
        assert!((figures.false_alarm - false_alarm(most)).abs() < 1e-15);
        assert!(false_alarm(most) <= FALSE_ALARM && false_alarm(most + 1) > FALSE_ALARM);
        assert!((figures.power - binomial::at_most(60, most, STRAY)).abs() < 1e-12);
    }

    #[test]
    fn the_number_that_is_asked_for_decides_and_one_less_does_not() {
        for (base, cap) in [(25, 100), (50, 200), (500, 60_000)] {
            let policy = promise(base, cap);
            let promise = Promise::of(&policy).expect("backoff is promised");
            let needed = promise.samples().expect("some number decides");
            assert!(promise.enough(needed) && !promise.enough(needed - 1));
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
        let seen = seen(&t.settle());
        assert!(seen.symptoms.is_empty() && !seen.undecided.is_empty());
    }
}

//! How many messages may come back after the same waits by chance?
//!
//! Owns the test behind [`super::spread`]: pure, of a promise and numbers.
//!
//! # The test
//!
//! Each of `n` messages is refused and comes back, `k` times. Two messages came back *alike* where
//! each of their `k` waits differs by at most [`Jitter::reach`]. The client is accused where some
//! message has so many alike that, with itself, they are [`Jitter::together`] or more.
//!
//! # The false-alarm rate
//!
//! Let `h` be the reach and `w = 2h`. Given the waits of one message, each other message is alike
//! only where each of its waits falls into a given window of width `w`. For a client that draws
//! its waits, the chance of that is at most, for the wait before retry `i` (from 0) under the
//! limit `L = min(cap, base·2^i)`:
//!
//! - *full jitter*, uniform on `[0, L]`: `w/L`;
//! - *equal jitter*, uniform on `[L/2, L]`: `2w/L`, which is more;
//! - *decorrelated jitter*, `min(cap, uniform on [base, 3s])` with `s` the wait before (`base` at
//!   first): below the cap the density is `1/(3s-base)`, at most `1/(2·base)`, which gives
//!   `w/(2·base)`. A window that ends at the cap has `(3s-cap+w)/(3s-base)`, which grows with
//!   `s`, and `s` is at most `min(cap, base·3^i)`. Given whatever came before, the chance is at
//!   most the greater of the two.
//!
//! The product over the `k` waits, the greatest of the families', is [`Jitter::chance`], `p`. The
//! time that the network and the scheduler add to a wait does not depend on what was drawn, and
//! adding an independent time never makes any window likelier than the likeliest was before. So
//! the number of messages alike to a given one is at most binomial, and by the union over the `n`
//! messages the rate for one `k` is at most `n · P(Bin(n-1, p) ≥ m-1)`. It is made at most
//! [`FALSE_ALARM`] over all the `k` that are tried.
//!
//! Never fewer than [`SHARE`] of the messages accuse: a client that draws its waits, and looks for
//! work only at ticks of a clock that are not much closer than the waits, comes back in two or
//! three crowds.
//!
//! # The power
//!
//! The waits of a client without jitter are alike up to noise. Where a message *strays* (one of
//! its waits is out of reach of the others') with a chance of at most [`STRAY`], `m` of `n` are
//! alike with a chance of at least `P(Bin(n, STRAY) ≤ n-m)`.

use super::{FALSE_ALARM, Figures, MOST_SAMPLES, POWER, binomial, limit, micros};
use crate::policy::{Backoff, Policy};

/// The least difference that two waits may have and still be the same: what a loaded machine adds
/// to them, in microseconds.
const NOISE_US: f64 = 20_000.0;
/// The same as a part of the base: a client that waits longer may look for work more rarely.
const NOISE_OF_BASE: f64 = 0.2;
/// The part of the messages that must be alike at least.
const SHARE: f64 = 0.7;
/// The part of the messages of a broken client that stray.
pub(super) const STRAY: f64 = 0.1;
/// The most waits of a message that are looked at.
const MOST_WAITS: u32 = 8;

/// A promise to draw waits at random.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jitter<'p> {
    backoff: &'p Backoff,
    /// The most waits that a message has.
    pub(super) waits: usize,
}

impl<'p> Jitter<'p> {
    /// The promise in `policy`. An absent one is not checked, and a promise of equal waits is kept
    /// by equal waits.
    pub(super) fn promised(policy: &'p Policy) -> Option<Self> {
        let waits = policy
            .max_attempts
            .map_or(MOST_WAITS, |most| (most.saturating_sub(1)).min(MOST_WAITS));
        policy
            .backoff
            .as_ref()
            .filter(|backoff| backoff.jitter)
            .map(|backoff| Self {
                backoff,
                waits: waits as usize,
            })
    }

    /// How much two waits may differ and still be the same, in microseconds.
    pub(super) fn reach(&self) -> f64 {
        (micros(self.backoff.base.0) * NOISE_OF_BASE).max(NOISE_US)
    }

    /// The greatest chance with which the first `waits` waits of an honest client's message are
    /// alike to given ones.
    pub(super) fn chance(&self, waits: usize) -> f64 {
        let (base, cap) = (micros(self.backoff.base.0), micros(self.backoff.cap.0));
        let window = 2.0 * self.reach();
        let (mut equal, mut decorrelated) = (1.0, 1.0);
        let mut before = base;
        for nth in 0..waits {
            equal *= f64::min(2.0 * window / limit(self.backoff, nth), 1.0);
            let most = 3.0 * before;
            let below_cap = window / (2.0 * base);
            let at_cap = (most - cap + window) / (most - base);
            // Where the cap is out of reach, this is the smaller.
            decorrelated *= below_cap.max(at_cap).min(1.0);
            before = most.min(cap).max(base);
        }
        f64::max(equal, decorrelated)
    }

    /// How many of `messages` must be alike in their first `waits` waits to accuse. `None`: not
    /// even all of them do.
    pub(super) fn together(&self, messages: usize, waits: usize) -> Option<usize> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a part of a number of messages"
        )]
        let share = (messages as f64 * SHARE).ceil() as usize;
        let count = self.by_chance(messages, waits, FALSE_ALARM)?.max(share);
        (count <= messages).then_some(count)
    }

    /// The smallest number of messages that are alike no more often than at `rate`, over all the
    /// numbers of waits.
    pub(super) fn by_chance(&self, messages: usize, waits: usize, rate: f64) -> Option<usize> {
        let chance = self.chance(waits);
        if messages < 2 || chance >= 1.0 {
            return None;
        }
        let each = rate / self.tests() / real(messages);
        Some(1 + binomial::rarely_reached(messages - 1, chance, each))
    }

    /// What `messages` with `waits` waits each are good for. `None`: not even all of them accuse.
    pub(super) fn figures(&self, messages: usize, waits: usize) -> Option<Figures> {
        let accuse = self.together(messages, waits)?;
        let alike = binomial::at_least(messages - 1, accuse - 1, self.chance(waits));
        Some(Figures {
            accuse,
            of: messages,
            false_alarm: self.tests() * real(messages) * alike,
            power: binomial::at_most(messages, messages - accuse, STRAY),
        })
    }

    /// The smallest number of messages with `waits` waits each that decides. `None`: there is none
    /// within reason.
    pub(super) fn messages(&self, waits: usize) -> Option<usize> {
        (2..=MOST_SAMPLES).find(|messages| self.decides(*messages, waits))
    }

    /// Whether `messages` with `waits` waits each are enough.
    pub(super) fn decides(&self, messages: usize, waits: usize) -> bool {
        self.figures(messages, waits)
            .is_some_and(|figures| figures.power >= POWER)
    }

    /// The largest set of messages that are alike to one of them: their places in `schedules`, each
    /// of as many waits.
    pub(super) fn crowd(&self, schedules: &[&[u64]]) -> Vec<usize> {
        let reach = self.reach();
        let alike = |one: &[u64], other: &[u64]| {
            one.iter().zip(other).all(|(a, b)| {
                #[expect(clippy::cast_precision_loss, reason = "a wait in microseconds")]
                let apart = a.abs_diff(*b) as f64;
                apart <= reach
            })
        };
        let around = |centre: &[u64]| schedules.iter().filter(|s| alike(centre, s)).count();
        let Some(centre) = schedules.iter().max_by_key(|centre| around(centre)) else {
            return Vec::new();
        };
        (0..schedules.len())
            .filter(|n| alike(centre, schedules[*n]))
            .collect()
    }

    fn tests(&self) -> f64 {
        real(self.waits)
    }
}

fn real(count: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a count of messages")]
    let real = count as f64;
    real
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::statistic::promise;

    fn figures(base: u64, cap: u64, messages: usize, waits: usize) -> Option<Figures> {
        let policy = promise(base, cap);
        Jitter::promised(&policy)
            .expect("jitter is promised")
            .figures(messages, waits)
    }

    fn chance(base: u64, cap: u64, waits: usize) -> f64 {
        let policy = promise(base, cap);
        Jitter::promised(&policy)
            .expect("jitter is promised")
            .chance(waits)
    }

    fn close(left: f64, right: f64) -> bool {
        (left - right).abs() < 1e-9
    }

    #[test]
    fn the_chance_is_that_of_the_family_that_comes_together_most() {
        // Windows of 40 ms. Equal jitter: 40 of 25 ms, 40 of 50, 40 of 100.
        assert!(close(chance(50, 200, 1), 1.0));
        assert!(close(chance(50, 200, 3), 0.8 * 0.4));
        // Decorrelated jitter: 40 of 100 ms; from 150 ms, 290 of 400; from 200 ms, 440 of 550,
        // and so for ever.
        let decorrelated = 0.4 * 0.725 * 0.8 * 0.8;
        assert!(close(chance(50, 200, 4), decorrelated));
        // Windows of a part of the base: 200 ms of 250, 500 and 1,000.
        assert!(close(chance(500, 60_000, 3), 0.8 * 0.4 * 0.2));
        // The first wait of decorrelated jitter is at its cap already: 140 of 200 ms.
        assert!(close(
            chance(100, 200, 3),
            0.7 * (440.0 / 500.0) * (440.0 / 500.0)
        ));
        // It just reaches its cap, or just does not.
        assert!(close(chance(100, 300, 1), 0.8));
        assert!(close(chance(100, 300, 2), 0.8 * 0.4));
    }

    #[test]
    fn a_client_has_one_wait_less_than_attempts_and_eight_at_most() {
        for (attempts, waits) in [(Some(1), 0), (Some(5), 4), (Some(20), 8), (None, 8)] {
            let policy = Policy {
                max_attempts: attempts,
                ..promise(50, 200)
            };
            let jitter = Jitter::promised(&policy).expect("jitter is promised");
            assert_eq!(jitter.waits, waits, "{attempts:?}");
        }
    }

    #[test]
    fn the_figures_are_those_of_the_smallest_number_that_is_rare_enough() {
        let of_fifty = figures(50, 200, 50, 3).expect("fifty can accuse");
        assert_eq!((of_fifty.accuse, of_fifty.of), (37, 50));
        // Four numbers of waits are tried, around each of fifty messages.
        let false_alarm = |accuse: usize| 4.0 * 50.0 * binomial::at_least(49, accuse - 1, 0.32);
        assert!((of_fifty.false_alarm - false_alarm(37)).abs() < 1e-15);
        assert!(false_alarm(37) <= FALSE_ALARM && false_alarm(36) > FALSE_ALARM);
        assert!(close(of_fifty.power, binomial::at_most(50, 13, STRAY)));
    }

    #[test]
    fn however_rare_it_is_seven_in_ten_must_be_alike() {
        let rare = figures(500, 60_000, 50, 4).expect("fifty can accuse");
        assert_eq!(rare.accuse, 35);
        // Two that are alike are never rare enough, however many waits they have.
        assert_eq!(figures(500, 60_000, 2, 8), None);
    }

    #[test]
    fn two_can_be_alike_and_one_cannot() {
        let policy = promise(500, 60_000);
        let jitter = Jitter::promised(&policy).expect("jitter is promised");
        // By a chance of 0.064, where one in ten is rare enough.
        assert_eq!(jitter.by_chance(2, 3, 0.8), Some(2));
        assert_eq!(jitter.by_chance(1, 3, 0.8), None);
    }

    #[test]
    fn the_crowd_is_the_largest_set_around_one_message() {
        let policy = promise(50, 200);
        let jitter = Jitter::promised(&policy).expect("jitter is promised");
        let waits: [&[u64]; 5] = [
            &[90_000, 0],
            &[10_000, 0],
            &[30_000, 0],
            &[50_000, 20_000],
            &[50_001, 40_001],
        ];
        assert_eq!(jitter.crowd(&waits), [1, 2, 3]);
        assert_eq!(jitter.crowd(&waits[..1]), [0]);
        assert_eq!(jitter.crowd(&[]), [0_usize; 0]);
    }

    #[test]
    fn waits_that_the_noise_drowns_decide_nothing_in_whatever_number() {
        assert_eq!(figures(10, 40, 200, 3), None);
        assert_eq!(figures(50, 50, 200, 3), None);
        assert_eq!(figures(400, 3_200, 1, 3), None);
    }

    #[test]
    fn all_of_a_few_messages_accuse_nobody() {
        assert_eq!(figures(50, 200, 10, 3), None);
        let few = figures(50, 200, 20, 3).expect("all of twenty do");
        assert_eq!((few.accuse, few.of), (20, 20));
        assert!(few.false_alarm <= FALSE_ALARM && few.power < POWER);
    }

    #[test]
    fn the_number_that_is_asked_for_decides_and_one_less_does_not() {
        for (base, cap, waits) in [(50, 200, 3), (100, 400, 3), (100, 200, 3), (500, 60_000, 2)] {
            let policy = promise(base, cap);
            let jitter = Jitter::promised(&policy).expect("jitter is promised");
            let needed = jitter.messages(waits).expect("some number decides");
            assert!(jitter.decides(needed, waits) && !jitter.decides(needed - 1, waits));
        }
    }
}

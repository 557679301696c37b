//! Simulated clients hold the statistical checks to the figures that they state.
//!
//! Every seed is fixed, so that each test comes out the same each time. The million clients of each
//! family are simulated by `make test-real`.

use super::{FALSE_ALARM, FEWEST_MESSAGES, POWER, growth, jitter, promise, spread};
use crate::policy::Policy;

/// The promises that are simulated: base and cap, in milliseconds.
const PROMISES: [(u64, u64); 4] = [(50, 200), (100, 400), (100, 250), (500, 10_000)];

/// Numbers by chance (`SplitMix64`, Steele and others 2014): quick even where nothing is optimised.
struct Dice(u64);

impl Dice {
    /// A number from 0 to `most`.
    fn up_to(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        let scaled = u128::from(mixed) * (u128::from(most) + 1);
        u64::try_from(scaled >> 64).unwrap_or(most)
    }
}

/// How an honest client draws its waits.
#[derive(Clone, Copy, Debug)]
enum Family {
    Full,
    Equal,
    Decorrelated,
}

const FAMILIES: [Family; 3] = [Family::Full, Family::Equal, Family::Decorrelated];

impl Family {
    /// The wait before retry `nth` (from 0) after the wait `before`, in microseconds.
    fn draw(self, dice: &mut Dice, (base, cap): (u64, u64), nth: usize, before: u64) -> u64 {
        let (base, cap) = (base * 1_000, cap * 1_000);
        let limit = (base << nth).min(cap);
        match self {
            Self::Full => dice.up_to(limit),
            Self::Equal => limit / 2 + dice.up_to(limit / 2),
            Self::Decorrelated => (base + dice.up_to(3 * before.max(base) - base)).min(cap),
        }
    }
}

/// The waits of the messages of one client after another, in microseconds.
struct Clients {
    dice: Dice,
    messages: usize,
    waits: usize,
    /// All messages' waits, one message after the other.
    drawn: Vec<u64>,
}

impl Clients {
    fn new(seed: u64, (messages, waits): (usize, usize)) -> Self {
        Self {
            dice: Dice(seed),
            messages,
            waits,
            drawn: vec![0; messages * waits],
        }
    }

    /// The next client, which draws as `family` does.
    fn honest(&mut self, family: Family, promise: (u64, u64)) -> Vec<&[u64]> {
        for message in self.drawn.chunks_mut(self.waits) {
            let mut before = 0;
            for (nth, wait) in message.iter_mut().enumerate() {
                *wait = family.draw(&mut self.dice, promise, nth, before);
                before = *wait;
            }
        }
        self.schedules()
    }

    /// The next client, whose waits are always those of `fixed`, with up to `noise` on top; of
    /// its messages the part `stray` comes back far later, each time.
    fn broken(&mut self, fixed: impl Fn(usize) -> u64, noise: u64, stray: f64) -> Vec<&[u64]> {
        for message in self.drawn.chunks_mut(self.waits) {
            let strays = real(self.dice.up_to(1_000_000)) < stray * 1e6;
            let late = u64::from(strays) * 10_000_000 * (1 + self.dice.up_to(1_000));
            for (nth, wait) in message.iter_mut().enumerate() {
                *wait = fixed(nth) + self.dice.up_to(noise) + late;
            }
        }
        self.schedules()
    }

    fn schedules(&self) -> Vec<&[u64]> {
        assert_eq!(self.drawn.len(), self.messages * self.waits);
        self.drawn.chunks(self.waits).collect()
    }
}

/// How many of `clients` honest ones the jitter check accuses, where `together` alike do.
fn accused_of_no_jitter(
    clients: u32,
    family: Family,
    promised: (u64, u64),
    samples: (usize, usize),
    together: usize,
) -> u32 {
    let policy = promise(promised.0, promised.1);
    let jitter = jitter::Jitter::promised(&policy).expect("jitter is promised");
    let mut simulated = Clients::new(7, samples);
    let mut last = vec![0; samples.0];
    let mut accused = 0;
    for _ in 0..clients {
        let schedules = simulated.honest(family, promised);
        // Most clients are let off at a glance: where the last waits alone are not alike, the
        // messages are not.
        for (wait, schedule) in last.iter_mut().zip(&schedules) {
            *wait = schedule[samples.1 - 1];
        }
        last.sort_unstable();
        let close = last
            .windows(together)
            .any(|waits| real(waits[together - 1] - waits[0]) <= 2.0 * jitter.reach());
        if close && jitter.crowd(&schedules).len() >= together {
            accused += 1;
        }
    }
    accused
}

fn real(micros: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a wait in microseconds")]
    let real = micros as f64;
    real
}

/// How many of these late waits exceed.
fn exceeding(promise: growth::Promise<'_>, schedules: &[&[u64]]) -> usize {
    schedules
        .iter()
        .flat_map(|waits| &waits[2..])
        .filter(|wait| real(**wait) > promise.threshold())
        .count()
}

/// Five standard deviations above what is expected of so many trials: is exceeded by chance once
/// in three million times.
fn at_the_very_most(trials: u32, chance: f64) -> f64 {
    let trials = f64::from(trials);
    trials * chance + 5.0 * (trials * chance * (1.0 - chance)).sqrt()
}

/// The rate of false alarms at which `FALSE_ALARM` is too rare to be seen in so few clients: the
/// same law, at a rate that shows.
const RATE: f64 = 0.05;

#[test]
fn honest_clients_are_alike_no_more_often_than_calculated() {
    for promised in PROMISES {
        let policy = promise(promised.0, promised.1);
        let jitter = jitter::Jitter::promised(&policy).expect("jitter is promised");
        for samples in [(50, 3), (12, 2)] {
            let Some(together) = jitter.by_chance(samples.0, samples.1, RATE) else {
                panic!("{promised:?}: jitter can be told with {samples:?}");
            };
            for family in FAMILIES {
                let accused = accused_of_no_jitter(200, family, promised, samples, together);
                assert!(
                    f64::from(accused) <= at_the_very_most(200, RATE),
                    "{family:?}, {promised:?}, {samples:?}: {accused} of 200"
                );
            }
        }
    }
}

#[test]
fn the_chance_of_being_alike_is_no_greater_than_calculated_and_is_reached() {
    let mut reached = false;
    for promised in PROMISES {
        let policy = promise(promised.0, promised.1);
        let jitter = jitter::Jitter::promised(&policy).expect("jitter is promised");
        for family in FAMILIES {
            for waits in 1..=4 {
                // The likeliest: the middle of equal jitter, the upper end of the others'.
                let (base, cap) = (promised.0 * 1_000, promised.1 * 1_000);
                let centre: Vec<u64> = (0..waits)
                    .map(|nth| match family {
                        Family::Full => (base << nth).min(cap) / 2,
                        Family::Equal => (base << nth).min(cap) * 3 / 4,
                        Family::Decorrelated => (2 * base).min(cap),
                    })
                    .collect();
                let chance = jitter.chance(waits).min(1.0 - 1e-9);
                let mut clients = Clients::new(3, (4_000, waits));
                let mut schedules = clients.honest(family, promised);
                schedules.retain(|s| jitter.crowd(&[&centre, s]).len() == 2);
                #[expect(clippy::cast_precision_loss, reason = "4,000 at most")]
                let alike = schedules.len() as f64;
                assert!(
                    alike <= at_the_very_most(4_000, chance),
                    "{family:?}, {promised:?}, {waits}: {alike} of 4,000, {chance}"
                );
                reached |=
                    waits == 3 && alike >= 2.0 * 4_000.0 * chance - at_the_very_most(4_000, chance);
            }
        }
    }
    assert!(reached, "the calculated chance is far from any that is");
}

#[test]
fn honest_late_waits_exceed_no_more_rarely_than_calculated() {
    for promised in [(25, 100), (50, 200), (100, 400), (500, 10_000)] {
        let policy = promise(promised.0, promised.1);
        let promise = growth::Promise::of(&policy).expect("backoff is promised");
        for family in FAMILIES {
            let mut clients = Clients::new(11, (4_000, 4));
            let schedules = clients.honest(family, promised);
            let short = 8_000 - exceeding(promise, &schedules);
            #[expect(clippy::cast_precision_loss, reason = "8,000 at most")]
            let short = short as f64;
            assert!(
                short <= at_the_very_most(8_000, 1.0 - promise.exceeds()),
                "{family:?}, {promised:?}: {short} of 8,000"
            );
        }
    }
}

#[test]
fn equal_waits_are_caught_with_the_samples_of_the_standard_scenario() {
    for promised in [(50, 200), (100, 400), (500, 10_000)] {
        let policy = promise(promised.0, promised.1);
        let jitter = jitter::Jitter::promised(&policy).expect("jitter is promised");
        let samples = spread::STATISTIC.samples;
        let together = jitter
            .together(samples.0, samples.1)
            .expect("so many can accuse");
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a wait in microseconds"
        )]
        let noise = jitter.reach() as u64;
        let limit = |nth: usize| ((promised.0 * 1_000) << nth).min(promised.1 * 1_000);
        let mut clients = Clients::new(5, samples);
        let caught = (0..2_000)
            .filter(|_| {
                let schedules = clients.broken(limit, noise, jitter::STRAY);
                jitter.crowd(&schedules).len() >= together
            })
            .count();
        assert!(caught >= 1_980, "{promised:?}: {caught} of 2,000");
    }
}

#[test]
fn flat_waits_are_caught_with_the_samples_of_the_standard_scenario() {
    for promised in [(50, 200), (100, 400), (500, 10_000)] {
        let policy = promise(promised.0, promised.1);
        let promise = growth::Promise::of(&policy).expect("backoff is promised");
        let samples = growth::STATISTIC.samples;
        let most = promise
            .at_most(samples.0 * (samples.1 - 2))
            .expect("so many can accuse");
        let mut clients = Clients::new(13, samples);
        let caught = (0..2_000)
            .filter(|_| {
                let schedules = clients.broken(|_| promised.0 * 1_000, 30_000, growth::STRAY / 2.0);
                exceeding(promise, &schedules) <= most
            })
            .count();
        assert!(caught >= 1_980, "{promised:?}: {caught} of 2,000");
    }
}

#[test]
fn the_samples_of_the_standard_suite_are_enough_for_the_promises_that_people_make() {
    let enough = |statistic: &super::Statistic, policy: &Policy| {
        let (messages, waits) = statistic.samples;
        let figures = (statistic.figures)(policy, messages, waits).expect("so many can accuse");
        assert!(
            figures.power >= POWER && figures.false_alarm <= FALSE_ALARM,
            "{figures:?}"
        );
    };
    for (base, cap) in [(50, 200), (100, 400), (200, 10_000), (500, 60_000)] {
        enough(&spread::STATISTIC, &promise(base, cap));
        enough(&growth::STATISTIC, &promise(base, cap));
    }
}

#[test]
fn fewer_messages_than_stated_accuse_nobody() {
    // Two late waits each, of a promise so long that noise does not count.
    let promise = promise(1_000_000, 4_000_000);
    let growth = growth::Promise::of(&promise).expect("backoff is promised");
    assert_eq!(growth.at_most(2 * FEWEST_MESSAGES - 1), None);
}

#[test]
#[ignore = "takes a while: six million clients"]
fn a_million_honest_clients_of_each_family_are_not_accused_more_often_than_stated() {
    // Of a million clients, one for each check and each history at the stated rate. Ten would be
    // so by chance once in ten million runs.
    const CLIENTS: u32 = 1_000_000;
    let promised = (50, 200);
    let policy = promise(promised.0, promised.1);
    let jitter = jitter::Jitter::promised(&policy).expect("jitter is promised");
    let growth = growth::Promise::of(&policy).expect("backoff is promised");
    std::thread::scope(|threads| {
        for family in FAMILIES {
            threads.spawn(move || {
                let samples = spread::STATISTIC.samples;
                let together = jitter
                    .together(samples.0, samples.1)
                    .expect("so many can accuse");
                let accused = accused_of_no_jitter(CLIENTS, family, promised, samples, together);
                assert!(accused <= 10, "{family:?}: {accused} accused of no jitter");

                let samples = growth::STATISTIC.samples;
                let most = growth
                    .at_most(samples.0 * (samples.1 - 2))
                    .expect("so many can accuse");
                let mut clients = Clients::new(17, samples);
                let accused = (0..CLIENTS)
                    .filter(|_| exceeding(growth, &clients.honest(family, promised)) <= most)
                    .count();
                assert!(accused <= 10, "{family:?}: {accused} accused of no backoff");
            });
        }
    });
}

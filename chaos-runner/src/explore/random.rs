//! Scripts beyond exhaustion: drawn at random, for several messages at once, and shrunk.
//!
//! Owns the [`Case`], how one is drawn from the seed, and how a failing one is made as small as it
//! can be. Running them is [`super::explorer`]'s.

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::{alphabet::Alphabet, letter::Letter, script::Script};

/// The most messages in one case.
const MESSAGES: usize = 3;

/// One lab's worth: a script for each of a few messages.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Case(pub Vec<Script>);

/// Case `nth` of a seed: the same whatever else is drawn.
#[must_use]
pub fn draw(seed: u64, nth: u64, alphabet: &Alphabet, depth: usize) -> Case {
    let mixed = seed ^ nth.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut rng = ChaCha8Rng::seed_from_u64(mixed);
    let letters = alphabet.letters();
    let messages = rng.random_range(1..=MESSAGES);
    let script = |rng: &mut ChaCha8Rng| {
        let length = rng.random_range(0..=depth);
        (0..length)
            .map(|_| letters[rng.random_range(0..letters.len())])
            .collect::<Vec<Letter>>()
    };
    Case((0..messages).map(|_| Script(script(&mut rng))).collect())
}

/// Every case that is one step smaller: a message less, a fault less, an earlier fault of the
/// alphabet in place of one. The boldest first.
#[must_use]
pub fn smaller(case: &Case, alphabet: &Alphabet) -> Vec<Case> {
    let mut all = Vec::new();
    if case.0.len() > 1 {
        for at in 0..case.0.len() {
            let mut scripts = case.0.clone();
            scripts.remove(at);
            all.push(Case(scripts));
        }
    }
    let with = |at: usize, script: Script| {
        let mut scripts = case.0.clone();
        scripts[at] = script;
        Case(scripts)
    };
    for (at, script) in case.0.iter().enumerate() {
        for place in 0..script.len() {
            all.push(with(at, script.without(place)));
        }
    }
    for (at, script) in case.0.iter().enumerate() {
        for (place, old) in script.0.iter().enumerate() {
            for letter in alphabet.letters().iter().filter(|letter| *letter < old) {
                all.push(with(at, script.with(place, *letter)));
            }
        }
    }
    all
}

/// Makes a failing case as small as it can be: no single step makes it smaller and still fail.
/// `fails` runs a case.
///
/// # Errors
///
/// Those of `fails`.
pub async fn shrink<E>(
    case: Case,
    alphabet: &Alphabet,
    mut fails: impl AsyncFnMut(&Case) -> Result<bool, E>,
) -> Result<Case, E> {
    let mut smallest = case;
    'again: loop {
        for candidate in smaller(&smallest, alphabet) {
            if fails(&candidate).await? {
                smallest = candidate;
                continue 'again;
            }
        }
        return Ok(smallest);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn alphabet() -> Alphabet {
        Alphabet::new(Letter::ALL[..6].iter().copied())
    }

    /// What a case must have in it to fail: these faults in this order in one message.
    fn holds(case: &Case, wanted: &[Letter]) -> bool {
        case.0.iter().any(|script| {
            let mut rest = wanted.iter().peekable();
            for letter in &script.0 {
                if rest.peek() == Some(&letter) {
                    rest.next();
                }
            }
            rest.peek().is_none()
        })
    }

    fn run<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime")
            .block_on(future)
    }

    proptest! {
        #[test]
        fn a_shrunk_case_still_fails_and_no_step_makes_it_smaller(
            seed in any::<u64>(), nth in 0_u64..50,
            wanted in prop::collection::vec(prop::sample::select(Letter::ALL[..6].to_vec()), 1..3),
        ) {
            let drawn = draw(seed, nth, &alphabet(), 8);
            prop_assume!(holds(&drawn, &wanted));
            let shrunk = run(shrink(drawn, &alphabet(), async |case| {
                Ok::<_, ()>(holds(case, &wanted))
            }));
            let shrunk = shrunk.expect("it cannot go wrong");
            prop_assert!(holds(&shrunk, &wanted));
            prop_assert!(smaller(&shrunk, &alphabet()).iter().all(|c| !holds(c, &wanted)));
            prop_assert_eq!(shrunk, Case(vec![Script(wanted)]));
        }

        #[test]
        fn a_case_depends_on_its_seed_and_number_alone(seed in any::<u64>(), nth in any::<u64>()) {
            let (one, other) = (draw(seed, nth, &alphabet(), 5), draw(seed, nth, &alphabet(), 5));
            prop_assert_eq!(&one, &other);
            prop_assert!((1..=MESSAGES).contains(&one.0.len()));
            prop_assert!(one.0.iter().all(|script| script.len() <= 5));
        }
    }
}

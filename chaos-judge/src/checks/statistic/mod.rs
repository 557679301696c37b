//! The checks that weigh many samples against chance.
//!
//! Owns [`Statistic`]: what such a check promises of itself. A client that draws its waits can
//! draw equal ones, so that nothing is proven by one sample, and everything rests on two figures:
//!
//! - its *false-alarm rate*: how often an honest client is accused in one history. At most
//!   `FALSE_ALARM`, so that [`HISTORIES`] histories, more than the standard suite has of enough
//!   samples, accuse at most once in [`RUN_FALSE_ALARM`];
//! - its *power*: how often a broken client is accused. `POWER` or more, or else the history has
//!   too few samples: it then passes no judgement, and says how many it takes.
//!
//! Both are calculated from the client's promise and the number of samples; how, is in [`jitter`]
//! and [`growth`]. Simulated clients hold them to it (`simulation`). What one sample proves is
//! [`super::bound`]'s.

mod binomial;
pub(super) mod growth;
mod jitter;
#[cfg(test)]
mod simulation;
pub(super) mod spread;

use std::{fmt::Write as _, time::Duration};

use stub_provider::duration::Span;

use crate::{
    history::{
        Answer,
        retry::{Cause, Retry, own_count, retries, wire_count},
        view::{Mark, View},
    },
    policy::{Backoff, Policy},
};

/// The highest rate of false alarms of one check in one history.
const FALSE_ALARM: f64 = 1e-6;
/// The most histories of a run that may have enough samples, all of them together counted as one.
pub const HISTORIES: u8 = 10;
/// The fewest messages, each refused four times, of whose waits a check can accuse.
pub const FEWEST_MESSAGES: usize = 7;
/// The highest rate of false alarms of one check in a whole run of the standard suite.
const RUN_FALSE_ALARM: f64 = FALSE_ALARM * HISTORIES as f64;
/// The least power with which a history without a finding counts as clean.
const POWER: f64 = 0.99;
/// The most samples that a history is asked for; where more would be needed, the promise is at
/// fault.
const MOST_SAMPLES: usize = 1_000;

/// What a check that weighs samples says of itself.
#[derive(Clone, Copy, Debug)]
pub struct Statistic {
    /// The tag by which a scenario says that it is about this check: there, "undecided" is
    /// Inconclusive.
    pub tag: &'static str,
    /// Whom it does not accuse more often than `FALSE_ALARM`.
    pub honest: &'static str,
    /// Whom it accuses with `POWER` or more.
    pub broken: &'static str,
    /// How many messages the scenario for it has in the standard suite, and how often each is
    /// refused and comes back at least, where it makes five attempts.
    pub samples: (usize, usize),
    /// For a promise, a number of messages and one of waits of each: the rate of false alarms and
    /// the power.
    figures: fn(&Policy, usize, usize) -> Option<Figures>,
}

/// What a check can do with some samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Figures {
    /// How many samples accuse.
    pub(crate) accuse: usize,
    /// How many there are.
    pub(crate) of: usize,
    /// How often that many do so of an honest client, at most.
    pub(crate) false_alarm: f64,
    /// How often that many do so of a broken one, at least.
    pub(crate) power: f64,
}

/// The waits of an intent that are the client's own, and that nothing but its backoff decides: the
/// first ones, up to the first that is not. Empty where a second layer sends as well, whose
/// requests the client's own waits do not precede.
fn own_waits<'v, 'h>(view: &'v View<'h>, intent: usize) -> Vec<Retry<'v, 'h>> {
    let all = retries(view, intent);
    if own_count(view, intent).is_some_and(|own| own < wire_count(&all)) {
        return Vec::new();
    }
    all.into_iter()
        .take_while(|retry| {
            let refused = matches!(
                retry.cause,
                Cause::Refusal | Cause::LateRefusal | Cause::ServerError
            );
            refused && !asks_to_wait(retry.from.answer)
        })
        .collect()
}

fn asks_to_wait(answer: Option<(Mark, &Answer)>) -> bool {
    answer.is_some_and(|(_, a)| {
        a.headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("retry-after"))
    })
}

/// Microseconds, for calculating with.
fn micros(span: Duration) -> f64 {
    span.as_secs_f64() * 1e6
}

/// The longest wait that the promise allows before retry `nth` (from 0), in microseconds.
fn limit(backoff: &Backoff, nth: usize) -> f64 {
    let doubled = 2_f64.powi(i32::try_from(nth).unwrap_or(i32::MAX));
    (micros(backoff.base.0) * doubled).min(micros(backoff.cap.0))
}

/// A promise of jitter, of five attempts, with base and cap in milliseconds.
fn promise(base: u64, cap: u64) -> Policy {
    Policy {
        max_attempts: Some(5),
        backoff: Some(Backoff {
            base: Span::from_millis(base),
            cap: Span::from_millis(cap),
            jitter: true,
        }),
        ..Policy::default()
    }
}

/// The promises that the reference shows figures for, as base and cap in milliseconds, with five
/// attempts each.
const SHOWN: [(u64, u64); 4] = [(50, 200), (100, 400), (100, 200), (200, 10_000)];

/// The reference of these checks, in Markdown.
pub(super) fn reference() -> String {
    let mut text = format!(
        "The waits of a client are drawn by chance, and chance can make them look wrong. These checks weigh many\n\
         samples. In one history a client as in the second column is accused with a probability of at most\n\
         {FALSE_ALARM:.0e}, in a run of the standard suite of at most {RUN_FALSE_ALARM:.0e}. One as in the third column is accused with a\n\
         probability of {POWER} or more; a history with too few samples for that, and without a finding, decides\n\
         nothing: a scenario with the check's tag is then inconclusive, and says how many samples it takes.\n\n\
         | kind | not accused | accused | tag |\n|---|---|---|---|\n"
    );
    // Writing to a String cannot fail.
    let mut line = |line: String| {
        let _written = writeln!(text, "{line}");
    };
    let kinds = [
        ("no-jitter", &spread::STATISTIC),
        ("no-backoff", &growth::STATISTIC),
    ];
    for (kind, statistic) in kinds {
        let (honest, broken, tag) = (statistic.honest, statistic.broken, statistic.tag);
        line(format!("| `{kind}` | {honest} | {broken} | `{tag}` |"));
    }
    line(String::new());
    line("With the samples of the scenarios `jitter` and `backoff`, for a client that makes five attempts:".into());
    line(String::new());
    line(
        "| kind | `base` | `cap` | accused from | false alarms, at most | power, at least |".into(),
    );
    line("|---|---|---|---|---|---|".into());
    for (base, cap) in SHOWN {
        let policy = promise(base, cap);
        for (kind, statistic) in kinds {
            let (messages, waits) = statistic.samples;
            if let Some(f) = (statistic.figures)(&policy, messages, waits) {
                line(format!(
                    "| `{kind}` | {base} ms | {cap} ms | {} of {} | {:.0e} | {:.3} |",
                    f.accuse,
                    f.of,
                    f.false_alarm,
                    // Rounded down: it is a lower bound.
                    (f.power * 1e3).floor() / 1e3,
                ));
            }
        }
    }
    text
}

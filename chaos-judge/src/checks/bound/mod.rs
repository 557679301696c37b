//! The checks of times that one sample proves.
//!
//! Owns [`Bound`]: what such a check holds a client to, and how far the clocks are trusted. No
//! chance is in it: the client drew nothing, and what it did too early or too late it did. What
//! takes many samples is [`super::statistic`]'s.

pub(super) mod expiry;
pub(super) mod overlap;
pub(super) mod retention;
pub(super) mod retry_after;

use std::fmt::Write as _;

/// A time that a client must keep.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// What one sample proves.
    pub proof: &'static str,
    /// How much of it is put down to clocks and to the way of a request, in microseconds.
    pub tolerance_us: u64,
}

/// The reference of these checks, in Markdown.
pub(super) fn reference() -> String {
    let mut text = String::from(
        "One sample proves these: nothing in them is left to chance. The tolerance is what the clocks and the way of a\n\
         request can make of it.\n\n\
         | kind | proof | tolerance |\n|---|---|---|\n",
    );
    let rows = [
        (
            "`retry-after-ignored`, `retry-after-misread`",
            retry_after::BOUND,
        ),
        ("`sent-after-deadline`", expiry::BOUND),
        ("`key-outlived`", retention::BOUND),
        (
            "`lease-too-short`, `sweeper-too-eager`, `no-claim-lock`",
            overlap::BOUND,
        ),
    ];
    for (
        kinds,
        Bound {
            proof,
            tolerance_us,
        },
    ) in rows
    {
        let tolerance = tolerance_us / 1_000;
        // Writing to a String cannot fail.
        let _written = writeln!(text, "| {kinds} | {proof} | {tolerance} ms |");
    }
    text
}

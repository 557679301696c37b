//! What was covered, to be shown to others: a JSON document and a badge.
//!
//! Owns both. A badge is given for a pass only.

use serde_json::{Value, json};

use super::result::Exploration;
use crate::exit_code::ExitCode;

/// The certificate.
#[must_use]
pub fn certificate(explored: &Exploration) -> Value {
    let counts = &explored.counts;
    json!({
        "certificate_format": 1,
        "verdict": match explored.exit_code() {
            ExitCode::Pass => "pass",
            ExitCode::Violation => "fail",
            _ => "inconclusive",
        },
        "client": {
            "name": explored.client,
            "version": explored.client_version,
            "file": explored.client_file,
        },
        "tool": { "name": "chaos-runner", "version": explored.tool },
        "alphabet": explored.alphabet,
        "depth": explored.depth,
        "random": explored.random,
        "seed": explored.seed,
        "scripts": {
            "total": explored.total,
            "run": counts.run,
            "passed": counts.passed,
            "failed": counts.failed,
            "lost": counts.lost,
            "covered_without_running": counts.covered,
        },
        "coverage": coverage(explored),
        "why_covered": "after a shorter script with the same beginning the client makes no further \
                        attempt, so it never comes to the last fault",
        "began": explored.began,
        "seconds": seconds(explored),
        "findings": explored.kinds.iter().map(|k| json!({
            "kind": k.kind,
            "severity": k.severity,
            "script": k.script,
        })).collect::<Vec<_>>(),
    })
}

/// The part of the scripts of which something is known, from 0 to 1.
#[must_use]
pub fn coverage(explored: &Exploration) -> f64 {
    if explored.total == 0 {
        return 0.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "a fraction for people")]
    let part = explored.counts.known() as f64 / explored.total as f64;
    part
}

fn seconds(explored: &Exploration) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a time for people")]
    let millis = explored.millis as f64;
    millis / 1_000.0
}

/// A line of Markdown for a README; `None` where not everything passed.
#[must_use]
pub fn badge(explored: &Exploration) -> Option<String> {
    // A part of the whole is no whole, and cases drawn at random cover no known part of it.
    let whole = explored.counts.known() == explored.total && !explored.random;
    let complete = whole && explored.exit_code() == ExitCode::Pass;
    complete.then(|| {
        let what = format!("{} fault scripts, depth {}", explored.total, explored.depth);
        // shields.io writes `-` as `--`, a space as `_`.
        let message = what.replace('-', "--").replace(' ', "_").replace(',', "%2C");
        format!(
            "![Exactly once: {what}](https://img.shields.io/badge/exactly__once-{message}-brightgreen)"
        )
    })
}

//! The run as one page that needs nothing else: no network, no other file.
//!
//! Owns the page's files, which are compiled in, and how they become one. What stands in it is
//! `run`'s (the first screen) and `detail`'s (each scenario, opened when it is asked for).
//!
//! Everything that a client or a provider sent is data: JSON in blocks that no browser runs, which
//! the page's script shows as text. A policy in the page lets nothing else run and nothing be
//! loaded.

mod chunk;
mod detail;
mod run;

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use sha2::{Digest as _, Sha256};

use crate::result::SuiteResult;
use chunk::Chunks;

/// The texts of scenario files, by path, or by name in the standard suite.
pub type Sources = BTreeMap<String, String>;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");

/// The page's script: one scope, joined in this order.
const SCRIPT: &str = concat!(
    "'use strict';\n(() => {\n",
    include_str!("dom.js"),
    include_str!("store.js"),
    include_str!("list.js"),
    include_str!("sequence.js"),
    include_str!("event.js"),
    include_str!("timeline.js"),
    include_str!("waits.js"),
    include_str!("intents.js"),
    include_str!("history.js"),
    include_str!("scenario.js"),
    include_str!("overview.js"),
    include_str!("app.js"),
    "})();\n",
);

/// Writes the page.
///
/// # Errors
///
/// When `out` cannot be written.
pub fn write(out: &mut impl Write, suite: &SuiteResult, sources: &Sources) -> io::Result<()> {
    let mut chunks = Chunks::default();
    let run = run::document(suite, sources, &mut chunks)?;
    let mut rest = PAGE;
    for part in ["policy", "style", "run", "script", "chunks"] {
        let mark = format!("{{{{{part}}}}}");
        let (before, after) = rest.split_once(&mark).unwrap_or((rest, ""));
        out.write_all(before.as_bytes())?;
        match part {
            "policy" => out.write_all(policy().as_bytes())?,
            "style" => out.write_all(STYLE.as_bytes())?,
            "run" => out.write_all(inert(&run.to_string()).as_bytes())?,
            "script" => out.write_all(SCRIPT.as_bytes())?,
            _ => chunks.write(out)?,
        }
        rest = after;
    }
    out.write_all(rest.as_bytes())
}

/// Nothing runs and nothing styles but what is compiled in, and nothing is loaded from anywhere
/// (Content Security Policy Level 3).
fn policy() -> String {
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text.as_bytes()));
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data:; \
         base-uri 'none'; form-action 'none'",
        hash(SCRIPT),
        hash(STYLE)
    )
}

/// JSON that no HTML parser takes for markup.
fn inert(json: &str) -> String {
    json.replace('<', "\\u003c")
}

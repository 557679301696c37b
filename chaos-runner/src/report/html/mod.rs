//! The run as one page that needs nothing else: no network, no other file.
//!
//! Owns the page's files, which are compiled in, and how they become one. What stands in it is
//! `run`'s (the first screen) and `detail`'s (each scenario, opened when it is asked for); the page of
//! an exploration is `exploration`'s.
//!
//! Everything that a client or a provider sent is data: JSON in blocks that no browser runs, which
//! the page's script shows as text. A policy in the page lets nothing else run and nothing be
//! loaded.

mod chunk;
mod detail;
mod exploration;
mod run;

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{explore::result::Exploration, result::SuiteResult};
use chunk::Chunks;

/// The texts of scenario files, by path, or by name in the standard suite.
pub type Sources = BTreeMap<String, String>;

/// The frame of every page.
const FRAME: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");

/// The script is one scope, joined in this order.
const RUN: Page = Page {
    title: "Report",
    body: include_str!("run.html"),
    script: concat!(
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
    ),
};

const EXPLORATION: Page = Page {
    title: "Exploration",
    body: include_str!("exploration.html"),
    script: concat!(
        "'use strict';\n(() => {\n",
        include_str!("dom.js"),
        include_str!("grid.js"),
        include_str!("exploration.js"),
        "})();\n",
    ),
};

/// Writes the page of a run.
///
/// # Errors
///
/// When `out` cannot be written.
pub fn write(out: &mut impl Write, suite: &SuiteResult, sources: &Sources) -> io::Result<()> {
    let mut chunks = Chunks::default();
    let run = run::document(suite, sources, &mut chunks)?;
    RUN.write(out, &run, &chunks)
}

/// Writes the page of an exploration. `verdicts` has a line for each script that was run: its
/// letters, what became of it, and the kinds that showed, as in `scripts.tsv`.
///
/// # Errors
///
/// When `out` cannot be written.
pub fn write_exploration(
    out: &mut impl Write,
    explored: &Exploration,
    verdicts: &[String],
) -> io::Result<()> {
    let run = exploration::document(explored, verdicts);
    EXPLORATION.write(out, &run, &Chunks::default())
}

/// What differs from page to page.
struct Page {
    title: &'static str,
    body: &'static str,
    script: &'static str,
}

impl Page {
    /// The page with its data in place.
    fn write(&self, out: &mut impl Write, run: &Value, chunks: &Chunks) -> io::Result<()> {
        let mut rest = FRAME;
        while let Some((before, after)) = rest.split_once("{{") {
            let Some((part, after)) = after.split_once("}}") else {
                break;
            };
            out.write_all(before.as_bytes())?;
            match part {
                "policy" => out.write_all(self.policy().as_bytes())?,
                "title" => out.write_all(self.title.as_bytes())?,
                "body" => out.write_all(self.body.as_bytes())?,
                "style" => out.write_all(STYLE.as_bytes())?,
                "run" => out.write_all(inert(&run.to_string()).as_bytes())?,
                "script" => out.write_all(self.script.as_bytes())?,
                _ => chunks.write(out)?,
            }
            rest = after;
        }
        out.write_all(rest.as_bytes())
    }

    /// Nothing runs and nothing styles but what is compiled in, and nothing is loaded from
    /// anywhere (Content Security Policy Level 3).
    fn policy(&self) -> String {
        let hash = |text: &str| STANDARD.encode(Sha256::digest(text.as_bytes()));
        format!(
            "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data:; \
             base-uri 'none'; form-action 'none'",
            hash(self.script),
            hash(STYLE)
        )
    }
}

/// JSON that no HTML parser takes for markup.
fn inert(json: &str) -> String {
    json.replace('<', "\\u003c")
}

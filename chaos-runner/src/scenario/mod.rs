//! Scenario files: from TOML to valid [`Scenario`]s, and from those to [`Plan`]s.
//!
//! Owns the file format (`file`, `toxic`), the matrix, the checks that make a scenario valid
//! (`slips`, `resolve`, `fault`, `provider`, `place`) and the invention of messages from a seed. Pure: text in, values out.
//! Finding and reading files is [`crate::suite`]'s.

mod fault;
mod file;
mod invent;
mod matrix;
mod place;
mod provider;
mod resolve;
mod slips;
mod toxic;
pub(crate) mod write;

use std::time::Duration;

pub use file::CallerKeys;
pub(crate) use file::ScenarioFile;

use crate::{
    diagnostic::FileError,
    document::{Document, hint},
    plan::{Expect, Need, Plan, PlannedFault},
};

/// A valid scenario; a seed makes a [`Plan`] of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Its name: the file's stem, with the matrix value where there is one
    /// (`server-errors[status=503]`).
    pub name: String,
    /// What happens, in one line.
    pub title: String,
    /// Why it matters, in one sentence.
    pub why: String,
    /// Words to select it by.
    pub tags: Vec<String>,
    /// The file, as it was named; `None` for one of the embedded suite.
    pub file: Option<String>,
    /// What it needs of the client, said or inferred, in the order of [`Need`].
    pub needs: Vec<Need>,
    /// The faults, in the order of the file.
    pub faults: Vec<PlannedFault>,
    /// How long the provider remembers keys; `None`: as its profile says.
    pub retention: Option<Duration>,
    /// How many workers it asks for; `None`: as the client file says.
    pub workers: Option<u32>,
    /// Whether a second provider stands by.
    pub failover: bool,
    /// What must come out.
    pub expect: Expect,
    one_by_one: bool,
    wanted: invent::Wanted,
}

/// Reads a scenario file: one scenario, or one for each combination of its matrix.
///
/// `file` names it in errors, and its stem names the scenarios.
///
/// # Errors
///
/// What is wrong with the text, with the place. Text that is wrong in several ways yields all
/// that could be found.
pub fn load(source: &str, file: &str) -> Result<Vec<Scenario>, FileError> {
    let document = Document::parse(source, file, hint)?;
    matrix::expand(&document)?
        .into_iter()
        .map(|(suffix, document)| {
            slips::slips(&document)?;
            let raw: ScenarioFile = document.read()?;
            resolve::scenario(&raw, &document, &format!("{}{suffix}", stem(file)))
        })
        .collect()
}

impl Scenario {
    /// The plan for a seed.
    #[must_use]
    pub fn plan(&self, seed: u64) -> Plan {
        Plan {
            name: self.name.clone(),
            title: self.title.clone(),
            why: self.why.clone(),
            tags: self.tags.clone(),
            file: self.file.clone(),
            needs: self.needs.clone(),
            seed,
            intents: invent::intents(&self.wanted, &self.name, seed),
            one_by_one: self.one_by_one,
            faults: self.faults.clone(),
            retention: self.retention,
            workers: self.workers,
            failover: self.failover,
            expect: self.expect.clone(),
        }
    }

    /// How many messages the business wants sent.
    #[must_use]
    pub fn intents(&self) -> usize {
        self.wanted.count
    }
}

/// The plan that goes before all others: one message, no faults. A client that fails here is
/// not judged.
#[must_use]
pub fn baseline(seed: u64) -> Plan {
    Plan {
        why: "A client that does not send without faults cannot be judged with them.".to_owned(),
        ..without_faults("baseline", "One message, nothing goes wrong", 1, seed)
    }
}

/// A plan of `count` messages (at most 10,000) to which nothing happens.
#[must_use]
pub fn without_faults(name: &str, title: &str, count: usize, seed: u64) -> Plan {
    let wanted = invent::Wanted {
        count,
        ..invent::Wanted::ONE
    };
    Plan {
        name: name.to_owned(),
        title: title.to_owned(),
        why: String::new(),
        tags: Vec::new(),
        file: None,
        needs: Vec::new(),
        seed,
        intents: invent::intents(&wanted, name, seed),
        one_by_one: false,
        faults: Vec::new(),
        retention: None,
        workers: None,
        failover: false,
        expect: Expect::default(),
    }
}

fn stem(file: &str) -> &str {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    name.strip_suffix(".toml").unwrap_or(name)
}

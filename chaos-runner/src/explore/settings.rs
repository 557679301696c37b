//! What an exploration is asked for.
//!
//! Owns [`Settings`], and the mark by which two explorations of one client file are known.

use std::{path::PathBuf, sync::Arc, time::Duration};

use super::{
    action::Timing,
    alphabet::Alphabet,
    script::{Shard, hash},
};
use crate::{client_file::ClientFile, result::Rules};

/// What to explore.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The client under test.
    pub client: Arc<ClientFile>,
    /// Which version of it, where the caller says so.
    pub client_version: Option<String>,
    /// The words that choose it on the command line.
    pub client_words: Vec<String>,
    /// The faults.
    pub alphabet: Alphabet,
    /// The most faults in a script.
    pub depth: usize,
    /// The seed of messages and orders.
    pub seed: u64,
    /// How many labs at once, at least 1.
    pub jobs: usize,
    /// The most scripts in one lab.
    pub batch: usize,
    /// Which part.
    pub shard: Shard,
    /// When to stop.
    pub max_time: Option<Duration>,
    /// How many cases are drawn at random once each fault has been run by itself; `None`: all
    /// scripts are run instead.
    pub random: Option<u64>,
    /// Whether to stop after the level of the first failure.
    pub fail_fast: bool,
    /// What counts.
    pub rules: Rules,
    /// Below which directory to leave what was seen.
    pub base: PathBuf,
}

impl Settings {
    /// What the letters need to know of the client.
    #[must_use]
    pub fn timing(&self) -> Timing {
        Timing {
            read_timeout: self.client.policy.read_timeout.map(|span| span.0),
        }
    }

    /// Which client file, or which command, is explored.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let text = self
            .client
            .file
            .as_ref()
            .and_then(|file| std::fs::read_to_string(file).ok())
            .unwrap_or_else(|| self.client_words.join("\0"));
        format!("{:016x}", hash(&text))
    }
}

//! What an exploration came to: the value that reports, certificates and merges read.
//!
//! Owns [`Exploration`], its JSON form and its exit code.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

use super::{
    alphabet::Alphabet,
    script::{Script, Shard},
};
use crate::{bug_kind::BugKind, exit_code::ExitCode, severity::Severity};

/// The version of the format; a reader refuses a higher one.
pub const FORMAT: u32 = 1;

/// What an exploration came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exploration {
    /// The version of this format, [`FORMAT`].
    pub explore_format: u32,
    /// The version of the tool.
    pub tool: String,
    /// The client's name.
    pub client: String,
    /// Which version of the client, where the caller said so.
    #[serde(default)]
    pub client_version: Option<String>,
    /// FNV-1a of the client file, in hexadecimal: which settings were explored.
    pub client_file: String,
    /// The words that choose the client on the command line.
    pub client_words: Vec<String>,
    /// The letters.
    pub alphabet: Alphabet,
    /// The most faults in a script.
    pub depth: usize,
    /// The seed.
    pub seed: u64,
    /// Which part of the whole it is.
    pub shard: Shard,
    /// How many scripts there are, over all parts; with those at random, how many cases beside
    /// the single faults.
    pub total: u64,
    /// Whether cases were drawn at random in place of all scripts.
    #[serde(default)]
    pub random: bool,
    /// What became of those of this part.
    pub counts: Counts,
    /// The same by length, from 1.
    pub levels: Vec<Level>,
    /// What is wrong with the client, the smallest script first.
    pub kinds: Vec<KindFound>,
    /// What was seen among other scripts and did not come back alone.
    pub unconfirmed: Vec<KindFound>,
    /// Why nothing can be learned, where the client fails without any fault.
    pub baseline: Option<String>,
    /// Why it ended before its end.
    pub stopped: Option<String>,
    /// That the client was slower than the exploration, and what to do.
    pub slow: Option<String>,
    /// How many scripts showed bad manners among many, and none among few: the machine was busy.
    #[serde(default)]
    pub unsteady: u64,
    /// What many messages together seemed to show and a busy machine left open.
    #[serde(default)]
    pub doubts: Vec<String>,
    /// Whether it was interrupted.
    pub interrupted: bool,
    /// How long it took, in milliseconds.
    pub millis: u64,
    /// When it began, in UTC.
    pub began: String,
}

/// What became of scripts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Run.
    pub run: u64,
    /// Run, and nothing was wrong.
    pub passed: u64,
    /// Run, and the client did something wrong.
    pub failed: u64,
    /// Run, and nothing can be said.
    pub lost: u64,
    /// Not run, since the client does not come to their last fault: after a shorter script it
    /// makes no further attempt.
    pub covered: u64,
}

impl Counts {
    /// How many scripts something is known of.
    #[must_use]
    pub fn known(&self) -> u64 {
        self.passed + self.failed + self.covered
    }

    /// Adds those of another part.
    pub fn add(&mut self, other: &Self) {
        self.run += other.run;
        self.passed += other.passed;
        self.failed += other.failed;
        self.lost += other.lost;
        self.covered += other.covered;
    }
}

/// The scripts of one length.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Level {
    /// How many faults each has; 0: cases drawn at random.
    pub length: usize,
    /// What became of them. Covered are those that begin with one of this length.
    pub counts: Counts,
    /// How long it took, in milliseconds.
    pub millis: u64,
}

/// A kind of defect, with the smallest script that shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindFound {
    /// The kind.
    pub kind: BugKind,
    /// How grave it is here.
    pub severity: Severity,
    /// The smallest script.
    pub script: Script,
    /// How many messages go through it at once: more than one where it shows in company only.
    pub company: usize,
    /// The scripts of other messages beside it, where it needs them.
    #[serde(default)]
    pub beside: Vec<Script>,
    /// In how many scripts it showed.
    pub scripts: u64,
    /// How often it came back when the script was run alone.
    pub reproduced: u32,
    /// How often the script was run alone.
    pub runs: u32,
    /// The nearest neighbour that passes, in words.
    pub neighbour: Option<String>,
    /// What was seen, in one line.
    pub detail: String,
    /// The script as a scenario file.
    pub scenario: Option<PathBuf>,
    /// The history of a run alone.
    pub history: Option<PathBuf>,
}

impl Exploration {
    /// Whether every script of this part is known to pass.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.baseline.is_none() && self.stopped.is_none() && !self.interrupted
    }

    /// How the program ends. What is not known never passes.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        if self.interrupted {
            ExitCode::Interrupted
        } else if self.baseline.is_some() {
            ExitCode::Inconclusive
        } else if !self.kinds.is_empty() {
            ExitCode::Violation
        } else if self.stopped.is_some()
            || self.counts.lost > 0
            || !self.unconfirmed.is_empty()
            || !self.doubts.is_empty()
        {
            ExitCode::Inconclusive
        } else if self.counts.run == 0 {
            ExitCode::NothingRan
        } else {
            ExitCode::Pass
        }
    }

    /// Joins the parts of one exploration. The parts that are missing make it incomplete.
    ///
    /// # Errors
    ///
    /// What two parts do not have in common, or that a part is there twice.
    pub fn merge(parts: Vec<Self>) -> Result<Self, String> {
        let mut parts = parts.into_iter();
        let Some(mut whole) = parts.next() else {
            return Err("there is nothing to merge".into());
        };
        let of = whole.shard.of;
        let mut present = vec![whole.shard.index];
        for part in parts {
            for (what, same) in [
                ("client", part.client == whole.client),
                (
                    "version of the client",
                    part.client_version == whole.client_version,
                ),
                ("client file", part.client_file == whole.client_file),
                ("alphabet", part.alphabet == whole.alphabet),
                ("depth", part.depth == whole.depth),
                ("seed", part.seed == whole.seed),
                ("version of the tool", part.tool == whole.tool),
                ("number of parts", part.shard.of == of),
            ] {
                if !same {
                    return Err(format!(
                        "the parts are not of one exploration: another {what}"
                    ));
                }
            }
            if present.contains(&part.shard.index) {
                return Err(format!("part {} is there twice", part.shard));
            }
            present.push(part.shard.index);
            whole.add(part);
        }
        whole.kinds = joined(std::mem::take(&mut whole.kinds));
        whole.unconfirmed = joined(std::mem::take(&mut whole.unconfirmed));
        // What came back in one part is believed of the others too.
        let kinds = &mut whole.kinds;
        whole.unconfirmed.retain(|unconfirmed| {
            let known = kinds.iter_mut().find(|k| k.kind == unconfirmed.kind);
            if let Some(known) = known {
                known.scripts = scripts(known, unconfirmed);
                return false;
            }
            true
        });
        let missing: Vec<String> = (1..=of)
            .filter(|index| !present.contains(index))
            .map(|index| Shard { index, of }.to_string())
            .collect();
        if !missing.is_empty() {
            whole.stopped = Some(format!("missing: part {}", missing.join(", part ")));
        }
        whole.shard = Shard::WHOLE;
        Ok(whole)
    }

    fn add(&mut self, part: Self) {
        self.counts.add(&part.counts);
        for level in part.levels {
            match self.levels.iter_mut().find(|l| l.length == level.length) {
                Some(own) => {
                    own.counts.add(&level.counts);
                    own.millis = own.millis.max(level.millis);
                }
                None => self.levels.push(level),
            }
        }
        self.kinds.extend(part.kinds);
        self.unconfirmed.extend(part.unconfirmed);
        self.baseline = self.baseline.take().or(part.baseline);
        self.stopped = self.stopped.take().or(part.stopped);
        self.slow = self.slow.take().or(part.slow);
        self.unsteady += part.unsteady;
        self.doubts.extend(part.doubts);
        self.interrupted |= part.interrupted;
        self.millis = self.millis.max(part.millis);
    }
}

/// In how many scripts a kind showed in two parts. What shows in no script alone is one thing.
fn scripts(one: &KindFound, other: &KindFound) -> u64 {
    if one.script.is_empty() && other.script.is_empty() {
        one.scripts.max(other.scripts)
    } else {
        one.scripts + other.scripts
    }
}

/// One entry for each kind, with the smallest of its scripts, ordered by those.
fn joined(found: Vec<KindFound>) -> Vec<KindFound> {
    let mut by_kind: BTreeMap<BugKind, KindFound> = BTreeMap::new();
    for kind in found {
        match by_kind.get_mut(&kind.kind) {
            Some(known) => {
                let scripts = scripts(known, &kind);
                let severity = known.severity.max(kind.severity);
                if (kind.company, &kind.script) < (known.company, &known.script) {
                    *known = kind;
                }
                known.scripts = scripts;
                known.severity = severity;
            }
            None => {
                by_kind.insert(kind.kind, kind);
            }
        }
    }
    let mut kinds: Vec<KindFound> = by_kind.into_values().collect();
    kinds.sort_by(|a, b| (&a.script, a.kind).cmp(&(&b.script, b.kind)));
    kinds
}

#[cfg(test)]
impl Exploration {
    /// One in which so many scripts were run and passed, of so many.
    pub(crate) fn passed(run: u64, total: u64) -> Self {
        Self {
            explore_format: FORMAT,
            tool: "0.0.0".into(),
            client: "a".into(),
            client_version: None,
            client_file: "0".into(),
            client_words: Vec::new(),
            alphabet: Alphabet::default(),
            depth: 2,
            seed: 1,
            shard: Shard::WHOLE,
            total,
            random: false,
            counts: Counts {
                run,
                passed: run,
                ..Counts::default()
            },
            levels: Vec::new(),
            kinds: Vec::new(),
            unconfirmed: Vec::new(),
            baseline: None,
            stopped: None,
            slow: None,
            unsteady: 0,
            doubts: Vec::new(),
            interrupted: false,
            millis: 1,
            began: String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explore::letter::Letter;

    fn part(index: u32, of: u32) -> Exploration {
        Exploration {
            shard: Shard { index, of },
            ..Exploration::passed(10, 156)
        }
    }

    fn kind(letters: &[Letter], scripts: u64) -> KindFound {
        KindFound {
            kind: BugKind::NoKey,
            severity: Severity::Duplicate,
            script: Script(letters.to_vec()),
            company: 1,
            beside: Vec::new(),
            scripts,
            reproduced: 3,
            runs: 3,
            neighbour: None,
            detail: String::new(),
            scenario: None,
            history: None,
        }
    }

    #[test]
    fn parts_are_added_and_each_kind_keeps_its_smallest_script() {
        let mut one = part(1, 2);
        one.kinds = vec![kind(&[Letter::HangAfter, Letter::Redirect], 4)];
        let mut two = part(2, 2);
        two.kinds = vec![kind(&[Letter::Unavailable], 3)];
        let whole = Exploration::merge(vec![one, two]).expect("two parts of one whole");
        assert_eq!(whole.counts.run, 20);
        assert_eq!(whole.kinds.len(), 1);
        assert_eq!(whole.kinds[0].script, Script(vec![Letter::Unavailable]));
        assert_eq!(whole.kinds[0].scripts, 7);
        assert_eq!(whole.exit_code(), ExitCode::Violation);
    }

    #[test]
    fn a_missing_part_is_named_and_never_passes() {
        let whole = Exploration::merge(vec![part(1, 3), part(3, 3)]).expect("two of three");
        assert_eq!(whole.stopped.as_deref(), Some("missing: part 2/3"));
        assert_eq!(whole.exit_code(), ExitCode::Inconclusive);
        let all = vec![part(3, 3), part(1, 3), part(2, 3)];
        let whole = Exploration::merge(all).expect("all three");
        assert_eq!(whole.exit_code(), ExitCode::Pass);
    }

    #[test]
    fn parts_of_two_wholes_and_a_part_twice_are_refused() {
        let mut other = part(2, 2);
        other.seed = 9;
        assert!(Exploration::merge(vec![part(1, 2), other]).is_err());
        assert!(Exploration::merge(vec![part(1, 2), part(1, 2)]).is_err());
        assert!(Exploration::merge(Vec::new()).is_err());
    }

    #[test]
    fn what_is_lost_or_cut_short_never_passes() {
        let mut lost = part(1, 1);
        lost.counts.lost = 1;
        assert_eq!(lost.exit_code(), ExitCode::Inconclusive);
        let mut cut = part(1, 1);
        cut.stopped = Some("no time".into());
        assert_eq!(cut.exit_code(), ExitCode::Inconclusive);
        let mut open = part(1, 2);
        open.doubts = vec!["it looks like no-jitter".into()];
        let whole = Exploration::merge(vec![part(2, 2), open]).expect("both parts");
        assert_eq!(whole.exit_code(), ExitCode::Inconclusive);
    }
}

//! What the page of an exploration shows: the verdict, each kind with its smallest script, and a
//! square for each script of each length.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::run::verdict;
use crate::{
    explore::{
        result::{Exploration, KindFound},
        script::{Script, Shard},
    },
    report::explore::{again, to_do, unconfirmed, unsteady},
};

/// A script that was not run, that passed, and of which nothing can be said. Kinds begin at `A`.
const NONE: u8 = b'.';
const PASSED: u8 = b'+';
const LOST: u8 = b'?';
/// The most scripts of one length that are shown.
const MOST: usize = 300_000;

/// The document.
pub(super) fn document(explored: &Exploration, verdicts: &[String]) -> Value {
    let code = explored.exit_code();
    let cells = cells(explored, verdicts);
    json!({
        "tool": explored.tool,
        "client": match &explored.client_version {
            Some(version) => format!("{} {version}", explored.client),
            None => explored.client.clone(),
        },
        "alphabet": letters(explored),
        "depth": explored.depth,
        // As a text: a script's numbers end at 2^53.
        "seed": explored.seed.to_string(),
        "shard": explored.shard.to_string(),
        "began": explored.began,
        "duration_ms": explored.millis,
        "verdict": verdict(code),
        "to_do": to_do(explored),
        "total": explored.total,
        "known": explored.counts.known(),
        "counts": explored.counts,
        // Then whatever has no verdict is covered by something shorter. A part that was handed over
        // without its verdicts says nothing of the kind.
        "complete": explored.is_complete()
            && explored.shard == Shard::WHOLE
            && u64::try_from(verdicts.len()) == Ok(explored.counts.run),
        "baseline": explored.baseline,
        "stopped": explored.stopped,
        "slow": explored.slow,
        "unsteady": unsteady(explored),
        "doubts": explored.doubts,
        "unconfirmed": explored.unconfirmed.iter().map(unconfirmed).collect::<Vec<_>>(),
        "kinds": explored.kinds.iter().map(|found| kind(explored, found)).collect::<Vec<_>>(),
        "levels": explored.levels.iter().map(|level| json!({
            "length": level.length,
            "counts": level.counts,
            "millis": level.millis,
            "cells": cells.get(&level.length),
        })).collect::<Vec<_>>(),
    })
}

fn letters(explored: &Exploration) -> Vec<&'static str> {
    let letters = explored.alphabet.letters().iter();
    letters.map(|letter| letter.as_str()).collect()
}

fn kind(explored: &Exploration, found: &KindFound) -> Value {
    json!({
        "kind": found.kind,
        "severity": found.severity,
        "wrong": found.kind.wrong(),
        "remedy": found.kind.remedy(),
        "script": found.script.to_string(),
        "beside": found.beside.iter().map(Script::to_string).collect::<Vec<_>>(),
        "company": found.company,
        "scripts": found.scripts,
        "reproduced": found.reproduced,
        "runs": found.runs,
        "neighbour": found.neighbour,
        "detail": found.detail,
        "scenario": found.scenario,
        "replay": found.scenario.as_deref().map(|path| again(explored, path)),
    })
}

/// For each length a sign for each script, in the order of the alphabet: [`PASSED`], [`LOST`],
/// [`NONE`], or `A` for the first of the kinds, and so on. Cases at random have no such order.
fn cells(explored: &Exploration, verdicts: &[String]) -> BTreeMap<usize, String> {
    let letters = letters(explored);
    let mut levels: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
    if explored.random {
        return BTreeMap::new();
    }
    for line in verdicts {
        let mut columns = line.split('\t');
        let script: Option<Vec<usize>> = columns
            .next()
            .into_iter()
            .flat_map(|slug| slug.split('+'))
            .map(|word| letters.iter().position(|letter| *letter == word))
            .collect();
        let Some(script) = script else { continue };
        let many = u32::try_from(script.len())
            .ok()
            .and_then(|length| letters.len().checked_pow(length))
            .filter(|many| *many <= MOST);
        let Some(many) = many else { continue };
        let at = script
            .iter()
            .fold(0, |at, digit| at * letters.len() + digit);
        let level = levels
            .entry(script.len())
            .or_insert_with(|| vec![NONE; many]);
        level[at] = match columns.next() {
            Some("pass") => PASSED,
            Some("fail") => failed(explored, columns.next().unwrap_or_default()),
            _ => LOST,
        };
    }
    let text = |cells| String::from_utf8(cells).unwrap_or_default();
    levels
        .into_iter()
        .map(|(n, cells)| (n, text(cells)))
        .collect()
}

/// The sign of the first kind that counts; of one that did not come back nothing can be said.
fn failed(explored: &Exploration, kinds: &str) -> u8 {
    let shown: Vec<&str> = kinds.split(',').collect();
    let place = explored
        .kinds
        .iter()
        .position(|found| shown.contains(&found.kind.as_str()));
    match place.and_then(|place| u8::try_from(place).ok()) {
        // There are far fewer kinds than ASCII has signs from here on.
        Some(place) => b'A' + place,
        None => LOST,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        bug_kind::BugKind,
        explore::{alphabet::Alphabet, result::Level},
        report::html::write_exploration,
        severity::Severity,
    };

    fn explored() -> Exploration {
        let alphabet: Alphabet = "hang-after,reset-before".parse().expect("letters");
        let letters = alphabet.letters().to_vec();
        let level = |length| Level {
            length,
            ..Level::default()
        };
        Exploration {
            client: "<b>client</b>".into(),
            client_words: vec!["--client".into(), "client.toml".into()],
            alphabet,
            levels: vec![level(1), level(2)],
            kinds: vec![KindFound {
                kind: BugKind::NoKey,
                severity: Severity::Duplicate,
                script: Script(letters[..1].to_vec()),
                company: 1,
                beside: Vec::new(),
                scripts: 1,
                reproduced: 3,
                runs: 3,
                neighbour: None,
                detail: "</script><script>alert(1)</script>".into(),
                scenario: Some("target/no key.toml".into()),
                history: None,
            }],
            ..Exploration::passed(4, 6)
        }
    }

    fn slugs(explored: &Exploration) -> Vec<String> {
        let letters = letters(explored);
        let mut all: Vec<String> = letters.iter().map(ToString::to_string).collect();
        for first in &letters {
            all.extend(letters.iter().map(|second| format!("{first}+{second}")));
        }
        all
    }

    #[test]
    fn each_script_has_its_square_in_the_order_of_the_alphabet() {
        let explored = explored();
        let all = slugs(&explored);
        let verdicts = [
            format!("{}\tfail\tno-key,late-key", all[0]),
            format!("{}\tpass", all[1]),
            format!("{}\tlost\tit was slow", all[4]),
            format!("{}\tfail\tnot-confirmed", all[5]),
            "of no alphabet\tpass".into(),
        ];
        let cells = cells(&explored, &verdicts);
        assert_eq!(cells[&1], "A+");
        assert_eq!(cells[&2], "..??");
    }

    #[test]
    fn what_a_client_sends_is_never_markup_and_the_failure_can_be_run_again() {
        let explored = explored();
        let mut page = Vec::new();
        write_exploration(&mut page, &explored, &[]).expect("a page");
        let page = String::from_utf8(page).expect("text");
        assert!(!page.contains("<b>client"), "{page}");
        assert!(!page.contains("<script>alert"), "{page}");
        assert!(
            page.contains("chaos-runner replay 'target/no key.toml' --client client.toml --seed 1")
        );
        assert!(!page.contains("{{"));
    }

    #[test]
    fn what_has_no_verdict_is_covered_only_where_every_verdict_is_there() {
        let explored = explored();
        let verdicts: Vec<String> = slugs(&explored)[..4]
            .iter()
            .map(|slug| format!("{slug}\tpass"))
            .collect();
        assert_eq!(document(&explored, &verdicts)["complete"], true);
        assert_eq!(document(&explored, &verdicts[..3])["complete"], false);
        let cut = Exploration {
            stopped: Some("no time was left".into()),
            ..explored
        };
        assert_eq!(document(&cut, &verdicts)["complete"], false);
    }

    #[test]
    fn cases_at_random_have_no_squares() {
        let random = Exploration {
            random: true,
            ..explored()
        };
        let verdicts = [format!("{}\tpass", slugs(&random)[0])];
        assert!(cells(&random, &verdicts).is_empty());
    }
}

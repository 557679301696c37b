//! What a batch's history says of each of its scripts.
//!
//! Owns [`Reading`]: the existing checks and diagnosis, asked for each message apart. Pure. A script
//! of which nothing can be said is lost, never passed.

use std::{collections::BTreeMap, time::Duration};

use super::{action::Timing, script::Script};
use crate::{
    bug_kind::BugKind,
    checks::waits_as_told,
    diagnosis::{Facts, Finding, Judged, Standing, diagnose_each},
    history::view::View,
    intent::Outcome,
    judgement::{doubtful, standing},
    reach::reach,
    result::Rules,
};

/// What came of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Came {
    /// The message was delivered once, or rightly given up, and the client knows it.
    Pass,
    /// The client did something wrong.
    Fail(Vec<Finding>),
    /// Nothing can be said, and why.
    Lost(String),
}

/// A script as it was run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The script.
    pub script: Script,
    /// How many requests for its message came.
    pub attempts: usize,
    /// Whether the client may have given up waiting for what a fault had for it, as on a busy
    /// machine: what it did next was then no answer to the fault.
    pub gave_up: bool,
    /// What came of it.
    pub came: Came,
    /// What it seemed to show as well, while the client was without a processor.
    pub doubted: Vec<BugKind>,
}

/// What a batch's history says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Of each script, in their order.
    pub each: Vec<Seen>,
    /// Of all of them together: what shows in no message alone.
    pub together: Vec<Finding>,
    /// Why something that was seen of all of them together proves nothing, and its absence neither.
    pub doubt: Option<String>,
}

impl Reading {
    /// In how many scripts the client did something wrong.
    #[must_use]
    pub fn failed(&self) -> u64 {
        let failed = |one: &&Seen| matches!(one.came, Came::Fail(_));
        self.each.iter().filter(failed).count() as u64
    }
}

/// Reads the history of a batch. `facts` are the controls of the narrower kinds.
#[must_use]
pub fn read(judged: &Judged<'_>, scripts: &[Script], facts: &Facts, rules: &Rules) -> Reading {
    let view = &judged.view;
    let mut found = diagnose_each(facts, judged);
    for finding in found.values_mut().flatten() {
        finding.standing = standing(finding, &[], rules, view);
    }
    // What counts, and what else was seen and is no proof.
    let mut of = |intent: Option<usize>| -> (Vec<Finding>, Vec<Finding>) {
        let findings = found.remove(&intent).unwrap_or_default();
        let (counts, rest) = findings
            .into_iter()
            .partition(|finding| finding.standing == Standing::Counts);
        (counts, rest)
    };
    let mut missing: BTreeMap<usize, String> = BTreeMap::new();
    for fault in reach(view).missing {
        if let Some(intent) = fault.intent {
            missing.entry(intent).or_insert(fault.why);
        }
    }
    let each = (1..)
        .zip(scripts)
        .map(|(intent, script)| {
            let (findings, rest) = of(Some(intent));
            let doubt = rest.iter().find_map(doubtful);
            let said_nothing = nothing_to_say(view, intent, missing.remove(&intent));
            let came = if !findings.is_empty() {
                Came::Fail(findings)
            } else if let Some(why) = doubt.or(said_nothing) {
                Came::Lost(why)
            } else {
                Came::Pass
            };
            Seen {
                script: script.clone(),
                attempts: view.tries(intent).len(),
                gave_up: may_have_given_up(view, intent, script),
                came,
                doubted: rest
                    .iter()
                    .filter(|finding| doubtful(finding).is_some())
                    .map(|finding| finding.kind)
                    .collect(),
            }
        })
        .collect();
    let (together, rest) = of(None);
    Reading {
        each,
        together,
        doubt: rest.iter().find_map(doubtful),
    }
}

/// Whether a request came so late after another one that the client may have waited in vain for
/// what the fault had for it.
fn may_have_given_up(view: &View<'_>, intent: usize, script: &Script) -> bool {
    let policy = &view.history.client.policy;
    let Some(patience) = policy.read_timeout.map(|span| span.0) else {
        return false;
    };
    let timing = Timing {
        read_timeout: Some(patience),
    };
    let pause = policy
        .backoff
        .as_ref()
        .map_or(Duration::ZERO, |backoff| backoff.cap.0);
    let late = (patience * 9 / 10).max(pause);
    let tries = view.tries(intent);
    let pairs = tries.iter().zip(tries.iter().skip(1));
    pairs.zip(&script.0).any(|((this, next), letter)| {
        let gap = next.arrived.at_us.saturating_sub(this.arrived.at_us);
        let gap = Duration::from_micros(gap);
        !letter.is_exclusive() && gap >= letter.wait(timing) + late
    })
}

/// Why nothing can be said of a message of which nothing wrong was seen.
fn nothing_to_say(view: &View<'_>, intent: usize, missing: Option<String>) -> Option<String> {
    let belief = view.belief(intent);
    let counted = view.own_count(intent).is_some_and(|own| own > 0);
    if view.tries(intent).is_empty() && !counted {
        return Some("the client never called the provider".into());
    }
    if missing.is_some() {
        return missing;
    }
    let unfinished = belief.is_none_or(|b| b.outcome == Some(Outcome::Pending));
    if view.timed_out.is_some() && unfinished && !waits_as_told(view, intent) {
        return Some("the time limit was reached while the client was at work on it".into());
    }
    if view.history.client.tells_outcome && belief.is_none() {
        return Some("nobody could learn what the client believes of it".into());
    }
    None
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;
    use crate::{
        explore::letter::Letter,
        history::{
            History,
            builder::{respond, tale},
        },
    };
    use stub_provider::fault::Stage;

    fn rules() -> Rules {
        Rules::strict(date(2026, 1, 1))
    }

    fn read_alone(history: &History, scripts: &[Script]) -> Reading {
        let judged = Judged::new(history);
        let facts = Facts::of(std::slice::from_ref(&judged));
        read(&judged, scripts, &facts, &rules())
    }

    #[test]
    fn each_message_is_judged_by_what_was_seen_of_it_alone() {
        let history = tale("batch", 3)
            .ask(1, Some("a"))
            .refuse(503)
            .ask(2, Some("b"))
            .accept()
            .ask(1, Some("a"))
            .accept()
            .ask(3, Some("c"))
            .refuse(503)
            .ask(3, Some("d"))
            .accept()
            .given(|h| (h.faults[0].intent, h.faults[1].intent) = (Some(1), Some(3)))
            .all_sent();
        let refused = Script(vec![Letter::Unavailable]);
        let scripts = [refused.clone(), Script::default(), refused];
        let reading = read_alone(&history, &scripts);
        assert_eq!(reading.each[0].came, Came::Pass);
        assert_eq!(reading.each[0].attempts, 2);
        assert_eq!(reading.each[1].came, Came::Pass);
        let Came::Fail(findings) = &reading.each[2].came else {
            panic!("{:?}", reading.each[2]);
        };
        assert_eq!(findings[0].kind, BugKind::KeyPerAttempt);
        assert_eq!(findings[0].intents, [3]);
    }

    #[test]
    fn what_a_failed_script_seemed_to_show_as_well_is_kept_in_mind() {
        let early = |starved| {
            let told = tale("early", 1)
                .ask(1, Some("a"))
                .suffer(respond(Stage::BeforeAccept, 429))
                .answer_with(429, &[("retry-after", "1")])
                .wait(500)
                .starve(starved)
                .ask(1, Some("b"))
                .accept()
                .all_sent();
            read_alone(&told, &[Script(vec![Letter::RateLimited])]).each[0].clone()
        };
        let kinds = |seen: &Seen| match &seen.came {
            Came::Fail(findings) => findings.iter().map(|f| f.kind).collect(),
            Came::Pass | Came::Lost(_) => Vec::new(),
        };
        let (quiet, busy) = (early(0), early(400));
        let both = [BugKind::KeyPerAttempt, BugKind::RetryAfterIgnored];
        assert_eq!((kinds(&quiet), quiet.doubted), (both.to_vec(), Vec::new()));
        assert_eq!(kinds(&busy), both[..1]);
        assert_eq!(busy.doubted, both[1..]);
    }

    #[test]
    fn what_did_not_come_to_its_fault_or_was_cut_short_is_lost() {
        let history = tale("cut", 2)
            .declare(1, respond(Stage::BeforeAccept, 503))
            .ask(2, Some("b"))
            .accept()
            .believe(1, Outcome::Pending)
            .believe(2, Outcome::Sent)
            .time_out();
        let scripts = [Script(vec![Letter::Unavailable]), Script::default()];
        let reading = read_alone(&history, &scripts);
        assert!(matches!(reading.each[0].came, Came::Lost(_)), "{reading:?}");
    }
}

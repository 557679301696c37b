//! What people read, as snapshots.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use anstream::adapter::strip_str;
use jiff::civil::date;
use stub_provider::fault::Stage;

use super::{
    console::{Loudness, Reporter, SuiteEvent},
    github, json, junit,
    summary::summary,
};
use crate::{
    history::builder::{respond, tale},
    intent::Outcome,
    judgement::{BASELINE, judge_suite},
    result::{Known, Ran, Rules, ScenarioRun, SuiteResult},
};

fn run(history: crate::history::History, millis: u64) -> ScenarioRun {
    ScenarioRun {
        duration: Duration::from_millis(millis),
        ..ScenarioRun::of(Arc::new(history))
    }
}

fn baseline() -> ScenarioRun {
    run(tale(BASELINE, 1).ask(1, Some("k")).accept().all_sent(), 40)
}

fn skipped(name: &str) -> ScenarioRun {
    ScenarioRun {
        ran: Ran::Skipped("the client has no receipt endpoint (callback)".into()),
        ..run(tale(name, 1).settle(), 0)
    }
}

fn mixed() -> SuiteResult {
    let double = tale("retryable[status=503]", 1)
        .given(|h| {
            h.file = Some("scenarios/retryable.toml".into());
            h.title = "The provider answers 503 once".into();
        })
        .ask(1, Some("8c5f2f4e"))
        .refuse(503)
        .wait(40)
        .ask(1, Some("0b7d19aa"))
        .accept()
        .all_sent();
    let failed = tale("hang", 1)
        .ask(1, Some("8c5f2f4e"))
        .deliver()
        .hang()
        .believe(1, Outcome::Failed)
        .settle();
    let unreached = tale("lookup-finds-it", 1)
        .ask(1, Some("k"))
        .deliver()
        .hang()
        .declare(2, respond(Stage::BeforeAccept, 503))
        .all_sent();
    let missing = tale("too-late", 1)
        .declare(9, respond(Stage::BeforeAccept, 503))
        .ask(1, Some("k"))
        .accept()
        .all_sent();
    let rules = Rules {
        known: BTreeMap::from([(
            "no-jitter".to_owned(),
            Known {
                reason: "ticket 42".into(),
                until: date(2027, 3, 1),
            },
        )]),
        ..Rules::strict(date(2026, 1, 1))
    };
    let runs = [
        run(double, 310),
        run(failed, 1_400),
        run(unreached, 420),
        run(missing, 100),
        skipped("receipt-twice"),
    ];
    let mut suite = judge_suite(&baseline(), &runs, &rules);
    suite.client_words = vec!["--client".into(), "clients/naive/client.toml".into()];
    suite.duration = Duration::from_millis(2_300);
    suite
}

fn passed() -> SuiteResult {
    let fine = tale("hang", 1)
        .ask(1, Some("k"))
        .deliver()
        .hang()
        .ask(1, Some("k"))
        .replay(1)
        .answer(201)
        .all_sent();
    let mut suite = judge_suite(
        &baseline(),
        &[run(fine, 420)],
        &Rules::strict(date(2026, 1, 1)),
    );
    suite.client_words = vec!["--".into(), "./send".into(), "{to}".into(), "{body}".into()];
    suite.duration = Duration::from_millis(460);
    suite
}

fn told(suite: &SuiteResult, loudness: Loudness) -> String {
    let mut reporter = Reporter::new(anstream::StripStream::new(Vec::new()), loudness);
    let mut events = vec![SuiteEvent::SuiteStarted {
        count: suite.scenarios.len(),
        expected: Duration::from_secs(3),
    }];
    for result in suite.all() {
        events.push(SuiteEvent::ScenarioStarted {
            name: result.name.clone(),
        });
        events.push(SuiteEvent::ScenarioFinished {
            result: Box::new(result.clone()),
        });
    }
    events.push(SuiteEvent::SuiteFinished {
        result: Box::new(suite.clone()),
    });
    for event in &events {
        reporter.tell(event).expect("memory can be written");
    }
    String::from_utf8(reporter.into_inner().into_inner()).expect("text")
}

#[test]
fn a_run_with_every_verdict_reads_well_and_fits_eighty_columns() {
    let text = told(&mixed(), Loudness::Normal);
    for line in text.lines().filter(|l| !l.contains("replay")) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    insta::assert_snapshot!(text);
}

#[test]
fn a_run_that_passes_says_that_there_is_nothing_to_do() {
    insta::assert_snapshot!(told(&passed(), Loudness::Normal));
}

#[test]
fn a_quiet_run_that_passes_says_only_its_end() {
    insta::assert_snapshot!(told(&passed(), Loudness::Quiet));
}

#[test]
fn a_client_that_fails_without_any_fault_is_told_so_and_nothing_else() {
    let broken = run(
        tale(BASELINE, 1)
            .ask(1, Some("a"))
            .accept()
            .ask(1, Some("b"))
            .accept()
            .all_sent(),
        40,
    );
    let suite = judge_suite(
        &broken,
        &[run(
            tale("hang", 1)
                .ask(1, Some("k"))
                .deliver()
                .hang()
                .all_sent(),
            300,
        )],
        &Rules::strict(date(2026, 1, 1)),
    );
    insta::assert_snapshot!(told(&suite, Loudness::Normal));
}

#[test]
fn the_json_document_has_everything_that_the_console_says() {
    let document = serde_json::to_string_pretty(&json::document(&mixed())).expect("JSON");
    insta::assert_snapshot!(document.replace(env!("CARGO_PKG_VERSION"), "[version]"));
}

#[test]
fn a_junit_failure_is_named_by_its_kind() {
    let xml = junit::document(&mixed()).expect("XML");
    insta::assert_snapshot!(xml);
}

#[test]
fn colours_can_be_stripped_without_a_trace() {
    let text = summary(&mixed());
    assert!(text.contains('\u{1b}'));
    assert!(!strip_str(&text).to_string().contains('\u{1b}'));
}

#[test]
fn github_is_told_by_kind_and_of_what_could_not_be_said() {
    insta::assert_snapshot!(github::annotations(&mixed()));
}

#[test]
fn the_summary_of_a_github_step_has_verdict_kinds_and_diagrams() {
    insta::assert_snapshot!(github::step_summary(&mixed()));
}

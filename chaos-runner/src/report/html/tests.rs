//! What the page is made of, and that nothing in it is more than text.

use std::{io::Read as _, sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use flate2::read::GzDecoder;
use jiff::civil::date;
use serde_json::Value;

use super::*;
use crate::{
    history::{
        History,
        builder::{backoff, tale},
    },
    judgement::{BASELINE, judge_suite},
    result::{Rules, ScenarioRun},
};

const HOSTILE: &str = "</script><script>alert(1)</script><!--\u{202e}evil\u{202c}🙂";

fn run_of(history: History) -> ScenarioRun {
    ScenarioRun {
        duration: Duration::from_millis(120),
        ..ScenarioRun::of(Arc::new(history))
    }
}

fn suite_of(histories: impl IntoIterator<Item = History>) -> SuiteResult {
    let baseline = run_of(tale(BASELINE, 1).ask(1, Some("k")).accept().all_sent());
    let runs: Vec<ScenarioRun> = histories.into_iter().map(run_of).collect();
    let mut suite = judge_suite(&baseline, &runs, &Rules::strict(date(2026, 1, 1)));
    suite.client_words = vec!["--client".into(), "client.toml".into()];
    suite.duration = Duration::from_millis(900);
    suite
}

fn hostile() -> SuiteResult {
    suite_of([tale("hang", 2)
        .given(|h| {
            h.title = HOSTILE.into();
            h.file = Some("scenarios/hang.toml".into());
            h.tags = vec!["ambiguous".into()];
            h.client.policy.backoff = Some(backoff(50, 200));
        })
        .ask(1, Some(HOSTILE))
        .deliver()
        .hang()
        .ask(1, Some("another"))
        .accept()
        .ask(2, Some("k2"))
        .suffer(crate::history::builder::respond(
            stub_provider::fault::Stage::BeforeAccept,
            429,
        ))
        .answer_with(429, &[("retry-after", "1"), ("x-odd", HOSTILE)])
        .wait(1_020)
        .ask(2, Some("k2"))
        .accept()
        .all_sent()])
}

fn page(suite: &SuiteResult) -> String {
    let sources = Sources::from([("scenarios/hang.toml".to_owned(), format!("# {HOSTILE}\n"))]);
    let mut page = Vec::new();
    write(&mut page, suite, &sources).expect("memory can be written");
    String::from_utf8(page).expect("it is UTF-8")
}

/// What stands between two marks.
fn between<'p>(page: &'p str, from: &str, to: &str) -> &'p str {
    let (_, rest) = page.split_once(from).expect("the beginning");
    rest.split_once(to).expect("the end").0
}

fn run_in(page: &str) -> Value {
    let json = between(page, "id=\"run\">", "</script>");
    serde_json::from_str(json).expect("the run is JSON")
}

fn chunk_in(page: &str, number: &Value) -> Value {
    let packed = between(page, &format!("id=\"chunk-{number}\">"), "</script>");
    let packed = STANDARD.decode(packed).expect("base64");
    let mut text = String::new();
    let mut unpacked = GzDecoder::new(packed.as_slice());
    unpacked.read_to_string(&mut text).expect("gzip");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn the_first_screen_has_what_is_wrong_where_and_what_to_do() {
    let run = run_in(&page(&hostile()));
    let text = serde_json::to_string_pretty(&run).expect("JSON");
    insta::assert_snapshot!(text.replace(env!("CARGO_PKG_VERSION"), "[version]"));
}

#[test]
fn a_scenario_s_own_chunk_leads_to_its_intents_and_its_events() {
    let page = page(&hostile());
    let run = run_in(&page);
    let detail = chunk_in(&page, &run["scenarios"][1]["detail"]);
    insta::assert_snapshot!(serde_json::to_string_pretty(&detail).expect("JSON"));
    let intents = chunk_in(&page, &detail["intent_chunks"][0][1]);
    assert_eq!(intents.as_array().map(Vec::len), Some(2));
    let events = chunk_in(&page, &detail["event_chunks"][0][1]);
    let first: crate::history::Event =
        serde_json::from_value(events[0].clone()).expect("an event as histories keep it");
    assert_eq!(first.seq, 1);
}

#[test]
fn hostile_words_are_data_and_never_markup() {
    let page = page(&hostile());
    assert!(!page.contains("<script>alert"), "as it came");
    assert!(!page.contains("<!--"), "a comment hides what follows");
    let run = run_in(&page);
    assert_eq!(run["scenarios"][1]["title"], HOSTILE);
    let sources = chunk_in(&page, &run["sources"]);
    assert_eq!(sources["scenarios/hang.toml"], format!("# {HOSTILE}\n"));
}

#[test]
fn the_policy_names_the_very_script_and_style_and_lets_nothing_be_loaded() {
    let page = page(&hostile());
    let policy = between(&page, "Content-Security-Policy\" content=\"", "\"");
    let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    let style = between(&page, "<style>", "</style>");
    let script = between(&page, "<script>", "</script>");
    assert!(policy.contains(&hash(style)) && policy.contains(&hash(script)));
    assert!(policy.starts_with("default-src 'none';"), "{policy}");
    assert!(
        !policy.contains("unsafe") && !policy.contains("http"),
        "{policy}"
    );
    for reach in ["src=\"http", "href=\"http", "fetch(", "@import", "url("] {
        assert!(!page.contains(reach), "{reach}");
    }
}

#[test]
fn many_intents_and_events_are_in_chunks_of_a_few_hundred() {
    let mut many = tale("many", 600);
    for number in 1..=600 {
        many = many.ask(number, Some("k")).accept();
    }
    let page = page(&suite_of([many.all_sent()]));
    let run = run_in(&page);
    let detail = chunk_in(&page, &run["scenarios"][1]["detail"]);
    let places = detail["intent_chunks"].as_array().expect("a list");
    assert_eq!(places.len(), 3);
    let third = chunk_in(&page, &places[2][1]);
    assert_eq!(third[99]["number"], 600);
    let blocks = detail["event_chunks"].as_array().expect("a list");
    let events: usize = blocks
        .iter()
        .map(|place| chunk_in(&page, &place[1]).as_array().map_or(0, Vec::len))
        .sum();
    assert_eq!(Some(events as u64), run["scenarios"][1]["events"].as_u64());
}

/// Writes the page of a run of `REPORT_INTENTS` intents to `REPORT_PAGE`, for the benchmark in a
/// browser.
#[test]
#[ignore = "browser/report.bench.mjs runs it"]
fn a_large_run_is_written_for_the_browser() {
    let path = std::env::var("REPORT_PAGE").expect("REPORT_PAGE names a file");
    let count = std::env::var("REPORT_INTENTS").map_or(20_000, |n| n.parse().expect("a number"));
    let mut large = tale("large", count).given(|h| {
        h.client.policy.backoff = Some(backoff(50, 200));
    });
    for number in 1..=count {
        let key = format!("key-{number}");
        large = match number % 8 {
            0 => large
                .ask(number, Some(&key))
                .deliver()
                .hang()
                .ask(number, Some(&key))
                .replay(number as u64)
                .answer(201),
            1 => large
                .ask(number, Some(&key))
                .answer(503)
                .wait(number as u64 * 7 % 90)
                .ask(number, Some(&key))
                .accept(),
            3 if number % 1_000 == 3 => large
                .ask(number, None)
                .deliver()
                .hang()
                .ask(number, None)
                .accept(),
            _ => large.ask(number, Some(&key)).accept(),
        };
    }
    std::fs::write(path, self::page(&suite_of([large.all_sent()]))).expect("the page is written");
}

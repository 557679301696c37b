//! The reports for programs, the command that replays a failure, and the seed.

use super::bench::{Bench, ERROR_ONCE, SENDER, attempts};

fn keyless() -> String {
    SENDER.replace("[env]", "[env]\nCOURIER_KEY = \"none\"")
}

const LOST_ANSWER: &str = r#"
title = "The answer is lost"
why = "The classic."
[[fault]]
attempt = 1
toxic.timeout = { attributes = { timeout = 0 } }
"#;

#[test]
fn junit_and_json_are_well_formed_and_name_the_bug() {
    let bench = Bench::new(&keyless());
    bench.write("lost.toml", LOST_ANSWER);
    let written = ["--junit", "junit.xml", "--json", "report.json"];
    let run = bench
        .run(&[&["run", "lost.toml"], &written[..]].concat())
        .ends_with(1);

    let text = std::fs::read_to_string(bench.path().join("junit.xml")).expect("JUnit's XML");
    let report = quick_junit::Report::deserialize_from_str(&text).expect("it is well-formed");
    let lost = report.test_suites[0]
        .test_cases
        .iter()
        .find(|case| case.name.as_str() == "lost")
        .expect("a case for the scenario");
    let quick_junit::TestCaseStatus::NonSuccess { ty, .. } = &lost.status else {
        panic!("{text}");
    };
    assert_eq!(
        ty.as_ref().map(quick_junit::XmlString::as_str),
        Some("no-key")
    );

    let text = std::fs::read_to_string(bench.path().join("report.json")).expect("a report");
    let report: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!(report["exit_code"], 1);
    assert_eq!(report["kinds"][0]["kind"], "no-key");
    assert_eq!(report["scenarios"][0]["verdict"], "fail");
    assert_eq!(report, run.report(), "the run's own copy is the same");
}

#[test]
fn a_github_step_is_told_of_the_bug_at_the_line_of_its_fault() {
    let bench = Bench::new(&keyless());
    bench.write("lost.toml", LOST_ANSWER);
    bench.write("summary.md", "before\n");
    let output = bench
        .command(&["run", "lost.toml"])
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_STEP_SUMMARY", bench.path().join("summary.md"))
        .output()
        .expect("the program runs");
    bench
        .told(&output)
        .ends_with(1)
        .says("::error file=lost.toml,line=4,title=no-key (duplicate");
    let summary = std::fs::read_to_string(bench.path().join("summary.md")).expect("a summary");
    assert!(summary.starts_with("before\n## 1 failed"), "{summary}");
    for part in ["| `no-key` | duplicate | lost |", "── buzz ──", "```text"] {
        assert!(summary.contains(part), "{part}: {summary}");
    }
    bench.run(&["run", "lost.toml"]).ends_with(1);
    let after = std::fs::read_to_string(bench.path().join("summary.md")).expect("a summary");
    assert_eq!(after, summary, "elsewhere there is none");
}

#[test]
fn a_run_leaves_a_page_and_a_diagram_of_each_finding() {
    let bench = Bench::new(&keyless());
    bench.write("lost.toml", LOST_ANSWER);
    let run = bench.run(&["run", "lost.toml"]).ends_with(1);
    let directory = &run.latest;
    let page = std::fs::read_to_string(directory.join("report.html")).expect("a page");
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert!(page.contains("\"verdict\":\"fail\"") && page.contains("no-key"));
    let drawn = std::fs::read_to_string(directory.join("lost/no-key.svg")).expect("a diagram");
    assert!(
        drawn.contains("buzz") && drawn.contains("proves it"),
        "{drawn}"
    );
}

#[test]
fn the_command_that_is_printed_replays_the_failure() {
    let bench = Bench::new(&keyless());
    bench.write("lost.toml", LOST_ANSWER);
    let first = bench
        .run(&["run", "lost.toml", "--seed", "77"])
        .ends_with(1);
    let command = first
        .stdout
        .lines()
        .find_map(|line| line.trim().strip_prefix("replay"))
        .expect("a failure says how to replay it")
        .trim();
    let words: Vec<&str> = command.split_whitespace().collect();
    assert_eq!(words.first(), Some(&"chaos-runner"), "{command}");
    let kinds = |report: &serde_json::Value| report["kinds"].clone();
    let before = kinds(&first.report());
    let again = bench.run(&words[1..]).ends_with(1);
    assert_eq!(kinds(&again.report()), before);
}

#[test]
fn one_seed_gives_one_plan_and_one_verdict() {
    let bench = Bench::new(SENDER);
    bench.write("once.toml", ERROR_ONCE);
    bench.write("lost.toml", LOST_ANSWER);
    let seen = |seed: &str| {
        let run = bench
            .run(&["run", "once.toml", "lost.toml", "--seed", seed])
            .ends_with(0);
        ["once", "lost"].map(|name| {
            let history = run.history(name);
            let tries = attempts(&history);
            (history.intents, history.faults, tries)
        })
    };
    let first = seen("5");
    assert_eq!(first, seen("5"));
    assert_ne!(first[0].0, seen("6")[0].0, "another seed, other messages");
}

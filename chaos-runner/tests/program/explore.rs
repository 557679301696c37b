//! Explorations of a small client, whole.

use std::fs;

use super::bench::{Bench, Run, SENDER};

/// Faults that the small client tells apart, and whose scripts take no time.
const FAULTS: &str = "unavailable,reset-before,error-after,body-cut";

fn explored(run: &Run) -> serde_json::Value {
    let text = fs::read(run.latest.join("explore.json")).expect("a report");
    serde_json::from_slice(&text).expect("a report is JSON")
}

fn with_env(line: &str) -> String {
    SENDER.replace("[env]", &format!("[env]\n{line}"))
}

#[test]
fn a_client_that_does_everything_right_passes_every_script() {
    let bench = Bench::new(SENDER);
    let run = bench
        .run(&["explore", "--depth", "2", "--faults", FAULTS])
        .ends_with(0)
        .says("20 of 20 scripts known (100.0 %)")
        .says("![Exactly once: 20 fault scripts, depth 2]");
    let report = explored(&run);
    assert_eq!(report["counts"]["passed"], 20);
    let certificate = fs::read_to_string(run.latest.join("certificate.json")).expect("a file");
    assert!(certificate.contains("\"verdict\": \"pass\""));
}

#[test]
fn a_script_after_which_the_client_stops_stands_for_those_that_begin_with_it() {
    let bench = Bench::new(SENDER);
    let run = bench
        .run(&[
            "explore",
            "--depth",
            "2",
            "--faults",
            "permanent,unavailable",
        ])
        .ends_with(0);
    let counts = &explored(&run)["counts"];
    // permanent; unavailable and the two that follow it. Two more begin with permanent.
    assert_eq!(counts["run"], 4);
    assert_eq!(counts["covered"], 2);
}

#[test]
fn a_planted_bug_is_found_with_its_smallest_script_its_neighbour_and_a_file_to_replay() {
    let bench = Bench::new(&with_env("COURIER_PLANT = \"503 reset 500\""));
    let run = bench
        .run(&["explore", "--depth", "3", "--faults", FAULTS])
        .ends_with(1)
        .says("smallest unavailable, reset-before, error-after")
        .says("nearest passes when attempt 3 meets body-cut in place of error-after")
        .says("reproduced 3 of 3 alone");
    let report = explored(&run);
    let kinds = report["kinds"].as_array().expect("a list");
    assert_eq!(kinds.len(), 1);
    assert_eq!(kinds[0]["scripts"], 1);
    let saved = kinds[0]["scenario"].as_str().expect("a file").to_owned();
    bench
        .run(&["replay", &saved])
        .ends_with(1)
        .says("reproduced 3 of 3");
    bench.run(&["run", &saved]).ends_with(1);
    let history = kinds[0]["history"].as_str().expect("a file").to_owned();
    bench
        .run(&["recheck", &history, "--page", "again.html"])
        .ends_with(1);
    let page = fs::read_to_string(bench.path().join("again.html")).expect("a page");
    assert!(page.contains("id=\"run\""));
}

#[test]
fn what_shows_in_company_only_is_found_and_said_to_be_so() {
    let bench = Bench::new(&with_env("COURIER_KEY = \"one\""));
    bench
        .run(&["explore", "--depth", "1", "--faults", "unavailable"])
        .ends_with(1)
        .says("key-reused")
        .says("8 messages at once");
}

/// What was found, without what differs from time to time.
fn findings(report: &serde_json::Value) -> Vec<serde_json::Value> {
    let kinds = report["kinds"].as_array().expect("a list");
    let told = [
        "kind",
        "severity",
        "script",
        "company",
        "scripts",
        "neighbour",
    ];
    let plain = |found: &serde_json::Value| {
        let fields = told.map(|field| (field.to_owned(), found[field].clone()));
        serde_json::Value::Object(fields.into_iter().collect())
    };
    kinds.iter().map(plain).collect()
}

/// The squares of a page, by length.
fn squares(bench: &Bench, page: &str) -> Vec<String> {
    let page = fs::read_to_string(bench.path().join(page)).expect("a page");
    let (_, data) = page.split_once("id=\"run\">").expect("its data");
    let (data, _) = data.split_once("</script>").expect("an end");
    let data: serde_json::Value = serde_json::from_str(data).expect("JSON");
    let levels = data["levels"].as_array().expect("a list");
    let cells = |level: &serde_json::Value| level["cells"].as_str().map(str::to_owned);
    levels.iter().filter_map(cells).collect()
}

#[test]
fn four_parts_joined_are_the_whole_finding_for_finding() {
    // One defect that shows in half of all scripts, and one that shows in a single one of them.
    for env in [
        "COURIER_KEY = \"fresh\"",
        "COURIER_PLANT = \"503 reset 500\"",
    ] {
        let bench = Bench::new(&with_env(env));
        let explore = ["explore", "--depth", "3", "--faults", FAULTS];
        let whole = explored(&bench.run(&explore).ends_with(1));
        let mut parts = Vec::new();
        for part in 1..=4 {
            let (shard, directory) = (format!("{part}/4"), format!("parts/{part}"));
            let own = ["--shard", &shard, "--report", &directory];
            bench.run(&[&explore[..], &own[..]].concat());
            parts.push(directory);
        }
        let drawn = squares(&bench, "target/chaos/latest/report.html");
        let mut merge = vec!["merge", "--json", "whole.json", "--page", "whole.html"];
        merge.extend(parts.iter().map(String::as_str));
        bench.run(&merge).ends_with(1);
        let merged = fs::read(bench.path().join("whole.json")).expect("a report");
        let merged: serde_json::Value = serde_json::from_slice(&merged).expect("JSON");
        assert_eq!(findings(&merged), findings(&whole), "{env}");
        assert_eq!(merged["counts"], whole["counts"], "{env}");
        assert_eq!(squares(&bench, "whole.html"), drawn, "{env}");
        assert_eq!(drawn.iter().map(String::len).sum::<usize>(), 4 + 16 + 64);
    }
}

#[test]
fn the_parts_of_an_exploration_are_joined_and_a_missing_one_is_no_pass() {
    let bench = Bench::new(SENDER);
    for part in ["1/2", "2/2"] {
        let directory = format!("parts/{}", &part[..1]);
        bench
            .run(&[
                "explore",
                "--depth",
                "3",
                "--faults",
                "unavailable,error-after",
                "--shard",
                part,
                "--report",
                &directory,
            ])
            .ends_with(0);
    }
    bench
        .run(&["merge", "parts/1", "parts/2"])
        .ends_with(0)
        .says("14 of 14 scripts known (100.0 %)");
    bench
        .run(&["merge", "parts/2"])
        .ends_with(3)
        .says("missing: part 1/2");
}

#[test]
fn an_exploration_without_time_says_how_much_is_covered_and_is_no_pass() {
    let bench = Bench::new(SENDER);
    bench
        .run(&[
            "explore",
            "--depth",
            "2",
            "--faults",
            FAULTS,
            "--max-time",
            "1ms",
        ])
        .ends_with(3)
        .says("no time was left (--max-time)")
        .says("0 of 20 scripts known (0.0 %)");
}

#[test]
fn a_slip_among_the_faults_ends_with_2() {
    let bench = Bench::new(SENDER);
    bench
        .run(&["explore", "--faults", "hang-aftr"])
        .ends_with(2)
        .says("did you mean `hang-after`?");
}

#[test]
fn the_parts_of_a_run_are_joined_and_a_missing_one_is_no_pass() {
    let bench = Bench::new(SENDER);
    let scenario = |status: u16| {
        format!(
            "title = \"{status} once\"\nwhy = \"w\"\n[[fault]]\nattempt = 1\n\
             provider.respond = {{ stage = \"before-accept\", status = {status} }}\n"
        )
    };
    for status in [500, 502, 503, 504, 408, 425] {
        bench.write(&format!("s/s{status}.toml"), &scenario(status));
    }
    for part in ["1/2", "2/2"] {
        let directory = format!("parts/{}", &part[..1]);
        bench
            .run(&["run", "s", "--shard", part, "--report", &directory])
            .ends_with(0);
    }
    bench
        .run(&["merge", "parts/1", "parts/2", "--page", "whole.html"])
        .ends_with(0)
        .says("6 passed of 6 scenarios in");
    let page = fs::read_to_string(bench.path().join("whole.html")).expect("a page");
    assert!(page.contains("408 once") && page.contains("504 once"));
    bench
        .run(&["merge", "parts/1"])
        .ends_with(3)
        .says("this part of the run is missing");
}

#[test]
fn a_seed_explores_the_same_scripts_in_the_same_order_with_the_same_verdicts() {
    let bench = Bench::new(&with_env("COURIER_KEY = \"fresh\""));
    let explore = ["explore", "--depth", "2", "--faults", FAULTS];
    let told = |seed: &str| {
        let run = bench.run(&[&explore[..], &["--seed", seed]].concat());
        fs::read_to_string(run.ends_with(1).latest.join("scripts.tsv")).expect("every script")
    };
    let (one, again, other) = (told("7"), told("7"), told("8"));
    assert_eq!(one, again);
    assert_ne!(one, other, "another seed has another order");
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    assert_eq!(sorted(&one), sorted(&other));
}

#[test]
fn a_case_at_random_is_shrunk_to_the_fault_that_it_takes() {
    let bench = Bench::new(&with_env("COURIER_PLANT = \"503 reset\""));
    let run = bench
        .run(&[
            "explore", "--random", "40", "--seed", "3", "--depth", "6", "--faults", FAULTS,
        ])
        .ends_with(1);
    let report = explored(&run);
    // The change of the key that the two faults provoke, and nothing that came with it.
    let smallest = &report["kinds"][0];
    assert_eq!(smallest["kind"], "ambiguous-as-failed");
    let letters = ["unavailable", "reset-before"];
    assert_eq!(smallest["script"], serde_json::json!(letters));
    assert_eq!(smallest["beside"], serde_json::json!([]));
}

//! Every exit code, each by a run of the program.

use nix::sys::signal::Signal;

use super::bench::{Bench, ERROR_ONCE, SENDER, Told, WORKER};

const NEVER: &str = r#"
title = "A fault at an attempt that never comes"
why = "A fault that did not act shows nothing."
[[fault]]
attempt = 1
provider.respond = { stage = "before-accept", status = 503 }
[[fault]]
connection = 40
toxic.down = { for = "100ms" }
"#;

#[test]
fn a_client_that_does_everything_right_ends_with_0() {
    let bench = Bench::new(SENDER);
    bench.write("once.toml", ERROR_ONCE);
    bench
        .run(&["run", "once.toml"])
        .ends_with(0)
        .says("1 passed of 1 scenario in");
}

#[test]
fn a_client_that_sends_twice_ends_with_1_and_the_bug_is_named() {
    let bench = Bench::new(&SENDER.replace("[env]", "[env]\nCOURIER_KEY = \"none\""));
    bench.write("once.toml", ERROR_ONCE);
    bench.run(&["run", "once.toml"]).ends_with(1).says("no-key");
}

#[test]
fn a_client_file_that_is_not_there_ends_with_2() {
    let bench = Bench::new(SENDER);
    bench
        .run(&["run", "--client", "none.toml"])
        .ends_with(2)
        .says("the client file none.toml cannot be read");
}

#[test]
fn a_fault_that_cannot_act_ends_with_3() {
    let bench = Bench::new(SENDER);
    bench.write("never.toml", NEVER);
    bench
        .run(&["run", "never.toml"])
        .ends_with(3)
        .says("connection 40");
}

#[test]
fn a_client_that_never_calls_ends_with_3() {
    let bench = Bench::new(SENDER);
    bench.write("once.toml", ERROR_ONCE);
    bench
        .run(&["run", "once.toml", "--", "true", "{to}"])
        .ends_with(3)
        .says("the client never called the provider");
}

#[test]
fn a_client_that_fails_without_any_fault_ends_with_3_and_is_not_judged() {
    // It sends every message twice, which the baseline shows already.
    let bench = Bench::new(SENDER);
    let twice = format!(
        "{} send {{intent}} {{to}} {{body}}",
        super::bench::courier().display()
    );
    bench.write(
        "twice.sh",
        "#!/bin/sh\nCOURIER_KEY=none \"$@\" && COURIER_KEY=none \"$@\"\n",
    );
    bench.write("once.toml", ERROR_ONCE);
    let mut words = vec!["run", "once.toml", "--", "sh", "twice.sh"];
    words.extend(twice.split(' '));
    bench
        .run(&words)
        .ends_with(3)
        .says("intent 1 was delivered 2 times where 1 should be");
}

#[test]
fn only_scenarios_that_are_skipped_end_with_4() {
    let bench = Bench::new(SENDER);
    bench.write(
        "late.toml",
        &format!("needs = [\"callback\"]\n{ERROR_ONCE}"),
    );
    bench
        .run(&["run", "late.toml"])
        .ends_with(4)
        .says("1 skipped");
}

#[test]
fn a_report_that_cannot_be_written_ends_with_2_before_anything_runs() {
    let bench = Bench::new(SENDER);
    for command in ["run", "explore"] {
        for report in ["--json", "--junit"] {
            bench
                .run(&[command, report, "nowhere/report"])
                .ends_with(2)
                .says("the report nowhere/report cannot be written")
                .says("nothing was run");
            assert!(!bench.path().join("target").exists());
        }
    }
}

#[test]
fn a_tag_that_no_scenario_bears_ends_with_4() {
    let bench = Bench::new(SENDER);
    bench
        .run(&["run", "--only", "no-such-tag"])
        .ends_with(4)
        .says("nothing ran");
}

#[test]
fn a_toxiproxy_that_is_not_there_ends_with_5() {
    let bench = Bench::new(SENDER);
    // Nobody can listen on port 1 of this address without being root, and nobody does.
    bench
        .run(&["run", "hang", "--toxiproxy", "127.0.0.1:1"])
        .ends_with(5)
        .says("nothing listens there");
}

#[test]
fn a_setup_command_that_fails_ends_with_5() {
    let bench = Bench::new(&WORKER.replace("\"migrate\"", "\"no-such-command\""));
    bench
        .run(&["run", "hang"])
        .ends_with(5)
        .says("the [setup] command ended with exit code 70");
}

#[test]
fn a_worker_that_ends_before_it_is_ready_ends_with_5() {
    let bench = Bench::new(&WORKER.replace("\"work\"", "\"no-such-command\""));
    bench
        .run(&["run", "hang"])
        .ends_with(5)
        .says("worker 1 ended with exit code 70 before it was ready");
}

#[test]
fn a_worker_that_is_never_ready_ends_with_5_at_its_own_time_limit() {
    let never = WORKER
        .replace("\"work\"]", "\"wait\"]")
        .replace("[worker]", "[worker]\ntimeout = \"700ms\"");
    Bench::new(&never)
        .run(&["run", "hang"])
        .ends_with(5)
        .says("worker 1 was not ready within 700ms")
        .says("a line with `at work`");
}

#[test]
fn a_setup_command_that_hangs_ends_with_5_at_the_time_limit() {
    let hangs = WORKER
        .replace("\"migrate\"", "\"wait\"")
        .replace("[worker]", "[worker]\ntimeout = \"700ms\"");
    Bench::new(&hangs)
        .run(&["run", "hang"])
        .ends_with(5)
        .says("[setup]");
}

#[test]
fn an_outcome_query_that_is_wrong_ends_with_5() {
    let wrong = WORKER.replace("status as outcome", "no_such_column as outcome");
    Bench::new(&wrong)
        .run(&["run", "hang"])
        .ends_with(5)
        .says("no_such_column");
}

#[test]
fn ctrl_c_during_a_scenario_ends_with_130() {
    let bench = Bench::new(SENDER);
    bench.write("once.toml", ERROR_ONCE);
    let mut told = Told::new();
    // The second time is not the baseline any more.
    let started = bench.start(&["run", "once.toml", "hang"], &told);
    told.wait_for("send", 2);
    started.signal(Signal::SIGINT);
    bench.told(&started.wait()).ends_with(130);
    told.wait_until_all_are_gone();
}

#[test]
fn fail_fast_starts_no_scenario_after_the_first_that_fails() {
    let bench = Bench::new(&SENDER.replace("[env]", "[env]\nCOURIER_KEY = \"none\""));
    for name in ["a", "b", "c"] {
        bench.write(&format!("all/{name}.toml"), ERROR_ONCE);
    }
    let run = bench
        .run(&["run", "all", "--fail-fast", "--jobs", "1"])
        .ends_with(1)
        .says("failed (--fail-fast)");
    let report = run.report();
    assert_eq!(report["counts"]["fail"], 1, "{report}");
    assert_eq!(report["counts"]["inconclusive"], 2, "{report}");
}

#[test]
fn what_is_not_begun_when_the_time_is_up_does_not_run_and_ends_with_3() {
    let bench = Bench::new(SENDER);
    bench.write("once.toml", ERROR_ONCE);
    let run = bench
        .run(&["run", "once.toml", "--max-time", "1ms"])
        .ends_with(3)
        .says("no time was left (--max-time)");
    assert!(!run.latest.join("once").exists(), "it did not run");
}

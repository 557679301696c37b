//! However and whenever the runner is ended, it leaves no process of the client behind.
//!
//! Each client says what it does on a connection that ends with its process
//! (`COURIER_TELL`), so that the tests wait for events at both ends.

use nix::sys::signal::Signal;

use super::bench::{Bench, SENDER, Told, WORKER, left_of};

/// A moment of a run: the client, what its process says at that moment, and how often.
struct Moment {
    client: String,
    scenario: &'static str,
    says: &'static str,
    times: usize,
}

fn moments() -> Vec<Moment> {
    let moment = |client: String, scenario, says, times| Moment {
        client,
        scenario,
        says,
        times,
    };
    let grandchild = SENDER.replace(r#""send", "{intent}", "{to}", "{body}""#, r#""family""#);
    let asks = WORKER
        .replace("sql = {", "command = [\"COURIER\", \"wait\"]\n# sql = {")
        .replace("\nmap = ", "\n# map = ");
    vec![
        moment(WORKER.replace("\"migrate\"", "\"wait\""), "hang", "wait", 1),
        moment(SENDER.to_owned(), "hang", "send", 1),
        moment(SENDER.to_owned(), "hang", "send", 2),
        moment(WORKER.to_owned(), "hang", "enqueue", 2),
        moment(WORKER.to_owned(), "hang", "work", 2),
        // It has left its parent's process group.
        moment(grandchild, "hang", "wait", 1),
        // It stands still, and can hear no signal but SIGKILL.
        moment(WORKER.to_owned(), "paused.toml", "work", 2),
        moment(asks, "hang", "wait", 1),
    ]
}

const PAUSED: &str = r#"
title = "The client stands still for ever"
why = "Nobody may wait for it."
[[fault]]
attempt = 1
client.pause = { stage = "before-accept", for = "10m" }
"#;

fn ended_by(signal: Signal, code: Option<i32>) {
    for moment in moments() {
        let bench = Bench::new(&moment.client);
        bench.write("paused.toml", PAUSED);
        let mut told = Told::new();
        let started = bench.start(&["run", moment.scenario], &told);
        let run = started.run_name();
        told.wait_for(moment.says, moment.times);
        started.signal(signal);
        let ended = bench.told(&started.wait());
        assert_eq!(ended.code, code, "{ended:?}");
        told.wait_until_all_are_gone();
        assert_eq!(left_of(&run), Vec::<String>::new(), "`{}`", moment.says);
    }
}

#[test]
fn kill_9_at_any_moment_leaves_no_process_of_the_client() {
    ended_by(Signal::SIGKILL, None);
}

#[test]
fn ctrl_c_at_any_moment_leaves_no_process_of_the_client() {
    ended_by(Signal::SIGINT, Some(130));
}

#[test]
fn a_second_ctrl_c_ends_the_runner_at_once_and_leaves_nothing_either() {
    let bench = Bench::new(WORKER);
    let mut told = Told::new();
    let started = bench.start(&["run", "hang"], &told);
    let run = started.run_name();
    told.wait_for("work", 1);
    started.signal(Signal::SIGTERM);
    started.signal(Signal::SIGINT);
    bench.told(&started.wait()).ends_with(130);
    told.wait_until_all_are_gone();
    assert_eq!(left_of(&run), Vec::<String>::new());
}

#[test]
fn a_run_that_fails_leaves_no_process_of_the_labs_beside_the_one_that_failed() {
    // The query is right until a scenario's table is there, and wrong from then on.
    let wrong = WORKER.replace("status as outcome", "no_such_column as outcome");
    let bench = Bench::new(&wrong);
    let mut told = Told::new();
    let started = bench.start(&["run", "hang", "close", "reset"], &told);
    let run = started.run_name();
    told.wait_for("enqueue", 1);
    bench.told(&started.wait()).ends_with(5);
    told.wait_until_all_are_gone();
    assert_eq!(left_of(&run), Vec::<String>::new());
}

//! Every form in which a client can be driven and asked, through the program.

use chaos_runner::history::{EventKind, History, Process, Submission};

use super::bench::{Bench, ERROR_ONCE, SENDER, WORKER, attempts, courier, fired};

const CALM_PAIR: &str = r#"
title = "Two messages, and the answer to one is lost"
why = "Both must arrive once."
[intents]
count = 2
[[fault]]
attempt = 1
intent = 2
toxic.limit_data = { attributes = { bytes = 10 } }
"#;

/// A client with a server of its own.
pub fn server(ready: &str) -> String {
    WORKER
        .replace("[env]", "[env]\nCOURIER_PORT = \"{port}\"")
        .replace("\"work\"", "\"serve\"")
        .replace("ready = { log = \"at work\" }", &format!("ready = {ready}"))
        .replace(
            r#"command = ["COURIER", "enqueue", "{intent}", "{customer}", "{to}", "{body}"]"#,
            r#"http = { method = "POST", url = "http://127.0.0.1:{port}/send", json = { intent = "{intent}", customer = "{customer}", to = "{to}", body = "{body}" }, accept = [202] }"#,
        )
}

/// Runs the pair of messages and asserts that the fault acted and both were delivered once.
#[track_caller]
fn passes_the_pair(client: &str) -> History {
    let bench = Bench::new(client);
    bench.write("pair.toml", CALM_PAIR);
    let history = bench
        .run(&["run", "pair.toml"])
        .ends_with(0)
        .history("pair");
    assert_eq!(fired(&history, 1), [(2, 1)]);
    let mut tries = attempts(&history);
    tries.sort_unstable();
    assert_eq!(tries, [(1, 1), (2, 1), (2, 2)]);
    let delivered: Vec<u32> = history.deliveries_by_intent().into_values().collect();
    assert_eq!(delivered, [1, 1]);
    history
}

fn count(history: &History, wanted: impl Fn(&EventKind) -> bool) -> usize {
    history.events.iter().filter(|e| wanted(&e.kind)).count()
}

#[test]
fn submitted_by_command_and_asked_by_exit_code() {
    passes_the_pair(SENDER);
}

#[test]
fn submitted_by_command_sent_by_a_worker_and_asked_by_sql() {
    passes_the_pair(WORKER);
}

#[test]
fn submitted_on_standard_input_and_asked_by_a_command() {
    let client = WORKER
        .replace(
            r#"command = ["COURIER", "enqueue", "{intent}", "{customer}", "{to}", "{body}"]"#,
            r#"stdin = ["COURIER", "enqueue-all"]"#,
        )
        .replace("sql = {", "command = [\"COURIER\", \"status\"]\n# sql = {");
    let history = passes_the_pair(&client);
    // One command, and each message is known to have been handed over.
    assert_eq!(
        count(&history, |kind| matches!(
            kind,
            EventKind::ProcessStarted {
                process: Process::Submit(_),
                ..
            }
        )),
        1
    );
    for intent in [1, 2] {
        assert_eq!(
            count(
                &history,
                |kind| matches!(kind, EventKind::Submitted { intent: of, .. } if *of == intent)
            ),
            1
        );
        assert_eq!(
            count(
                &history,
                |kind| matches!(kind, EventKind::SubmitEnded { intent: of, accepted: true, .. } if *of == intent)
            ),
            1
        );
    }
}

#[test]
fn submitted_by_http_to_a_server_that_is_ready_when_its_health_says_so() {
    let history = passes_the_pair(&server(r#"{ http = "http://127.0.0.1:{port}/health" }"#));
    assert_eq!(
        count(&history, |kind| matches!(
            kind,
            EventKind::SubmitEnded {
                status: Some(202),
                accepted: true,
                ..
            }
        )),
        2
    );
}

#[test]
fn submitted_by_http_to_a_server_that_is_ready_when_its_port_is_open() {
    passes_the_pair(&server(r#"{ port = "{port}" }"#));
}

#[test]
fn a_worker_that_exits_by_itself() {
    passes_the_pair(
        &WORKER
            .replace(r#""work"]"#, "\"work\", \"--once\"]\nuntil = \"exit\"")
            .replace("ready = { log = \"at work\" }\n", ""),
    );
}

#[test]
fn a_worker_that_exits_by_itself_is_run_again_for_messages_that_come_one_by_one() {
    let client = WORKER
        .replace(r#""work"]"#, "\"work\", \"--once\"]\nuntil = \"exit\"")
        .replace("ready = { log = \"at work\" }\n", "");
    let bench = Bench::new(&client);
    let text = CALM_PAIR.replace("count = 2", "count = 2\none-by-one = true");
    bench.write("pair.toml", &text);
    let history = bench
        .run(&["run", "pair.toml"])
        .ends_with(0)
        .history("pair");
    assert_eq!(attempts(&history), [(1, 1), (2, 1), (2, 2)]);
}

#[test]
fn several_workers() {
    let history = passes_the_pair(&WORKER.replace("[worker]", "[worker]\nworkers = 3"));
    assert_eq!(history.client.workers, 3);
    for number in 1..=3 {
        let started = |kind: &EventKind| matches!(kind, EventKind::ProcessStarted { process: Process::Worker(n), .. } if *n == number);
        assert_eq!(count(&history, started), 1);
    }
}

#[test]
fn two_customers() {
    let bench = Bench::new(WORKER);
    bench.write(
        "two.toml",
        "title = \"a\"\nwhy = \"b\"\n[intents]\ncount = 2\ncustomers = 2\n",
    );
    let history = bench.run(&["run", "two.toml"]).ends_with(0).history("two");
    let mut seen: Vec<(usize, String)> = history
        .events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Attempt {
                intent, customer, ..
            } => Some((intent.unwrap_or(0), customer.clone())),
            _ => None,
        })
        .collect();
    seen.sort();
    assert_eq!(
        seen,
        [(1, "customer-a".to_owned()), (2, "customer-b".to_owned())]
    );
}

#[test]
fn one_by_one_a_message_is_submitted_when_the_one_before_is_settled() {
    for client in [SENDER, WORKER] {
        let bench = Bench::new(client);
        let text = CALM_PAIR
            .replace("count = 2", "count = 2\none-by-one = true")
            .replace("intent = 2", "intent = 1");
        bench.write("pair.toml", &text);
        let history = bench
            .run(&["run", "pair.toml"])
            .ends_with(0)
            .history("pair");
        assert_eq!(attempts(&history), [(1, 1), (1, 2), (2, 1)]);
    }
}

#[test]
fn a_worker_that_ends_by_itself_is_kept_up() {
    // The first time it only says that it is ready, and ends.
    let script = "#!/bin/sh\n[ -e \"$1/once\" ] || { : > \"$1/once\"; echo at work; exit 3; }\nshift\nexec \"$@\"\n";
    let bench = Bench::new(&WORKER.replace(
        "command = [\"COURIER\", \"work\"]",
        "command = [\"sh\", \"often.sh\", \"{work_dir}\", \"COURIER\", \"work\"]",
    ));
    bench.write("often.sh", script);
    bench.write("once.toml", ERROR_ONCE);
    let history = bench
        .run(&["run", "once.toml"])
        .ends_with(0)
        .history("once");
    let starts = |kind: &EventKind| {
        matches!(
            kind,
            EventKind::ProcessStarted {
                process: Process::Worker(1),
                ..
            }
        )
    };
    assert_eq!(count(&history, starts), 2);
}

#[test]
fn submit_faults_are_carried_out_by_every_form() {
    let faults = [
        ("duplicate", Submission::Again),
        ("concurrent", Submission::Again),
        ("conflict", Submission::Conflicting),
        ("abandon", Submission::Again),
    ];
    for client in [WORKER.to_owned(), server(r#"{ port = "{port}" }"#)] {
        let bench = Bench::new(&client);
        for (name, _) in faults {
            bench.write(
                &format!("all/{name}.toml"),
                &format!("title = \"a\"\nwhy = \"b\"\n[[fault]]\nsubmit.{name} = {{}}\n"),
            );
        }
        let run = bench.run(&["run", "all"]).ends_with(0);
        for (name, which) in faults {
            let history = run.history(name);
            let submissions: Vec<Submission> = history
                .events
                .iter()
                .filter_map(|event| match event.kind {
                    EventKind::Submitted { submission, .. } => Some(submission),
                    _ => None,
                })
                .collect();
            assert_eq!(submissions, [Submission::First, which], "{name}");
            assert_eq!(attempts(&history), [(1, 1)], "{name}");
        }
    }
}

#[test]
fn a_submit_command_that_there_is_not_cannot_be_killed() {
    let bench = Bench::new(&server(r#"{ port = "{port}" }"#));
    bench.write(
        "kill.toml",
        "title = \"a\"\nwhy = \"b\"\n[[fault]]\nclient.kill = { stage = \"submitted\", process = \"submit\" }\n",
    );
    bench
        .run(&["run", "kill.toml"])
        .ends_with(4)
        .says("no submit command to kill");
}

#[test]
fn a_server_is_killed_when_it_has_taken_the_message_on_and_not_before() {
    let bench = Bench::new(&server(r#"{ port = "{port}" }"#));
    bench.write(
        "kill.toml",
        "title = \"a\"\nwhy = \"b\"\n[[fault]]\nclient.kill = { stage = \"submitted\" }\n",
    );
    let history = bench
        .run(&["run", "kill.toml"])
        .ends_with(0)
        .history("kill");
    let at = |wanted: fn(&EventKind) -> bool| {
        let found = history.events.iter().position(|e| wanted(&e.kind));
        found.expect("it happened")
    };
    let taken_on = at(|kind| matches!(kind, EventKind::SubmitEnded { accepted: true, .. }));
    let killed = at(|kind| matches!(kind, EventKind::ProcessSignalled { .. }));
    assert!(taken_on < killed);
}

#[test]
fn a_second_provider_is_asked_when_the_first_refuses() {
    let bench = Bench::new(&format!(
        "capabilities = [\"failover\"]\n{}",
        WORKER.trim_start()
    ));
    bench.write(
        "over.toml",
        "title = \"a\"\nwhy = \"b\"\n[provider]\nfailover = true\n[[fault]]\nconnection = 1\nprovider = 1\ntoxic.down = { for = \"200ms\" }\n",
    );
    let history = bench
        .run(&["run", "over.toml"])
        .ends_with(0)
        .history("over");
    let providers: Vec<u8> = history
        .events
        .iter()
        .filter_map(|event| match event.kind {
            EventKind::Attempt { provider, .. } => Some(provider),
            _ => None,
        })
        .collect();
    assert_eq!(providers, [2]);
}

#[test]
fn a_command_on_the_command_line() {
    let bench = Bench::new(SENDER);
    bench.write("pair.toml", CALM_PAIR);
    let courier = courier();
    let program = courier.to_str().expect("a path");
    let history = bench
        .run(&[
            "run",
            "pair.toml",
            "--",
            program,
            "send",
            "{intent}",
            "{to}",
            "{body}",
        ])
        .ends_with(0)
        .history("pair");
    assert_eq!(fired(&history, 1), [(2, 1)]);
}

#[test]
fn a_submit_command_that_ended_before_its_fault_could_reach_it_is_not_taken_for_killed() {
    // It hands its message to a process of its own that outlives it, and ends.
    let bench = Bench::new(SENDER);
    bench.write("away.sh", "#!/bin/sh\n\"$@\"; exit 0\n");
    bench.write(
        "kill.toml",
        "title = \"a\"\nwhy = \"b\"\n[[fault]]\nattempt = 1\nclient.kill = { stage = \"answered\", process = \"submit\" }\n",
    );
    let run = bench.run(&["run", "kill.toml"]);
    let history = run.history("kill");
    let killed = count(&history, |kind| {
        matches!(
            kind,
            EventKind::ProcessEnded {
                process: Process::Submit(1),
                exit: None
            }
        )
    });
    let started = count(&history, |kind| {
        matches!(kind, EventKind::ProcessStarted { .. })
    });
    // Whichever came first: it acted and the command was run again, or it did neither.
    assert_eq!(fired(&history, 1).len(), killed);
    assert_eq!(started, 1 + killed);
    run.ends_with(if killed == 1 { 0 } else { 3 });
}

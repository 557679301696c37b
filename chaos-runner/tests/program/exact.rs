//! A fault on attempt *k* acts on attempt *k*, and on nothing else.

use std::fmt::Write as _;

use chaos_runner::history::{EventKind, History, Process};

use super::bench::{Bench, Nth, SENDER, WORKER, attempts, fired};

/// Each message is answered 503 once, so that there is a second attempt to aim at; then, for the
/// second message only, the fault in question.
fn second_of_second(fault: &str) -> String {
    format!(
        r#"
title = "A fault at attempt 2 of message 2"
why = "It must act there and nowhere else."
[intents]
count = 3
[[fault]]
attempt = 1
provider.respond = {{ stage = "before-accept", status = 503 }}
[[fault]]
attempt = 2
intent = 2
{fault}
"#
    )
}

/// Asserts that the second fault acted once, on attempt 2 of message 2; that the others had two
/// attempts, the first of which was answered 503; and that each phone buzzed once.
#[track_caller]
fn acted_there_only(history: &History) {
    let name = &history.scenario;
    assert_eq!(fired(history, 2), [(2, 2)], "{name}");
    assert_eq!(fired(history, 1), [(1, 1), (2, 1), (3, 1)], "{name}");
    let tries = attempts(history);
    let of = |intent: usize| -> Vec<Nth> {
        let mut tries: Vec<Nth> = tries.iter().copied().filter(|t| t.0 == intent).collect();
        tries.sort_unstable();
        tries
    };
    assert_eq!(of(1), [(1, 1), (1, 2)], "{name}");
    assert_eq!(of(3), [(3, 1), (3, 2)], "{name}");
    assert!(of(2).len() >= 2, "{name}: {tries:?}");
    let delivered: Vec<u32> = history.deliveries_by_intent().into_values().collect();
    assert_eq!(delivered, [1, 1, 1], "{name}");
}

#[test]
fn a_fault_of_the_provider_or_the_network_acts_on_exactly_its_attempt() {
    each_acts_there_only(SENDER);
}

/// The provider closes after its answer, which has yet to pass the toxics.
#[test]
fn a_fault_acts_on_exactly_its_attempt_where_no_connection_is_kept() {
    each_acts_there_only(&SENDER.replace("[env]", "[env]\nCOURIER_CLOSE = \"1\""));
}

fn each_acts_there_only(client: &str) {
    let by_provider = [
        "respond = { stage = \"STAGE\", status = 500 }",
        "hang = { stage = \"STAGE\" }",
        "reset = { stage = \"STAGE\" }",
        "close = { stage = \"STAGE\" }",
        "delay = { stage = \"STAGE\", for = \"50ms\" }",
        "truncate = { stage = \"STAGE\", part = \"body\", after = 4 }",
        "garble = { stage = \"STAGE\", how = \"not-http\" }",
        "rate-limit = { retry-after = \"0s\" }",
        "in-flight = { for = \"50ms\" }",
        "redirect = { status = 307 }",
    ];
    // Not `noop`, which never acts, nor `slow_close`: a client that closes first has no close to
    // wait for.
    let toxics = [
        "latency = { attributes = { latency = 30 } }",
        "bandwidth = { attributes = { rate = 100 } }",
        "timeout = { attributes = { timeout = 0 } }",
        "reset_peer = { attributes = { timeout = 0 } }",
        "slicer = { attributes = { average_size = 20, size_variation = 4, delay = 1000 } }",
        "limit_data = { attributes = { bytes = 10 } }",
    ];
    let bench = Bench::new(client);
    let mut names = Vec::new();
    let mut add = |name: String, fault: String| {
        bench.write(&format!("all/{name}.toml"), &second_of_second(&fault));
        names.push(name);
    };
    for (n, fault) in by_provider.iter().enumerate() {
        let stages: &[&str] = if fault.contains("STAGE") {
            &["before-accept", "after-accept"]
        } else {
            &[""]
        };
        for stage in stages {
            let fault = fault.replace("STAGE", stage);
            add(format!("provider-{n}{stage}"), format!("provider.{fault}"));
        }
    }
    for (n, toxic) in toxics.iter().enumerate() {
        add(format!("toxic-{n}"), format!("toxic.{toxic}"));
    }
    let run = bench.run(&["run", "all", "--jobs", "8"]);
    for name in names {
        acted_there_only(&run.history(&name));
    }
}

#[test]
fn a_fault_of_the_client_acts_on_exactly_its_attempt() {
    let faults = [
        ("kill-before", "kill = { stage = \"before-accept\" }"),
        ("kill-after", "kill = { stage = \"after-accept\" }"),
        ("kill-answered", "kill = { stage = \"answered\" }"),
        ("terminate", "terminate = { stage = \"after-accept\" }"),
        (
            "pause",
            "pause = { stage = \"after-accept\", for = \"100ms\" }",
        ),
    ];
    let bench = Bench::new(WORKER);
    for (name, fault) in faults {
        bench.write(
            &format!("all/{name}.toml"),
            &second_of_second(&format!("client.{fault}")),
        );
    }
    bench.write(
        "all/lock.toml",
        &second_of_second("database.lock = { stage = \"after-accept\", for = \"100ms\" }"),
    );
    let run = bench.run(&["run", "all"]).ends_with(0);
    for (name, _) in faults {
        let history = run.history(name);
        acted_there_only(&history);
        let starts = history
            .events
            .iter()
            .filter(|e| {
                matches!(
                    e.kind,
                    EventKind::ProcessStarted {
                        process: Process::Worker(1),
                        ..
                    }
                )
            })
            .count();
        assert_eq!(starts, if name == "pause" { 1 } else { 2 }, "{name}");
    }
    acted_there_only(&run.history("lock"));
}

#[test]
fn a_client_that_is_killed_at_a_stage_is_gone_before_its_request_goes_on() {
    let bench = Bench::new(WORKER);
    bench.write(
        "kill.toml",
        &second_of_second("client.kill = { stage = \"after-accept\" }"),
    );
    let history = bench
        .run(&["run", "kill.toml"])
        .ends_with(0)
        .history("kill");
    let held = history
        .events
        .iter()
        .position(
            |e| matches!(&e.kind, EventKind::ProcessSignalled { signal, .. } if signal == "kill"),
        )
        .expect("it was killed");
    let after: Vec<&EventKind> = history.events[held..].iter().map(|e| &e.kind).collect();
    let gone = after
        .iter()
        .position(|kind| matches!(kind, EventKind::ProcessEnded { exit: None, .. }))
        .expect("it ended by the signal");
    let released = after
        .iter()
        .position(|kind| matches!(kind, EventKind::Released { .. }))
        .expect("the request was let go");
    assert!(gone < released);
}

#[test]
fn a_fault_that_keeps_a_request_away_acts_on_exactly_its_connection() {
    let cases = [
        ("refused-1", 1, "toxic.down = { for = \"800ms\" }"),
        ("refused-2", 2, "toxic.down = { for = \"800ms\" }"),
        ("silent-1", 1, "connect.blackhole = { for = \"800ms\" }"),
        ("silent-2", 2, "connect.blackhole = { for = \"800ms\" }"),
        (
            "cut-1",
            1,
            "toxic.limit_data = { stream = \"upstream\", attributes = { bytes = 20 } }",
        ),
        (
            "cut-2",
            2,
            "toxic.limit_data = { stream = \"upstream\", attributes = { bytes = 20 } }",
        ),
        (
            "swallowed-2",
            2,
            "toxic.timeout = { stream = \"upstream\", attributes = { timeout = 0 } }",
        ),
        (
            "reset-2",
            2,
            "toxic.reset_peer = { stream = \"upstream\", attributes = { timeout = 0 } }",
        ),
    ];
    // Each try has a connection of its own, and there are enough of them to outlast the fault.
    let bench = Bench::new(
        &WORKER
            .replace(
                "[env]",
                "[env]\nCOURIER_TRIES = \"40\"\nCOURIER_PAUSE_MS = \"100\"\nCOURIER_CONNECT_MS = \"200\"",
            )
            .replace("max-attempts = 4", "max-attempts = 40"),
    );
    for (name, k, fault) in cases {
        let mut text = "title = \"a\"\nwhy = \"b\"\n".to_owned();
        for before in 1..k {
            // The attempt before it is lost with its connection.
            let _ = write!(
                text,
                "[[fault]]\nattempt = {before}\nprovider.close = {{ stage = \"before-accept\" }}\n"
            );
        }
        let _ = write!(text, "[[fault]]\nconnection = {k}\n{fault}\n");
        bench.write(&format!("all/{name}.toml"), &text);
    }
    let run = bench.run(&["run", "all"]);
    for (name, k, _) in cases {
        let history = run.history(name);
        if said(&run.report(), name) == "inconclusive" {
            // A link is cut when the attempt before is over. A client that was quicker than
            // that is not taken for one that met the fault.
            let late = format!("connection {k} was open before it was in place");
            assert!(k > 1 && remarks(&history).contains(&late), "{name}");
            continue;
        }
        assert_eq!(said(&run.report(), name), "pass", "{name}");
        let tries = attempts(&history);
        // What came before it arrived, and one attempt after it; none while it was in force.
        let expected: Vec<Nth> = (1..=k).map(|nth| (1, nth)).collect();
        assert_eq!(tries, expected, "{name}");
        let id = u32::try_from(history.faults.len()).expect("a few faults");
        let applied = history
            .events
            .iter()
            .filter(|e| matches!(e.kind, EventKind::FaultApplied { fault, .. } if fault == id))
            .count();
        assert_eq!(applied, 1, "{name}");
        let delivered: Vec<u32> = history.deliveries_by_intent().into_values().collect();
        assert_eq!(delivered, [1], "{name}");
        // The client's own count has the try that did not arrive.
        let counted = history
            .events
            .iter()
            .rev()
            .find_map(|event| match event.kind {
                EventKind::Believed { attempts, .. } => attempts,
                _ => None,
            });
        assert!(counted > Some(k), "{name}: {counted:?}");
    }
}

/// The verdict on a scenario.
fn said(report: &serde_json::Value, scenario: &str) -> String {
    let scenarios = report["scenarios"].as_array().expect("a list");
    let found = scenarios.iter().find(|s| s["name"] == scenario);
    let verdict = found.and_then(|s| s["verdict"].as_str());
    verdict.expect("a verdict on the scenario").to_owned()
}

fn remarks(history: &History) -> String {
    let remark = |kind: &EventKind| match kind {
        EventKind::Remark { text } => Some(text.clone()),
        _ => None,
    };
    let all: Vec<String> = history
        .events
        .iter()
        .filter_map(|e| remark(&e.kind))
        .collect();
    all.join("\n")
}

#[test]
fn the_client_is_stopped_at_exactly_the_connection_that_the_scenario_names() {
    let bench = Bench::new(WORKER);
    for k in [1, 2] {
        bench.write(
            &format!("all/kill-{k}.toml"),
            &format!(
                r#"
title = "Killed when connected"
why = "Nothing was sent."
[[fault]]
attempt = 1
provider.close = {{ stage = "before-accept" }}
[[fault]]
connection = {k}
client.kill = {{ stage = "connected" }}
"#
            ),
        );
    }
    let run = bench.run(&["run", "all"]).ends_with(0);
    for k in [1, 2] {
        let history = run.history(&format!("kill-{k}"));
        let killed = history
            .events
            .iter()
            .position(|e| matches!(&e.kind, EventKind::ProcessSignalled { signal, .. } if signal == "kill"))
            .expect("it was killed");
        let before = history.events[..killed]
            .iter()
            .filter(|e| matches!(e.kind, EventKind::Attempt { .. }))
            .count();
        assert_eq!(before, k - 1, "attempts before the kill at connection {k}");
    }
}

#[test]
fn a_toxic_on_a_connection_that_is_used_again_is_gone_before_the_next_answer() {
    let bench = Bench::new(WORKER);
    bench.write(
        "late.toml",
        r#"
title = "A late answer, then another message on the same connection"
why = "The second answer must not be late."
[intents]
count = 2
one-by-one = true
[[fault]]
attempt = 1
intent = 1
toxic.latency = { attributes = { latency = 60 } }
"#,
    );
    let history = bench
        .run(&["run", "late.toml"])
        .ends_with(0)
        .history("late");
    assert_eq!(fired(&history, 1), [(1, 1)]);
    assert_eq!(attempts(&history), [(1, 1), (2, 1)]);
    let place = |wanted: &dyn Fn(&EventKind) -> bool| {
        history
            .events
            .iter()
            .position(|event| wanted(&event.kind))
            .expect("it happened")
    };
    let reused = place(&|kind| {
        matches!(
            kind,
            EventKind::Attempt {
                intent: Some(2),
                nth_on_connection: 2,
                ..
            }
        )
    });
    let healed = place(&|kind| matches!(kind, EventKind::FaultHealed { fault: 1 }));
    let answered = place(&|kind| matches!(kind, EventKind::Answering { attempt: 2, .. }));
    assert!(
        reused < healed && healed < answered,
        "{reused} {healed} {answered}"
    );
}

#[test]
fn thirty_labs_at_once_do_not_disturb_one_another() {
    let bench = Bench::new(SENDER);
    for n in 0..10 {
        bench.write(
            &format!("all/toxic-{n}.toml"),
            &second_of_second("toxic.reset_peer = { attributes = { timeout = 0 } }"),
        );
        bench.write(
            &format!("all/reset-{n}.toml"),
            &second_of_second("provider.reset = { stage = \"after-accept\" }"),
        );
        bench.write(
            &format!("all/calm-{n}.toml"),
            "title = \"a\"\nwhy = \"b\"\n[intents]\ncount = 3\n",
        );
    }
    let run = bench.run(&["run", "all", "--jobs", "8"]).ends_with(0);
    for n in 0..10 {
        acted_there_only(&run.history(&format!("toxic-{n}")));
        acted_there_only(&run.history(&format!("reset-{n}")));
        let calm = run.history(&format!("calm-{n}"));
        let mut tries = attempts(&calm);
        tries.sort_unstable();
        assert_eq!(tries, [(1, 1), (2, 1), (3, 1)]);
    }
}

#[test]
fn a_crash_of_the_provider_acts_once_and_what_it_remembers_is_as_the_scenario_says() {
    let bench = Bench::new(SENDER);
    for (memory, deliveries) in [("kept", [1]), ("lost", [2])] {
        bench.write(
            &format!("all/{memory}.toml"),
            &format!(
                "title = \"a\"\nwhy = \"b\"\n[[fault]]\nattempt = 1\n\
                 provider.crash = {{ stage = \"after-accept\", memory = \"{memory}\", for = \"50ms\" }}\n\
                 [expect]\ndeliveries = {}\n",
                deliveries[0]
            ),
        );
    }
    let run = bench.run(&["run", "all"]);
    for (memory, deliveries) in [("kept", [1]), ("lost", [2])] {
        let history = run.history(memory);
        assert_eq!(fired(&history, 1), [(1, 1)], "{memory}");
        let delivered: Vec<u32> = history.deliveries_by_intent().into_values().collect();
        assert_eq!(delivered, deliveries, "{memory}");
    }
}

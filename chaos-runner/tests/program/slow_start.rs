//! A link that is cut before the client has started, and clients that take their time to start.

use super::{
    bench::{Bench, WORKER},
    forms::server,
};

#[test]
fn a_link_is_cut_while_a_client_that_is_slow_to_start_has_something_to_send() {
    // It takes longer to start than the link is down.
    let slow = r#"["sh", "-c", 'sleep 1; exec "$0" "$@"', "COURIER", "#;
    for client in [WORKER.to_owned(), server(r#"{ port = "{port}" }"#)] {
        let bench = Bench::new(
            &client
                .replace(
                    "[worker]\ncommand = [\"COURIER\", ",
                    &format!("[worker]\ncommand = {slow}"),
                )
                .replace(
                    "[env]",
                    "[env]\nCOURIER_TRIES = \"40\"\nCOURIER_PAUSE_MS = \"100\"",
                )
                .replace("max-attempts = 4", "max-attempts = 40"),
        );
        bench.write(
            "cut.toml",
            "title = \"a\"\nwhy = \"b\"\n[[fault]]\nconnection = 1\ntoxic.down = { for = \"300ms\" }\n",
        );
        bench.run(&["run", "cut.toml"]).ends_with(0);
    }
}

#[test]
fn a_link_is_cut_until_a_client_that_never_says_when_it_is_ready_has_tried_it() {
    // It works for longer than the link is down, and counts its tries: none is refused for nothing.
    let busy = r#"["sh", "-c", 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; exec "$0" "$@"', "COURIER", "#;
    let bench = Bench::new(
        &WORKER
            .replace("ready = { log = \"at work\" }\n", "")
            .replace(
                "[worker]\ncommand = [\"COURIER\", ",
                &format!("[worker]\ncommand = {busy}"),
            )
            .replace(
                "COURIER_TIMEOUT_MS",
                "COURIER_PAUSE_MS = \"100\"\nCOURIER_TIMEOUT_MS",
            ),
    );
    bench.write(
        "cut.toml",
        "title = \"a\"\nwhy = \"b\"\n[[fault]]\nconnection = 1\ntoxic.down = { for = \"50ms\" }\n",
    );
    bench.run(&["run", "cut.toml"]).ends_with(0);
}

#[test]
fn a_worker_that_had_no_processor_for_longer_than_it_may_be_idle_is_not_taken_for_stuck() {
    // Beside a process that keeps its processor busy it gets what is left over: next to nothing.
    let starved = r#"["sh", "-c", '(taskset -c 0 sh -c "while :; do :; done" &); exec taskset -c 0 chrt -i 0 sh -c "i=0; while [ \$i -lt 5000 ]; do i=\$((i+1)); done; exec \"\$0\" \"\$@\"" "$0" "$@"', "COURIER", "#;
    let bench = Bench::new(
        &WORKER
            .replace("ready = { log = \"at work\" }\n", "timeout = \"100s\"\n")
            .replace(
                "[worker]\ncommand = [\"COURIER\", ",
                &format!("[worker]\ncommand = {starved}"),
            ),
    );
    bench.write("calm.toml", "title = \"a\"\nwhy = \"b\"\n");
    bench.run(&["run", "calm.toml"]).ends_with(0);
}

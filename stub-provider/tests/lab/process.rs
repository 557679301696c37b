//! The provider as a process of its own, which can be killed.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, ChildStderr, Command, Stdio},
};

use assert_cmd::cargo::CommandCargoExt;
use serde_json::Value;

pub(crate) fn program() -> Command {
    let mut program = Command::cargo_bin("stub-provider").expect("the program is built");
    program.env_remove("RUST_LOG");
    program
}

/// A running provider. Killed when dropped.
pub(crate) struct Process {
    child: Child,
    log: BufReader<ChildStderr>,
    pub(crate) addr: std::net::SocketAddr,
    /// What it said before it was ready.
    pub(crate) said: Vec<Value>,
}

impl Process {
    pub(crate) fn start(args: &[&str]) -> Self {
        let mut program = program();
        program.args(["--listen", "127.0.0.1:0", "--json-logs"]);
        program.args(args);
        Self::run(program)
    }

    /// Runs a program that becomes a provider with `--json-logs`.
    #[expect(
        clippy::zombie_processes,
        reason = "a provider that does not start fails the test, and ends with it"
    )]
    pub(crate) fn run(mut program: Command) -> Self {
        let mut child = program
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut log = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut said = Vec::new();
        loop {
            let mut line = String::new();
            log.read_line(&mut line).expect("a readable log");
            assert!(!line.is_empty(), "it ends before it is ready: {said:?}");
            let entry: Value =
                serde_json::from_str(&line).unwrap_or_else(|_| panic!("not a log: {line}"));
            let url = entry["fields"]["url"].as_str().map(str::to_owned);
            said.push(entry);
            if let Some(url) = url {
                let addr = url.trim_start_matches("http://").parse();
                return Self {
                    child,
                    log,
                    addr: addr.expect("its address"),
                    said,
                };
            }
        }
    }

    /// SIGKILL, now; everything that it had said until then.
    pub(crate) fn kill(mut self) -> String {
        self.child.kill().expect("it still runs");
        self.child.wait().expect("it ends");
        let mut rest = String::new();
        self.log.read_to_string(&mut rest).expect("a readable log");
        rest
    }

    /// What it recovered.
    pub(crate) fn recovered(&self) -> &Value {
        let entry = self
            .said
            .iter()
            .find(|entry| entry["fields"]["message"] == "recovered");
        &entry.expect("it says what it recovered")["fields"]
    }

    /// How many bytes of a torn tail it says that it cut.
    pub(crate) fn cut(&self) -> u64 {
        let entry = self.said.iter().find_map(|entry| {
            let fields = &entry["fields"];
            fields["message"]
                .as_str()?
                .contains("torn")
                .then_some(fields)
        });
        entry.map_or(0, |fields| fields["bytes"].as_u64().expect("a number"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // An error means that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! The program: its command line, configuration file, signals and exit codes.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use assert_cmd::cargo::cargo_bin;
use predicates::prelude::*;

/// The running program; killed if a test fails before it has stopped.
struct Program {
    child: Child,
    api: String,
    /// Kept open: the program writes its logs to the other end.
    logs: BufReader<std::process::ChildStderr>,
}

impl Drop for Program {
    fn drop(&mut self) {
        // Fails where it has stopped already, which is what was wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start(arguments: &[&str]) -> Program {
    let mut child = Command::new(cargo_bin("toxic-proxy"))
        .args(["--listen", "127.0.0.1:0", "--log-format", "json"])
        .args(arguments)
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let logs = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut program = Program {
        child,
        api: String::new(),
        logs,
    };
    while program.api.is_empty() {
        let mut line = String::new();
        assert_ne!(
            program.logs.read_line(&mut line).expect("a line"),
            0,
            "it ended before it listened"
        );
        let json: serde_json::Value = serde_json::from_str(&line).expect("a log line is JSON");
        if json["fields"]["message"] == "API listens" {
            json["fields"]["address"]
                .as_str()
                .expect("an address")
                .clone_into(&mut program.api);
        }
    }
    program
}

fn get(api: &str, path: &str) -> serde_json::Value {
    let mut socket = std::net::TcpStream::connect(api).expect("the API listens");
    write!(
        socket,
        "GET {path} HTTP/1.1\r\nHost: api\r\nConnection: close\r\n\r\n"
    )
    .expect("sent");
    let answer = std::io::read_to_string(socket).expect("answered");
    let (_, body) = answer.split_once("\r\n\r\n").expect("a head");
    serde_json::from_str(body).expect("the body is JSON")
}

fn stops_on(signal: &str) {
    let mut program = start(&[]);
    let sent = Command::new("kill")
        .args([signal, &program.child.id().to_string()])
        .status()
        .expect("kill runs");
    assert!(sent.success());
    assert_eq!(program.child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn sigterm_stops_it_with_exit_code_0() {
    stops_on("-TERM");
}

#[test]
fn sigint_stops_it_with_exit_code_0() {
    stops_on("-INT");
}

#[test]
fn a_configuration_file_creates_proxies_with_their_toxics() {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(
        br#"[{"name":"sms","listen":"127.0.0.1:0","upstream":"127.0.0.1:1",
              "toxics":[{"type":"timeout","connection":2},{"type":"latency","stream":"upstream","attributes":{"latency":5}}]},
             {"name":"off","listen":"127.0.0.1:0","upstream":"127.0.0.1:1","enabled":false}]"#,
    )
    .expect("written");
    let program = start(&[
        "--config",
        file.path().to_str().expect("text"),
        "--seed",
        "7",
    ]);
    let proxies = get(&program.api, "/proxies");
    assert_eq!(proxies["off"]["enabled"], false);
    assert_eq!(proxies["sms"]["toxics"][0]["attributes"]["latency"], 5);
    assert_eq!(proxies["sms"]["toxics"][1]["connection"], 2);
}

fn command(arguments: &[&str]) -> assert_cmd::assert::Assert {
    assert_cmd::Command::new(cargo_bin("toxic-proxy"))
        .args(arguments)
        .assert()
}

#[test]
fn a_wrong_command_line_exits_2() {
    command(&["--nope"]).code(2);
    command(&["--port", "99999"]).code(2);
    command(&["--listen", "127.0.0.1:0", "--port", "1"]).code(2);
    command(&["--log-level", "=:="])
        .code(2)
        .stderr(predicate::str::contains("--log-level"));
}

#[test]
fn a_wrong_configuration_file_exits_2_and_names_the_place() {
    let wrong = |text: &str, place: &str| {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(text.as_bytes()).expect("written");
        let path = file.path().to_str().expect("text");
        command(&["--listen", "127.0.0.1:0", "--config", path])
            .code(2)
            .stderr(predicate::str::contains(path).and(predicate::str::contains(place)));
    };
    wrong("{}", "must be a list");
    wrong(
        r#"[{"name":"a"}]"#,
        "proxy 1: missing required field: upstream",
    );
    wrong(
        r#"[{"name":"a","upstream":"b:1","toxics":[{"type":"latency","attributes":{"latancy":1}}]}]"#,
        "attributes.latancy",
    );
    command(&[
        "--listen",
        "127.0.0.1:0",
        "--config",
        "/nonexistent/proxies.json",
    ])
    .code(2)
    .stderr(predicate::str::contains("/nonexistent/proxies.json"));
}

#[test]
fn an_address_that_is_taken_exits_1() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("bound").to_string();
    command(&["--listen", &address])
        .code(1)
        .stderr(predicate::str::contains("address already in use"));
}

#[test]
fn it_describes_itself_to_shells_and_to_man() {
    let describe = |argument: &[&str]| {
        let output = Command::new(cargo_bin("toxic-proxy"))
            .args(argument)
            .output()
            .expect("the program starts");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    assert!(describe(&["--completions", "fish"]).contains("complete -c toxic-proxy"));
    let page = describe(&["--man"]);
    assert!(page.contains(".TH toxic"), "{page}");
    assert!(page.contains("seed"), "{page}");
}

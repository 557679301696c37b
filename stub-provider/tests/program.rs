//! The program: what it says, how it starts and how it ends.

use std::{
    env, fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
};

use assert_cmd::{assert::OutputAssertExt, cargo::CommandCargoExt};
use predicates::{prelude::PredicateBooleanExt as _, str::contains};

fn stub() -> Command {
    Command::cargo_bin("stub-provider").expect("the program is built")
}

/// A running program, its address, and what it logs. Killed when dropped.
struct Running {
    child: Child,
    addr: String,
    log: BufReader<std::process::ChildStderr>,
}

impl Drop for Running {
    fn drop(&mut self) {
        // An error means that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start(args: &[&str]) -> Running {
    start_with(args, Stdio::null())
}

fn start_with(args: &[&str], input: Stdio) -> Running {
    let mut child = stub()
        .args(["--listen", "127.0.0.1:0", "--json-logs"])
        .args(args)
        .env_remove("RUST_LOG")
        .stdin(input)
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut log = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    log.read_line(&mut line).expect("a first line");
    let entry: serde_json::Value = serde_json::from_str(&line).expect("a JSON line");
    let url = entry["fields"]["url"].as_str().expect("the address");
    let addr = url.trim_start_matches("http://").to_owned();
    Running { child, addr, log }
}

fn ask(addr: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(addr).expect("a connection");
    stream.write_all(request.as_bytes()).expect("writable");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

fn post() -> String {
    let body = r#"{"to":"+12025550142","body":"code 4711"}"#;
    format!(
        "POST /v1/messages HTTP/1.1\r\nHost: s\r\nConnection: close\r\nIdempotency-Key: secret-key\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[test]
fn it_serves_until_it_is_told_to_stop_and_logs_no_number_and_no_key() {
    for signal in ["-TERM", "-INT"] {
        let mut running = start(&[]);
        let answer = ask(&running.addr, &post());
        assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
        let pid = running.child.id().to_string();
        Command::new("kill").args([signal, &pid]).assert().success();
        let status = running.child.wait().expect("it ends");
        assert!(status.success(), "{status}");
        let mut rest = String::new();
        running.log.read_to_string(&mut rest).expect("its log");
        assert!(rest.contains("stopping"), "{rest}");
        for secret in ["5550142", "secret-key", "4711"] {
            assert!(!rest.contains(secret), "{rest}");
        }
    }
}

#[test]
fn a_port_that_is_taken_is_said_plainly() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let addr = taken.local_addr().expect("bound").to_string();
    stub()
        .args(["--listen", &addr])
        .assert()
        .code(2)
        .stderr(contains(&addr))
        .stderr(contains("choose another with --listen"));
}

#[test]
fn two_providers_cannot_share_a_port() {
    let running = start(&[]);
    stub().args(["--listen", &running.addr]).assert().code(2);
}

#[test]
fn an_address_that_others_can_reach_needs_a_word() {
    stub()
        .args(["--listen", "0.0.0.0:0"])
        .assert()
        .code(2)
        .stderr(contains("--listen-any"));
}

#[test]
fn a_profile_that_does_not_exist_is_answered_with_those_that_do() {
    stub()
        .args(["--profile", "v9"])
        .assert()
        .code(2)
        .stderr(contains("v9"))
        .stderr(contains("v1"));
}

#[test]
fn a_wrong_profile_file_is_shown_with_its_line() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("mine.toml");
    let source = include_str!("../profiles/v1.toml").replace("retention ", "retentoin ");
    std::fs::write(&path, source).expect("writable");
    stub()
        .arg("--profile")
        .arg(&path)
        .assert()
        .code(2)
        .stderr(contains("retentoin"))
        .stderr(contains("mine.toml"));
}

#[test]
fn a_profile_file_is_spoken() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("mine.toml");
    let source = include_str!("../profiles/v1.toml").replace("/v1/messages", "/mine");
    std::fs::write(&path, source).expect("writable");
    let running = start(&["--profile", path.to_str().expect("text")]);
    let answer = ask(&running.addr, &post().replace("/v1/messages", "/mine"));
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
}

#[test]
fn a_retention_that_is_no_duration_is_a_usage_error() {
    stub()
        .args(["--retention", "24"])
        .assert()
        .code(2)
        .stderr(contains("24h"));
}

#[test]
fn a_store_that_cannot_be_had_is_said_at_once_and_without_its_password() {
    // A port on which nobody can listen.
    let (there, elsewhere) = (
        "postgres://u:secretpw@127.0.0.1:1/db",
        "mysql://u:secretpw@127.0.0.1:1/db",
    );
    for (store, says) in [
        (there, "postgres://127.0.0.1:1/db"),
        // Whoever tries for a while says in the end that time was over.
        (there, "refused"),
        (elsewhere, "begins with postgres://"),
    ] {
        let told = stub()
            .args(["--listen", "127.0.0.1:0", "--store", store])
            .output()
            .expect("it ends");
        let words = String::from_utf8_lossy(&told.stderr);
        assert!(!told.status.success());
        assert!(words.contains(says), "{words}");
        assert!(!words.contains("secretpw"), "{words}");
    }
}

#[test]
fn it_stops_when_standard_input_ends_if_told_so() {
    let mut running = start_with(&["--until-eof"], Stdio::piped());
    // It is there as long as the input is open.
    assert!(ask(&running.addr, &post()).starts_with("HTTP/1.1 201"));
    drop(running.child.stdin.take());
    let status = running.child.wait().expect("it ends");
    assert!(status.success(), "{status}");
}

#[test]
fn it_describes_itself_to_shells_and_to_man() {
    stub()
        .args(["--completions", "zsh"])
        .assert()
        .success()
        .stdout(contains("#compdef stub-provider").and(contains("--retention")));
    stub()
        .arg("--man")
        .assert()
        .success()
        .stdout(contains(".TH stub").and(contains("retention")));
    stub()
        .args(["--man", "--seed", "1"])
        .assert()
        .code(2)
        .stderr(contains("cannot be used with"));
}

#[test]
fn a_choice_of_logs_that_is_not_understood_is_said_and_stops_nothing() {
    let mut program = stub();
    program.args(["--listen", "127.0.0.1:0", "--until-eof"]);
    let said = contains("RUST_LOG=stub_provider=loud is not understood").and(contains("ready"));
    program
        .env("RUST_LOG", "stub_provider=loud")
        .stdin(Stdio::null());
    program.assert().success().stderr(said);
}

/// `UPDATE_SCHEMAS=1 cargo test -p stub-provider --test program` writes them anew.
#[test]
fn the_options_in_the_readme_are_those_of_the_program() {
    let mut help = stub();
    help.arg("--help").env_clear().env("COLUMNS", "96");
    let shown = help.stdin(Stdio::null()).output().expect("its help").stdout;
    let shown = String::from_utf8(shown).expect("text");
    let lines: Vec<&str> = shown.lines().map(str::trim_end).collect();
    let part = format!("```text\n{}\n```\n", lines.join("\n").trim_end());

    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    let committed = fs::read_to_string(path).expect("the file is committed");
    let (begin, end) = ("<!-- options -->\n", "<!-- end of options -->");
    let (before, rest) = committed.split_once(begin).expect("a beginning");
    let (was, after) = rest.split_once(end).expect("an end");
    if env::var_os("UPDATE_SCHEMAS").is_some() {
        fs::write(path, format!("{before}{begin}{part}{end}{after}")).expect("writable");
        return;
    }
    assert_eq!(was, part, "run this test with UPDATE_SCHEMAS=1");
}

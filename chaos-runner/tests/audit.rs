//! `chaos-runner audit`: it passes on every profile of the provider that keeps its promises, and
//! catches every one that cheats, by rule and by no other.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::Value;
use stub_provider::{Config, Profile, Provider};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// A provider that keeps its promises, in this process.
struct Honest {
    runtime: Runtime,
    provider: Option<Provider>,
    url: String,
}

impl Honest {
    fn new(profile: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let profile = Profile::builtin(profile).expect("a built-in profile");
        let config = Config {
            profile,
            ..Config::default()
        };
        let provider = runtime
            .block_on(Provider::start(config))
            .expect("a provider");
        Self {
            url: provider.url(),
            provider: Some(provider),
            runtime,
        }
    }
}

impl Drop for Honest {
    fn drop(&mut self) {
        if let Some(provider) = self.provider.take() {
            self.runtime.block_on(provider.stop());
        }
    }
}

/// The provider that cheats, as a program.
struct Cheating {
    child: Child,
    addr: String,
    dir: TempDir,
    // Its other end is the program's output, which must not break.
    _output: BufReader<std::process::ChildStdout>,
}

fn program() -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_chaos-runner"))
        .parent()
        .expect("a program is in a directory")
        .join("examples/cheating_provider");
    assert!(
        path.exists(),
        "{} is built by `cargo test`; with --test, add --examples",
        path.display()
    );
    path
}

impl Cheating {
    fn new(cheat: &str, more: &[&str]) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let mut child = Command::new(program())
            .args(["--cheat", cheat, "--state"])
            .arg(dir.path().join("state"))
            .args(more)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        output.read_line(&mut line).expect("it says where it is");
        let addr = line
            .trim()
            .strip_prefix("listening on ")
            .expect("an address")
            .to_owned();
        Self {
            child,
            addr,
            dir,
            _output: output,
        }
    }

    fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Audits it, with everything that there is to check a provider with.
    fn audited(&self, profile: &str, more: &[&str]) -> Told {
        let url = self.url();
        let restart = format!("'{}' --ask-restart {}", program().display(), self.addr);
        let report = self.dir.path().join("report.json");
        let mut arguments = vec!["--url", &url, "--profile", profile, "--admin", &url];
        arguments.extend(["--restart", &restart, "--concurrency", "20"]);
        arguments.extend(more);
        audit(&arguments, &report)
    }
}

impl Drop for Cheating {
    fn drop(&mut self) {
        // It may have gone by itself, where a test says so.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Told {
    code: Option<i32>,
    stdout: String,
    stderr: String,
    report: Value,
}

impl Told {
    /// The rules of that judgement.
    fn rules(&self, judgement: &str) -> BTreeSet<String> {
        let rules = self.report["rules"].as_array().expect("rules");
        let named = rules.iter().filter(|rule| rule["judgement"] == judgement);
        named
            .map(|rule| rule["rule"].as_str().expect("an id").to_owned())
            .collect()
    }

    #[track_caller]
    fn ends_with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}\n{}", self.stdout, self.stderr);
        self
    }
}

fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chaos-runner"));
    command
        .arg("audit")
        .env_remove("CLICOLOR_FORCE")
        .env_remove("RUST_LOG")
        .env_remove("CHAOS_AUDIT_CUSTOMER")
        .env_remove("CHAOS_AUDIT_CUSTOMER_2")
        .env("NO_COLOR", "1")
        .stdin(Stdio::null());
    command
}

fn audit(arguments: &[&str], report: &Path) -> Told {
    let output = command()
        .args(arguments)
        .arg("--json")
        .arg(report)
        .output()
        .expect("the program runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it prints text");
    let report = fs::read(report).unwrap_or_default();
    Told {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
        report: serde_json::from_slice(&report).unwrap_or_default(),
    }
}

fn set(rules: &[&str]) -> BTreeSet<String> {
    rules.iter().map(|rule| (*rule).to_owned()).collect()
}

/// Every rule, as `--only` names it.
fn all_rules() -> BTreeSet<String> {
    chaos_runner::audit::rule::Rule::ALL
        .iter()
        .map(|rule| rule.id().to_owned())
        .collect()
}

#[test]
fn every_profile_of_the_honest_provider_passes() {
    for name in Profile::names() {
        let honest = Honest::new(name);
        let dir = tempfile::tempdir().expect("a directory");
        let report = dir.path().join("report.json");
        let url = honest.url.as_str();
        let arguments = ["--url", url, "--profile", name, "--admin", url];
        let told = audit(&arguments, &report);
        let keyless = !Profile::builtin(name).expect("a profile").has_key();
        let code = if keyless { 4 } else { 0 };
        assert_eq!(
            told.code,
            Some(code),
            "{name}\n{}\n{}",
            told.stdout,
            told.stderr
        );
        if keyless {
            assert_eq!(told.rules("not-applicable"), all_rules(), "{name}");
            assert!(
                told.stdout.contains("second time"),
                "{name}\n{}",
                told.stdout
            );
            continue;
        }
        // Only what needs a restart, or has no meaning under this profile, may be left out.
        let mut open = told.rules("not-checked");
        open.extend(told.rules("not-applicable"));
        open.remove("restart");
        open.remove("key-length");
        assert_eq!(open, set(&[]), "{name}\n{}", told.stdout);
    }
}

#[test]
fn a_provider_that_keeps_every_promise_passes_every_rule() {
    let provider = Cheating::new("none", &[]);
    let told = provider.audited("v1", &[]).ends_with(0);
    assert_eq!(told.rules("kept"), all_rules(), "{}", told.stdout);
}

#[track_caller]
fn assert_caught(cheat: &str, rules: &[&str]) {
    let provider = Cheating::new(cheat, &[]);
    let told = provider.audited("v1", &[]).ends_with(1);
    assert_eq!(told.rules("broken"), set(rules), "{}", told.stdout);
    assert_eq!(told.rules("inconclusive"), set(&[]), "{}", told.stdout);
    for rule in told.report["rules"].as_array().expect("rules") {
        if rule["judgement"] == "broken" {
            let proof = rule["proof"].as_array().expect("a proof");
            assert!(!proof.is_empty(), "{rule}");
        }
    }
}

#[test]
fn the_ten_line_stub_is_caught_racing_and_binding_nothing() {
    assert_caught(
        "racing",
        &[
            "concurrency",
            "in-flight",
            "mismatch",
            "reset-during-answer",
            "restart",
        ],
    );
}

#[test]
fn keys_that_are_forgotten_on_restart_are_missed() {
    assert_caught("forgets-on-restart", &["restart"]);
}

#[test]
fn keys_that_cross_customers_are_caught() {
    assert_caught("unscoped", &["customer-scope"]);
}

#[test]
fn keys_that_are_cut_are_caught() {
    assert_caught("truncates-keys", &["key-length"]);
}

#[test]
fn a_stored_answer_in_other_bytes_is_caught() {
    assert_caught("replays-reformatted", &["replay"]);
}

#[test]
fn a_key_that_stands_for_every_payload_is_caught() {
    assert_caught("no-mismatch", &["mismatch"]);
}

#[test]
fn a_message_that_doubles_when_the_client_hangs_up_is_caught() {
    assert_caught("doubles-on-reset", &["reset-during-answer"]);
}

#[test]
fn keys_that_are_forgotten_too_early_are_caught() {
    assert_caught("forgets-early", &["retention"]);
}

#[test]
fn an_empty_key_that_all_share_is_caught() {
    assert_caught("shares-the-empty-key", &["key-form"]);
}

/// `v1`, but only successes are stored.
fn successes_only(dir: &Path) -> String {
    let v1 = include_str!("../../stub-provider/profiles/v1.toml");
    let line = v1
        .lines()
        .find(|line| line.starts_with("replays"))
        .expect("v1 says what it replays");
    let path = dir.join("successes.toml");
    fs::write(&path, v1.replace(line, "replays = \"successes\"")).expect("a file");
    path.display().to_string()
}

#[test]
fn errors_that_are_stored_though_they_should_not_be_are_caught() {
    let provider = Cheating::new("stores-errors", &["--successes-only"]);
    let profile = successes_only(provider.dir.path());
    let told = provider.audited(&profile, &[]).ends_with(1);
    assert_eq!(
        told.rules("broken"),
        set(&["stored-errors"]),
        "{}",
        told.stdout
    );
}

#[test]
fn errors_that_free_the_key_as_promised_pass() {
    let provider = Cheating::new("none", &["--successes-only"]);
    let profile = successes_only(provider.dir.path());
    let told = provider.audited(&profile, &[]).ends_with(0);
    assert_eq!(told.rules("kept"), all_rules(), "{}", told.stdout);
}

#[test]
fn a_race_is_lost_every_time() {
    let provider = Cheating::new("racing", &[]);
    for _ in 0..10 {
        let told = provider.audited("v1", &["--only", "concurrency"]);
        let told = told.ends_with(1);
        assert_eq!(told.rules("broken"), set(&["concurrency"]));
    }
}

#[test]
fn what_needs_an_admin_is_not_checked_without_it() {
    let honest = Honest::new("v1");
    let dir = tempfile::tempdir().expect("a directory");
    let url = honest.url.as_str();
    let only = ["--only", "retention", "--only", "restart"];
    let arguments = [&["--url", url, "--profile", "v1"][..], &only[..]].concat();
    let told = audit(&arguments, &dir.path().join("report.json")).ends_with(4);
    assert_eq!(told.rules("not-checked"), set(&["restart", "retention"]));
}

#[test]
fn a_provider_that_is_not_there_is_inconclusive() {
    let dir = tempfile::tempdir().expect("a directory");
    let report = dir.path().join("report.json");
    // The port of a provider that was just stopped: nobody is there.
    let url = Honest::new("v1").url.clone();
    let arguments = ["--url", &url, "--profile", "v1", "--only", "replay"];
    let told = audit(&arguments, &report).ends_with(3);
    assert!(told.stdout.contains("refused"), "{}", told.stdout);
    assert_eq!(told.report["rules"][0]["judgement"], "inconclusive");
}

#[test]
fn a_provider_that_is_elsewhere_needs_to_be_allowed() {
    let dir = tempfile::tempdir().expect("a directory");
    let report = dir.path().join("report.json");
    let (here, there) = ("http://127.0.0.1:1", "http://sms.invalid");
    for urls in [
        &["--url", there][..],
        &["--url", here, "--admin", there],
        &["--url", here, "--clock-url", there],
    ] {
        let arguments = [urls, &["--profile", "v1"]].concat();
        let told = audit(&arguments, &report).ends_with(2);
        assert!(told.stderr.contains("sms.invalid"), "{}", told.stderr);
        assert!(told.stderr.contains("--allow-remote"), "{}", told.stderr);
        assert!(told.stderr.contains("cost money"), "{}", told.stderr);
        assert!(!report.exists(), "nothing was audited");
    }
}

#[test]
fn a_report_that_cannot_be_written_is_said_before_anything_is_sent() {
    let honest = Honest::new("v1");
    let dir = tempfile::tempdir().expect("a directory");
    let report = dir.path().join("nowhere").join("report.json");
    let arguments = ["--url", &honest.url, "--profile", "v1", "--only", "replay"];
    let told = audit(&arguments, &report).ends_with(2);
    assert!(told.stderr.contains("nothing was run"), "{}", told.stderr);
    assert_eq!(told.stdout, "");
}

#[test]
fn slips_in_the_arguments_are_answered_with_what_was_meant() {
    let dir = tempfile::tempdir().expect("a directory");
    let report = dir.path().join("report.json");
    let url = "http://127.0.0.1:1";
    for (arguments, says) in [
        (
            ["--url", url, "--profile", "v1", "--only", "retenton"],
            "did you mean `retention`",
        ),
        (
            ["--url", url, "--profile", "v2", "--only", "replay"],
            "built in: ",
        ),
        (
            [
                "--url",
                "localhost:1",
                "--profile",
                "v1",
                "--only",
                "replay",
            ],
            "http://127.0.0.1:9090",
        ),
        (
            ["--url", url, "--profile", "v1", "--to", "banana"],
            "`banana` is no phone number",
        ),
        (
            ["--url", url, "--profile", "v1", "--timeout", "0s"],
            "--timeout is 0",
        ),
    ] {
        let told = audit(&arguments, &report).ends_with(2);
        assert!(told.stderr.contains(says), "{}", told.stderr);
    }
}

#[test]
fn equal_seeds_ask_with_equal_keys_and_a_used_seed_is_noticed() {
    let honest = Honest::new("v1");
    let dir = tempfile::tempdir().expect("a directory");
    let report = dir.path().join("report.json");
    let url = honest.url.as_str();
    let arguments = ["--url", url, "--profile", "v1", "--seed", "7"];
    let arguments = [&arguments[..], &["--only", "replay"]].concat();
    audit(&arguments, &report).ends_with(0);
    let again = audit(&arguments, &report).ends_with(3);
    assert!(again.stdout.contains("seed"), "{}", again.stdout);
}

#[test]
fn credentials_are_in_no_report() {
    let honest = Honest::new("v1");
    let dir = tempfile::tempdir().expect("a directory");
    let [report, junit] = ["report.json", "junit.xml"].map(|name| dir.path().join(name));
    let (url, junit_arg) = (honest.url.as_str(), junit.display().to_string());
    let mut arguments = vec!["--url", url, "--profile", "v1", "--customer", "s3cret"];
    arguments.extend([
        "--only", "replay", "--only", "restart", "-v", "--junit", &junit_arg,
    ]);
    let told = audit(&arguments, &report).ends_with(0);
    let xml = fs::read_to_string(&junit).expect("a report");
    for text in [&told.stdout, &told.stderr, &told.report.to_string(), &xml] {
        assert!(!text.contains("s3cret"), "{text}");
    }
    assert!(xml.contains("<testcase name=\"replay\""), "{xml}");
    assert!(xml.contains("<skipped"), "{xml}");
}

/// Times and ports differ from run to run; keys and ids follow from the seed.
fn masked(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        let mut words: Vec<&str> = line.split(' ').collect();
        for at in 0..words.len() {
            if words[at].starts_with("http://127.0.0.1:") {
                words[at] = "http://127.0.0.1:PORT";
            }
            if at > 0 && ["ms", "s"].contains(&words[at]) {
                words[at - 1] = "TIME";
            }
        }
        // Where a time is aligned to the right, its width shows.
        let line = words.join(" ");
        lines.push(match line.find("  TIME ms") {
            Some(at) => format!("{} TIME ms", line[..at].trim_end()),
            None => line,
        });
    }
    lines.join("\n")
}

#[test]
fn a_failing_audit_reads_well() {
    let provider = Cheating::new("no-mismatch", &[]);
    let more = ["--seed", "7", "--only", "replay", "--only", "mismatch"];
    let told = provider.audited("v1", &more).ends_with(1);
    insta::assert_snapshot!("failing_audit", masked(&told.stdout));
}

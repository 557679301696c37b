//! The commands that run nothing, and what is said to arguments that are wrong.

use std::{fs, path::Path};

use assert_cmd::Command;
use chaos_runner::{client_file::ClientFile, scenario};
use predicates::prelude::*;

fn chaos() -> Command {
    let mut command = Command::cargo_bin("chaos-runner").expect("the program is built");
    command.env_remove("CLICOLOR_FORCE").env("NO_COLOR", "1");
    command
}

#[test]
fn list_names_every_scenario_with_its_title_and_tags() {
    chaos().arg("list").assert().success().stdout(
        predicate::str::contains("timeout-after-accept")
            .and(predicate::str::contains(
                "The provider accepts, the answer never arrives",
            ))
            .and(predicate::str::contains("[ambiguous, network]"))
            .and(predicate::str::contains("retryable[status=503]")),
    );
}

#[test]
fn list_by_tag_names_only_what_bears_it() {
    let output = chaos()
        .args(["list", "--only", "receipt", "--json"])
        .assert()
        .success();
    let text = String::from_utf8(output.get_output().stdout.clone()).expect("text");
    let mut count = 0;
    for line in text.lines() {
        let scenario: serde_json::Value = serde_json::from_str(line).expect("a line is JSON");
        let tags = scenario["tags"].as_array().expect("tags");
        assert!(tags.contains(&"receipt".into()), "{line}");
        count += 1;
    }
    assert!(count >= 5, "{text}");
}

#[test]
fn show_prints_the_file_as_it_is() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/hang.toml");
    let text = fs::read_to_string(file).expect("a scenario of the suite");
    chaos()
        .args(["show", "hang"])
        .assert()
        .success()
        .stdout(text);
}

#[test]
fn show_plan_prints_every_message_and_fault_and_the_seed_decides_them() {
    let plan = |seed: &str| {
        let output = chaos()
            .args(["show", "hang[stage=after-accept]", "--plan", "--seed", seed])
            .assert()
            .success();
        String::from_utf8(output.get_output().stdout.clone()).expect("text")
    };
    let one = plan("1");
    assert!(one.contains("message 1: +1"), "{one}");
    assert!(one.contains("fault 1 at attempt 1"), "{one}");
    assert_eq!(one, plan("1"));
    assert_ne!(one, plan("2"));
}

#[test]
fn a_scenario_that_is_not_known_is_a_usage_error_that_names_the_one_that_was_meant() {
    chaos()
        .args(["show", "timeout-after-acept"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains(
            "did you mean `timeout-after-accept`?",
        ));
}

#[test]
fn init_writes_files_that_are_valid_and_overwrites_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("new");
    let init = || {
        let mut command = chaos();
        command.arg("init").arg(&path);
        command
    };
    init()
        .assert()
        .success()
        .stdout(predicate::str::contains("chaos-runner run"));
    let client = ClientFile::load(&path.join("client.toml"))
        .unwrap_or_else(|error| panic!("{}", error.report(false)));
    assert_eq!(client.name, "my-client");
    let first = fs::read_to_string(path.join("scenarios/first.toml")).expect("a scenario");
    assert!(scenario::load(&first, "first.toml").is_ok());

    fs::write(path.join("client.toml"), "mine").expect("a file");
    fs::remove_file(path.join("send.sh")).expect("a file that was written");
    init()
        .assert()
        .code(2)
        .stderr(predicate::str::contains("is there already"));
    let kept = fs::read_to_string(path.join("client.toml")).expect("a file");
    assert_eq!(kept, "mine");
    assert!(!path.join("send.sh").exists(), "a refusal writes nothing");
}

#[test]
fn every_key_that_init_comments_out_is_one_that_exists() {
    let dir = tempfile::tempdir().expect("a directory");
    chaos().arg("init").arg(dir.path()).assert().success();
    let text = fs::read_to_string(dir.path().join("client.toml")).expect("a client file");
    // Every `# key = …` and `# [table]`, as if somebody had removed the mark; of the forms that
    // exclude each other only the one that is in use stays.
    let open: Vec<&str> = text
        .lines()
        .map(|line| {
            let key = line.strip_prefix("# ").unwrap_or(line);
            let alternative = ["stdin", "http", "sql", "command = [\"./status\"]"];
            let is_key = key.starts_with('[') || key.split('=').next().is_some_and(is_bare_key);
            if line == key || (is_key && !alternative.iter().any(|a| key.starts_with(a))) {
                key
            } else {
                line
            }
        })
        .filter(|line| !line.starts_with("exit-code"))
        .collect();
    let open = open.join("\n").replace(
        "[outcome]",
        "[outcome]\nsql = { url = \"sqlite://a\", query = \"select 1\" }",
    );
    assert!(
        open.contains("\n[worker]\n") && open.contains("\n[known]\n"),
        "{open}"
    );
    let client = ClientFile::parse(&open, "client.toml", dir.path())
        .unwrap_or_else(|error| panic!("{}", error.report(false)));
    assert!(client.worker.is_some() && client.callback.is_some());
}

fn is_bare_key(text: &str) -> bool {
    let text = text.trim_end();
    !text.is_empty()
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b == b'-' || b == b'_')
        || text == "DATABASE_URL"
}

#[test]
fn schema_prints_json_and_markdown() {
    for file in ["scenario", "client"] {
        let output = chaos().args(["schema", file]).assert().success();
        let schema: serde_json::Value =
            serde_json::from_slice(&output.get_output().stdout).expect("a schema is JSON");
        assert_eq!(schema["type"], "object");
        chaos()
            .args(["schema", file, "--markdown"])
            .assert()
            .success()
            .stdout(predicate::str::starts_with("# "));
    }
}

#[test]
fn run_without_a_client_says_how_to_name_one() {
    let dir = tempfile::tempdir().expect("a directory");
    chaos()
        .current_dir(dir.path())
        .arg("run")
        .assert()
        .code(2)
        .stderr(predicate::str::contains("--client").and(predicate::str::contains("init")));
}

#[test]
fn a_client_file_that_is_wrong_is_a_usage_error_that_points_at_the_line() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(
        dir.path().join("client.toml"),
        "name = \"a\"\n\n[submit]\ncommand = [\"./no-such-program\", \"{to}\"]\n",
    )
    .expect("a file");
    chaos()
        .current_dir(dir.path())
        .arg("run")
        .assert()
        .code(2)
        .stderr(predicate::str::contains("client.toml:4:12"));
}

#[test]
fn a_scenario_file_that_is_wrong_is_a_usage_error_that_points_at_the_line() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(
        dir.path().join("mine.toml"),
        "title = \"a\"\nwhy = \"b\"\n\n[[fault]]\nattemp = 1\n",
    )
    .expect("a file");
    chaos()
        .current_dir(dir.path())
        .args(["run", "mine.toml", "--", "true", "{to}"])
        .assert()
        .code(2)
        .stderr(
            predicate::str::contains("mine.toml:5:1")
                .and(predicate::str::contains("did you mean `attempt`?")),
        );
}

#[test]
fn wrong_arguments_are_usage_errors() {
    let wrong: [&[&str]; 9] = [
        &[],
        &["rnu"],
        &["show"],
        &["schema", "weather"],
        &["run", "--seed", "-1"],
        &["run", "--jobs", "0"],
        &["run", "--max-time", "10"],
        &["run", "--toxiproxy", "8474"],
        &["list", "--quiet", "--verbose"],
    ];
    for arguments in wrong {
        chaos().args(arguments).assert().code(2);
    }
}

#[test]
fn a_bare_command_with_a_wrong_placeholder_is_a_usage_error() {
    chaos()
        .args(["run", "hang", "--", "true", "{too}"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("did you mean {to}?"));
}

#[test]
fn help_names_the_exit_codes() {
    chaos()
        .arg("--help")
        .assert()
        .success()
        .stdout(predicate::str::contains("130 interrupted"));
}

/// The client that `init` writes needs `sh` and `curl`, as its first line of comments says.
#[test]
fn what_init_writes_runs_and_passes_as_it_is() {
    let dir = tempfile::tempdir().expect("a directory");
    chaos()
        .current_dir(dir.path())
        .arg("init")
        .assert()
        .success();
    chaos()
        .current_dir(dir.path())
        .args(["run", "scenarios/first.toml"])
        .assert()
        .success()
        .stdout(predicate::str::contains("1 passed of 1 scenario"));
}

#[test]
fn completions_for_every_shell_know_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        chaos()
            .args(["completions", shell])
            .assert()
            .success()
            .stdout(predicate::str::contains("min-severity"));
    }
    chaos().args(["completions", "ksh"]).assert().code(2);
}

#[test]
fn man_prints_the_page_and_writes_one_for_each_command() {
    chaos()
        .arg("man")
        .assert()
        .success()
        .stdout(predicate::str::contains(".TH chaos-runner").and(predicate::str::contains("130")));
    let directory = tempfile::tempdir().expect("a directory");
    let pages = directory.path().join("new/man1");
    chaos().arg("man").arg(&pages).assert().success().stdout("");
    let run = fs::read_to_string(pages.join("chaos-runner-run.1")).expect("the page of `run`");
    assert!(run.contains("toxiproxy"), "{run}");
    assert!(pages.join("chaos-runner.1").is_file());
    // A file where the directory should be.
    chaos()
        .arg("man")
        .arg(pages.join("chaos-runner.1"))
        .assert()
        .code(2)
        .stderr(predicate::str::contains("pages cannot be written to"));
}

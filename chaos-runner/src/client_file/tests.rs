use std::path::Path;

use jiff::civil::Date;

use super::*;
use crate::plan::Need;

fn parse(source: &str) -> Result<ClientFile, FileError> {
    ClientFile::parse(source, "client.toml", Path::new("/nowhere"))
}

fn values() -> Values {
    Values {
        lab: LabValues {
            lab: "lab1".into(),
            work_dir: "/tmp/lab1".into(),
            port: 4711,
            seed: 1,
        },
        intent: None,
    }
}

#[test]
fn the_smallest_file_is_a_name_and_a_command_and_trusts_its_exit_code() {
    let client = parse("name = \"a\"\n[submit]\ncommand = [\"./send\", \"{to}\", \"{body}\"]")
        .expect("the smallest file");
    let OutcomeProbe::ExitCode(codes) = &client.outcome else {
        panic!("the exit code is all there is: {:?}", client.outcome);
    };
    assert_eq!(codes.outcome(Some(0)), Outcome::Sent);
    assert_eq!(codes.outcome(Some(1)), Outcome::Unknown);
    assert_eq!(codes.outcome(None), Outcome::Unknown);
    assert!(client.has(Need::Restart).is_err());
    assert!(client.has(Need::Key).is_ok());
}

#[test]
fn every_form_is_read() {
    let client = parse(
        r#"
        name = "all"
        capabilities = ["lookup"]
        [env]
        URL = "sqlite://{work_dir}/a.db"
        [setup]
        command = ["./migrate"]
        [submit]
        http = { url = "http://127.0.0.1:{port}/send", headers = { x = "{intent}" }, json = { phone = "{to}", n = [1, "{{"] }, accept = [202] }
        [worker]
        command = ["./worker"]
        workers = 2
        ready = { port = "{port}" }
        until = "exit"
        restart = false
        timeout = "5s"
        [outcome]
        sql = { url = "sqlite://{work_dir}/a.db", query = "select 1" }
        map = { done = "sent" }
        [provider]
        key = "json:meta.key"
        [policy]
        max-attempts = 3
        [known]
        no-jitter = { reason = "ticket 42", until = 2027-03-01 }
        [callback]
        url = "http://127.0.0.1:{port}/receipts"
        "#,
    )
    .expect("a file with every form");
    assert_eq!(client.profile.key_place().to_string(), "json:meta.key");
    assert_eq!(client.words["done"], Outcome::Sent);
    assert!(client.known["no-jitter"].holds_on(Date::constant(2027, 3, 1)));
    assert!(!client.known["no-jitter"].holds_on(Date::constant(2027, 3, 2)));
    let Submit::Http(http) = &client.submit else {
        panic!("submitted by HTTP");
    };
    assert!(http.accepts(202) && !http.accepts(200));
    assert_eq!(
        http.json.as_ref().expect("a body").render(&values()),
        serde_json::json!({ "phone": "", "n": [1, "{"] })
    );
    let worker = client.worker.as_ref().expect("a worker");
    assert_eq!(
        (worker.workers, worker.until, worker.restart),
        (2, Until::Exit, false)
    );
    for need in [
        Need::Lookup,
        Need::Callback,
        Need::Workers,
        Need::Restart,
        Need::FrontDoor,
    ] {
        assert_eq!(client.has(need), Ok(()), "{need:?}");
    }
    for need in [
        Need::Failover,
        Need::Database,
        Need::CallerKey,
        Need::Expiry,
        Need::Customers,
    ] {
        assert!(client.has(need).is_err(), "{need:?}");
    }
}

#[test]
fn commands_run_from_the_directory_of_their_file() {
    let client = parse("name = \"a\"\n[submit]\ncommand = [\"bin/send\", \"{seed}\"]")
        .expect("a right file");
    let Submit::Command(command) = &client.submit else {
        panic!("submitted by command");
    };
    assert_eq!(
        command.render(&client.dir, &values()),
        ("/nowhere/bin/send".into(), vec!["1".to_owned()])
    );
}

#[test]
fn a_command_that_is_not_there_is_an_error_that_points_at_its_line() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("client.toml");
    std::fs::write(
        &path,
        "name = \"a\"\n[submit]\ncommand = [\"./no-such-program\"]",
    )
    .expect("a file");
    let error = ClientFile::load(&path).expect_err("no such program");
    assert_eq!(error.line(), Some(3));
    assert_eq!(error.marked(), Some("\"./no-such-program\""));
    std::fs::write(dir.path().join("no-such-program"), "").expect("a file");
    let error = ClientFile::load(&path).expect_err("not executable");
    assert!(error.report(false).contains("chmod +x"), "{error}");
}

#[test]
fn a_profile_is_built_in_or_a_file_beside_the_client_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let with = |profile: &str| {
        let source = format!(
            "name = \"a\"\n[submit]\ncommand = [\"./send\"]\n[provider]\nprofile = \"{profile}\"\n"
        );
        ClientFile::parse(&source, "client.toml", dir.path())
    };
    let built_in = with("telnyx").expect("a built-in profile");
    assert_eq!(built_in.profile.name(), "telnyx");
    assert!(
        with("twilio")
            .expect("one without keys")
            .has(Need::Key)
            .is_err()
    );

    let source = stub_provider::Profile::source_of("v1").expect("a built-in profile");
    let own = source.replacen("\"v1\"", "\"mine\"", 1);
    std::fs::write(dir.path().join("mine.toml"), &own).expect("a file");
    let mine = with("mine.toml").expect("a profile file");
    assert_eq!(mine.profile.name(), "mine");

    let wrong = own.replacen("binds ", "bind ", 1);
    std::fs::write(dir.path().join("wrong.toml"), wrong).expect("a file");
    let error = with("wrong.toml").expect_err("a slip in the profile");
    assert_eq!(
        (error.line(), error.marked()),
        (Some(5), Some("\"wrong.toml\""))
    );
    let report = error.report(false);
    assert!(report.contains("did you mean `binds`?"), "{report}");

    let error = with("telnix").expect_err("a slip in the name");
    assert!(error.report(false).contains("did you mean `telnyx`?"));
}

#[test]
fn a_bare_command_is_a_client() {
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let client = ClientFile::for_command(&words("true {to} {body}")).expect("true is in PATH");
    assert_eq!(client.name, "true");
    let error = ClientFile::for_command(&words("true {too}")).expect_err("a slip");
    assert_eq!(error.marked(), Some("{too}"));
    assert!(ClientFile::for_command(&[]).is_err());
    assert!(ClientFile::for_command(&words("no-such-program-anywhere")).is_err());
}

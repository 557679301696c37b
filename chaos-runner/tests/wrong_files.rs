//! Wrong files as people see them, and the promise that no text at all makes the readers panic.

use std::path::Path;

use chaos_runner::{client_file::ClientFile, scenario, suite};
use proptest::prelude::*;

fn scenario_report(text: &str) -> String {
    match scenario::load(text, "scenario.toml") {
        Ok(_) => panic!("this is wrong and was taken:\n{text}"),
        Err(error) => error.report(false),
    }
}

fn client_report(text: &str) -> String {
    match ClientFile::parse(text, "client.toml", Path::new("/srv/client")) {
        Ok(_) => panic!("this is wrong and was taken:\n{text}"),
        Err(error) => error.report(false),
    }
}

/// A scenario that is right but for what is put in.
fn with(part: &str) -> String {
    format!("title = \"A title\"\nwhy = \"A reason.\"\n\n{part}\n")
}

macro_rules! wrong {
    ($($name:ident: $report:ident($text:expr);)*) => {$(
        #[test]
        fn $name() {
            insta::assert_snapshot!(stringify!($name), $report(&$text));
        }
    )*};
}

wrong! {
    not_toml: scenario_report("title = A title");
    a_quote_that_is_not_closed: scenario_report("title = \"A title\nwhy = \"A reason.\"");
    nothing_at_all: scenario_report("");
    one_pair_of_brackets: scenario_report(with("[fault]\nattempt = 1\nprovider.hang = { stage = \"after-accept\" }"));
    two_faults_with_one_pair_of_brackets: scenario_report(with("[fault]\nattempt = 1\n[fault]\nattempt = 2"));
    faults_in_the_plural: scenario_report(with("[[faults]]\nattempt = 1"));
    a_kind_as_a_text: scenario_report(with("[[fault]]\nconnection = 1\ntoxic = \"down\""));
    a_key_in_snake_case: scenario_report(with("[[fault]]\nattempt = 1\nprovider.respond = { stage = \"before-accept\", status = 503, retry_after = \"2s\" }"));
    a_word_in_snake_case: scenario_report(with("[[fault]]\nattempt = 1\nprovider.hang = { stage = \"after_accept\" }"));
    a_toxic_in_kebab_case: scenario_report(with("[[fault]]\nattempt = 1\ntoxic.reset-peer = { attributes = { timeout = 0 } }"));
    a_misspelt_key: scenario_report(with("[[fault]]\natempt = 1\nprovider.hang = { stage = \"after-accept\" }"));
    a_misspelt_kind: scenario_report(with("[[fault]]\nattempt = 1\nprovider.hangs = { stage = \"after-accept\" }"));
    a_misspelt_need: scenario_report("title = \"A title\"\nwhy = \"A reason.\"\nneeds = [\"callbacks\"]");
    no_stage: scenario_report(with("[[fault]]\nattempt = 1\nprovider.hang = {}"));
    attempt_nought: scenario_report(with("[[fault]]\nattempt = 0\nprovider.hang = { stage = \"after-accept\" }"));
    attempts_backwards: scenario_report(with("[[fault]]\nattempt = \"3..1\"\nprovider.hang = { stage = \"after-accept\" }"));
    no_attempt: scenario_report(with("[[fault]]\nprovider.hang = { stage = \"after-accept\" }"));
    an_upstream_toxic_at_an_attempt: scenario_report(with("[[fault]]\nattempt = 1\ntoxic.timeout = { stream = \"upstream\", attributes = { timeout = 0 } }"));
    a_connection_and_two_messages: scenario_report(with("[intents]\ncount = 2\n\n[[fault]]\nconnection = 1\ntoxic.down = { for = \"300ms\" }"));
    a_connection_for_the_provider: scenario_report(with("[[fault]]\nconnection = 1\nprovider.hang = { stage = \"after-accept\" }"));
    two_things_at_once: scenario_report(with("[[fault]]\nattempt = 1\ntoxic.timeout = { attributes = { timeout = 0 } }\nclient.kill = { stage = \"answered\" }"));
    nothing_goes_wrong: scenario_report(with("[[fault]]\nattempt = 1"));
    an_attribute_of_another_toxic: scenario_report(with("[[fault]]\nattempt = 1\ntoxic.timeout = { attributes = { latency = 100 } }"));
    an_attribute_as_a_duration: scenario_report(with("[[fault]]\nattempt = 1\ntoxic.latency = { attributes = { latency = \"100ms\" } }"));
    no_attributes: scenario_report(with("[[fault]]\nattempt = 1\ntoxic.limit_data = {}"));
    a_toxicity_of_two: scenario_report(with("[[fault]]\nattempt = 1\ntoxic.timeout = { toxicity = 2.0, attributes = { timeout = 0 } }"));
    a_status_of_a_thousand_and_half_a_second: scenario_report(with("[[fault]]\nattempt = 1\nprovider.respond = { stage = \"before-accept\", status = 1000, retry-after = \"1500ms\" }"));
    a_redirect_that_loses_the_post: scenario_report(with("[[fault]]\nattempt = 1\nprovider.redirect = { status = 302 }"));
    two_forms_of_retry_after: scenario_report(with("[[fault]]\nattempt = 1\nprovider.rate-limit = { retry-after = \"1s\", retry-after-raw = \"soon\" }"));
    a_duration_without_a_unit: scenario_report(with("[[fault]]\nconnection = 1\ntoxic.down = { for = \"300\" }"));
    a_duration_as_a_number: scenario_report(with("[[fault]]\nconnection = 1\ntoxic.down = { for = 300 }"));
    a_message_that_is_not_there: scenario_report(with("[intents]\ncount = 2\n\n[[fault]]\nattempt = 1\nintent = 3\nprovider.hang = { stage = \"after-accept\" }"));
    a_third_provider: scenario_report(with("[[fault]]\nattempt = 1\nprovider = 3\ntoxic.timeout = { attributes = { timeout = 0 } }"));
    a_finding_that_does_not_exist: scenario_report(with("[expect]\nfindings = [\"key-per-atempt\"]"));
    an_outcome_that_does_not_exist: scenario_report(with("[expect]\noutcome = [\"sent\", \"lost\"]"));
    tags_with_spaces: scenario_report("title = \"A title\"\nwhy = \"A reason.\"\ntags = [\"Two Words\"]");
    a_matrix_key_that_is_not_declared: scenario_report(with("[[fault]]\nattempt = 1\nprovider.respond = { stage = \"before-accept\", status = \"{status}\" }"));
    a_matrix_key_that_is_not_used: scenario_report(with("[matrix]\nstatus = [500]\n\n[[fault]]\nattempt = 1\nprovider.respond = { stage = \"before-accept\", status = 500 }"));
    a_matrix_value_that_is_wrong: scenario_report(with("[matrix]\nstatus = [500, 999]\n\n[[fault]]\nattempt = 1\nprovider.respond = { stage = \"before-accept\", status = \"{status}\" }"));
    a_matrix_of_one_number: scenario_report(with("[matrix]\nstatus = 500"));

    client_two_forms_of_submission: client_report("name = \"a\"\n[submit]\ncommand = [\"./send\"]\nstdin = [\"./send-all\"]");
    client_a_command_as_a_text: client_report("name = \"a\"\n[submit]\ncommand = \"./send {to} {body}\"");
    client_an_empty_command: client_report("name = \"a\"\n[submit]\ncommand = []");
    client_an_unknown_placeholder: client_report("name = \"a\"\n[submit]\ncommand = [\"./send\", \"--to={phone}\", \"{text}\"]");
    client_a_message_where_there_is_none: client_report("name = \"a\"\n[submit]\ncommand = [\"./send\"]\n[worker]\ncommand = [\"./work\", \"{to}\"]\n[outcome]\ncommand = [\"./status\"]");
    client_a_brace_that_is_none: client_report("name = \"a\"\n[submit]\nhttp = { url = \"http://127.0.0.1:{port}/\", json = { raw = \"{\" } }\n[outcome]\ncommand = [\"./status\"]");
    client_a_worker_without_an_outcome: client_report("name = \"a\"\n[submit]\ncommand = [\"./enqueue\"]\n[worker]\ncommand = [\"./work\"]\n");
    client_an_exit_code_of_an_enqueue: client_report("name = \"a\"\n[submit]\ncommand = [\"./enqueue\"]\n[worker]\ncommand = [\"./work\"]\n[outcome]\nexit-code = { 0 = \"sent\" }");
    client_an_exit_code_of_a_thousand: client_report("name = \"a\"\n[submit]\ncommand = [\"./send\"]\n[outcome]\nexit-code = { 1000 = \"sent\" }");
    client_a_known_kind_that_does_not_exist: client_report("name = \"a\"\n[submit]\ncommand = [\"./send\"]\n[known]\nno-jiter = { reason = \"ticket 42\", until = 2027-03-01 }");
    client_a_day_in_quotes: client_report("name = \"a\"\n[submit]\ncommand = [\"./send\"]\n[known]\nno-jitter = { reason = \"ticket 42\", until = \"2027-03-01\" }");
    client_a_key_nowhere: client_report("name = \"a\"\n[submit]\ncommand = [\"./send\"]\n[provider]\nkey = \"Idempotency-Key\"");
    client_a_cap_below_the_base: client_report("name = \"a\"\n[submit]\ncommand = [\"./send\"]\n[policy]\nbackoff = { base = \"1s\", cap = \"500ms\" }");
    client_a_database_by_http: client_report("name = \"a\"\n[submit]\ncommand = [\"./send\"]\n[database]\nurl = \"http://localhost/db\"");
}

/// A text of the suite with a piece of it replaced by something else.
fn mutated() -> impl Strategy<Value = String> {
    let files = suite::files();
    (
        0..files.len(),
        any::<prop::sample::Index>(),
        0..40_usize,
        "[\\PC\n]{0,20}",
    )
        .prop_map(move |(file, start, length, put)| {
            let text: Vec<char> = files[file].1.chars().collect();
            let start = start.index(text.len());
            let end = (start + length).min(text.len());
            text[..start]
                .iter()
                .copied()
                .chain(put.chars())
                .chain(text[end..].iter().copied())
                .collect()
        })
}

fn read_and_report(text: &str) {
    if let Err(error) = scenario::load(text, "scenario.toml") {
        assert!(!error.report(false).is_empty());
    }
    if let Err(error) = ClientFile::parse(text, "client.toml", Path::new("/srv/client")) {
        assert!(!error.report(false).is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn no_text_makes_the_readers_panic(text in "[\\PC\n\r\t]{0,200}") {
        read_and_report(&text);
    }

    #[test]
    fn no_slip_in_a_scenario_makes_the_reader_panic(text in mutated()) {
        read_and_report(&text);
    }
}

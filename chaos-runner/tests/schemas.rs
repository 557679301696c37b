//! The committed schemas and references are what the program writes, and every file in the
//! repository is valid under them. `UPDATE_SCHEMAS=1 cargo test -p chaos-runner --test schemas`
//! writes them anew.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use chaos_runner::{audit, bug_kind, cli, explore::alphabet, schema};
use serde_json::Value;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn assert_committed(file: &str, text: &str) {
    let path = repository().join(file);
    if env::var_os("UPDATE_SCHEMAS").is_some() {
        fs::create_dir_all(path.parent().expect("a file in a directory")).expect("the directory");
        fs::write(&path, text).expect("the file can be written");
    }
    let committed = fs::read_to_string(&path).expect("the file is committed");
    assert!(
        committed == text,
        "{file} is not what the program writes: run the tests with UPDATE_SCHEMAS=1"
    );
}

/// The part of a file between `<!-- NAME -->` and `<!-- end of NAME -->` is generated.
fn assert_part_committed(file: &str, name: &str, part: &str) {
    let path = repository().join(file);
    let committed = fs::read_to_string(&path).expect("the file is committed");
    let (begin, end) = (
        format!("<!-- {name} -->\n"),
        format!("<!-- end of {name} -->"),
    );
    let (before, rest) = committed
        .split_once(&begin)
        .expect("the part has a beginning");
    let (_, after) = rest.split_once(&end).expect("the part has an end");
    assert_committed(file, &format!("{before}{begin}{part}{end}{after}"));
}

#[test]
fn the_letters_in_the_documentation_are_those_of_the_program() {
    assert_part_committed("docs/explore.md", "letters", &alphabet::reference());
}

#[test]
fn the_committed_schemas_are_those_of_the_types() {
    assert_committed("schemas/scenario.json", &schema::scenario());
    assert_committed("schemas/client.json", &schema::client());
    assert_committed("schemas/profile.json", &schema::profile());
}

#[test]
fn the_committed_references_are_those_of_the_types() {
    assert_committed("docs/scenario-reference.md", &schema::scenario_reference());
    assert_committed("docs/client-reference.md", &schema::client_reference());
    assert_committed("docs/profile-reference.md", &schema::profile_reference());
    assert_committed("docs/profiles.md", &stub_provider::profile::reference());
    assert_committed("docs/bug-kinds.md", &bug_kind::reference());
    assert_committed("docs/audit.md", &audit::reference());
    assert_committed("docs/command-line.md", &cli::reference());
}

fn validator(schema: &str) -> jsonschema::Validator {
    let schema: Value = serde_json::from_str(schema).expect("a schema is JSON");
    jsonschema::validator_for(&schema).expect("a schema is a schema")
}

/// A date of TOML is a text of JSON.
fn json(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => number.into(),
        toml::Value::Boolean(flag) => flag.into(),
        toml::Value::Datetime(time) => time.to_string().into(),
        toml::Value::Array(items) => items.into_iter().map(json).collect(),
        toml::Value::Table(table) => table.into_iter().map(|(k, v)| (k, json(v))).collect(),
    }
}

fn as_json(path: &Path) -> Value {
    let text = fs::read_to_string(path).expect("a file of the repository");
    let table: toml::Table = toml::from_str(&text).expect("TOML");
    json(toml::Value::Table(table))
}

fn assert_valid(validator: &jsonschema::Validator, path: &Path) {
    let errors: Vec<String> = validator
        .iter_errors(&as_json(path))
        .map(|error| format!("{error} at {}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{}: {errors:#?}", path.display());
}

#[test]
fn every_scenario_of_the_repository_is_valid_under_its_schema() {
    let validator = validator(&schema::scenario());
    let mut count = 0;
    for entry in fs::read_dir(repository().join("scenarios")).expect("the scenarios") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            assert_valid(&validator, &path);
            count += 1;
        }
    }
    assert!(count >= 40, "only {count} scenarios");
    let first = repository().join("chaos-runner/src/cli/init/first.toml");
    assert_valid(&validator, &first);
}

#[test]
fn every_profile_of_the_repository_is_valid_under_its_schema() {
    let validator = validator(&schema::profile());
    for name in stub_provider::Profile::names() {
        let file = format!("stub-provider/profiles/{name}.toml");
        assert_valid(&validator, &repository().join(file));
    }
}

#[test]
fn every_client_file_of_the_repository_is_valid_under_its_schema() {
    let validator = validator(&schema::client());
    assert_valid(
        &validator,
        &repository().join("chaos-runner/src/cli/init/client.toml"),
    );
    let mut count = 0;
    for client in fs::read_dir(repository().join("clients")).expect("the clients") {
        let client = client.expect("an entry").path();
        let Ok(files) = fs::read_dir(&client) else {
            continue;
        };
        for file in files {
            let path = file.expect("an entry").path();
            let name = path.file_name().and_then(|name| name.to_str());
            let is_client = name.is_some_and(|name| {
                name == "client.toml"
                    || name == "client-postgres.toml"
                    || name == "client-explore.toml"
            });
            if is_client {
                assert_valid(&validator, &path);
                count += 1;
            }
        }
    }
    assert!(count >= 2, "only {count} client files");
}

#[test]
fn the_schemas_refuse_what_the_program_refuses() {
    let scenario = validator(&schema::scenario());
    let wrong = serde_json::json!({
        "title": "a", "why": "b",
        "fault": [{ "attempt": 1, "provider": { "respond": { "stage": "before-accept", "status": 99 } } }],
    });
    assert!(!scenario.is_valid(&wrong));
    let unknown = serde_json::json!({ "title": "a", "why": "b", "fualt": [] });
    assert!(!scenario.is_valid(&unknown));
    let client = validator(&schema::client());
    assert!(!client.is_valid(&serde_json::json!({ "name": "a" })));
}

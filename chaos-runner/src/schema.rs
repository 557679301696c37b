//! The schemas of the three file formats: JSON Schema for editors, Markdown for people.
//!
//! Owns what is done to the schemas that the raw types yield, and the reference that is written
//! from them. The words themselves are the raw types' documentation
//! ([`crate::scenario`], [`crate::client_file`], [`stub_provider::profile`]).

mod markdown;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Value, json};

use stub_provider::profile::ProfileFile;

use crate::{client_file::RawClientFile, scenario::ScenarioFile};

/// What stands where a matrix value will.
const MATRIX_KEY: &str = "^\\{[a-z0-9_-]+\\}$";

/// The JSON schema of a scenario file, as text.
#[must_use]
pub fn scenario() -> String {
    let mut schema = of::<ScenarioFile>();
    admit_matrix_keys(&mut schema);
    pretty(&schema)
}

/// The JSON schema of a client file, as text.
#[must_use]
pub fn client() -> String {
    pretty(&of::<RawClientFile>())
}

/// The JSON schema of a profile file, as text.
#[must_use]
pub fn profile() -> String {
    pretty(&of::<ProfileFile>())
}

/// The reference of the scenario file, in Markdown.
#[must_use]
pub fn scenario_reference() -> String {
    markdown::reference("Scenario file", "scenario", &of::<ScenarioFile>())
}

/// The reference of the client file, in Markdown.
#[must_use]
pub fn client_reference() -> String {
    markdown::reference("Client file", "client", &of::<RawClientFile>())
}

/// The reference of the profile file, in Markdown.
#[must_use]
pub fn profile_reference() -> String {
    markdown::reference("Profile file", "profile", &of::<ProfileFile>())
}

fn pretty(schema: &Value) -> String {
    // `{:#}` of a JSON value is its indented text, which cannot fail.
    format!("{schema:#}\n")
}

fn of<T: JsonSchema>() -> Value {
    let schema = SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<T>();
    let mut value = schema.to_value();
    without_null(&mut value);
    value
}

/// TOML has no null: what is optional is left out.
fn without_null(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(without_null),
        Value::Object(object) => {
            object.values_mut().for_each(without_null);
            if object.get("default") == Some(&Value::Null) {
                object.remove("default");
            }
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    object.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(forms)) = object.get_mut("anyOf") {
                forms.retain(|form| form != &json!({ "type": "null" }));
                if let [Value::Object(only)] = forms.as_slice() {
                    let only = only.clone();
                    object.remove("anyOf");
                    for (key, value) in only {
                        object.entry(key).or_insert(value);
                    }
                }
            }
        }
        _ => {}
    }
}

/// Lets `"{key}"` stand for every number, flag and word.
fn admit_matrix_keys(schema: &mut Value) {
    if is_value(schema) {
        let description = schema.get("description").cloned();
        let mut either = json!({
            "anyOf": [schema.take(), { "type": "string", "pattern": MATRIX_KEY }],
        });
        if let Some(description) = description {
            either["description"] = description;
        }
        *schema = either;
        return;
    }
    let Value::Object(object) = schema else {
        return;
    };
    for (key, inner) in object.iter_mut() {
        match (key.as_str(), inner) {
            ("properties" | "$defs", Value::Object(named)) => {
                for (name, inner) in named.iter_mut() {
                    if name != "matrix" && name != "MatrixValue" {
                        admit_matrix_keys(inner);
                    }
                }
            }
            ("items" | "additionalProperties", inner) => admit_matrix_keys(inner),
            ("anyOf" | "oneOf", Value::Array(forms)) => {
                forms.iter_mut().for_each(admit_matrix_keys);
            }
            _ => {}
        }
    }
}

/// Whether a schema is one of a single value that is not any text.
fn is_value(schema: &Value) -> bool {
    let one_of_them = schema["oneOf"].as_array().is_some_and(|forms| {
        forms
            .iter()
            .all(|form| form.get("properties").is_none() && form.get("$ref").is_none())
    });
    one_of_them
        || schema.get("const").is_some()
        || schema.get("enum").is_some()
        || matches!(
            schema["type"].as_str(),
            Some("integer" | "number" | "boolean")
        )
}

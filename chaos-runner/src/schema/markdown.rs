//! The reference for people, written from a JSON schema.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// A page: the file's own keys first, then every table and word list that they lead to.
pub(super) fn reference(title: &str, command: &str, schema: &Value) -> String {
    let mut page = String::new();
    let _ = write!(
        page,
        "# {title}\n\n\
         <!-- Written by `chaos-runner schema --markdown {command}`; a test compares. -->\n\n"
    );
    section(&mut page, schema);
    let none = Map::new();
    let defined = schema["$defs"].as_object().unwrap_or(&none);
    for (name, definition) in defined {
        let _ = write!(page, "\n## {name}\n\n");
        section(&mut page, definition);
    }
    page
}

fn section(page: &mut String, schema: &Value) {
    if let Some(text) = description(schema) {
        let _ = write!(page, "{text}\n\n");
    }
    if let Some(properties) = schema["properties"].as_object() {
        page.push_str("| key | value | |\n|---|---|---|\n");
        let required: Vec<&str> = schema["required"]
            .as_array()
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        for (key, property) in properties {
            row(page, key, property, required.contains(&key.as_str()));
        }
    } else if let Some(forms) = schema["oneOf"].as_array() {
        variants(page, forms);
    } else {
        let _ = writeln!(page, "{}", kind(schema));
    }
}

fn row(page: &mut String, key: &str, property: &Value, required: bool) {
    let text = description(property).unwrap_or_default();
    let must = if required { "**Required.** " } else { "" };
    let default = match property.get("default") {
        Some(Value::Object(_) | Value::Array(_)) | None => String::new(),
        Some(Value::String(text)) if text.is_empty() => String::new(),
        Some(value) => format!(" Default: `{value}`."),
    };
    let _ = writeln!(
        page,
        "| `{key}` | {} | {must}{text}{default} |",
        kind(property)
    );
}

fn variants(page: &mut String, forms: &[Value]) {
    page.push_str("| word | settings | |\n|---|---|---|\n");
    for form in forms {
        let text = description(form).unwrap_or_default();
        if let Some(word) = form["const"].as_str() {
            let _ = writeln!(page, "| `{word}` | | {text} |");
        } else if let Some(properties) = form["properties"].as_object() {
            for (word, settings) in properties {
                let _ = writeln!(page, "| `{word}` | {} | {text} |", kind(settings));
            }
        } else {
            let _ = writeln!(page, "| | {} | {text} |", kind(form));
        }
    }
}

/// The form of a value, in a few words.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|r| r.rsplit('/').next()) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    for either in ["anyOf", "oneOf"] {
        if let Some(forms) = schema[either].as_array() {
            let forms: Vec<String> = forms.iter().map(kind).collect();
            return forms.join(" or ");
        }
    }
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        return words.join(" · ");
    }
    if let Some(word) = schema.get("const") {
        return format!("`{word}`");
    }
    match schema["type"].as_str() {
        Some("integer") => match (schema["minimum"].as_u64(), schema["maximum"].as_u64()) {
            (Some(least), Some(most)) => format!("whole number, {least} to {most}"),
            (Some(least), None) if least > 0 => format!("whole number, at least {least}"),
            _ => "whole number".to_owned(),
        },
        Some("number") => "number".to_owned(),
        Some("boolean") => "`true` · `false`".to_owned(),
        Some("string") if schema["format"] == "date" => "day".to_owned(),
        Some("string") => "text".to_owned(),
        Some("array") => format!("list of {}", kind(&schema["items"])),
        Some("object") => match schema.get("additionalProperties") {
            Some(values) if values.is_object() => format!("table of {}", kind(values)),
            Some(Value::Bool(true)) => "table".to_owned(),
            _ => "`{}`".to_owned(),
        },
        _ => "any value".to_owned(),
    }
}

fn description(schema: &Value) -> Option<String> {
    // A table's cell is one line.
    schema["description"]
        .as_str()
        .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
        .map(|text| text.replace('|', "\\|"))
}

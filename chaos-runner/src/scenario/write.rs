//! A scenario file written from values: what an exploration found, to be run again and kept.
//!
//! Owns the way back from faults to TOML. What is written is read as the same faults.

use std::fmt::Write as _;

use serde::Serialize;
use toml::Value;

use crate::fault::{Action, Toxic};

/// What a file is written from.
#[derive(Debug)]
pub(crate) struct Draft<'a> {
    /// Lines above everything.
    pub(crate) comments: &'a [String],
    /// What happens, in one line.
    pub(crate) title: &'a str,
    /// Why it matters.
    pub(crate) why: &'a str,
    /// Words to select it by.
    pub(crate) tags: &'a [&'a str],
    /// How many messages.
    pub(crate) count: usize,
    /// The faults.
    pub(crate) faults: Vec<Written>,
}

/// One fault at one attempt.
#[derive(Debug)]
pub(crate) struct Written {
    /// At which attempt.
    pub(crate) attempt: u32,
    /// Of which message; `None`: of each.
    pub(crate) intent: Option<usize>,
    /// What happens, in words.
    pub(crate) comment: String,
    /// What goes wrong.
    pub(crate) action: Action,
}

/// The file.
pub(crate) fn file(draft: &Draft<'_>) -> String {
    let mut text = String::new();
    for line in draft.comments {
        let _ = writeln!(text, "# {line}");
    }
    let quoted = |text: &str| inline(&Value::from(text));
    let _ = writeln!(text, "title = {}", quoted(draft.title));
    let _ = writeln!(text, "why   = {}", quoted(draft.why));
    let tags: Vec<Value> = draft.tags.iter().map(|tag| Value::from(*tag)).collect();
    let _ = writeln!(text, "tags  = {}", inline(&Value::Array(tags)));
    if draft.count != 1 || draft.faults.is_empty() {
        let _ = writeln!(text, "\n[intents]\ncount = {}", draft.count);
    }
    for fault in &draft.faults {
        let _ = writeln!(
            text,
            "\n# {}\n[[fault]]\nattempt = {}",
            fault.comment, fault.attempt
        );
        if let Some(intent) = fault.intent {
            let _ = writeln!(text, "intent = {intent}");
        }
        let _ = writeln!(text, "{}", in_one_line(&fault.action));
    }
    text
}

/// A fault as a file has it, in one line.
pub(crate) fn in_one_line(action: &Action) -> String {
    match action {
        Action::Toxic(toxic) => toxic_line(toxic),
        Action::Down(lasts) => format!("toxic.down = {{ for = \"{lasts}\" }}"),
        Action::Blackhole(lasts) => format!("connect.blackhole = {{ for = \"{lasts}\" }}"),
        Action::Provider(fault) => line("provider", fault),
        Action::Receipt(fault) => line("receipt", fault),
        Action::Client(fault) => line("client", fault),
        Action::Database(fault) => line("database", fault),
        Action::Submit(fault) => line("submit", fault),
    }
}

fn toxic_line(toxic: &Toxic) -> String {
    let attributes: Vec<String> = toxic
        .attributes
        .iter()
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    let toxicity = if (toxic.toxicity - 1.0).abs() < f64::EPSILON {
        String::new()
    } else {
        format!("toxicity = {:?}, ", toxic.toxicity)
    };
    format!(
        "toxic.{} = {{ stream = \"{}\", {toxicity}attributes = {{ {} }} }}",
        toxic.kind.as_str(),
        toxic.stream.as_str(),
        attributes.join(", ")
    )
}

/// A fault that is an enum of kinds with settings.
fn line(domain: &str, fault: &impl Serialize) -> String {
    match Value::try_from(fault) {
        Ok(Value::Table(kinds)) => {
            let lines: Vec<String> = kinds
                .iter()
                .map(|(kind, settings)| format!("{domain}.{kind} = {}", inline(settings)))
                .collect();
            lines.join(", ")
        }
        Ok(other) => format!("{domain} = {}", inline(&other)),
        // Every fault of the format is a table of plain values.
        Err(error) => format!("# {domain}: {error}"),
    }
}

fn inline(value: &Value) -> String {
    match value {
        Value::Table(table) if table.is_empty() => "{}".into(),
        Value::Table(table) => {
            let entries: Vec<String> = table
                .iter()
                .map(|(key, value)| format!("{} = {}", bare_or_quoted(key), inline(value)))
                .collect();
            format!("{{ {} }}", entries.join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(inline).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}

fn bare_or_quoted(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !key.is_empty() && key.chars().all(bare) {
        key.to_owned()
    } else {
        Value::from(key).to_string()
    }
}

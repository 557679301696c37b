//! Scenario and client files as TOML documents.
//!
//! Owns the help that is given with what is wrong in them. Reading TOML with the place of every
//! key and value is [`stub_provider::document`]'s.

use stub_provider::{document::Said, duration::Span};

pub(crate) use stub_provider::document::{Document, Problems, in_file_order, inline};

/// What to do about a slip in a scenario or a client file.
pub(crate) fn hint(said: &Said, marked: &str) -> Option<String> {
    match said {
        Said::Missing(field) => Some(
            match field.as_str() {
                "stage" => "say where it acts: stage = \"before-accept\" or \"after-accept\"",
                "attributes" => "name the toxic's attributes: attributes = { … }",
                "for" => "say how long: for = \"300ms\"",
                "title" => "say in one line what happens: title = \"…\"",
                "why" => "say in one sentence why it matters: why = \"…\"",
                "submit" => {
                    "say how a message enters the client: [submit] with one of command, stdin, http"
                }
                _ => return None,
            }
            .to_owned(),
        ),
        Said::WrongType { expected, .. } => {
            let text = marked.trim_matches('"');
            if text.starts_with('{') && text.ends_with('}') && marked.starts_with('"') {
                Some(format!(
                    "`{text}` is not a key of [matrix]: declare it there"
                ))
            } else if expected.contains("struct RawFault") || expected.contains("a sequence") {
                Some("a list of tables is written with two brackets: [[fault]]".into())
            } else if expected == "u64" && text.parse::<Span>().is_ok() {
                Some(
                    "a toxic's attributes are Toxiproxy's own: numbers, of milliseconds \
                     where they are times"
                        .into(),
                )
            } else {
                None
            }
        }
        Said::Unknown { .. } | Said::Other(_) => None,
    }
}

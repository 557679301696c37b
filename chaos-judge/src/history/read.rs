//! Reading a history back from its text.
//!
//! Owns the check of its format's version: a reader refuses a higher one than it knows, and says
//! which tool can read it.

use serde::Deserialize;

use super::{FORMAT, History};
use stub_provider::diagnostic::FileError;

/// The part of a history that every version has.
#[derive(Deserialize)]
struct Header {
    format: u32,
    tool: String,
}

/// Reads the history in the text of the file `name`.
///
/// # Errors
///
/// It is no history, or one of a later version.
pub fn read(text: &str, name: &str) -> Result<History, FileError> {
    parse(text).map_err(|why| FileError::new(name, format!("`{name}` {why}")))
}

fn parse(text: &str) -> Result<History, String> {
    let header: Header =
        serde_json::from_str(text).map_err(|error| format!("is no history: {error}"))?;
    if header.format > FORMAT {
        return Err(format!(
            "is a history of format {}, written by chaos-runner {}; this one ({}) reads up to \
             format {FORMAT}",
            header.format,
            header.tool,
            env!("CARGO_PKG_VERSION")
        ));
    }
    serde_json::from_str(text).map_err(|error| format!("is a damaged history: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::builder::{respond, tale};
    use stub_provider::fault::Stage;

    #[test]
    fn a_history_is_read_as_it_was_written() {
        let history = tale("kept", 2)
            .declare(1, respond(Stage::BeforeAccept, 503))
            .ask(1, Some("a"))
            .refuse(503)
            .ask(1, None)
            .accept()
            .ask(2, Some("b"))
            .hang()
            .kill()
            .all_sent();
        let text = serde_json::to_string_pretty(&history).expect("serialisable");
        assert_eq!(parse(&text), Ok(history));
    }

    #[test]
    fn a_later_format_is_refused_with_the_tool_that_wrote_it() {
        let error = parse(r#"{"format": 99, "tool": "9.9.9"}"#).expect_err("too new");
        assert!(error.contains("chaos-runner 9.9.9"), "{error}");
    }

    #[test]
    fn what_is_no_history_is_said_to_be_none() {
        assert!(parse("{}").is_err_and(|e| e.contains("is no history")));
        let header = r#"{"format": 1, "tool": "0.1.0"}"#;
        assert!(parse(header).is_err_and(|e| e.contains("damaged")));
    }
}

//! The common slips, which serde would answer in words that help nobody.

use super::fault::DOMAINS;
use crate::{diagnostic::FileError, document::Document};

/// Finds them.
pub(crate) fn slips(document: &Document<'_>) -> Result<(), FileError> {
    if let Some(fault) = document.get(&["fault"])
        && !fault.is_array()
    {
        return Err(document
            .error(
                document.key_span(&["fault"]),
                "one fault, not a list of them",
                "`fault` is not a list",
            )
            .help("a fault begins with two brackets: [[fault]]"));
    }
    if document.get(&["faults"]).is_some() {
        return Err(document
            .error(
                document.key_span(&["faults"]),
                "not known",
                "`faults` is not a key that is known here",
            )
            .help("each fault begins with [[fault]]"));
    }
    let count = document
        .get(&["fault"])
        .and_then(toml::de::DeValue::as_array)
        .map_or(0, |faults| faults.len());
    for at in 0..count {
        let at = at.to_string();
        for domain in DOMAINS {
            if let Some(word) = document
                .get(&["fault", &at, domain])
                .and_then(toml::de::DeValue::as_str)
            {
                let example = example(domain, word);
                return Err(document
                    .error(
                        document.span(&["fault", &at, domain]),
                        "a kind alone",
                        format!("`{domain}` needs its kind as a key and a table of settings"),
                    )
                    .help(format!("write {example}")));
            }
        }
    }
    Ok(())
}

fn example(domain: &str, word: &str) -> String {
    let settings = match (domain, word) {
        ("toxic" | "receipt", "down") | ("connect", _) => "{ for = \"300ms\" }",
        ("toxic", "timeout") => "{ attributes = { timeout = 0 } }",
        ("toxic", _) => "{ attributes = { … } }",
        ("provider" | "client", _) => "{ stage = \"after-accept\" }",
        ("database", _) => "{ stage = \"before-accept\", for = \"300ms\" }",
        _ => "{}",
    };
    let plain = word
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    let word = if plain && !word.is_empty() {
        word
    } else {
        "…"
    };
    format!("{domain}.{word} = {settings}")
}

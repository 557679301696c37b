//! What TOML and serde say, turned into words for people, with help.

use crate::diagnostic::{FileError, did_you_mean};

/// TOML that is not TOML.
pub(super) fn syntax_error(source: &str, file: &str, error: &toml::de::Error) -> FileError {
    let span = error.span().unwrap_or(0..0);
    let built = FileError::new(file, format!("this is not TOML: {}", error.message())).at(
        source,
        span.clone(),
        "here",
    );
    let message = error.message();
    if message.contains("duplicate key") {
        built.help("a key stands once in a table; for several faults, begin each with [[fault]]")
    } else if message.contains("missing opening quote") || message.contains("string values must") {
        built.help("words stand in quotes: key = \"value\"")
    } else {
        built
    }
}

/// The help that only the owner of a format can give; `marked` are the marked words of the file.
pub type Hint = fn(said: &Said, marked: &str) -> Option<String>;

/// What serde said, taken apart.
#[derive(Debug)]
pub enum Said {
    /// A key or a word that is not known.
    Unknown {
        /// `key` or `word`.
        what: &'static str,
        /// What stands there.
        word: String,
        /// What could.
        known: Vec<String>,
    },
    /// A key that should be there.
    Missing(String),
    /// A value of another type.
    WrongType {
        /// What stands there.
        found: String,
        /// What should.
        expected: String,
    },
    /// Anything else, in the reader's own words.
    Other(String),
}

impl Said {
    pub(super) fn read(message: &str) -> Self {
        let quoted = |text: &str| -> Vec<String> {
            text.split('`')
                .skip(1)
                .step_by(2)
                .map(str::to_owned)
                .collect()
        };
        let unknown = |what| {
            let (head, tail) = message
                .split_once(", expected ")
                .or_else(|| message.split_once(", there are no "))
                .unwrap_or((message, ""));
            Self::Unknown {
                what,
                word: quoted(head).into_iter().next().unwrap_or_default(),
                known: quoted(tail),
            }
        };
        if message.starts_with("unknown field `") {
            unknown("key")
        } else if message.starts_with("unknown variant `") {
            unknown("word")
        } else if let Some(rest) = message.strip_prefix("missing field `") {
            Self::Missing(rest.trim_end_matches('`').to_owned())
        } else if let Some((found, expected)) = message
            .strip_prefix("invalid type: ")
            .or_else(|| message.strip_prefix("invalid value: "))
            .and_then(|rest| rest.split_once(", expected "))
        {
            Self::WrongType {
                found: found.to_owned(),
                expected: expected.to_owned(),
            }
        } else {
            Self::Other(message.to_owned())
        }
    }

    pub(super) fn message(&self, marked: &str) -> String {
        match self {
            Self::Unknown { what, word, .. } => {
                format!("`{word}` is not a {what} that is known here")
            }
            Self::Missing(field) => format!("`{field}` is missing"),
            Self::WrongType { found, expected } => {
                let found = found.split(' ').next().unwrap_or_default();
                let found = match found {
                    "map" => "a table".to_owned(),
                    "sequence" => "a list".to_owned(),
                    "string" if marked.len() < 60 => format!("the text {marked}"),
                    "integer" | "floating" if marked.len() < 60 => format!("the number {marked}"),
                    "boolean" => format!("`{marked}`"),
                    other => format!("a {other}"),
                };
                format!("{found} stands where {} should", plain(expected))
            }
            Self::Other(message) => message.clone(),
        }
    }

    pub(super) fn label(&self) -> String {
        match self {
            Self::Unknown { .. } => "not known".to_owned(),
            Self::Missing(field) => format!("`{field}` should stand here"),
            Self::WrongType { expected, .. } => format!("expected {}", plain(expected)),
            Self::Other(_) => "this".to_owned(),
        }
    }

    pub(super) fn help(&self) -> Option<String> {
        match self {
            Self::Unknown { word, known, .. } if known.is_empty() => {
                Some(format!("remove `{word}`: this kind has no settings"))
            }
            Self::Unknown { word, known, .. } => {
                let list = known.join(", ");
                let guess = did_you_mean(word, known.iter().map(String::as_str));
                Some(match guess {
                    Some(guess) if guess == word.replace('_', "-") => {
                        format!("words are joined by a hyphen here: `{guess}`")
                    }
                    Some(guess) => format!("did you mean `{guess}`? Known here: {list}"),
                    None => format!("known here: {list}"),
                })
            }
            Self::WrongType { expected, .. } if expected.contains("TOML datetime") => {
                Some("write a day without quotes: 2027-03-01".into())
            }
            Self::WrongType { expected, .. } if expected.contains("a duration") => {
                Some("write a number and a unit in quotes: \"300ms\", \"2s\"".into())
            }
            Self::Missing(_) | Self::WrongType { .. } | Self::Other(_) => None,
        }
    }
}

/// What serde expected, in words that are not Rust's.
fn plain(expected: &str) -> String {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number that is not negative".into(),
        "i32" | "i64" => "a whole number".into(),
        "f32" | "f64" => "a number".into(),
        "a boolean" => "true or false".into(),
        "a string" | "string" => "text in quotes".into(),
        "a sequence" => "a list".into(),
        "a map" => "a table".into(),
        "a TOML datetime" => "a day".into(),
        other if other.starts_with("struct ") || other.starts_with("internally") => {
            "a table, { … },".into()
        }
        other if other.starts_with("enum ") => "one of the known words".into(),
        other => other.to_owned(),
    }
}

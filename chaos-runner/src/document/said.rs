//! What TOML and serde say, turned into words for people, with help.

use stub_provider::duration::Span;

use crate::diagnostic::{FileError, did_you_mean};

/// TOML that is not TOML.
pub(crate) fn syntax_error(source: &str, file: &str, error: &toml::de::Error) -> FileError {
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

/// What serde said, taken apart.
pub(crate) enum Said {
    Unknown {
        what: &'static str,
        word: String,
        known: Vec<String>,
    },
    Missing(String),
    WrongType {
        found: String,
        expected: String,
    },
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

    pub(super) fn help(&self, marked: &str) -> Option<String> {
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
            Self::Missing(field) => match field.as_str() {
                "stage" => {
                    Some("say where it acts: stage = \"before-accept\" or \"after-accept\"".into())
                }
                "attributes" => Some("name the toxic's attributes: attributes = { … }".into()),
                "for" => Some("say how long: for = \"300ms\"".into()),
                "title" => Some("say in one line what happens: title = \"…\"".into()),
                "why" => Some("say in one sentence why it matters: why = \"…\"".into()),
                "submit" => Some(
                    "say how a message enters the client: [submit] with one of command, stdin, http"
                        .into(),
                ),
                _ => None,
            },
            Self::WrongType { expected, .. } => {
                let text = marked.trim_matches('"');
                if text.starts_with('{') && text.ends_with('}') && marked.starts_with('"') {
                    Some(format!(
                        "`{text}` is not a key of [matrix]: declare it there"
                    ))
                } else if expected.contains("struct RawFault") || expected.contains("a sequence") {
                    Some("a list of tables is written with two brackets: [[fault]]".into())
                } else if expected.contains("TOML datetime") {
                    Some("write a day without quotes: 2027-03-01".into())
                } else if expected == "u64" && text.parse::<Span>().is_ok() {
                    Some(
                        "a toxic's attributes are Toxiproxy's own: numbers, of milliseconds \
                         where they are times"
                            .into(),
                    )
                } else if expected.contains("a duration") {
                    Some("write a number and a unit in quotes: \"300ms\", \"2s\"".into())
                } else {
                    None
                }
            }
            Self::Other(_) => None,
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

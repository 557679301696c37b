//! A TOML file as it stands: its values, each with its place in the text.
//!
//! Owns reading TOML into a tree with spans, finding the place of a key or a value, and turning
//! what serde says into a [`FileError`] with help. It knows no format: whose file it is says so with
//! a [`Hint`].

mod said;

use std::{borrow::Cow, fmt::Write as _, ops::Range};

use serde::de::DeserializeOwned;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

pub use self::said::{Hint, Said};

use self::said::syntax_error;
use crate::diagnostic::{FileError, line_of};

/// A TOML file: its name, its text, and its values with their places.
#[derive(Clone, Debug)]
pub struct Document<'i> {
    /// The file's name, as it was given.
    pub file: &'i str,
    /// Its text.
    pub source: &'i str,
    /// Its values.
    pub root: Spanned<DeTable<'i>>,
    hint: Hint,
}

impl<'i> Document<'i> {
    /// Reads the text. The error is TOML's own: what was expected, and where.
    ///
    /// # Errors
    ///
    /// Where the text is not TOML.
    pub fn parse(source: &'i str, file: &'i str, hint: Hint) -> Result<Self, FileError> {
        match DeTable::parse(source) {
            Ok(root) => Ok(Self {
                file,
                source,
                root,
                hint,
            }),
            Err(error) => Err(syntax_error(source, file, &error)),
        }
    }

    /// The same file with other values.
    #[must_use]
    pub fn with_root(&self, root: Spanned<DeTable<'i>>) -> Self {
        Self { root, ..*self }
    }

    /// The values as a type of ours.
    ///
    /// # Errors
    ///
    /// Where a key is not known, is missing, or has a value of another type.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, FileError> {
        let deserializer = toml::de::Deserializer::from(self.root.clone());
        T::deserialize(deserializer).map_err(|error| self.type_error(&error))
    }

    /// An error that marks `span`.
    #[must_use]
    pub fn error(
        &self,
        span: Range<usize>,
        label: impl Into<String>,
        message: impl Into<String>,
    ) -> FileError {
        FileError::new(self.file, message).at(self.source, span, label)
    }

    /// The line of a byte, from 1.
    #[must_use]
    pub fn line(&self, offset: usize) -> usize {
        line_of(self.source, offset)
    }

    /// The place of the value at a path (`["fault", "0", "toxic"]`), or of the nearest value
    /// above it that is there.
    #[must_use]
    pub fn span(&self, path: &[&str]) -> Range<usize> {
        self.walk(path).1
    }

    /// The place of the key at a path, or of the nearest value above it that is there.
    #[must_use]
    pub fn key_span(&self, path: &[&str]) -> Range<usize> {
        self.walk(path).0
    }

    /// The value at a path.
    #[must_use]
    pub fn get(&self, path: &[&str]) -> Option<&DeValue<'i>> {
        let (first, rest) = path.split_first()?;
        let mut value = self.root.get_ref().get(*first)?.get_ref();
        for step in rest {
            value = match value {
                DeValue::Table(table) => table.get(*step)?.get_ref(),
                DeValue::Array(array) => array.get(step.parse::<usize>().ok()?)?.get_ref(),
                _ => return None,
            };
        }
        Some(value)
    }

    fn walk(&self, path: &[&str]) -> (Range<usize>, Range<usize>) {
        let mut found = (0..0, 0..0);
        let mut table = Some(self.root.get_ref());
        let mut value: Option<&DeValue<'i>> = None;
        for step in path {
            let next = if let Some(table) = table {
                table
                    .get_key_value(*step)
                    .map(|(key, value)| (key.span(), value))
            } else if let Some(DeValue::Array(array)) = value {
                step.parse::<usize>()
                    .ok()
                    .and_then(|at| array.get(at))
                    .map(|value| (value.span(), value))
            } else {
                None
            };
            let Some((key, spanned)) = next else { break };
            found = (key, spanned.span());
            value = Some(spanned.get_ref());
            table = spanned.get_ref().as_table();
        }
        found
    }

    fn type_error(&self, error: &toml::de::Error) -> FileError {
        let span = error.span().unwrap_or(0..0);
        let said = Said::read(error.message());
        let marked = self.source.get(span.clone()).unwrap_or_default();
        let mut built = self.error(span.clone(), said.label(), said.message(marked));
        if let Some(help) = (self.hint)(&said, marked).or_else(|| said.help()) {
            built = built.help(help);
        }
        built
    }
}

/// Collects what is wrong with a document, so that all of it is said at once.
#[derive(Debug)]
pub struct Problems<'d, 'i> {
    /// The document.
    pub document: &'d Document<'i>,
    errors: Vec<FileError>,
}

impl<'d, 'i> Problems<'d, 'i> {
    /// Nothing is wrong yet.
    #[must_use]
    pub fn new(document: &'d Document<'i>) -> Self {
        Self {
            document,
            errors: Vec::new(),
        }
    }

    /// Notes that the value at `path` is wrong.
    pub fn value(&mut self, path: &[&str], label: &str, message: impl Into<String>, help: &str) {
        let span = self.document.span(path);
        self.add(span, label, message, help);
    }

    /// Notes that the key at `path` is wrong.
    pub fn key(&mut self, path: &[&str], label: &str, message: impl Into<String>, help: &str) {
        let span = self.document.key_span(path);
        self.add(span, label, message, help);
    }

    /// Notes that the words at `span` are wrong. Empty help is none.
    pub fn add(&mut self, span: Range<usize>, label: &str, message: impl Into<String>, help: &str) {
        let mut error = self.document.error(span, label, message);
        if !help.is_empty() {
            error = error.help(help);
        }
        self.errors.push(error);
    }

    /// Notes what is wrong with another file that this one names.
    pub fn join(&mut self, error: FileError) {
        self.errors.push(error);
    }

    /// Everything that was noted, as one error.
    ///
    /// # Errors
    ///
    /// Where anything was noted.
    pub fn check(self) -> Result<(), FileError> {
        FileError::all(self.errors).map_or(Ok(()), Err)
    }
}

/// A value on one line, as TOML would have it inline.
#[must_use]
pub fn inline(value: &DeValue<'_>) -> String {
    let mut out = String::new();
    write_inline(&mut out, value);
    out
}

fn write_inline(out: &mut String, value: &DeValue<'_>) {
    match value {
        DeValue::String(text) => {
            let _ = write!(out, "{}", toml::Value::String(text.to_string()));
        }
        DeValue::Integer(number) => {
            let _ = write!(out, "{number}");
        }
        DeValue::Float(number) => {
            let _ = write!(out, "{number}");
        }
        DeValue::Boolean(flag) => {
            let _ = write!(out, "{flag}");
        }
        DeValue::Datetime(time) => {
            let _ = write!(out, "{time}");
        }
        DeValue::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                write_inline(out, item.get_ref());
            }
            out.push(']');
        }
        DeValue::Table(table) if table.is_empty() => out.push_str("{}"),
        DeValue::Table(table) => {
            out.push_str("{ ");
            for (at, (key, value)) in in_file_order(table).into_iter().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                let _ = write!(out, "{} = ", bare_or_quoted(key));
                write_inline(out, value);
            }
            out.push_str(" }");
        }
    }
}

/// The entries of a table in the order of the file.
#[must_use]
pub fn in_file_order<'t, 'i>(table: &'t DeTable<'i>) -> Vec<(&'t str, &'t DeValue<'i>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
        .into_iter()
        .map(|(key, value)| (key.get_ref().as_ref(), value.get_ref()))
        .collect()
}

fn bare_or_quoted(key: &str) -> Cow<'_, str> {
    let bare = !key.is_empty()
        && key
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if bare {
        Cow::Borrowed(key)
    } else {
        Cow::Owned(toml::Value::String(key.to_owned()).to_string())
    }
}

//! `[matrix]`: one scenario for each value, every combination for several keys.
//!
//! Owns putting the values in place of `{key}` in the document, before its types are read, so
//! that a value may stand where a number is expected and errors still mark the right words.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Deserialize;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::{
    diagnostic::FileError,
    document::{Document, in_file_order, inline},
};

/// One value of a matrix.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[expect(
    dead_code,
    reason = "the values are taken from the document; these are for the schema"
)]
pub(crate) enum MatrixValue {
    /// A whole number.
    Integer(i64),
    /// A number.
    Float(f64),
    /// true or false.
    Boolean(bool),
    /// Text.
    Text(String),
}

/// More scenarios than this in one file are a slip.
const LIMIT: usize = 1000;

/// A document of its own for each combination, with its part of the name (`[status=503]`; empty
/// where there is no matrix).
pub(crate) fn expand<'i>(
    document: &Document<'i>,
) -> Result<Vec<(String, Document<'i>)>, FileError> {
    let axes = axes(document)?;
    if axes.is_empty() {
        return Ok(vec![(String::new(), document.clone())]);
    }
    let size = axes
        .iter()
        .try_fold(1_usize, |size, axis| size.checked_mul(axis.values.len()))
        .filter(|size| *size <= LIMIT);
    let Some(size) = size else {
        return Err(document
            .error(
                document.key_span(&["matrix"]),
                "too many combinations",
                format!("the matrix makes more than {LIMIT} scenarios"),
            )
            .help("take fewer values, or make it several files"));
    };

    let mut used = vec![false; axes.len()];
    let mut expanded = Vec::with_capacity(size);
    for number in 0..size {
        let mut rest = number;
        let mut chosen = Vec::with_capacity(axes.len());
        // The last key varies fastest, as in nested loops.
        for axis in axes.iter().rev() {
            chosen.push((axis.key, &axis.values[rest % axis.values.len()]));
            rest /= axis.values.len();
        }
        chosen.reverse();
        let words: Vec<String> = chosen
            .iter()
            .map(|(key, value)| format!("{key}={}", text_of(value)))
            .collect();
        let span = document.root.span();
        let mut substitution = Substitution {
            chosen: &chosen,
            used: &mut used,
        };
        let mut root = DeTable::new();
        for (key, value) in document.root.get_ref() {
            let value = if key.get_ref() == "matrix" {
                value.clone()
            } else {
                substitution.spanned(value)
            };
            root.insert(key.clone(), value);
        }
        expanded.push((
            format!("[{}]", words.join(",")),
            document.with_root(Spanned::new(span, root)),
        ));
    }
    if let Some(at) = used.iter().position(|used| !used) {
        let key = axes[at].key;
        return Err(document
            .error(
                document.key_span(&["matrix", key]),
                "not used",
                format!("nothing in the scenario says `{{{key}}}`"),
            )
            .help(format!("write \"{{{key}}}\" where its values should stand")));
    }
    Ok(expanded)
}

struct Axis<'d, 'i> {
    key: &'d str,
    values: Vec<DeValue<'i>>,
}

fn axes<'d, 'i>(document: &'d Document<'i>) -> Result<Vec<Axis<'d, 'i>>, FileError> {
    let Some(matrix) = document.root.get_ref().get("matrix") else {
        return Ok(Vec::new());
    };
    let DeValue::Table(table) = matrix.get_ref() else {
        return Err(document
            .error(
                matrix.span(),
                "expected a table",
                "`matrix` is a table of lists",
            )
            .help("write\n[matrix]\nstatus = [500, 502, 503]"));
    };
    let mut axes = Vec::new();
    for (key, value) in in_file_order(table) {
        let span = document.span(&["matrix", key]);
        let DeValue::Array(values) = value else {
            return Err(document
                .error(
                    span,
                    "expected a list",
                    format!("the values of `{key}` are not a list"),
                )
                .help(format!("write {key} = [{}]", inline(value))));
        };
        if values.is_empty() {
            return Err(document.error(
                span,
                "empty",
                format!("`{key}` has no values: the scenario would never run"),
            ));
        }
        let word = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
        if !key.bytes().all(word) {
            return Err(document.error(
                document.key_span(&["matrix", key]),
                "not a name",
                "a matrix key is made of small letters, digits, `-` and `_`",
            ));
        }
        for value in values {
            if matches!(
                value.get_ref(),
                DeValue::Array(_) | DeValue::Table(_) | DeValue::Datetime(_)
            ) {
                return Err(document.error(
                    value.span(),
                    "not a single value",
                    "a matrix value is a number, a text, true or false",
                ));
            }
        }
        axes.push(Axis {
            key,
            values: values.iter().map(|value| value.get_ref().clone()).collect(),
        });
    }
    Ok(axes)
}

/// The value as it stands inside a text.
fn text_of(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => text.to_string(),
        other => inline(other),
    }
}

struct Substitution<'a, 'd, 'i> {
    chosen: &'a [(&'d str, &'d DeValue<'i>)],
    used: &'a mut [bool],
}

impl<'i> Substitution<'_, '_, 'i> {
    fn spanned(&mut self, value: &Spanned<DeValue<'i>>) -> Spanned<DeValue<'i>> {
        Spanned::new(value.span(), self.value(value.get_ref()))
    }

    fn value(&mut self, value: &DeValue<'i>) -> DeValue<'i> {
        match value {
            DeValue::String(text) => self.text(text),
            DeValue::Array(items) => {
                DeValue::Array(items.iter().map(|item| self.spanned(item)).collect())
            }
            DeValue::Table(table) => DeValue::Table(
                table
                    .iter()
                    .map(|(key, value)| (key.clone(), self.spanned(value)))
                    .collect(),
            ),
            other => other.clone(),
        }
    }

    fn text(&mut self, text: &Cow<'i, str>) -> DeValue<'i> {
        // One pass from the left, so that a value which looks like a key is left alone.
        let mut out = String::new();
        let mut rest = text.as_ref();
        let mut replaced = false;
        while let Some(open) = rest.find('{') {
            let (before, at) = rest.split_at(open);
            out.push_str(before);
            let found = self
                .chosen
                .iter()
                .enumerate()
                .find_map(|(n, (key, value))| {
                    let after = at.strip_prefix('{')?.strip_prefix(key)?.strip_prefix('}')?;
                    Some((n, *value, after))
                });
            if let Some((n, value, after)) = found {
                self.used[n] = true;
                if out.is_empty() && after.is_empty() && !replaced {
                    return value.clone();
                }
                replaced = true;
                out.push_str(&text_of(value));
                rest = after;
            } else {
                out.push('{');
                rest = &at[1..];
            }
        }
        if !replaced {
            return DeValue::String(text.clone());
        }
        out.push_str(rest);
        DeValue::String(Cow::Owned(out))
    }
}

//! A key as a header has it: a quoted string or bare.

use std::borrow::Cow;

/// The text of a quoted string (RFC 8941 section 3.3.3), as the IETF draft writes a key; `None`
/// where the value is none.
#[must_use]
pub fn quoted(value: &str) -> Option<Cow<'_, str>> {
    let inner = value.trim().strip_prefix('"')?.strip_suffix('"')?;
    if !inner.bytes().all(|b| matches!(b, 0x20..=0x7e)) {
        return None;
    }
    if !inner.contains(['\\', '"']) {
        return Some(inner.into());
    }
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(escaped @ ('\\' | '"')) => out.push(escaped),
                _ => return None,
            },
            '"' => return None,
            other => out.push(other),
        }
    }
    Some(out.into())
}

/// A key in quotes or bare, as most providers take it. What is not well quoted is taken as it
/// stands.
#[must_use]
pub fn unquote(value: &str) -> Cow<'_, str> {
    quoted(value).unwrap_or_else(|| value.trim().into())
}

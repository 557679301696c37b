//! [`Profile`]: which provider's API is spoken.
//!
//! Owns the profile file (its words, its diagnostics) and the built-in profiles. A profile is data:
//! where things stand in a request, which codes answer what. It decides nothing by itself.

use std::{fs, path::Path, sync::Arc, time::Duration};

use hyper::{StatusCode, header::HeaderName};
use miette::{Diagnostic, NamedSource, SourceSpan};
use serde::Deserialize;

use crate::{duration::Span, place::Place, template::Template};

const BUILT_IN: &[(&str, &str)] = &[("v1", include_str!("../profiles/v1.toml"))];

/// A profile, ready for use.
#[derive(Clone, Debug)]
pub struct Profile {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) path: String,
    pub(crate) recipient: Place,
    pub(crate) sender: Place,
    pub(crate) text: Place,
    pub(crate) success: StatusCode,
    pub(crate) answer: Template,
    pub(crate) lookup_key_field: String,
    pub(crate) key: KeyRules,
    pub(crate) authentication: AuthenticationFile,
    pub(crate) undelivered_to: Vec<String>,
    pub(crate) refused: Vec<Refused>,
}

/// What a profile says about idempotency keys.
#[derive(Clone, Debug)]
pub(crate) struct KeyRules {
    pub(crate) place: Place,
    pub(crate) max_length: usize,
    pub(crate) missing: Missing,
    pub(crate) in_flight: InFlightRule,
    pub(crate) replays: Replays,
    pub(crate) mismatch: StatusCode,
    pub(crate) replay_header: Option<HeaderName>,
    pub(crate) retention: Duration,
}

/// What a request without a key becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Missing {
    /// A new message, each time.
    #[default]
    Deliver,
    /// 400.
    Refuse,
}

/// What a request finds whose key is being worked on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum InFlightRule {
    /// It waits for the first and gets the same answer.
    #[default]
    Wait,
    /// 409.
    Refuse,
}

/// Which answers are stored under a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Replays {
    /// Success and error alike.
    #[default]
    Everything,
    /// Successes; an error frees the key.
    Successes,
    /// None: a key that was used is refused with 409.
    Nothing,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct File {
    name: String,
    title: String,
    submit: SubmitFile,
    lookup: LookupFile,
    key: KeyFile,
    #[serde(default)]
    authentication: AuthenticationFile,
    #[serde(default)]
    receipts: ReceiptsFile,
    #[serde(default)]
    refused: Vec<Refused>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct SubmitFile {
    path: toml::Spanned<String>,
    recipient: Place,
    #[serde(default = "nowhere")]
    sender: Place,
    text: Place,
    status: toml::Spanned<u16>,
    answer: toml::Spanned<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct LookupFile {
    key_field: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct KeyFile {
    place: Place,
    #[serde(default = "longest_key")]
    max_length: usize,
    #[serde(default)]
    missing: Missing,
    #[serde(default)]
    in_flight: InFlightRule,
    #[serde(default)]
    replays: Replays,
    #[serde(default = "unprocessable")]
    mismatch: toml::Spanned<u16>,
    #[serde(default)]
    replay_header: Option<toml::Spanned<String>>,
    retention: Span,
}

/// Who a request is from.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct AuthenticationFile {
    #[serde(default)]
    pub(crate) required: bool,
    #[serde(default = "default_customer")]
    pub(crate) customer: String,
}

impl Default for AuthenticationFile {
    fn default() -> Self {
        Self {
            required: false,
            customer: default_customer(),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct ReceiptsFile {
    #[serde(default)]
    undelivered_to: Vec<String>,
}

/// A number that is refused for good, with the provider's code.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Refused {
    #[serde(default)]
    pub(crate) to: Option<String>,
    #[serde(default)]
    pub(crate) from: Option<String>,
    pub(crate) code: u32,
    pub(crate) message: String,
}

fn nowhere() -> Place {
    Place::None
}
fn longest_key() -> usize {
    255
}
fn unprocessable() -> toml::Spanned<u16> {
    toml::Spanned::new(0..0, 422)
}
fn default_customer() -> String {
    "default".into()
}

/// Why a profile cannot be used, with the line and the key.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub enum ProfileError {
    /// The file is there but says something wrong.
    #[error("the profile cannot be used: {message}")]
    Wrong {
        /// What is wrong, in one sentence.
        message: String,
        /// The file.
        #[source_code]
        source_code: NamedSource<String>,
        /// Where in it.
        #[label("here")]
        at: Option<SourceSpan>,
    },
    /// The file cannot be read.
    #[error("the profile {path} cannot be read: {source}")]
    Unreadable {
        /// Its path.
        path: String,
        /// Why.
        source: std::io::Error,
    },
}

impl Profile {
    /// The built-in profile of that name.
    ///
    /// # Panics
    ///
    /// Never: every built-in profile is parsed by a test.
    #[must_use]
    pub fn builtin(name: &str) -> Option<Arc<Self>> {
        let (name, source) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
        Some(Arc::new(
            Self::parse(source, name).expect("the built-in profiles are parsed by a test"),
        ))
    }

    /// The built-in profile `v1`.
    pub(crate) fn v1() -> Arc<Self> {
        Self::builtin("v1").expect("`v1` is built in")
    }

    /// The names of the built-in profiles.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// Reads a profile file.
    ///
    /// # Errors
    ///
    /// Where the file cannot be read, or does not say what a profile must.
    pub fn load(path: &Path) -> Result<Self, ProfileError> {
        let shown = path.display().to_string();
        let source = fs::read_to_string(path).map_err(|source| ProfileError::Unreadable {
            path: shown.clone(),
            source,
        })?;
        Self::parse(&source, &shown)
    }

    /// Reads a profile from its text; `file` is how diagnostics name it.
    ///
    /// # Errors
    ///
    /// Where the text does not say what a profile must.
    pub fn parse(source: &str, file: &str) -> Result<Self, ProfileError> {
        let wrong = |message: String, at: Option<std::ops::Range<usize>>| ProfileError::Wrong {
            message,
            source_code: NamedSource::new(file, source.to_owned()),
            at: at.map(Into::into),
        };
        let read: File =
            toml::from_str(source).map_err(|e| wrong(e.message().to_owned(), e.span()))?;
        let status = |value: &toml::Spanned<u16>, allowed: std::ops::Range<u16>| {
            Some(*value.get_ref())
                .filter(|status| allowed.contains(status))
                .and_then(|status| StatusCode::from_u16(status).ok())
                .ok_or_else(|| {
                    let range = format!("{} to {}", allowed.start, allowed.end - 1);
                    let message = format!("{} is not a status from {range}", value.get_ref());
                    wrong(message, Some(value.span()))
                })
        };
        let path = read.submit.path.get_ref().trim_end_matches('/').to_owned();
        if !path.starts_with('/') || path.contains(['?', '#', ' ']) || reserved(&path) {
            return Err(wrong(
                "a submit path starts with / and is none of the provider's own (/admin, /metrics, /healthz)".into(),
                Some(read.submit.path.span()),
            ));
        }
        let answer = Template::parse(read.submit.answer.get_ref())
            .map_err(|e| wrong(e, Some(read.submit.answer.span())))?;
        let replay_header = read
            .key
            .replay_header
            .map(|name| {
                HeaderName::from_bytes(name.get_ref().as_bytes()).map_err(|_| {
                    let message = format!("`{}` cannot be the name of a header", name.get_ref());
                    wrong(message, Some(name.span()))
                })
            })
            .transpose()?;
        Ok(Self {
            name: read.name,
            title: read.title,
            path,
            recipient: read.submit.recipient,
            sender: read.submit.sender,
            text: read.submit.text,
            success: status(&read.submit.status, 200..300)?,
            answer,
            lookup_key_field: read.lookup.key_field,
            key: KeyRules {
                place: read.key.place,
                max_length: read.key.max_length,
                missing: read.key.missing,
                in_flight: read.key.in_flight,
                replays: read.key.replays,
                mismatch: status(&read.key.mismatch, 400..500)?,
                replay_header,
                retention: read.key.retention.0,
            },
            authentication: read.authentication,
            undelivered_to: read.receipts.undelivered_to,
            refused: read.refused,
        })
    }

    /// The same profile with the key at another place.
    #[must_use]
    pub fn with_key(&self, place: Place) -> Self {
        let mut profile = self.clone();
        profile.key.place = place;
        profile
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it speaks, in one line.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The path that messages are submitted to.
    #[must_use]
    pub fn submit_path(&self) -> &str {
        &self.path
    }

    /// The query field by which a message is looked up under its key.
    #[must_use]
    pub fn lookup_key_field(&self) -> &str {
        &self.lookup_key_field
    }

    /// Whether requests can carry a key at all.
    #[must_use]
    pub fn has_key(&self) -> bool {
        self.key.place != Place::None
    }

    /// Where the key stands.
    #[must_use]
    pub fn key_place(&self) -> &Place {
        &self.key.place
    }

    /// Where the recipient stands.
    #[must_use]
    pub fn recipient_place(&self) -> &Place {
        &self.recipient
    }

    /// Where the words stand.
    #[must_use]
    pub fn text_place(&self) -> &Place {
        &self.text
    }

    /// How long a stored answer is kept.
    #[must_use]
    pub fn retention(&self) -> Duration {
        self.key.retention
    }

    /// Whether a message to or from such a number is refused for good.
    pub(crate) fn refusal(&self, to: Option<&str>, from: Option<&str>) -> Option<&Refused> {
        let named =
            |wanted: &Option<String>, is: Option<&str>| wanted.is_some() && wanted.as_deref() == is;
        self.refused
            .iter()
            .find(|refused| named(&refused.to, to) || named(&refused.from, from))
    }
}

fn reserved(path: &str) -> bool {
    path.is_empty()
        || ["/admin", "/metrics", "/healthz", "/redirected"]
            .iter()
            .any(|own| path == *own || path.starts_with(&format!("{own}/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1: &str = BUILT_IN[0].1;

    fn said(error: &ProfileError) -> (String, usize) {
        match error {
            ProfileError::Wrong { message, at, .. } => {
                (message.clone(), at.map_or(usize::MAX, |span| span.offset()))
            }
            ProfileError::Unreadable { .. } => panic!("the text was given"),
        }
    }

    #[test]
    fn every_built_in_profile_is_sound() {
        for name in Profile::names() {
            let profile = Profile::builtin(name).expect("a name of the list");
            assert_eq!(profile.name(), name);
            assert!(!profile.title().is_empty());
        }
        assert!(Profile::builtin("v0").is_none());
    }

    #[test]
    fn a_wrong_key_is_named_and_marked() {
        let source = V1.replace("mismatch ", "mismatched ");
        let (message, at) = said(&Profile::parse(&source, "x.toml").expect_err("unknown key"));
        assert!(message.contains("mismatched"), "{message}");
        assert_eq!(at, source.find("mismatched").expect("it stands there"));
    }

    #[test]
    fn values_that_cannot_work_are_refused_where_they_stand() {
        for (right, wrong, says) in [
            ("= 422", "= 200", "not a status"),
            ("= 201", "= 404", "not a status"),
            ("\"json:to\"", "\"cookie:to\"", "cookie:to"),
            ("\"/v1/messages\"", "\"/admin\"", "submit path"),
            ("\"{id}\"", "\"{idd}\"", "{idd}"),
            ("\"Idempotent-Replayed\"", "\"Idem potent\"", "header"),
            ("\"24h\"", "\"24\"", "duration"),
        ] {
            let source = V1.replacen(right, wrong, 1);
            assert_ne!(source, V1, "{right} stands in the profile");
            let (message, at) = said(&Profile::parse(&source, "x.toml").expect_err(wrong));
            assert!(message.contains(says), "{message}");
            assert_ne!(at, usize::MAX, "{message}");
        }
    }
}

//! [`Profile`]: which provider's API is spoken.
//!
//! A profile is data: one TOML file (`file`) says where things stand in a request, which codes
//! answer what, how answers look. Owns the built-in profiles, what a profile promises ([`Rule`])
//! and the way back from a message to a request of it ([`Draft`]). It decides nothing by itself.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    path::Path,
    sync::{Arc, OnceLock},
    time::Duration,
};

use hyper::StatusCode;

use self::{
    authentication::Authentication, errors::ErrorRules, errors::Row, key::KeyRules,
    lookup::LookupRules, numbers::Refused, path::PathTemplate,
};
use crate::{
    diagnostic::{self, FileError},
    document::{Document, Problems},
    place::Place,
    quota::Quota,
    template::Template,
};

mod answer;
mod authentication;
mod compose;
mod either;
pub(crate) mod errors;
mod file;
mod key;
pub(crate) mod lookup;
pub(crate) mod numbers;
mod path;
mod reference;
mod resolve;
mod rule;

pub use answer::AnswerForm;
pub use compose::{Composed, Draft, Question};
pub use either::Code;
pub use file::{
    Binds, BodyEncoding, KeyForm, KeyScope, KeyShape, KeyUnit, NumberForm, ProfileFile, Replays,
    StatusClass, TimeForm,
};
pub use reference::reference;
pub use rule::{DRAFT, ProfileRule, Rule, Source};

/// What is wrong with a profile file, with the line and the key.
pub type ProfileError = FileError;

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        const BUILT_IN: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../profiles/", $name, ".toml")))),*];
    };
}

built_in![
    "v1",
    "ietf",
    "stripe",
    "telnyx",
    "azure",
    "twilio",
    "vonage",
    "infobip",
    "onesignal",
    "sparkpost",
    "resend",
    "refuse",
    "charges",
];

/// A profile, ready for use.
#[derive(Clone, Debug)]
pub struct Profile {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) sources: BTreeMap<Rule, Source>,
    pub(crate) submit: SubmitRules,
    pub(crate) lookup: LookupRules,
    pub(crate) key: KeyRules,
    pub(crate) errors: ErrorRules,
    pub(crate) authentication: Authentication,
    pub(crate) undelivered_to: Vec<String>,
    pub(crate) expires_to: Vec<String>,
    pub(crate) quota: Quota,
    pub(crate) refused: Vec<Refused>,
}

/// How a message is submitted, and how it is accepted.
#[derive(Clone, Debug)]
pub(crate) struct SubmitRules {
    pub(crate) path: PathTemplate,
    pub(crate) also: Vec<PathTemplate>,
    pub(crate) encoding: BodyEncoding,
    pub(crate) request: Template,
    pub(crate) recipient: Place,
    pub(crate) sender: Place,
    pub(crate) text: Place,
    pub(crate) validity: Place,
    pub(crate) numbers: NumberForm,
    pub(crate) answers: AnswerForm,
    pub(crate) success: StatusCode,
    pub(crate) answer: Template,
    pub(crate) list: Option<Template>,
    pub(crate) id: Place,
    pub(crate) result: Option<Place>,
    pub(crate) created: TimeForm,
    pub(crate) statuses: BTreeMap<String, String>,
}

/// What is answered when a message is not accepted, for those who expect it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorAnswer {
    /// The status; where an answer speaks of each of several recipients, that of the recipient.
    pub status: u16,
    /// The provider's code.
    pub code: Option<String>,
    /// What `Retry-After` says.
    pub retry_after: Option<Duration>,
}

impl From<&Row> for ErrorAnswer {
    fn from(row: &Row) -> Self {
        Self {
            status: row.status.as_u16(),
            code: row.code.as_ref().map(ToString::to_string),
            retry_after: row.retry_after.map(|wait| wait.0),
        }
    }
}

impl Profile {
    /// The built-in profile of that name.
    ///
    /// # Panics
    ///
    /// Never: every built-in profile is parsed by a test.
    #[must_use]
    pub fn builtin(name: &str) -> Option<Arc<Self>> {
        static READ: [OnceLock<Arc<Profile>>; BUILT_IN.len()] =
            [const { OnceLock::new() }; BUILT_IN.len()];
        let (at, (name, source)) = BUILT_IN
            .iter()
            .enumerate()
            .find(|(_, (known, _))| *known == name)?;
        let profile = READ[at].get_or_init(|| {
            Arc::new(Self::parse(source, name).expect("the built-in profiles are parsed by a test"))
        });
        Some(profile.clone())
    }

    /// The built-in profile `v1`.
    pub(crate) fn v1() -> Arc<Self> {
        Self::builtin("v1").expect("`v1` is built in")
    }

    /// The names of the built-in profiles.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// The text of a built-in profile, to begin one's own with.
    #[must_use]
    pub fn source_of(name: &str) -> Option<&'static str> {
        let (_, source) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
        Some(source)
    }

    /// Reads a profile file.
    ///
    /// # Errors
    ///
    /// Where the file cannot be read, or does not say what a profile must.
    pub fn load(path: &Path) -> Result<Self, ProfileError> {
        let source = diagnostic::source(path, "the profile")?;
        Self::parse(&source, &path.display().to_string())
    }

    /// Reads a profile from its text; `file` is how diagnostics name it.
    ///
    /// # Errors
    ///
    /// Where the text does not say what a profile must.
    pub fn parse(source: &str, file: &str) -> Result<Self, ProfileError> {
        let document = Document::parse(source, file, reference::hint)?;
        let read: ProfileFile = document.read()?;
        let mut problems = Problems::new(&document);
        let profile = resolve::profile(read, &mut problems);
        problems.check()?;
        // Whatever is not there was noted.
        profile.ok_or_else(|| FileError::new(file, "the profile cannot be used"))
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

    /// The path that messages are submitted to, with its `{segments}`.
    #[must_use]
    pub fn submit_path(&self) -> &str {
        self.submit.path.as_str()
    }

    /// The query field by which messages are looked up under their key, where they can be.
    #[must_use]
    pub fn lookup_key_field(&self) -> Option<&str> {
        Some(&self.lookup.by_key.as_ref()?.field)
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

    /// The key of a request in which this is written at the key's place: `None` where it counts as
    /// none.
    ///
    /// # Errors
    ///
    /// Why it cannot be a key.
    pub fn read_key(&self, written: &str) -> Result<Option<String>, String> {
        match self.key.read(written.into()) {
            Ok(key) => Ok(key.map(Cow::into_owned)),
            Err(malformed) => Err(malformed.why),
        }
    }

    /// How a key is written in a header.
    #[must_use]
    pub fn key_form(&self) -> KeyForm {
        self.key.form
    }

    /// The least and the greatest number of bytes of a key.
    #[must_use]
    pub fn key_lengths(&self) -> (usize, usize) {
        (self.key.min_length, self.key.max_length)
    }

    /// What one key is of.
    #[must_use]
    pub fn unit(&self) -> KeyUnit {
        self.key.unit
    }

    /// Among what a key is unique.
    #[must_use]
    pub fn scope(&self) -> KeyScope {
        self.key.scope
    }

    /// What a key is bound to, beside method and path.
    #[must_use]
    pub fn binds(&self) -> Binds {
        self.key.binds
    }

    /// What a later request under a key gets.
    #[must_use]
    pub fn replays(&self) -> Replays {
        self.key.replays
    }

    /// Whether an answer of that class stays under its key.
    #[must_use]
    pub fn keeps(&self, class: StatusClass) -> bool {
        !self.key.frees.contains(&class)
    }

    /// The header that marks a stored answer, in lower case.
    #[must_use]
    pub fn replay_header(&self) -> Option<&str> {
        self.key
            .replay_header
            .as_ref()
            .map(hyper::header::HeaderName::as_str)
    }

    /// How long a stored answer is kept.
    #[must_use]
    pub fn retention(&self) -> Duration {
        self.key.retention
    }

    /// Where the recipient stands.
    #[must_use]
    pub fn recipient_place(&self) -> &Place {
        &self.submit.recipient
    }

    /// Where the words stand.
    #[must_use]
    pub fn text_place(&self) -> &Place {
        &self.submit.text
    }

    /// How a body is written.
    #[must_use]
    pub fn encoding(&self) -> BodyEncoding {
        self.submit.encoding
    }

    /// The status of the answer that accepts a message.
    #[must_use]
    pub fn success(&self) -> u16 {
        self.submit.success.as_u16()
    }

    /// What a request without a key gets; `None`: it is delivered, each time.
    #[must_use]
    pub fn missing(&self) -> Option<ErrorAnswer> {
        let row = self.errors.missing.as_ref();
        row.filter(|_| self.has_key()).map(Into::into)
    }

    /// What a key gets that cannot be one; `None`: there are no keys.
    #[must_use]
    pub fn malformed(&self) -> Option<ErrorAnswer> {
        self.has_key().then(|| (&self.errors.malformed).into())
    }

    /// What a known key with another request gets; `None`: it fits every request.
    #[must_use]
    pub fn mismatch(&self) -> Option<ErrorAnswer> {
        let bound = self.has_key() && self.key.binds != Binds::Nothing;
        bound.then(|| (&self.errors.mismatch).into())
    }

    /// What a key gets whose first request is still being worked on; `None`: it waits for it.
    #[must_use]
    pub fn in_flight(&self) -> Option<ErrorAnswer> {
        let row = self.errors.in_flight.as_ref();
        row.filter(|_| self.has_key()).map(Into::into)
    }

    /// What a used key gets; `None`: the stored answer.
    #[must_use]
    pub fn used(&self) -> Option<ErrorAnswer> {
        let refuses = self.has_key() && self.key.replays == Replays::Nothing;
        refuses.then(|| (&self.errors.used).into())
    }

    /// A recipient that is refused for good; `None`: there is none.
    #[must_use]
    pub fn refused_recipient(&self) -> Option<&str> {
        self.refused
            .iter()
            .find_map(|refused| refused.to.as_deref())
    }

    /// What a request without a credential gets; `None`: it needs none.
    #[must_use]
    pub fn unauthorised(&self) -> Option<ErrorAnswer> {
        let required = self.authentication.required;
        required.then(|| (&self.errors.unauthorised).into())
    }

    /// Whether a message to or from such a number is refused for good.
    pub(crate) fn refusal(&self, to: Option<&str>, from: Option<&str>) -> Option<&Refused> {
        numbers::refusal(&self.refused, to, from)
    }
}

#[cfg(test)]
mod tests;

//! [`KeyRules`]: what a profile says about idempotency keys.
//!
//! Owns reading a key out of what stands at its place, and which answers stay under it. What is
//! known under a key is the ledger's.

use std::{borrow::Cow, fmt, time::Duration};

use hyper::{StatusCode, header::HeaderName};

use super::file::{Binds, KeyForm, KeyScope, KeyShape, KeyUnit, Replays, StatusClass};
use crate::place::{self, Place};

/// What a profile says about idempotency keys.
#[derive(Clone, Debug)]
pub(crate) struct KeyRules {
    pub(crate) place: Place,
    pub(crate) form: KeyForm,
    pub(crate) characters: Option<Characters>,
    pub(crate) shape: KeyShape,
    pub(crate) min_length: usize,
    pub(crate) max_length: usize,
    pub(crate) unit: KeyUnit,
    pub(crate) scope: KeyScope,
    pub(crate) binds: Binds,
    pub(crate) replays: Replays,
    pub(crate) frees: Vec<StatusClass>,
    pub(crate) replay_header: Option<HeaderName>,
    pub(crate) retention: Duration,
}

impl KeyRules {
    /// The key that stands at its place; `None` where there is none.
    pub(crate) fn read<'a>(
        &self,
        written: Cow<'a, str>,
    ) -> Result<Option<Cow<'a, str>>, Malformed> {
        let read: fn(&str) -> Option<Cow<'_, str>> = match (&self.place, self.form) {
            (Place::Header(_), KeyForm::Quoted) => place::quoted,
            (Place::Header(_), KeyForm::Either) => |all| Some(place::unquote(all)),
            _ => |all| Some(all.into()),
        };
        let Some(key) = place::part_of(written.clone(), read) else {
            return Err(Malformed {
                key: written.into_owned(),
                why: "the idempotency key is not a quoted string (RFC 8941 section 3.3.3)".into(),
            });
        };
        if key.is_empty() && self.min_length == 0 {
            return Ok(None);
        }
        match self.fault_of(&key) {
            None => Ok(Some(key)),
            Some(why) => Err(Malformed {
                key: key.into_owned(),
                why,
            }),
        }
    }

    /// Why a key cannot be one.
    fn fault_of(&self, key: &str) -> Option<String> {
        let bytes = key.len();
        if bytes < self.min_length {
            let least = self.min_length;
            return Some(format!(
                "the idempotency key has {bytes} bytes; at least {least} are needed"
            ));
        }
        if bytes > self.max_length {
            let most = self.max_length;
            return Some(format!(
                "the idempotency key has {bytes} bytes; at most {most} are allowed"
            ));
        }
        if self.shape == KeyShape::Uuid && !is_uuid(key) {
            return Some("the idempotency key is not a UUID".into());
        }
        let characters = self.characters.as_ref()?;
        let other = key.chars().find(|c| !characters.allow(*c))?;
        Some(format!(
            "the idempotency key has the character {other:?}; allowed are {characters}"
        ))
    }

    /// Whether an answer stays under its key. `accepted`: a message stands behind it.
    pub(crate) fn keeps(&self, status: StatusCode, accepted: bool) -> bool {
        let class = match status.as_u16() {
            500.. => StatusClass::Failed,
            400.. => StatusClass::Refused,
            _ if accepted => return true,
            // A refusal can stand in an answer of its own that says 200.
            _ => StatusClass::Refused,
        };
        !self.frees.contains(&class)
    }
}

/// What stands at the key's place and cannot be one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Malformed {
    pub(crate) key: String,
    pub(crate) why: String,
}

/// 8-4-4-4-12 hexadecimal digits.
fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// A set of characters, written as in a regular expression's brackets: `A-Za-z0-9_:-`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Characters {
    source: String,
    ranges: Vec<(char, char)>,
}

impl Characters {
    /// Reads a set. A hyphen at either end stands for itself.
    pub(crate) fn parse(source: &str) -> Result<Self, String> {
        let all: Vec<char> = source.chars().collect();
        let mut ranges = Vec::new();
        let mut at = 0;
        while at < all.len() {
            let first = all[at];
            match (all.get(at + 1), all.get(at + 2)) {
                (Some('-'), Some(last)) if first > *last => {
                    return Err(format!("`{first}-{last}` runs backwards"));
                }
                (Some('-'), Some(last)) => {
                    ranges.push((first, *last));
                    at += 3;
                }
                _ => {
                    ranges.push((first, first));
                    at += 1;
                }
            }
        }
        if ranges.is_empty() {
            return Err("no character would be allowed".into());
        }
        Ok(Self {
            source: source.to_owned(),
            ranges,
        })
    }

    /// The first of them.
    pub(crate) fn first(&self) -> char {
        self.ranges.first().map_or('k', |(first, _)| *first)
    }

    pub(crate) fn allow(&self, c: char) -> bool {
        self.ranges
            .iter()
            .any(|(first, last)| (*first..=*last).contains(&c))
    }
}

impl fmt::Display for Characters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::profile::Profile;

    fn rules() -> KeyRules {
        Profile::v1().key.clone()
    }

    #[test]
    fn an_empty_key_is_no_key_unless_the_profile_wants_one_character() {
        let mut rules = rules();
        assert_eq!(rules.read("".into()), Ok(None));
        assert_eq!(rules.read("\"\"".into()), Ok(None));
        rules.min_length = 1;
        assert!(rules.read("".into()).is_err());
    }

    #[test]
    fn length_characters_and_shape_are_judged() {
        let mut rules = rules();
        rules.max_length = 4;
        assert_eq!(rules.read("abcd".into()), Ok(Some("abcd".into())));
        assert!(rules.read("abcde".into()).is_err());
        rules.characters = Some(Characters::parse("a-c_:-").expect("a set"));
        for (key, good) in [("a-c", true), ("_:-", true), ("ad", false), ("ä", false)] {
            assert_eq!(rules.read(key.into()).is_ok(), good, "{key}");
        }
        rules.characters = None;
        rules.max_length = 255;
        rules.shape = KeyShape::Uuid;
        let uuid = "8e03978e-40d5-43e8-bc93-6894a57f9326";
        assert_eq!(rules.read(uuid.into()), Ok(Some(uuid.into())));
        assert!(rules.read(uuid.replace('-', "").into()).is_err());
    }

    #[test]
    fn each_form_takes_what_it_should() {
        let mut rules = rules();
        for (form, written, key) in [
            (KeyForm::Bare, "\"a\"", Some("\"a\"")),
            (KeyForm::Either, "\"a\"", Some("a")),
            (KeyForm::Either, "a", Some("a")),
            (KeyForm::Quoted, "\"a\"", Some("a")),
            (KeyForm::Quoted, "a", None),
        ] {
            rules.form = form;
            let read = rules.read(written.into()).ok().flatten();
            assert_eq!(read.as_deref(), key, "{form:?} {written}");
        }
    }

    #[test]
    fn sets_that_allow_nothing_or_run_backwards_are_refused() {
        assert!(Characters::parse("").is_err());
        assert!(Characters::parse("z-a").is_err());
        assert!(Characters::parse("-").expect("a set").allow('-'));
    }

    proptest! {
        #[test]
        fn no_key_and_no_set_makes_them_fail(key: String, set: String, least: usize, most: usize) {
            let mut rules = rules();
            rules.min_length = least;
            rules.max_length = most;
            rules.characters = Characters::parse(&set).ok();
            for form in [KeyForm::Bare, KeyForm::Quoted, KeyForm::Either] {
                rules.form = form;
                if let Ok(Some(read)) = rules.read(key.as_str().into()) {
                    prop_assert!(read.len() >= least && read.len() <= most);
                }
            }
        }
    }
}

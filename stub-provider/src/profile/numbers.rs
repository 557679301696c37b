//! The numbers that mean something: refused for good, or never reached.
//!
//! Owns the list that every profile has (`profiles/numbers.toml`) and what a profile's own list
//! does to it.

use serde::Deserialize;

use super::{
    either::Code,
    file::{ReceiptsFile, RefusedFile},
};

const SHARED: &str = include_str!("../../profiles/numbers.toml");

/// A number that is refused for good, with the provider's code.
#[derive(Clone, Debug)]
pub(crate) struct Refused {
    pub(crate) to: Option<String>,
    pub(crate) from: Option<String>,
    pub(crate) code: Code,
    pub(crate) message: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Shared {
    receipts: ReceiptsFile,
    refused: Vec<RefusedFile>,
}

fn shared() -> Shared {
    // It is parsed by a test.
    toml::from_str(SHARED).unwrap_or_default()
}

/// The refused numbers of a profile: its own, and those of every profile.
pub(super) fn refused(own: Vec<RefusedFile>) -> Vec<Refused> {
    let mut all: Vec<Refused> = Vec::new();
    for row in own.into_iter().chain(shared().refused) {
        let known = all
            .iter()
            .any(|refused| refused.to == row.to && refused.from == row.from);
        if !known {
            all.push(Refused {
                to: row.to,
                from: row.from,
                code: row.code,
                message: row.message,
            });
        }
    }
    all
}

/// The numbers that are never reached.
pub(super) fn undelivered_to(own: ReceiptsFile) -> Vec<String> {
    own.undelivered_to
        .or(shared().receipts.undelivered_to)
        .unwrap_or_default()
}

/// The numbers of phones that cannot be reached.
pub(super) fn expires_to(own: &ReceiptsFile) -> Vec<String> {
    let own = own.expires_to.clone();
    own.or(shared().receipts.expires_to).unwrap_or_default()
}

/// Whether a message to or from such a number is refused for good.
pub(super) fn refusal<'r>(
    all: &'r [Refused],
    to: Option<&str>,
    from: Option<&str>,
) -> Option<&'r Refused> {
    let named =
        |wanted: &Option<String>, is: Option<&str>| wanted.is_some() && wanted.as_deref() == is;
    all.iter()
        .find(|refused| named(&refused.to, to) || named(&refused.from, from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_every_profile_are_sound_and_a_profile_can_give_them_other_codes() {
        let shared: Shared = toml::from_str(SHARED).expect("the shared numbers");
        assert_eq!(shared.refused.len(), 8);
        let own = RefusedFile {
            to: Some("+15005550001".into()),
            from: None,
            code: Code("invalid_to".into()),
            message: "No such number.".into(),
        };
        let all = refused(vec![own]);
        assert_eq!(all.len(), 8);
        let found = refusal(&all, Some("+15005550001"), None).expect("a refusal");
        assert_eq!(found.code.0, "invalid_to");
        let other = refusal(&all, None, Some("+15005550001")).expect("a refusal");
        assert_eq!(other.code.0, "21212");
        assert!(refusal(&all, Some("+12025550142"), None).is_none());
    }
}

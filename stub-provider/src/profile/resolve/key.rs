//! `[key]`: where a key stands, what it may be, and what it stands for.

use hyper::header::HeaderName;

use crate::{
    document::Problems,
    place::Place,
    profile::{
        KeyForm, KeyShape, Replays,
        file::{KeyFile, StatusClass},
        key::{Characters, KeyRules},
    },
};

pub(super) fn key(file: KeyFile, p: &mut Problems<'_, '_>) -> Option<KeyRules> {
    let has_key = file.place != Place::None;
    if has_key && file.form != KeyForm::Bare && !matches!(file.place, Place::Header(_)) {
        p.value(
            &["key", "form"],
            "not in a header",
            format!(
                "only in a header is a key written in quotes, and this one stands at `{}`",
                file.place
            ),
            "remove it",
        );
    }
    let characters = match &file.characters {
        Some(written) => match Characters::parse(written) {
            Ok(characters) => Some(characters),
            Err(message) => {
                p.value(
                    &["key", "characters"],
                    "no set",
                    message,
                    "write it as in \"A-Za-z0-9_:-\"",
                );
                return None;
            }
        },
        None => None,
    };
    if file.shape == KeyShape::Uuid && characters.is_some() {
        p.value(
            &["key", "characters"],
            "and a UUID",
            "a UUID has characters of its own",
            "remove characters, or shape",
        );
    }
    if file.max_length == 0 || file.min_length > file.max_length {
        p.value(
            &["key", "max-length"],
            "too little",
            format!(
                "no key has {} to {} bytes",
                file.min_length.max(1),
                file.max_length
            ),
            "max-length is at least 1, and at least min-length",
        );
    }
    if file.replays == Replays::Nothing && file.replay_header.is_some() {
        p.value(
            &["key", "replay-header"],
            "on no answer",
            "nothing is replayed, so there is no answer to mark",
            "remove it, or write replays = \"everything\"",
        );
    }
    let replay_header = match &file.replay_header {
        Some(name) => {
            if let Ok(name) = HeaderName::from_bytes(name.as_bytes()) {
                Some(name)
            } else {
                p.value(
                    &["key", "replay-header"],
                    "not a name",
                    format!("`{name}` cannot be the name of a header"),
                    "",
                );
                return None;
            }
        }
        None => None,
    };
    let frees = file.frees.unwrap_or_else(|| match file.replays {
        Replays::Everything => Vec::new(),
        Replays::Successes => vec![StatusClass::Refused, StatusClass::Failed],
        Replays::Nothing => vec![StatusClass::Refused],
    });
    Some(KeyRules {
        place: file.place,
        form: file.form,
        characters,
        shape: file.shape,
        min_length: file.min_length,
        max_length: file.max_length,
        unit: file.unit,
        scope: file.scope,
        binds: file.binds,
        replays: file.replays,
        frees,
        replay_header,
        retention: file.retention.0,
    })
}

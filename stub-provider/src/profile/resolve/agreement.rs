//! What the parts of a profile say of each other: none contradicts another, and a profile
//! understands its own requests and answers.

use super::sample;
use crate::{
    document::Problems,
    place::Place,
    profile::{
        AnswerForm, Binds, BodyEncoding, Draft, KeyUnit, Profile, Question,
        either::{InFlight, Missing},
        file::{KeyFile, ProfileFile, SubmitFile},
    },
    template::Filling,
};

/// Every place lies in a body of the kind that the profile has.
pub(super) fn places(submit: &SubmitFile, key: &KeyFile, p: &mut Problems<'_, '_>) {
    for (path, place) in [
        (["submit", "recipient"], &submit.recipient),
        (["submit", "text"], &submit.text),
        (
            ["submit", "sender"],
            submit.sender.as_ref().unwrap_or(&Place::None),
        ),
        (["key", "place"], &key.place),
    ] {
        fits(place, submit.encoding, &path, p);
    }
    for (path, place) in [
        (["submit", "recipient"], &submit.recipient),
        (["submit", "text"], &submit.text),
    ] {
        if *place == Place::None {
            p.value(
                &path,
                "nowhere",
                "a message has a recipient and words",
                "say where they stand in the request",
            );
        }
    }
}

/// What is answered in XML is about one message, and so are errors.
pub(super) fn answers(file: &ProfileFile, p: &mut Problems<'_, '_>) {
    let id = &file.submit.id;
    let xml = file.submit.answers == AnswerForm::Xml;
    if matches!(id, Place::Json(_)) && xml || matches!(id, Place::Xml(_)) && !xml {
        let (is, should) = if xml {
            ("JSON", "XML")
        } else {
            ("XML", "JSON")
        };
        p.value(
            &["submit", "id"],
            "not in this answer",
            format!("`{id}` is a place in {is}, and `submit.answers` says {should}"),
            "choose a place in the other kind of answer, or the other kind of answers",
        );
    }
    if !xml {
        return;
    }
    if file.errors.body.is_none() {
        p.value(
            &["submit", "answers"],
            "and errors?",
            "problem details are JSON: an error in XML needs a shape of its own",
            "write body = '<Error><Message>{message}</Message></Error>' under [errors]",
        );
    }
    let lists: [(&[&str], bool); 3] = [
        (&["key", "unit"], file.key.unit == KeyUnit::Recipient),
        (&["lookup", "by-key"], file.lookup.by_key.is_some()),
        (&["lookup", "list"], file.lookup.list.is_some()),
    ];
    for (path, said) in lists {
        if said {
            p.key(
                path,
                "a list in XML",
                "an answer about several messages is written in JSON only",
                "remove this, or answers = \"xml\" under [submit]",
            );
        }
    }
}

pub(super) fn fits(place: &Place, encoding: BodyEncoding, path: &[&str], p: &mut Problems<'_, '_>) {
    let (is, should) = match (place, encoding) {
        (Place::Form(_), BodyEncoding::Json) => ("form-encoded", "JSON"),
        (Place::Json(_), BodyEncoding::Form) => ("JSON", "form-encoded"),
        (Place::Xml(_), BodyEncoding::Json) => ("XML", "JSON"),
        (Place::Xml(_), BodyEncoding::Form) => ("XML", "form-encoded"),
        _ => return,
    };
    p.value(
        path,
        "not in this body",
        format!("`{place}` is a place in {is}, and `submit.encoding` says {should}"),
        "choose a place in the other kind of body, or the other encoding",
    );
}

pub(super) fn unit_fits(unit: KeyUnit, file: &ProfileFile, p: &mut Problems<'_, '_>) {
    let arrays = [
        (["submit", "recipient"], &file.submit.recipient),
        (["key", "place"], &file.key.place),
    ];
    match unit {
        KeyUnit::Recipient => {
            for (path, place) in arrays {
                if place.array().is_none() {
                    p.value(
                        &path,
                        "one for the whole request",
                        "a key of a recipient needs a list of recipients, and this place is in none",
                        "name the list's elements with `*`, as in \"json:recipients.*.to\"",
                    );
                }
            }
            if file.key.place.array() != file.submit.recipient.array() {
                p.value(
                    &["key", "place"],
                    "another list",
                    "recipient and key stand in different lists",
                    "both should stand in the same element",
                );
            }
            if file.key.binds == Binds::Bytes {
                p.value(
                    &["key", "unit"],
                    "a part of the body",
                    "a key of a recipient cannot bind every byte of a request that others share",
                    "write binds = \"content\" (or \"nothing\")",
                );
            }
            if file.submit.list.is_none() {
                p.value(
                    &["submit", "answer"],
                    "a part of an answer",
                    "where keys are of recipients the whole answer needs a shape too",
                    "write list = '{\"messages\":[{messages}]}' beside it",
                );
            }
            if file.errors.recipient.is_none() {
                p.key(
                    &["key", "unit"],
                    "of a recipient",
                    "where keys are of recipients an error of one needs a shape",
                    "write recipient = '{\"to\":\"{to}\",\"status\":{status}}' under [errors]",
                );
            }
        }
        KeyUnit::Request => {
            for (path, place) in arrays {
                if place.array().is_some() {
                    p.value(
                        &path,
                        "one for each recipient",
                        "`*` stands for each of several recipients, and a key is of the request",
                        "write unit = \"recipient\" under [key], or a number in place of `*`",
                    );
                }
            }
        }
    }
}

/// Without a key nothing can be said about keys.
pub(super) fn without_key(file: &ProfileFile, p: &mut Problems<'_, '_>) {
    let errors = &file.errors;
    let said: [(&[&str], bool); 7] = [
        (&["key", "replay-header"], file.key.replay_header.is_some()),
        (
            &["errors", "missing"],
            matches!(errors.missing, Missing::Row(_)),
        ),
        (&["errors", "malformed"], errors.malformed.is_some()),
        (&["errors", "mismatch"], errors.mismatch.is_some()),
        (
            &["errors", "in-flight"],
            matches!(errors.in_flight, InFlight::Row(_)),
        ),
        (&["errors", "used"], errors.used.is_some()),
        (&["lookup", "by-key"], file.lookup.by_key.is_some()),
    ];
    for (path, said) in said {
        if said {
            p.key(
                path,
                "about a key",
                "the profile has no key, and says something about keys",
                "say where the key stands: place = \"header:Idempotency-Key\" under [key]; or remove this",
            );
        }
    }
}

/// A profile understands its own requests and answers.
pub(super) fn itself(profile: &Profile, p: &mut Problems<'_, '_>) {
    let key = profile.has_key().then(|| profile.sample_key(1));
    let composed = profile.compose(&Draft {
        to: "+12025550142",
        text: "words",
        from: "+12025550100",
        key: key.as_deref(),
        customer: "customer",
    });
    let read = profile.read_back(&composed);
    for (found, path, place, what) in [
        (
            &read.to,
            ["submit", "recipient"],
            &profile.submit.recipient,
            "recipient",
        ),
        (
            &read.text,
            ["submit", "text"],
            &profile.submit.text,
            "words",
        ),
        (&read.key, ["key", "place"], &profile.key.place, "key"),
    ] {
        if found.is_none() && *place != Place::None {
            p.value(
                &path,
                "nothing stands there",
                format!("the profile's own request has no {what} at `{place}`"),
                "make submit.request and this place agree",
            );
        }
    }
    let answer = profile.submit.answer.fill(&Filling {
        key: None,
        ..sample()
    });
    let answer = match &profile.submit.list {
        Some(list) => list.fill(&Filling {
            messages: Some(&answer),
            ..Filling::default()
        }),
        None => answer,
    };
    if profile.message_id(answer.as_bytes()).as_deref() != Some("id") {
        p.value(
            &["submit", "id"],
            "no id stands there",
            format!(
                "the profile's own answer has no id at `{}`",
                profile.submit.id
            ),
            "make submit.answer and this place agree",
        );
    }
    for (list, key, path) in [
        (&profile.lookup.by_key, "by-key", Question::ByKey("k")),
        (&profile.lookup.list, "list", Question::To("+12025550142")),
    ] {
        let Some(list) = list else { continue };
        let item = profile.lookup.item.fill(&Filling {
            key: None,
            ..sample()
        });
        let answer = list.fill(&[item], false);
        let found = profile.listed_ids(path, answer.as_bytes());
        if found.is_none_or(|ids| ids != ["id"]) {
            p.value(
                &["lookup", key, "items"],
                "no messages stand there",
                format!(
                    "the profile's own list has no messages at `{}` with an id at `{}`",
                    list.items, profile.lookup.item_id
                ),
                "make the answer, items and item-id agree",
            );
        }
    }
}

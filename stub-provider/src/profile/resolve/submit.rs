//! `[submit]` and `[lookup]`: what is sent, and how it is asked for afterwards.

use super::{filled, path, status};
use crate::{
    diagnostic::did_you_mean,
    document::Problems,
    place::Place,
    profile::{
        AnswerForm, BodyEncoding, KeyUnit, SubmitRules,
        file::{ListFile, LookupFile, SubmitFile},
        lookup::{ListRules, LookupRules},
    },
    template::{Encoding, Gap, OF_LIST, OF_MESSAGE, OF_REQUEST, Template},
};

/// The words for what became of a message.
const STATUS_WORDS: [&str; 6] = [
    "accepted",
    "queued",
    "sent",
    "delivered",
    "undelivered",
    "expired",
];

pub(super) fn submit(
    file: SubmitFile,
    unit: KeyUnit,
    p: &mut Problems<'_, '_>,
) -> Option<SubmitRules> {
    let path = path(&file.path, &["submit", "path"], p);
    let mut also = Vec::new();
    for (at, other) in file.also.iter().enumerate() {
        also.extend(super::path(other, &["submit", "also", &at.to_string()], p));
    }
    let encoding = match file.encoding {
        BodyEncoding::Json => Encoding::Json,
        BodyEncoding::Form => Encoding::Form,
    };
    let request = filled(
        &file.request,
        encoding,
        OF_REQUEST,
        &["submit", "request"],
        p,
    );
    let answer = filled(
        &file.answer,
        file.answers.encoding(),
        OF_MESSAGE,
        &["submit", "answer"],
        p,
    );
    let list = match &file.list {
        Some(_) if unit == KeyUnit::Request => {
            p.key(
                &["submit", "list"],
                "of recipients",
                "only an answer about several recipients has a list around them",
                "write unit = \"recipient\" under [key], or remove this",
            );
            None
        }
        Some(list) => {
            let list = filled(list, Encoding::Json, OF_LIST, &["submit", "list"], p);
            holds_messages(list.as_ref(), &["submit", "list"], p);
            list
        }
        None => None,
    };
    let success = status(file.status, 200..=299, &["submit", "status"], p);
    for word in file.statuses.keys() {
        if !STATUS_WORDS.contains(&word.as_str()) {
            let help = did_you_mean(word, STATUS_WORDS).map_or_else(
                || STATUS_WORDS.join(", "),
                |guess| format!("did you mean `{guess}`?"),
            );
            p.key(
                &["submit", "statuses", word],
                "not a status",
                format!("`{word}` is nothing that becomes of a message"),
                &help,
            );
        }
    }
    Some(SubmitRules {
        path: path?,
        also,
        encoding: file.encoding,
        request: request?,
        recipient: file.recipient,
        sender: file.sender.unwrap_or(Place::None),
        validity: file.validity.unwrap_or(Place::None),
        text: file.text,
        numbers: file.numbers,
        answers: file.answers,
        success: success?,
        answer: answer?,
        list,
        id: file.id,
        result: file.result,
        created: file.created,
        statuses: file.statuses,
    })
}

pub(super) fn lookup(
    file: LookupFile,
    answers: AnswerForm,
    submit: Option<&SubmitRules>,
    p: &mut Problems<'_, '_>,
) -> Option<LookupRules> {
    let by_id = match &file.by_id {
        Some(written) => {
            let path = path(written, &["lookup", "by-id"], p)?;
            if !path.has("id") {
                p.value(
                    &["lookup", "by-id"],
                    "no {id}",
                    "the path of one message names no message",
                    "write {id} where the id stands",
                );
            }
            Some(path)
        }
        None => None,
    };
    let encoding = answers.encoding();
    let of_message = |written: &Option<String>, key: &str, p: &mut Problems<'_, '_>| match written {
        Some(written) => filled(written, encoding, OF_MESSAGE, &["lookup", key], p).map(Some),
        None => Some(None),
    };
    let answer = of_message(&file.answer, "answer", p);
    let item = of_message(&file.item, "item", p);
    let by_key = list(file.by_key, "by-key", p);
    let list = list(file.list, "list", p);
    let submit = submit?;
    let answer = answer?.unwrap_or_else(|| submit.answer.clone());
    Some(LookupRules {
        by_id,
        item: item?.unwrap_or_else(|| answer.clone()),
        answer,
        by_key: by_key?,
        list: list?,
        item_id: file.item_id.unwrap_or_else(|| submit.id.clone()),
    })
}

/// `None` where it is wrong.
#[expect(
    clippy::option_option,
    reason = "a list that is wrong is not one that is not there"
)]
fn list(file: Option<ListFile>, key: &str, p: &mut Problems<'_, '_>) -> Option<Option<ListRules>> {
    let Some(file) = file else { return Some(None) };
    let path = path(&file.path, &["lookup", key, "path"], p);
    let at = ["lookup", key, "answer"];
    let answer = filled(&file.answer, Encoding::Json, OF_LIST, &at, p);
    holds_messages(answer.as_ref(), &at, p);
    let in_progress = match &file.in_progress {
        Some(written) => {
            let at = ["lookup", key, "in-progress"];
            let template = filled(written, Encoding::Json, OF_LIST, &at, p);
            holds_messages(template.as_ref(), &at, p);
            Some(template?)
        }
        None => None,
    };
    if !matches!(file.items, Place::Json(_)) {
        p.value(
            &["lookup", key, "items"],
            "not in JSON",
            "the messages stand in the JSON of the answer",
            "write items = \"json:messages\"",
        );
    }
    Some(Some(ListRules {
        path: path?,
        field: file.field,
        answer: answer?,
        items: file.items,
        in_progress,
    }))
}

fn holds_messages(template: Option<&Template>, path: &[&str], p: &mut Problems<'_, '_>) {
    if template.is_some_and(|template| !template.has(Gap::Messages)) {
        p.value(
            path,
            "no {messages}",
            "an answer about several messages has no place for them",
            "write {messages} where they stand, as in '{\"messages\":[{messages}]}'",
        );
    }
}

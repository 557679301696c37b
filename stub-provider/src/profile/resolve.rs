//! From a profile file as it is written to a profile that can be used.
//!
//! Owns the checks: every value can work, and none contradicts another. What is wrong is said with
//! the line, the key and what to do; all of it at once.

use std::collections::BTreeMap;

use hyper::{StatusCode, header::HeaderName, header::HeaderValue};
use serde_json::Value;

use super::{
    Binds, BodyEncoding, Draft, KeyForm, KeyScope, KeyShape, KeyUnit, Profile, Replays, Rule,
    Source, SubmitRules,
    authentication::{Authentication, Style},
    errors::{self, ErrorRules, Row, Shape},
    file::{
        AuthenticationFile, ErrorsFile, InFlight, KeyFile, ListFile, LookupFile, Missing,
        ProfileFile, RefusedFile, RowFile, SourceFile, StatusClass, SubmitFile,
    },
    key::{Characters, KeyRules},
    lookup::{ListRules, LookupRules},
    numbers,
    path::PathTemplate,
};
use crate::{
    diagnostic::did_you_mean,
    document::Problems,
    place::Place,
    template::{Encoding, Filling, Gap, OF_ERROR, OF_LIST, OF_MESSAGE, OF_REQUEST, Template},
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

/// A profile from its file; `None` where something was wrong, which `p` then holds.
pub(super) fn profile(file: ProfileFile, p: &mut Problems<'_, '_>) -> Option<Profile> {
    let encoding = file.submit.encoding;
    let unit = file.key.unit;
    let has_key = file.key.place != Place::None;
    places(&file.submit, &file.key, p);
    if has_key {
        if file.lookup.by_key.is_some() && file.key.scope == KeyScope::CustomerAndOperation {
            p.key(
                &["lookup", "by-key"],
                "of which operation?",
                "a key of an operation does not name a message by itself",
                "write scope = \"customer\" under [key], or remove this",
            );
        }
        unit_fits(unit, &file, p);
    } else {
        without_key(&file, p);
    }
    let sources = sources(file.sources, p);
    let submit = submit(file.submit, unit, p);
    let lookup = lookup(file.lookup, submit.as_ref(), p);
    let errors = errors(file.errors, &file.key, submit.as_ref(), p);
    let key = key(file.key, p);
    let authentication = authentication(file.authentication, encoding, p);
    refused(&file.refused, p);
    let profile = Profile {
        name: file.name,
        title: file.title,
        sources,
        submit: submit?,
        lookup: lookup?,
        key: key?,
        errors: errors?,
        authentication: authentication?,
        quota: file.limits,
        expires_to: numbers::expires_to(&file.receipts),
        undelivered_to: numbers::undelivered_to(file.receipts),
        refused: numbers::refused(file.refused),
    };
    itself(&profile, p);
    Some(profile)
}

fn sources(
    written: BTreeMap<String, SourceFile>,
    p: &mut Problems<'_, '_>,
) -> BTreeMap<Rule, Source> {
    let mut sources = BTreeMap::new();
    for (word, source) in written {
        let Ok(rule) = word.parse() else {
            let known = Rule::ALL.iter().map(|rule| rule.as_str());
            let help = did_you_mean(&word, known)
                .map(|guess| format!("did you mean `{guess}`?"))
                .unwrap_or_default();
            p.key(
                &["sources", &word],
                "not a rule",
                format!("`{word}` is not a rule of a profile"),
                &help,
            );
            continue;
        };
        let source = Source {
            url: source.url,
            says: source.says,
        };
        sources.insert(rule, source);
    }
    sources
}

/// Every place lies in a body of the kind that the profile has.
fn places(submit: &SubmitFile, key: &KeyFile, p: &mut Problems<'_, '_>) {
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

fn fits(place: &Place, encoding: BodyEncoding, path: &[&str], p: &mut Problems<'_, '_>) {
    let (is, should) = match (place, encoding) {
        (Place::Form(_), BodyEncoding::Json) => ("form-encoded", "JSON"),
        (Place::Json(_), BodyEncoding::Form) => ("JSON", "form-encoded"),
        _ => return,
    };
    p.value(
        path,
        "not in this body",
        format!("`{place}` is a place in a {is} body, and `submit.encoding` says {should}"),
        "choose a place in the other kind of body, or the other encoding",
    );
}

fn unit_fits(unit: KeyUnit, file: &ProfileFile, p: &mut Problems<'_, '_>) {
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
fn without_key(file: &ProfileFile, p: &mut Problems<'_, '_>) {
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

fn submit(file: SubmitFile, unit: KeyUnit, p: &mut Problems<'_, '_>) -> Option<SubmitRules> {
    let path = path(&file.path, &["submit", "path"], p);
    let mut also = Vec::new();
    for (at, other) in file.also.iter().enumerate() {
        also.extend(self::path(other, &["submit", "also", &at.to_string()], p));
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
        Encoding::Json,
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
        success: success?,
        answer: answer?,
        list,
        id: file.id,
        result: file.result,
        created: file.created,
        statuses: file.statuses,
    })
}

fn lookup(
    file: LookupFile,
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
    let of_message = |written: &Option<String>, key: &str, p: &mut Problems<'_, '_>| match written {
        Some(written) => filled(written, Encoding::Json, OF_MESSAGE, &["lookup", key], p).map(Some),
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

fn key(file: KeyFile, p: &mut Problems<'_, '_>) -> Option<KeyRules> {
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

/// Names the answers that the rest of the profile never gives.
fn errors_never_given(file: &ErrorsFile, key: &KeyFile, p: &mut Problems<'_, '_>) {
    if file.used.is_some() && key.replays != Replays::Nothing {
        p.key(
            &["errors", "used"],
            "never given",
            "a used key is refused only where nothing is replayed",
            "write replays = \"nothing\" under [key], or remove this",
        );
    }
    if file.mismatch.is_some() && key.binds == Binds::Nothing {
        p.key(
            &["errors", "mismatch"],
            "never given",
            "a key that is bound to nothing fits every request",
            "write binds = \"bytes\" under [key], or remove this",
        );
    }
    if file.recipient.is_some() && key.unit == KeyUnit::Request {
        p.key(
            &["errors", "recipient"],
            "of a recipient",
            "only where keys are of recipients does an error have a part for one",
            "write unit = \"recipient\" under [key], or remove this",
        );
    }
}

fn errors(
    file: ErrorsFile,
    key: &KeyFile,
    submit: Option<&SubmitRules>,
    p: &mut Problems<'_, '_>,
) -> Option<ErrorRules> {
    errors_never_given(&file, key, p);
    let body = match &file.body {
        Some(written) => Some(filled(
            written,
            Encoding::Json,
            OF_ERROR,
            &["errors", "body"],
            p,
        )?),
        None => None,
    };
    let content_type = match &file.content_type {
        Some(written) => {
            if let Ok(value) = HeaderValue::from_str(written) {
                value
            } else {
                p.value(
                    &["errors", "content-type"],
                    "not a value",
                    format!("`{written}` cannot stand in a header"),
                    "",
                );
                return None;
            }
        }
        None if body.is_some() => errors::JSON,
        None => errors::PROBLEM,
    };
    let recipient = match &file.recipient {
        Some(written) => {
            let at = ["errors", "recipient"];
            Some(filled(written, Encoding::Json, OF_ERROR, &at, p)?)
        }
        None => None,
    };
    let mut row = |file: Option<&RowFile>, name: &str, usual: StatusCode| match file {
        Some(file) => self::row(file, name, p),
        None => Some(Row::plain(usual)),
    };
    let missing = match &file.missing {
        Missing::Deliver => Some(None),
        Missing::Row(file) => row(Some(file), "missing", StatusCode::BAD_REQUEST).map(Some),
    };
    let in_flight = match &file.in_flight {
        InFlight::Wait => Some(None),
        InFlight::Row(file) => row(Some(file), "in-flight", StatusCode::CONFLICT).map(Some),
    };
    let malformed = row(
        file.malformed.as_ref(),
        "malformed",
        StatusCode::BAD_REQUEST,
    );
    let mismatch = row(
        file.mismatch.as_ref(),
        "mismatch",
        StatusCode::UNPROCESSABLE_ENTITY,
    );
    let used = row(file.used.as_ref(), "used", StatusCode::CONFLICT);
    let unauthorised = row(
        file.unauthorised.as_ref(),
        "unauthorised",
        StatusCode::UNAUTHORIZED,
    );
    let invalid = row(file.invalid.as_ref(), "invalid", StatusCode::BAD_REQUEST);
    let not_found = row(file.not_found.as_ref(), "not-found", StatusCode::NOT_FOUND);
    let refused = row(file.refused.as_ref(), "refused", StatusCode::BAD_REQUEST);
    Some(ErrorRules {
        shape: Shape {
            kind: file
                .kind
                .or_else(|| body.is_some().then(|| "about:blank".into())),
            body,
            content_type,
        },
        recipient,
        recipients_status: submit?.success,
        missing: missing?,
        malformed: malformed?,
        mismatch: mismatch?,
        in_flight: in_flight?,
        used: used?,
        unauthorised: unauthorised?,
        invalid: invalid?,
        not_found: not_found?,
        refused: refused?,
    })
}

fn row(file: &RowFile, name: &str, p: &mut Problems<'_, '_>) -> Option<Row> {
    let at = ["errors", name, "status"];
    let range = match name {
        "missing" | "malformed" | "mismatch" => 400..=599,
        // Some providers say in a 200 that a message was refused.
        _ => 200..=599,
    };
    let status = status(file.status, range, &at, p);
    let body = match &file.body {
        Some(written) => {
            let at = ["errors", name, "body"];
            Some(filled(written, Encoding::Json, OF_ERROR, &at, p)?)
        }
        None => None,
    };
    Some(Row {
        status: status?,
        code: file.code.clone(),
        message: file.message.clone(),
        title: file.title.clone(),
        kind: file.kind.clone(),
        retry_after: file.retry_after,
        body,
    })
}

fn authentication(
    file: AuthenticationFile,
    encoding: BodyEncoding,
    p: &mut Problems<'_, '_>,
) -> Option<Authentication> {
    let at = ["authentication", "style"];
    let style = match file.style.as_str() {
        "bearer" => Style::Bearer,
        "basic" => Style::Basic,
        other => match other.parse::<Place>() {
            Ok(Place::None) | Err(_) => {
                let known = ["bearer", "basic", "header:", "json:", "form:", "query:"];
                let help = did_you_mean(other, known).map_or_else(
                    || {
                        "write \"bearer\", \"basic\", or a place such as \"header:X-Api-Key\""
                            .into()
                    },
                    |guess| format!("did you mean `{guess}`?"),
                );
                p.value(
                    &at,
                    "not a style",
                    format!("`{other}` is neither a style of credentials nor a place for one"),
                    &help,
                );
                return None;
            }
            Ok(place) => {
                fits(&place, encoding, &at, p);
                Style::At {
                    place,
                    prefix: file.prefix.clone(),
                }
            }
        },
    };
    if !file.prefix.is_empty() && matches!(style, Style::Bearer | Style::Basic) {
        p.value(
            &["authentication", "prefix"],
            "and a scheme",
            "the scheme is the prefix already",
            "remove it, or write style = \"header:Authorization\"",
        );
    }
    Some(Authentication {
        style,
        required: file.required,
        customer: file.customer,
    })
}

fn refused(rows: &[RefusedFile], p: &mut Problems<'_, '_>) {
    for (at, row) in rows.iter().enumerate() {
        if row.to.is_some() == row.from.is_some() {
            p.value(
                &["refused", &at.to_string()],
                "whose number",
                "a refused number is a recipient's or a sender's",
                "write one of to and from",
            );
        }
    }
}

fn path(written: &str, path: &[&str], p: &mut Problems<'_, '_>) -> Option<PathTemplate> {
    match PathTemplate::parse(written) {
        Ok(template) => Some(template),
        Err(message) => {
            p.value(
                path,
                "not a path",
                message,
                "write it as in \"/v1/messages\"",
            );
            None
        }
    }
}

fn status(
    written: u16,
    allowed: std::ops::RangeInclusive<u16>,
    path: &[&str],
    p: &mut Problems<'_, '_>,
) -> Option<StatusCode> {
    let found = StatusCode::from_u16(written)
        .ok()
        .filter(|_| allowed.contains(&written));
    if found.is_none() {
        p.value(
            path,
            "not a status here",
            format!(
                "{written} is not a status from {} to {}",
                allowed.start(),
                allowed.end()
            ),
            "",
        );
    }
    found
}

/// A template that yields JSON, where it should.
fn filled(
    written: &str,
    encoding: Encoding,
    known: &[Gap],
    path: &[&str],
    p: &mut Problems<'_, '_>,
) -> Option<Template> {
    let template = match Template::parse(written, encoding, known) {
        Ok(template) => template,
        Err(message) => {
            p.value(path, "a gap that nothing fills", message, "");
            return None;
        }
    };
    if encoding == Encoding::Json
        && let Err(error) = serde_json::from_str::<Value>(&template.fill(&sample()))
    {
        p.value(
            path,
            "not JSON",
            format!("filled in, this is not JSON: {error}"),
            "a gap between quotes is text; one without quotes is a whole value",
        );
        return None;
    }
    Some(template)
}

fn sample() -> Filling<'static> {
    Filling {
        id: Some("id"),
        to: Some("+12025550142"),
        from: Some("+12025550100"),
        text: Some("words"),
        status: Some("200"),
        created: Some("1"),
        key: Some("key"),
        customer: Some("customer"),
        code: Some("1"),
        message: Some("message"),
        title: Some("title"),
        kind: Some("type"),
        messages: Some("{}"),
    }
}

/// A profile understands its own requests and answers.
fn itself(profile: &Profile, p: &mut Problems<'_, '_>) {
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
        (
            &profile.lookup.by_key,
            "by-key",
            super::Question::ByKey("k"),
        ),
        (
            &profile.lookup.list,
            "list",
            super::Question::To("+12025550142"),
        ),
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

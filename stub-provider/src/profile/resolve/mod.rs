//! From a profile file as it is written to a profile that can be used.
//!
//! Owns the checks: every value can work, and none contradicts another. What is wrong is said with
//! the line, the key and what to do; all of it at once.

mod agreement;
mod errors;
mod key;
mod submit;

use std::collections::BTreeMap;

use hyper::StatusCode;
use serde_json::Value;

use super::{
    BodyEncoding, KeyScope, Profile, Rule, Source,
    authentication::{Authentication, Style},
    file::{AuthenticationFile, ProfileFile, RefusedFile, SourceFile},
    numbers,
    path::PathTemplate,
};
use crate::{
    diagnostic::did_you_mean,
    document::Problems,
    place::Place,
    template::{Encoding, Filling, Gap, Template},
};

/// A profile from its file; `None` where something was wrong, which `p` then holds.
pub(super) fn profile(file: ProfileFile, p: &mut Problems<'_, '_>) -> Option<Profile> {
    let encoding = file.submit.encoding;
    let answers = file.submit.answers;
    let unit = file.key.unit;
    let has_key = file.key.place != Place::None;
    agreement::places(&file.submit, &file.key, p);
    if has_key {
        if file.lookup.by_key.is_some() && file.key.scope == KeyScope::CustomerAndOperation {
            p.key(
                &["lookup", "by-key"],
                "of which operation?",
                "a key of an operation does not name a message by itself",
                "write scope = \"customer\" under [key], or remove this",
            );
        }
        agreement::unit_fits(unit, &file, p);
    } else {
        agreement::without_key(&file, p);
    }
    agreement::answers(&file, p);
    let sources = sources(file.sources, p);
    let submit = submit::submit(file.submit, unit, p);
    let lookup = submit::lookup(file.lookup, answers, submit.as_ref(), p);
    let errors = errors::errors(file.errors, answers, &file.key, submit.as_ref(), p);
    let key = key::key(file.key, p);
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
    agreement::itself(&profile, p);
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
                agreement::fits(&place, encoding, &at, p);
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

/// A template that yields JSON or XML, where it should.
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
    let body = template.fill(&sample());
    let wrong = match encoding {
        Encoding::Json => serde_json::from_str::<Value>(&body)
            .map_err(|error| {
                let help = "a gap between quotes is text; one without quotes is a whole value";
                ("JSON", error.to_string(), help)
            })
            .err(),
        Encoding::Xml => roxmltree::Document::parse(&body)
            .map_err(|error| {
                (
                    "XML",
                    error.to_string(),
                    "write one element around the whole",
                )
            })
            .err(),
        Encoding::Form => None,
    };
    if let Some((what, error, help)) = wrong {
        p.value(
            path,
            &format!("not {what}"),
            format!("filled in, this is not {what}: {error}"),
            help,
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

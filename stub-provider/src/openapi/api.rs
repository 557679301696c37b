//! The profile's API in `OpenAPI`.
//!
//! Owns what the paths of the profile take and answer. The shapes are read off samples, which are
//! made in the same way as the answers themselves.

use std::collections::BTreeMap;

use hyper::{StatusCode, header::CONTENT_TYPE};
use serde_json::{Map, Value, json};

use super::{Paths, shape};
use crate::{
    core::Core,
    place::{Place, form_fields},
    profile::{BodyEncoding, Code, Composed, Draft, Profile, errors::About, lookup::ListRules},
    quota::Limit,
    reply::Reply,
    template::Filling,
};

const TO: &str = "+12025550142";
const FROM: &str = "+12025550100";

/// Every answer that an operation can give, by status and media type.
#[derive(Default)]
struct Answers(BTreeMap<u16, BTreeMap<String, Vec<Value>>>);

impl Answers {
    fn add(&mut self, reply: &Reply) {
        // `Content-Type` comes first.
        let media = reply.headers().find_map(|(_, value)| value.to_str().ok());
        let media = media.unwrap_or_default().to_owned();
        let sample = serde_json::from_slice(&reply.body)
            .unwrap_or_else(|_| String::from_utf8_lossy(&reply.body).into_owned().into());
        let of_status = self.0.entry(reply.status.as_u16()).or_default();
        of_status.entry(media).or_default().push(sample);
    }

    fn described(self, replay_header: Option<&str>) -> Value {
        let answers = self.0.into_iter().map(|(status, media)| {
            let content: Map<String, Value> = media
                .into_iter()
                .map(|(media, samples)| (media, json!({ "schema": shape::of(&samples) })))
                .collect();
            let says = StatusCode::from_u16(status).ok();
            let says = says.and_then(|status| status.canonical_reason());
            let mut answer =
                json!({ "description": says.unwrap_or("An answer"), "content": content });
            if let Some(name) = replay_header {
                answer["headers"] = json!({ name: {
                    "description": "`true` where the answer is a stored one.",
                    "schema": { "type": "string" },
                } });
            }
            (status.to_string(), answer)
        });
        Value::Object(answers.collect())
    }
}

/// Adds the paths of the API.
pub(super) fn describe(core: &Core, paths: &mut Paths) {
    submit(core, paths);
    lookups(core, paths);
}

fn other(provider: &Core, status: StatusCode, code: Option<Code>) -> Reply {
    provider.profile.errors.other(status, code, "what is wrong")
}

/// What differs from message to message, where it can be absent.
fn variants() -> impl Iterator<Item = (Option<&'static str>, Option<&'static str>)> {
    [None, Some(FROM)].into_iter().flat_map(|from| {
        [None, Some("a-key")]
            .into_iter()
            .map(move |key| (from, key))
    })
}

fn filling<'a>(from: Option<&'a str>, key: Option<&'a str>, status: &'a str) -> Filling<'a> {
    Filling {
        id: Some("msg_0123456789abcdef"),
        to: Some(TO),
        from,
        text: Some("Your code is 471142"),
        status: Some(status),
        key,
        customer: Some("default"),
        ..Filling::default()
    }
}

fn submit(core: &Core, paths: &mut Paths) {
    let profile = &core.profile;
    let errors = &profile.errors;
    let mut answers = Answers::default();
    // What one answer can say of several recipients, some taken and some not.
    let mut parts = Vec::new();
    let mut add = |reply: Reply| {
        if profile.submit.list.is_some() && reply.status == profile.submit.success {
            parts.push(String::from_utf8_lossy(&reply.body).into_owned());
        } else {
            answers.add(&reply);
        }
    };
    for (from, key) in variants() {
        let filling = filling(from, key, "queued");
        let body = profile.message(
            &profile.submit.answer,
            filling,
            &core.clock,
            core.clock.now(),
        );
        let (status, form) = (profile.submit.success, profile.submit.answers);
        add(Reply::written(status, form, body));
    }
    let refused = profile
        .refused
        .iter()
        .map(|refused| errors.refused.saying(&refused.code, &refused.message));
    let rows = [&errors.malformed, &errors.mismatch, &errors.used]
        .into_iter()
        .chain(&errors.missing)
        .chain(&errors.in_flight)
        .chain([&errors.invalid])
        .cloned()
        .chain(refused);
    for row in rows {
        for to in [None, Some(profile.written(TO))] {
            for key in [None, Some("a-key")] {
                add(errors.of_recipient(&row, "what is wrong", About { to, key }));
            }
        }
    }
    if !parts.is_empty() {
        let parts = Reply::json(profile.submit.success, parts.join(","));
        answers.add(&core.around(&parts));
    }
    // A request can be wrong as a whole, with no recipient to speak of.
    answers.add(&errors.reply(&errors.invalid, "what is wrong", About::default()));
    answers.add(&errors.reply(&errors.unauthorised, "what is wrong", About::default()));
    for limit in Limit::ALL {
        let of_limit = Code(limit.code().to_string());
        answers.add(&other(core, StatusCode::TOO_MANY_REQUESTS, Some(of_limit)));
    }
    answers.add(&other(core, StatusCode::METHOD_NOT_ALLOWED, None));
    answers.add(&crate::connection::too_large(core.limits.body_bytes));
    answers.add(&crate::accept::out_of_service());

    let sample = profile.compose(&Draft {
        to: TO,
        text: "Your code is 471142",
        from: FROM,
        key: Some(&profile.sample_key(1)),
        customer: "default",
    });
    let replay_header = profile.replay_header();
    let mut operation = json!({
        "tags": ["api"],
        "summary": "Submits a message.",
        "operationId": "submit",
        "parameters": parameters(profile, &sample, profile.submit_path()),
        "requestBody": { "required": true, "content": body(profile, &sample) },
        "responses": answers.described(replay_header),
    });
    if !profile.authentication.required {
        operation["description"] =
            "Without a credential a request is from the customer `default`.".into();
    }
    paths.add("post", profile.submit_path(), operation);
}

fn body(profile: &Profile, sample: &Composed) -> Value {
    let (media, schema) = match profile.submit.encoding {
        BodyEncoding::Json => {
            let sample: Value = serde_json::from_slice(&sample.body).unwrap_or_default();
            ("application/json", shape::of(&[sample]))
        }
        BodyEncoding::Form => {
            let fields: Map<String, Value> = form_fields(&sample.body)
                .map(|(name, _)| (name, json!({ "type": "string" })))
                .collect();
            let required: Vec<&String> = fields.keys().collect();
            (
                "application/x-www-form-urlencoded",
                json!({ "type": "object", "properties": fields, "required": required }),
            )
        }
    };
    json!({ media: { "schema": schema } })
}

/// The segments, headers and query fields of a request.
fn parameters(profile: &Profile, sample: &Composed, path: &str) -> Vec<Value> {
    let mut all = segments(path);
    for (name, _) in &sample.headers {
        if name.eq_ignore_ascii_case(CONTENT_TYPE.as_str()) {
            continue;
        }
        let is_key = matches!(profile.key_place(), Place::Header(key) if name.eq_ignore_ascii_case(key.as_str()));
        let required = if is_key {
            profile.errors.missing.is_some()
        } else {
            profile.authentication.required
        };
        // The credential is described as what it is: a security scheme.
        if name.eq_ignore_ascii_case("authorization") {
            continue;
        }
        all.push(json!({
            "name": name, "in": "header", "required": required,
            "schema": { "type": "string" },
        }));
    }
    let query = sample.target.split_once('?').map_or("", |(_, query)| query);
    for (name, _) in form_fields(query.as_bytes()) {
        all.push(json!({ "name": name, "in": "query", "schema": { "type": "string" } }));
    }
    all
}

/// The parameters of a path's `{segments}`.
fn segments(path: &str) -> Vec<Value> {
    path.split('{')
        .skip(1)
        .filter_map(|rest| rest.split('}').next())
        .map(|name| {
            json!({
                "name": name, "in": "path", "required": true,
                "schema": { "type": "string", "minLength": 1 },
            })
        })
        .collect()
}

fn lookups(core: &Core, paths: &mut Paths) {
    let profile = &core.profile;
    let lookup = &profile.lookup;
    let errors = &profile.errors;
    let refusals = |answers: &mut Answers| {
        for row in [&errors.not_found, &errors.unauthorised] {
            answers.add(&errors.reply(row, "what is wrong", About::default()));
        }
        answers.add(&other(core, StatusCode::BAD_REQUEST, None));
        answers.add(&other(core, StatusCode::METHOD_NOT_ALLOWED, None));
        answers.add(&crate::accept::out_of_service());
    };
    let written = |template| -> Vec<String> {
        variants()
            .map(|(from, key)| {
                let now = core.clock.now();
                profile.message(template, filling(from, key, "queued"), &core.clock, now)
            })
            .collect()
    };
    if let Some(path) = &lookup.by_id {
        let mut answers = Answers::default();
        for message in written(&lookup.answer) {
            let form = profile.submit.answers;
            answers.add(&Reply::written(StatusCode::OK, form, message));
        }
        refusals(&mut answers);
        let operation = json!({
            "tags": ["api"],
            "summary": "What became of a message.",
            "operationId": "lookup-by-id",
            "parameters": segments(path.as_str()),
            "responses": answers.described(None),
        });
        paths.add("get", path.as_str(), operation);
    }
    let mut lists: BTreeMap<&str, Vec<&ListRules>> = BTreeMap::new();
    for list in lookup.by_key.iter().chain(&lookup.list) {
        lists.entry(list.path.as_str()).or_default().push(list);
    }
    for (path, lists) in lists {
        let mut answers = Answers::default();
        let mut fields = segments(path);
        for list in lists {
            for in_progress in [false, true] {
                answers.add(&Reply::json(
                    StatusCode::OK,
                    list.fill(&written(&lookup.item), in_progress),
                ));
            }
            fields.push(json!({
                "name": list.field, "in": "query", "schema": { "type": "string" },
            }));
        }
        refusals(&mut answers);
        let operation = json!({
            "tags": ["api"],
            "summary": "The messages that match; one field must be there.",
            "operationId": "lookup-list",
            "parameters": fields,
            "responses": answers.described(None),
        });
        paths.add("get", path, operation);
    }
}

/// How a credential is written.
pub(super) fn security(profile: &Profile) -> Value {
    match profile.authentication.challenge() {
        Some(challenge) if challenge.starts_with("Bearer") => {
            json!({ "customer": { "type": "http", "scheme": "bearer" } })
        }
        Some(_) => json!({ "customer": { "type": "http", "scheme": "basic" } }),
        None => json!({}),
    }
}

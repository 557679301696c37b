//! Requests as a client of the provider writes them, and what its answers say.
//!
//! Owns the way back: from a message to the request of the profile, from an answer to the id in
//! it. The provider itself needs none of this; whoever examines another provider does.

use std::borrow::Cow;

use serde_json::Value;

use super::{
    BodyEncoding, KeyForm, KeyShape, Profile,
    authentication::Style,
    key::{Characters, KeyRules},
};
use crate::{
    message::{push_hex, scramble},
    place::{self, Content, Place},
    template::{Filling, push_form},
};

/// A message that is to be submitted.
#[derive(Clone, Copy, Debug)]
pub struct Draft<'a> {
    /// The recipient, in E.164.
    pub to: &'a str,
    /// The words.
    pub text: &'a str,
    /// The sender.
    pub from: &'a str,
    /// The idempotency key; it is quoted where the profile wants that.
    pub key: Option<&'a str>,
    /// Whose credential it bears.
    pub customer: &'a str,
}

/// What is asked about messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question<'a> {
    /// The message of that id.
    ById(&'a str),
    /// The messages under that key.
    ByKey(&'a str),
    /// The messages to that number, in E.164.
    To(&'a str),
}

/// A request, ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Composed {
    /// The method.
    pub method: &'static str,
    /// Path and query.
    pub target: String,
    /// The headers, but for `Host`, `Content-Length` and the like.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// A request in the making.
struct Making {
    path: String,
    query: String,
    headers: Vec<(String, String)>,
    body: Body,
}

/// What a request says to the provider.
pub(super) struct ReadBack {
    pub(super) to: Option<String>,
    pub(super) text: Option<String>,
    /// As it is written.
    pub(super) key: Option<String>,
}

enum Body {
    None,
    Json(Value),
    Form(String),
}

impl Making {
    /// Puts a value at a place; where the body has no such place, nothing changes.
    fn put(&mut self, place: &Place, value: &str) {
        let field = |out: &mut String, name: &str| {
            if !out.is_empty() {
                out.push('&');
            }
            push_form(out, name);
            out.push('=');
            push_form(out, value);
        };
        match (place, &mut self.body) {
            (Place::Header(name), _) => {
                self.headers
                    .push((name.as_str().to_owned(), value.to_owned()));
            }
            (Place::Query(name), _) => field(&mut self.query, name),
            (Place::Form(name), Body::Form(form)) => field(form, name),
            (Place::Json(path), Body::Json(json)) => insert(json, path, value),
            (Place::None | Place::Form(_) | Place::Json(_) | Place::Xml(_), _) => {}
        }
    }

    fn done(self, method: &'static str) -> Composed {
        let mut target = self.path;
        if !self.query.is_empty() {
            target.push('?');
            target.push_str(&self.query);
        }
        let body = match self.body {
            Body::None => Vec::new(),
            Body::Json(json) => json.to_string().into_bytes(),
            Body::Form(form) => form.into_bytes(),
        };
        Composed {
            method,
            target,
            headers: self.headers,
            body,
        }
    }
}

impl Profile {
    /// The request that submits a message.
    #[must_use]
    pub fn compose(&self, draft: &Draft<'_>) -> Composed {
        let written = draft.key.map(|key| self.written_key(key));
        self.compose_written(draft, &self.submit.path, written.as_deref())
    }

    /// The same with a key exactly as it is written here, well or not.
    #[must_use]
    pub fn compose_with_key_as_written(&self, draft: &Draft<'_>, key: &str) -> Composed {
        self.compose_written(draft, &self.submit.path, Some(key))
    }

    /// The same to another operation that takes such requests; `None` where there is none.
    #[must_use]
    pub fn compose_elsewhere(&self, draft: &Draft<'_>) -> Option<Composed> {
        let path = self.submit.also.first()?;
        let written = draft.key.map(|key| self.written_key(key));
        Some(self.compose_written(draft, path, written.as_deref()))
    }

    fn compose_written(
        &self,
        draft: &Draft<'_>,
        path: &super::path::PathTemplate,
        key: Option<&str>,
    ) -> Composed {
        let submit = &self.submit;
        let filled = submit.request.fill(&Filling {
            to: Some(self.written(draft.to)),
            from: Some(self.written(draft.from)),
            text: Some(draft.text),
            customer: Some(draft.customer),
            ..Filling::default()
        });
        let (body, content_type) = match submit.encoding {
            // The profile was read: its request is JSON.
            BodyEncoding::Json => (
                Body::Json(serde_json::from_str(&filled).unwrap_or_default()),
                "application/json",
            ),
            BodyEncoding::Form => (Body::Form(filled), "application/x-www-form-urlencoded"),
        };
        let mut making = Making {
            path: path.fill(|_| draft.customer),
            query: String::new(),
            headers: vec![("content-type".into(), content_type.into())],
            body,
        };
        if let Some(key) = key {
            making.put(&self.key.place, key);
        }
        self.sign(&mut making, draft.customer);
        making.done("POST")
    }

    /// The request that asks; `None` where the provider cannot be asked this.
    #[must_use]
    pub fn compose_lookup(&self, question: Question<'_>, customer: &str) -> Option<Composed> {
        let lookup = &self.lookup;
        let (path, id, field) = match question {
            Question::ById(id) => (lookup.by_id.as_ref()?, id, None),
            Question::ByKey(key) => {
                let list = lookup.by_key.as_ref()?;
                (&list.path, "", Some((&list.field, key)))
            }
            Question::To(to) => {
                let list = lookup.list.as_ref()?;
                (&list.path, "", Some((&list.field, self.written(to))))
            }
        };
        let mut making = Making {
            path: path.fill(|name| if name == "id" { id } else { customer }),
            query: String::new(),
            headers: Vec::new(),
            body: Body::None,
        };
        if let Some((field, value)) = field {
            making.put(&Place::Query(field.clone()), value);
        }
        self.sign(&mut making, customer);
        Some(making.done("GET"))
    }

    fn sign(&self, making: &mut Making, customer: &str) {
        let credential = self.authentication.credential(customer);
        match &self.authentication.style {
            Style::Bearer | Style::Basic => {
                making.headers.push(("authorization".into(), credential));
            }
            Style::At { place, .. } => making.put(place, &credential),
        }
    }

    /// The id in an answer that accepted a message; `None` where there is none.
    #[must_use]
    pub fn message_id(&self, body: &[u8]) -> Option<String> {
        at(&self.submit.id, body)
    }

    /// The status of the message in an answer: the answer's own, or where an answer speaks of
    /// each of several, that of the first.
    #[must_use]
    pub fn message_status(&self, status: u16, body: &[u8]) -> u16 {
        self.submit
            .result
            .as_ref()
            .and_then(|place| at(place, body)?.parse().ok())
            .unwrap_or(status)
    }

    /// The ids in an answer about several messages; `None` where it is no such answer.
    #[must_use]
    pub fn listed_ids(&self, question: Question<'_>, body: &[u8]) -> Option<Vec<String>> {
        let list = match question {
            Question::ById(_) => return self.message_id(body).map(|id| vec![id]),
            Question::ByKey(_) => self.lookup.by_key.as_ref()?,
            Question::To(_) => self.lookup.list.as_ref()?,
        };
        let Place::Json(path) = &list.items else {
            return None;
        };
        let whole: Value = serde_json::from_slice(body).ok()?;
        let items = place::walk(&whole, path, 0)?.as_array()?;
        items
            .iter()
            .map(|item| at(&self.lookup.item_id, item.to_string().as_bytes()))
            .collect()
    }

    /// What the provider reads out of a request.
    pub(super) fn read_back(&self, composed: &Composed) -> ReadBack {
        let headers = composed
            .headers
            .iter()
            .filter_map(|(name, value)| Some((name.parse().ok()?, value.parse().ok()?)))
            .collect();
        let (_, query) = composed.target.split_once('?').unwrap_or_default();
        let content = Content {
            headers: &headers,
            query,
            body: &composed.body,
            element: 0,
        };
        let submit = &self.submit;
        let places = [&submit.recipient, &submit.text, &self.key.place];
        let [to, text, key] = place::read(places, &content).map(|found| found.map(Cow::into_owned));
        ReadBack { to, text, key }
    }

    /// A key as it is written at its place.
    fn written_key(&self, key: &str) -> String {
        match (&self.key.place, self.key.form) {
            (Place::Header(_), KeyForm::Quoted) => quote(key),
            _ => key.to_owned(),
        }
    }

    /// A key that the profile allows, another for each number.
    #[must_use]
    pub fn sample_key(&self, number: u64) -> String {
        sample(&self.key, number)
    }

    /// Keys that the profile does not allow, as they would be written, each with what is wrong
    /// with it. Empty where it allows everything, or has no keys.
    #[must_use]
    pub fn malformed_keys(&self) -> Vec<(&'static str, String)> {
        let key = &self.key;
        if !self.has_key() {
            return Vec::new();
        }
        let good = self.sample_key(0);
        let mut bad = Vec::new();
        if key.shape == KeyShape::Uuid {
            bad.push(("not a UUID", good.replace('-', "_")));
        } else {
            // A request's head is bounded too: what no head could carry cannot be tried.
            if key.max_length < 4096 {
                let filler = good.chars().next_back().unwrap_or('k').to_string();
                let long = filler.repeat(key.max_length + 1);
                bad.push(("too long", self.written_key(&long)));
            }
            if key.min_length > 1 {
                bad.push(("too short", self.written_key(&good[..1])));
            }
            if let Some(characters) = &key.characters
                && let Some(other) = ('!'..='~').find(|c| !characters.allow(*c))
            {
                bad.push((
                    "a character that is not allowed",
                    self.written_key(&format!("{good}{other}")),
                ));
            }
        }
        if matches!(key.place, Place::Header(_)) && key.form == KeyForm::Quoted {
            bad.push(("not quoted", good));
        }
        bad
    }
}

fn at(place: &Place, body: &[u8]) -> Option<String> {
    let headers = hyper::HeaderMap::new();
    let content = Content {
        headers: &headers,
        query: "",
        body,
        element: 0,
    };
    let [found] = place::read([place], &content);
    found.map(Cow::into_owned)
}

/// A quoted string (RFC 8941 section 3.3.3).
fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Puts a text into a document, making the objects on the way. What stands in the way of the path
/// stays as it is.
fn insert(json: &mut Value, path: &[String], text: &str) {
    let Some((step, rest)) = path.split_first() else {
        *json = text.into();
        return;
    };
    match json {
        Value::Array(items) => {
            let at = if step == "*" { Ok(0) } else { step.parse() };
            if let Some(item) = at.ok().and_then(|at: usize| items.get_mut(at)) {
                insert(item, rest, text);
            }
        }
        Value::Object(members) => {
            let member = members
                .entry(step.clone())
                .or_insert_with(|| Value::Object(serde_json::Map::new()));
            insert(member, rest, text);
        }
        _ => {}
    }
}

fn sample(rules: &KeyRules, number: u64) -> String {
    let mut hex = String::new();
    push_hex(&mut hex, scramble(number));
    push_hex(&mut hex, scramble(!number));
    if rules.shape == KeyShape::Uuid {
        return format!(
            "{}-{}-4{}-8{}-{}",
            &hex[..8],
            &hex[8..12],
            &hex[13..16],
            &hex[17..20],
            &hex[20..32]
        );
    }
    let allowed = |c: &char| rules.characters.as_ref().is_none_or(|set| set.allow(*c));
    let mut key: String = "key-".chars().chain(hex.chars()).filter(allowed).collect();
    let filler = rules.characters.as_ref().map_or('k', Characters::first);
    while key.len() < rules.min_length {
        key.push(filler);
    }
    // What differs from number to number stands at the end.
    let over = key.len().saturating_sub(rules.max_length);
    key.drain(..over.min(key.len()));
    key
}

#[cfg(test)]
mod tests;

//! How one asks what became of a message, and how messages are written in answers.
//!
//! Owns which request asks for what, and the answers about messages. Which messages there are is
//! the records'.

use std::{borrow::Cow, collections::BTreeMap};

use hyper::Method;

use super::{Profile, file::TimeForm, path::PathTemplate};
use crate::{
    clock::Clock,
    place::{Place, decode, form_fields},
    template::{Filling, Gap, Template},
};

/// How one asks.
#[derive(Clone, Debug)]
pub(crate) struct LookupRules {
    pub(crate) by_id: Option<PathTemplate>,
    /// One message.
    pub(crate) answer: Template,
    pub(crate) by_key: Option<ListRules>,
    pub(crate) list: Option<ListRules>,
    /// One message in a list.
    pub(crate) item: Template,
    pub(crate) item_id: Place,
}

/// How one asks for several.
#[derive(Clone, Debug)]
pub(crate) struct ListRules {
    pub(crate) path: PathTemplate,
    pub(crate) field: String,
    pub(crate) answer: Template,
    pub(crate) items: Place,
    pub(crate) in_progress: Option<Template>,
}

impl ListRules {
    /// The answer about these messages.
    pub(crate) fn fill(&self, messages: &[String], in_progress: bool) -> String {
        let messages = messages.join(",");
        let template = self.in_progress.as_ref().filter(|_| in_progress);
        template.unwrap_or(&self.answer).fill(&Filling {
            messages: Some(&messages),
            ..Filling::default()
        })
    }
}

impl LookupRules {
    /// The requests by which one asks.
    fn requests(&self) -> impl Iterator<Item = String> {
        let by_id = self
            .by_id
            .iter()
            .map(|path| format!("GET {}", path.as_str()));
        let lists = self.by_key.iter().chain(&self.list);
        by_id.chain(lists.map(|list| format!("GET {}?{}=…", list.path.as_str(), list.field)))
    }

    /// How one asks, in words.
    pub(super) fn in_words(&self) -> String {
        let ways: Vec<_> = self.requests().map(|way| format!("`{way}`")).collect();
        if ways.is_empty() {
            return "not possible".into();
        }
        ways.join(", ")
    }
}

/// What a request is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Routed {
    Submit,
    ById(String),
    ByKey(String),
    /// The messages to a number.
    To(String),
    /// A list, without the field that says of what.
    WithoutField(String),
    /// Only these methods are here.
    NotAllowed(&'static str),
    /// Not the API's.
    Elsewhere,
}

impl Profile {
    /// Whether messages are posted to a path.
    pub(crate) fn submits_to(&self, path: &str) -> bool {
        self.submit.path.matches(path) || self.submit.also.iter().any(|also| also.matches(path))
    }

    /// What a request is for, by method, path and query.
    pub(crate) fn route(&self, method: &Method, path: &str, query: &str) -> Routed {
        let path = operation(path);
        let submit = self.submits_to(path);
        if submit && method == Method::POST {
            return Routed::Submit;
        }
        let lookup = &self.lookup;
        let lists = || {
            let of = |list: &ListRules| list.path.matches(path);
            let by_key = lookup.by_key.as_ref().filter(|list| of(list));
            let list = lookup.list.as_ref().filter(|list| of(list));
            (by_key, list)
        };
        let by_id = || {
            let found = lookup.by_id.as_ref()?.capture(path, "id")?;
            Some(decoded(found))
        };
        if method == Method::GET {
            let (by_key, list) = lists();
            let field = |wanted: &str| {
                form_fields(query.as_bytes())
                    .find_map(|(name, value)| (name == wanted).then_some(value))
            };
            if let Some(key) = by_key.and_then(|list| field(&list.field)) {
                return Routed::ByKey(key);
            }
            if let Some(to) = list.and_then(|list| field(&list.field)) {
                return Routed::To(to);
            }
            if let Some(list) = by_key.or(list) {
                return Routed::WithoutField(format!("{path}?{}=…", list.field));
            }
            if let Some(id) = by_id() {
                return Routed::ById(id);
            }
        }
        let lists = lists();
        let read = lists.0.is_some() || lists.1.is_some();
        match (submit, read) {
            (true, true) => Routed::NotAllowed("GET, POST"),
            (true, false) => Routed::NotAllowed("POST"),
            (false, true) => Routed::NotAllowed("GET"),
            (false, false) if by_id().is_some() => Routed::NotAllowed("GET"),
            (false, false) => Routed::Elsewhere,
        }
    }

    /// The requests by which one asks what became of a message.
    pub(crate) fn lookups(&self) -> Vec<String> {
        self.lookup.requests().collect()
    }

    /// A number as the records know it: with a plus in front.
    pub(crate) fn number<'n>(&self, written: Cow<'n, str>) -> Cow<'n, str> {
        match self.submit.numbers {
            super::NumberForm::Digits
                if !written.starts_with('+') && written.bytes().all(|b| b.is_ascii_digit()) =>
            {
                format!("+{written}").into()
            }
            _ => written,
        }
    }

    /// A number as the provider writes it.
    pub(crate) fn written<'n>(&self, number: &'n str) -> &'n str {
        match self.submit.numbers {
            super::NumberForm::Digits => number.strip_prefix('+').unwrap_or(number),
            super::NumberForm::Plus => number,
        }
    }

    /// A status in the provider's word.
    pub(crate) fn status<'s>(&'s self, word: &'s str) -> &'s str {
        of(&self.submit.statuses, word)
    }

    /// A message in words of the provider. `at` is when it was accepted, on the provider's clock.
    pub(crate) fn message(
        &self,
        template: &Template,
        filling: Filling<'_>,
        clock: &Clock,
        at: std::time::Duration,
    ) -> String {
        let filling = Filling {
            to: filling.to.map(|to| self.written(to)),
            status: filling.status.map(|word| self.status(word)),
            ..filling
        };
        if !template.has(Gap::Created) {
            return template.fill(&filling);
        }
        let time = clock.timestamp(at);
        let created = match self.submit.created {
            TimeForm::Rfc3339 => time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            TimeForm::Rfc2822 => time.strftime("%a, %d %b %Y %H:%M:%S +0000").to_string(),
            TimeForm::Unix => time.as_second().to_string(),
        };
        template.fill(&Filling {
            created: Some(&created),
            ..filling
        })
    }
}

/// The path of an operation: a redirected one is the same, and so is one with a slash at the end.
pub(crate) fn operation(path: &str) -> &str {
    let path = path.strip_prefix("/redirected").unwrap_or(path);
    path.strip_suffix('/').unwrap_or(path)
}

fn of<'s>(words: &'s BTreeMap<String, String>, word: &'s str) -> &'s str {
    words.get(word).map_or(word, String::as_str)
}

fn decoded(segment: &str) -> String {
    // A plus in a path is a plus; only escapes are undone.
    decode(segment.replace('+', "%2B").as_bytes())
}

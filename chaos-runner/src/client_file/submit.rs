//! `[submit]`: how a message enters the client, made valid.

use hyper::{
    Method,
    header::{HeaderName, HeaderValue},
};

use super::{
    HttpSubmit, JsonTemplate, Submit,
    field::{Fields, exactly_one},
    file::{RawHttp, RawSubmit},
    template::Scope,
};
use crate::document::Problems;

pub(crate) fn submit(raw: RawSubmit, p: &mut Problems<'_, '_>) -> Option<Submit> {
    let given = [
        ("command", raw.command.is_some()),
        ("stdin", raw.stdin.is_some()),
        ("http", raw.http.is_some()),
    ];
    if !exactly_one(&given, "submit", p) {
        return None;
    }
    if let Some(words) = raw.command {
        let command = p.command(&words, &["submit", "command"], Scope::Intent);
        return Some(Submit::Command(command));
    }
    if let Some(words) = raw.stdin {
        return Some(Submit::Stdin(p.command(
            &words,
            &["submit", "stdin"],
            Scope::Lab,
        )));
    }
    raw.http.map(|http| Submit::Http(self::http(http, p)))
}

fn http(raw: RawHttp, p: &mut Problems<'_, '_>) -> HttpSubmit {
    let method = raw.method.as_deref().unwrap_or("POST");
    let method = Method::from_bytes(method.as_bytes()).unwrap_or_else(|_| {
        p.value(
            &["submit", "http", "method"],
            "not a method",
            format!("`{method}` is not an HTTP method"),
            "",
        );
        Method::POST
    });
    let url = p.url(
        &raw.url,
        &["submit", "http", "url"],
        Scope::Intent,
        &["http://"],
    );
    let headers = raw
        .headers
        .iter()
        .map(|(name, value)| {
            let path = ["submit", "http", "headers", name];
            if HeaderName::from_bytes(name.as_bytes()).is_err() {
                p.key(
                    &path,
                    "not a header's name",
                    format!("`{name}` is not a header's name"),
                    "",
                );
            } else if HeaderValue::from_str(value).is_err() {
                p.value(
                    &path,
                    "not a header's value",
                    "this cannot stand in a header",
                    "a header's value has no line breaks and no control characters",
                );
            }
            (name.clone(), p.template(value, &path, Scope::Intent))
        })
        .collect();
    for (at, status) in raw.accept.iter().enumerate() {
        if !(100..=599).contains(status) {
            p.value(
                &["submit", "http", "accept", &at.to_string()],
                "100 to 599",
                format!("{status} is not an HTTP status"),
                "",
            );
        }
    }
    let json = raw.json.map(|table| {
        let path = ["submit", "http", "json"].map(str::to_owned).to_vec();
        json(toml::Value::Table(table), &path, p)
    });
    HttpSubmit {
        method,
        url,
        headers,
        json,
        accept: raw.accept,
    }
}

fn json(value: toml::Value, path: &[String], p: &mut Problems<'_, '_>) -> JsonTemplate {
    let under = |step: String| path.iter().cloned().chain([step]).collect::<Vec<_>>();
    match value {
        toml::Value::String(text) => {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            JsonTemplate::Text(p.template(&text, &path, Scope::Intent))
        }
        toml::Value::Integer(number) => JsonTemplate::Plain(number.into()),
        // JSON has no infinity: it becomes null, as everywhere.
        toml::Value::Float(number) => JsonTemplate::Plain(number.into()),
        toml::Value::Boolean(flag) => JsonTemplate::Plain(flag.into()),
        toml::Value::Datetime(time) => JsonTemplate::Plain(time.to_string().into()),
        toml::Value::Array(items) => JsonTemplate::List(
            items
                .into_iter()
                .enumerate()
                .map(|(at, item)| json(item, &under(at.to_string()), p))
                .collect(),
        ),
        toml::Value::Table(table) => JsonTemplate::Object(
            table
                .into_iter()
                .map(|(key, value)| {
                    let value = json(value, &under(key.clone()), p);
                    (key, value)
                })
                .collect(),
        ),
    }
}

//! From the raw file to a valid [`ClientFile`]: whatever serde cannot see.
//!
//! Owns the file as a whole, `[worker]`, `[provider]`, `[policy]` and `[known]`. `[submit]` and
//! `[outcome]` have files of their own.

use std::{path::Path, sync::Arc};

use jiff::civil::Date;
use stub_provider::Profile;

use super::{
    ClientFile, Ready, TIMEOUT, Worker,
    field::{DATABASES, Fields, exactly_one},
    file::{RawClientFile, RawProvider, RawReady, RawWorker},
    outcome::outcome,
    submit::submit,
    template::Scope,
};
use crate::{
    bug_kind::BugKind,
    diagnostic::{FileError, did_you_mean},
    document::{Document, Problems},
    policy::Policy,
    result::Known,
};

/// The profile where none is named.
pub(crate) const PROFILE: &str = "v1";

/// The valid client, or everything that is wrong with its file.
pub(crate) fn client(
    raw: RawClientFile,
    document: &Document<'_>,
    dir: &Path,
) -> Result<ClientFile, FileError> {
    let mut problems = Problems::new(document);
    let p = &mut problems;
    if raw.name.trim().is_empty() {
        p.value(&["name"], "empty", "the client has no name", "");
    }
    let environment = raw
        .env
        .iter()
        .map(|(name, value)| {
            if name.is_empty() || name.contains(['=', '\0']) {
                p.key(
                    &["env", name],
                    "not a name",
                    "this cannot be the name of a variable",
                    "",
                );
            }
            (name.clone(), p.template(value, &["env", name], Scope::Lab))
        })
        .collect();
    let setup = raw
        .setup
        .map(|setup| p.command(&setup.command, &["setup", "command"], Scope::Lab));
    let submit_timeout = timeout(raw.submit.timeout, &["submit", "timeout"], p);
    let submit = submit(raw.submit, p);
    let worker = raw.worker.map(|worker| self::worker(worker, p));
    let words = raw
        .outcome
        .as_ref()
        .map(|outcome| outcome.map.clone())
        .unwrap_or_default();
    let outcome = outcome(raw.outcome, submit.as_ref(), worker.is_some(), p);
    let profile = profile(raw.provider, dir, p);
    policy(&raw.policy, p);
    let known = raw
        .known
        .into_iter()
        .filter_map(|(id, known)| {
            let until = known_until(&id, known.until, p)?;
            let reason = known.reason;
            Some((id, Known { reason, until }))
        })
        .collect();
    let callback = raw
        .callback
        .map(|url| p.url(&url.url, &["callback", "url"], Scope::Lab, &["http://"]));
    let database = raw
        .database
        .map(|url| p.url(&url.url, &["database", "url"], Scope::Lab, &DATABASES));
    problems.check()?;
    match (submit, outcome, profile) {
        (Some(submit), Some(outcome), Some(profile)) => Ok(ClientFile {
            name: raw.name,
            file: None,
            dir: dir.to_owned(),
            env: environment,
            setup,
            submit,
            submit_timeout,
            worker,
            outcome,
            words,
            profile,
            policy: raw.policy,
            known,
            callback,
            database,
            capabilities: raw.capabilities.into_iter().collect(),
        }),
        _ => Err(FileError::new(
            document.file,
            "the client file has no right [submit], [outcome] or [provider]",
        )),
    }
}

fn timeout(
    span: Option<stub_provider::duration::Span>,
    path: &[&str],
    problems: &mut Problems<'_, '_>,
) -> std::time::Duration {
    if span.is_some_and(|span| span.0.is_zero()) {
        problems.value(path, "no time at all", "nothing can be done in no time", "");
    }
    span.map_or(TIMEOUT, |span| span.0)
}

fn worker(raw: RawWorker, p: &mut Problems<'_, '_>) -> Worker {
    if raw.workers == Some(0) {
        p.value(
            &["worker", "workers"],
            "nobody works",
            "without a worker nothing is sent",
            "at least 1; leave [worker] out where the submit command sends",
        );
    }
    Worker {
        command: p.command(&raw.command, &["worker", "command"], Scope::Lab),
        workers: raw.workers.unwrap_or(1).max(1),
        ready: raw.ready.and_then(|ready| self::ready(ready, p)),
        until: raw.until,
        restart: raw.restart.unwrap_or(true),
        timeout: timeout(raw.timeout, &["worker", "timeout"], p),
    }
}

fn ready(raw: RawReady, p: &mut Problems<'_, '_>) -> Option<Ready> {
    let given = [
        ("http", raw.http.is_some()),
        ("port", raw.port.is_some()),
        ("log", raw.log.is_some()),
    ];
    if !exactly_one(&given, "worker.ready", p) {
        return None;
    }
    if let Some(url) = raw.http {
        let url = p.url(&url, &["worker", "ready", "http"], Scope::Lab, &["http://"]);
        return Some(Ready::Http(url));
    }
    if let Some(port) = raw.port {
        let path = ["worker", "ready", "port"];
        let template = p.template(&port, &path, Scope::Lab);
        if template
            .fixed()
            .is_some_and(|port| port.parse::<u16>().is_err())
        {
            p.value(
                &path,
                "not a port",
                format!("`{port}` is not a port"),
                "write \"{port}\", or a number in quotes",
            );
        }
        return Some(Ready::Port(template));
    }
    raw.log.map(Ready::Log)
}

/// A built-in profile by its name, or else a profile file by its path.
fn profile(raw: RawProvider, dir: &Path, p: &mut Problems<'_, '_>) -> Option<Arc<Profile>> {
    let name = raw.profile.as_deref().unwrap_or(PROFILE);
    let is_file = Path::new(name).extension().is_some() || name.contains('/');
    let profile = if is_file {
        match Profile::load(&dir.join(name)) {
            Ok(profile) => Some(Arc::new(profile)),
            Err(error) => {
                p.value(
                    &["provider", "profile"],
                    "cannot be used",
                    format!("the profile `{name}` cannot be used"),
                    "what is wrong with it stands below",
                );
                p.join(error);
                None
            }
        }
    } else {
        Profile::builtin(name)
    };
    if profile.is_none() && !is_file {
        let known: Vec<&str> = Profile::names().collect();
        let guess = did_you_mean(name, known.iter().copied())
            .map(|guess| format!("did you mean `{guess}`? "))
            .unwrap_or_default();
        p.value(
            &["provider", "profile"],
            "not known",
            format!("`{name}` is not a profile that is known"),
            &format!(
                "{guess}known: {}; or the path of a profile file",
                known.join(", ")
            ),
        );
    }
    let Some(key) = raw.key else { return profile };
    match key.parse() {
        Ok(place) => profile.map(|profile| Arc::new(profile.with_key(place))),
        Err(message) => {
            let message: String = message;
            p.value(&["provider", "key"], "not a place", message, "");
            None
        }
    }
}

fn policy(policy: &Policy, p: &mut Problems<'_, '_>) {
    if policy.max_attempts == Some(0) {
        p.value(
            &["policy", "max-attempts"],
            "not even one",
            "a client that makes no attempt sends nothing",
            "at least 1",
        );
    }
    if let Some(backoff) = &policy.backoff
        && backoff.cap < backoff.base
    {
        p.value(
            &["policy", "backoff", "cap"],
            "less than the base",
            "the longest wait is shorter than the first",
            "cap is at least base",
        );
    }
}

fn known_until(id: &str, until: toml::value::Datetime, p: &mut Problems<'_, '_>) -> Option<Date> {
    if id.parse::<BugKind>().is_err() {
        let help = did_you_mean(id, BugKind::ALL.iter().map(|kind| kind.as_str()))
            .map(|guess| format!("did you mean `{guess}`?"))
            .unwrap_or_default();
        p.key(
            &["known", id],
            "not a finding",
            format!("`{id}` is not the id of a finding"),
            &help,
        );
    }
    let date = until
        .date
        .filter(|_| until.time.is_none())
        .and_then(|date| {
            let year = i16::try_from(date.year).ok()?;
            let month = i8::try_from(date.month).ok()?;
            Date::new(year, month, i8::try_from(date.day).ok()?).ok()
        });
    if date.is_none() {
        p.value(
            &["known", id, "until"],
            "not a day",
            "the end is a day",
            "write until = 2027-03-01, without quotes and without a time",
        );
    }
    date
}

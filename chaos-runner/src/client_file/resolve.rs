//! From the raw file to a valid [`ClientFile`]: whatever serde cannot see.
//!
//! Owns the checks of a client file as a whole, of its templates, and of its commands.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    ffi::OsString,
    path::Path,
    sync::Arc,
};

use hyper::{
    Method,
    header::{HeaderName, HeaderValue},
};
use jiff::civil::Date;
use stub_provider::Profile;
use toml::de::DeValue;

use super::{
    ClientFile, ExitCodes, HttpSubmit, JsonTemplate, Known, OutcomeProbe, Ready, Submit, TIMEOUT,
    Worker,
    command::{self, CommandLine, Unrunnable},
    file::{RawClientFile, RawHttp, RawOutcome, RawProvider, RawReady, RawSubmit, RawWorker},
    template::{Scope, Template, TemplateError},
};
use crate::{
    bug_kind::BugKind,
    diagnostic::{FileError, did_you_mean},
    document::{Document, Problems},
    intent::Outcome,
    policy::Policy,
};

/// The profile where none is named.
const PROFILE: &str = "v1";

/// Where commands stand in a client file.
const COMMANDS: [&[&str]; 5] = [
    &["setup", "command"],
    &["submit", "command"],
    &["submit", "stdin"],
    &["worker", "command"],
    &["outcome", "command"],
];

/// The common slips, which serde would answer in words that help nobody.
pub(crate) fn slips(document: &Document<'_>) -> Result<(), FileError> {
    for path in COMMANDS {
        let Some(value) = document.get(path) else {
            continue;
        };
        let problem = match value {
            DeValue::String(line) => {
                let words: Vec<String> = line
                    .split_whitespace()
                    .map(|word| toml::Value::String(word.to_owned()).to_string())
                    .collect();
                Some((
                    "one text",
                    "a command is a list: the program, then each argument",
                    format!("write {} = [{}]", path[1], words.join(", ")),
                ))
            }
            DeValue::Array(words) if words.is_empty() => Some((
                "empty",
                "a command has at least a program",
                format!("write {} = [\"./program\", \"argument\"]", path[1]),
            )),
            _ => None,
        };
        if let Some((label, message, help)) = problem {
            return Err(document
                .error(document.span(path), label, message)
                .help(help));
        }
    }
    Ok(())
}

impl Problems<'_, '_> {
    /// A template; where it is wrong, the text stands in for it until the errors are shown.
    fn template(&mut self, text: &str, path: &[&str], scope: Scope) -> Template {
        Template::parse(text, scope).unwrap_or_else(|wrong| {
            let TemplateError {
                marked,
                message,
                help,
            } = wrong;
            let value = self.document.span(path);
            // The words stand in the file as they are, unless they are written with escapes.
            let span = self
                .document
                .source
                .get(value.clone())
                .and_then(|source| source.find(&marked))
                .map_or(value.clone(), |at| {
                    value.start + at..value.start + at + marked.len()
                });
            self.add(span, "here", message, &help);
            Template::plain(text)
        })
    }

    fn command(&mut self, words: &[String], path: &[&str], scope: Scope) -> CommandLine {
        let mut parts = words.iter().enumerate().map(|(at, word)| {
            let at = at.to_string();
            let path: Vec<&str> = path.iter().copied().chain([at.as_str()]).collect();
            self.template(word, &path, scope)
        });
        // An empty list was answered before (`slips`).
        let program = parts.next().unwrap_or_else(|| Template::plain(""));
        CommandLine {
            program,
            arguments: parts.collect(),
        }
    }

    fn url(&mut self, text: &str, path: &[&str], scope: Scope, schemes: &[&str]) -> Template {
        let template = self.template(text, path, scope);
        let beginning = template.beginning();
        let fits = schemes.iter().any(|scheme| {
            beginning.starts_with(scheme)
                || (template.fixed().is_none() && scheme.starts_with(beginning))
        });
        if !fits {
            self.value(
                path,
                "not such a URL",
                format!("this URL does not begin with {}", schemes.join(" or ")),
                "",
            );
        }
        template
    }
}

const DATABASES: [&str; 3] = ["sqlite:", "postgres://", "postgresql://"];

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
    let profile = profile(raw.provider, p);
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

fn exactly_one(given: &[(&str, bool)], table: &str, p: &mut Problems<'_, '_>) -> bool {
    let names: Vec<&str> = given.iter().map(|(name, _)| *name).collect();
    let found: Vec<&str> = given.iter().filter(|g| g.1).map(|g| g.0).collect();
    let path: Vec<&str> = table.split('.').collect();
    match found.as_slice() {
        [_] => true,
        [] => {
            p.key(
                &path,
                "which?",
                format!("[{table}] says none of {}", names.join(", ")),
                "exactly one of them stands there",
            );
            false
        }
        [_, second, ..] => {
            let path: Vec<&str> = path.into_iter().chain([*second]).collect();
            p.key(
                &path,
                "the second",
                format!("[{table}] says more than one of {}", names.join(", ")),
                "exactly one of them stands there",
            );
            false
        }
    }
}

fn submit(raw: RawSubmit, p: &mut Problems<'_, '_>) -> Option<Submit> {
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

fn outcome(
    raw: Option<RawOutcome>,
    submit: Option<&Submit>,
    has_worker: bool,
    p: &mut Problems<'_, '_>,
) -> Option<OutcomeProbe> {
    let by_exit_code = matches!(submit, Some(Submit::Command(_)) | None) && !has_worker;
    let Some(raw) = raw else {
        if by_exit_code {
            return Some(OutcomeProbe::ExitCode(ExitCodes::default()));
        }
        let end = p.document.source.trim_end().len();
        p.add(
            end..end,
            "[outcome] should stand here",
            "the file does not say how to learn what the client believes".to_owned(),
            "add [outcome] with one of sql, command; the submit command's exit code tells it only where that command sends by itself",
        );
        return None;
    };
    let given = [
        ("sql", raw.sql.is_some()),
        ("command", raw.command.is_some()),
        ("exit-code", raw.exit_code.is_some()),
    ];
    if !exactly_one(&given, "outcome", p) {
        return None;
    }
    if let Some(sql) = raw.sql {
        return Some(OutcomeProbe::Sql {
            url: p.url(&sql.url, &["outcome", "sql", "url"], Scope::Lab, &DATABASES),
            query: p.template(&sql.query, &["outcome", "sql", "query"], Scope::Lab),
        });
    }
    if let Some(words) = raw.command {
        let command = p.command(&words, &["outcome", "command"], Scope::Lab);
        return Some(OutcomeProbe::Command(command));
    }
    if !by_exit_code {
        p.key(
            &["outcome", "exit-code"],
            "tells nothing",
            "the submit command does not send: its exit code is not the outcome",
            "use sql or command",
        );
    }
    raw.exit_code
        .map(|codes| OutcomeProbe::ExitCode(exit_codes(&codes, p)))
}

fn exit_codes(raw: &BTreeMap<String, Outcome>, p: &mut Problems<'_, '_>) -> ExitCodes {
    let mut codes = BTreeMap::new();
    let mut other = Outcome::Unknown;
    for (code, outcome) in raw {
        if code == "other" {
            other = *outcome;
        } else if let Ok(code) = code.parse() {
            codes.insert(code, *outcome);
        } else {
            p.key(
                &["outcome", "exit-code", code],
                "not an exit code",
                format!("`{code}` is not an exit code"),
                "a number from 0 to 255, or `other` for the rest",
            );
        }
    }
    ExitCodes { codes, other }
}

fn profile(raw: RawProvider, p: &mut Problems<'_, '_>) -> Option<Arc<Profile>> {
    let name = raw.profile.as_deref().unwrap_or(PROFILE);
    let profile = Profile::builtin(name);
    if profile.is_none() {
        let known: Vec<&str> = Profile::names().collect();
        p.value(
            &["provider", "profile"],
            "not known",
            format!("`{name}` is not a profile that is known"),
            &format!("known: {}", known.join(", ")),
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

/// Checks that every command that is the same in every lab can be run.
pub(crate) fn check_commands(
    client: &ClientFile,
    document: &Document<'_>,
) -> Result<(), FileError> {
    // A PATH of the client's own that differs from lab to lab cannot be looked up yet.
    let path: Option<OsString> = match client.env.get("PATH") {
        Some(template) => match template.fixed() {
            Some(path) => Some(path.into()),
            None => return Ok(()),
        },
        None => env::var_os("PATH"),
    };
    let submit = match &client.submit {
        Submit::Command(command) => Some((COMMANDS[1], command)),
        Submit::Stdin(command) => Some((COMMANDS[2], command)),
        Submit::Http(_) => None,
    };
    let outcome = match &client.outcome {
        OutcomeProbe::Command(command) => Some((COMMANDS[4], command)),
        OutcomeProbe::Sql { .. } | OutcomeProbe::ExitCode(_) => None,
    };
    let setup = client.setup.as_ref().map(|command| (COMMANDS[0], command));
    let worker = client
        .worker
        .as_ref()
        .map(|worker| (COMMANDS[3], &worker.command));
    let mut errors = Vec::new();
    for (place, command) in [setup, submit, worker, outcome].into_iter().flatten() {
        let Some(program) = command.program.fixed() else {
            continue;
        };
        if let Err(why) = command::check(&program, &client.dir, path.as_deref()) {
            let span = document.span(&[place[0], place[1], "0"]);
            let (label, message, help) = unrunnable(&program, &why);
            errors.push(document.error(span, label, message).help(help));
        }
    }
    FileError::all(errors).map_or(Ok(()), Err)
}

fn unrunnable(program: &str, why: &Unrunnable) -> (&'static str, String, String) {
    let message = format!("`{program}` cannot be run");
    match why {
        Unrunnable::Missing(file) => (
            "no such file",
            message,
            format!(
                "commands run in the client file's directory; looked for {}",
                file.display()
            ),
        ),
        Unrunnable::NotExecutable(file) => (
            "not a program",
            message,
            format!(
                "it is there but not executable: chmod +x {}",
                file.display()
            ),
        ),
        Unrunnable::NotInPath => (
            "not found in PATH",
            message,
            format!("install it, or write \"./{program}\" for a file beside the client file"),
        ),
    }
}

/// A client that is one command.
pub(crate) fn bare_command(words: &[String], dir: &Path) -> Result<ClientFile, FileError> {
    const FILE: &str = "the command line";
    let source = words.join(" ");
    let mut parts = Vec::with_capacity(words.len());
    let mut start = 0;
    for word in words {
        let template = Template::parse(word, Scope::Intent).map_err(|wrong| {
            let at = start + word.find(&wrong.marked).unwrap_or(0);
            FileError::new(FILE, wrong.message)
                .at(&source, at..at + wrong.marked.len(), "here")
                .help(wrong.help)
        })?;
        parts.push(template);
        start += word.len() + 1;
    }
    let mut parts = parts.into_iter();
    let Some(program) = parts.next() else {
        return Err(FileError::new(FILE, "there is no command after `--`")
            .help("for instance: chaos-runner run -- ./send {to} {body}"));
    };
    if let Some(program) = program.fixed()
        && let Err(why) = command::check(&program, dir, env::var_os("PATH").as_deref())
    {
        let (label, message, help) = unrunnable(&program, &why);
        return Err(FileError::new(FILE, message)
            .at(&source, 0..program.len(), label)
            .help(help));
    }
    let profile = Profile::builtin(PROFILE)
        .ok_or_else(|| FileError::new(FILE, format!("the profile `{PROFILE}` is not built in")))?;
    Ok(ClientFile {
        name: words.first().cloned().unwrap_or_default(),
        file: None,
        dir: dir.to_owned(),
        env: BTreeMap::new(),
        setup: None,
        submit: Submit::Command(CommandLine {
            program,
            arguments: parts.collect(),
        }),
        submit_timeout: TIMEOUT,
        worker: None,
        outcome: OutcomeProbe::ExitCode(ExitCodes::default()),
        words: BTreeMap::new(),
        profile,
        policy: Policy::default(),
        known: BTreeMap::new(),
        callback: None,
        database: None,
        capabilities: BTreeSet::new(),
    })
}

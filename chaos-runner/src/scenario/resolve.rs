//! From the raw file to a valid [`Scenario`]: whatever serde cannot see.
//!
//! Owns the checks of a scenario as a whole and of each fault's own settings, and the needs that
//! follow from them. Where a fault is aimed is [`super::place`]'s.

use hyper::header::{HeaderName, HeaderValue};
use stub_provider::{
    duration::Span,
    fault::{ProviderFault, RequestKind, Respond},
};

use super::{
    Scenario,
    file::{CallerKeys, NumberOrFault, RawConnect, RawFault, ScenarioFile},
    invent::{MOST, Wanted},
    place,
};
use crate::{
    bug_kind::BugKind,
    diagnostic::{FileError, did_you_mean},
    document::{Document, Problems, in_file_order, inline},
    fault::{Action, ClientFault, ClientProcess},
    plan::{Expect, Need, PlannedFault},
};

/// The keys of a `[[fault]]` of which exactly one stands.
const DOMAINS: [&str; 7] = [
    "toxic", "connect", "provider", "receipt", "client", "database", "submit",
];

/// The common slips, which serde would answer in words that help nobody.
pub(crate) fn slips(document: &Document<'_>) -> Result<(), FileError> {
    if let Some(fault) = document.get(&["fault"])
        && !fault.is_array()
    {
        return Err(document
            .error(
                document.key_span(&["fault"]),
                "one fault, not a list of them",
                "`fault` is not a list",
            )
            .help("a fault begins with two brackets: [[fault]]"));
    }
    if document.get(&["faults"]).is_some() {
        return Err(document
            .error(
                document.key_span(&["faults"]),
                "not known",
                "`faults` is not a key that is known here",
            )
            .help("each fault begins with [[fault]]"));
    }
    let count = document
        .get(&["fault"])
        .and_then(toml::de::DeValue::as_array)
        .map_or(0, |faults| faults.len());
    for at in 0..count {
        let at = at.to_string();
        for domain in DOMAINS {
            if let Some(word) = document
                .get(&["fault", &at, domain])
                .and_then(toml::de::DeValue::as_str)
            {
                let example = example(domain, word);
                return Err(document
                    .error(
                        document.span(&["fault", &at, domain]),
                        "a kind alone",
                        format!("`{domain}` needs its kind as a key and a table of settings"),
                    )
                    .help(format!("write {example}")));
            }
        }
    }
    Ok(())
}

fn example(domain: &str, word: &str) -> String {
    let settings = match (domain, word) {
        ("toxic" | "receipt", "down") | ("connect", _) => "{ for = \"300ms\" }",
        ("toxic", "timeout") => "{ attributes = { timeout = 0 } }",
        ("toxic", _) => "{ attributes = { … } }",
        ("provider" | "client", _) => "{ stage = \"after-accept\" }",
        ("database", _) => "{ stage = \"before-accept\", for = \"300ms\" }",
        _ => "{}",
    };
    let plain = word
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    let word = if plain && !word.is_empty() {
        word
    } else {
        "…"
    };
    format!("{domain}.{word} = {settings}")
}

/// The valid scenario, or everything that is wrong with it.
pub(crate) fn scenario(
    raw: &ScenarioFile,
    document: &Document<'_>,
    name: &str,
) -> Result<Scenario, FileError> {
    let mut problems = Problems::new(document);
    words(raw, &mut problems);
    let wanted = wanted(raw, &mut problems);
    let mut faults = Vec::with_capacity(raw.faults.len());
    for (at, fault) in raw.faults.iter().enumerate() {
        faults.extend(planned(fault, at, &wanted, &mut problems));
    }
    settings(raw, &mut problems);
    let needs = needs(raw, &wanted, &faults);
    let expect = expect(raw, &mut problems);
    problems.check()?;
    Ok(Scenario {
        name: name.to_owned(),
        title: raw.title.clone(),
        why: raw.why.clone(),
        tags: raw.tags.clone(),
        file: Some(document.file.to_owned()),
        failover: needs.contains(&Need::Failover),
        needs,
        faults,
        retention: raw.provider.retention.map(|span| span.0),
        workers: raw.client.workers,
        expect,
        one_by_one: raw.intents.one_by_one,
        wanted,
    })
}

fn words(raw: &ScenarioFile, problems: &mut Problems<'_, '_>) {
    for (key, text) in [("title", &raw.title), ("why", &raw.why)] {
        if text.trim().is_empty() {
            problems.value(
                &[key],
                "empty",
                format!("`{key}` says nothing"),
                "say it in one line",
            );
        }
    }
    for (at, tag) in raw.tags.iter().enumerate() {
        let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        if tag.is_empty() || !tag.bytes().all(fits) {
            problems.value(
                &["tags", &at.to_string()],
                "not a tag",
                format!("`{tag}` is not a tag"),
                "a tag is one word in small letters, digits and hyphens",
            );
        }
    }
}

fn wanted(raw: &ScenarioFile, problems: &mut Problems<'_, '_>) -> Wanted {
    let intents = &raw.intents;
    let count = intents.count;
    if count == 0 {
        problems.value(
            &["intents", "count"],
            "nothing to send",
            "a scenario without messages shows nothing",
            "at least 1",
        );
    } else if count > MOST {
        problems.value(
            &["intents", "count"],
            "too many",
            format!("there are only {MOST} fictional numbers to send to"),
            "",
        );
    }
    let customers = intents.customers.unwrap_or(1);
    if customers == 0 || customers > 26 {
        problems.value(
            &["intents", "customers"],
            "out of range",
            "there are 1 to 26 customers",
            "",
        );
    } else if customers > count.max(1) {
        problems.value(
            &["intents", "customers"],
            "more customers than messages",
            format!("{customers} customers share {count} messages: some would have none"),
            "raise `count`",
        );
    }
    if intents.expires_after.is_some_and(|span| span.0.is_zero()) {
        problems.value(
            &["intents", "expires-after"],
            "useless at once",
            "the message would be useless before it is submitted",
            "leave `expires-after` out for a message that never expires",
        );
    }
    if intents.caller_keys == Some(CallerKeys::Case) && count > 1 << 16 {
        problems.value(
            &["intents", "count"],
            "too many",
            "there are not as many cases",
            "",
        );
    }
    Wanted {
        count,
        same_recipient: intents.same_recipient,
        identical_body: intents.identical_body,
        customers: customers.max(1),
        expires_after: intents.expires_after.map(|span| span.0),
        caller_keys: intents.caller_keys,
    }
}

fn settings(raw: &ScenarioFile, problems: &mut Problems<'_, '_>) {
    if raw.provider.retention.is_some_and(|span| span.0.is_zero()) {
        problems.value(
            &["provider", "retention"],
            "no time at all",
            "a provider that remembers nothing has no retention",
            "write a time such as \"1s\"",
        );
    }
    if raw.client.workers == Some(0) {
        problems.value(
            &["client", "workers"],
            "nobody works",
            "without a worker nothing is sent",
            "at least 1",
        );
    }
}

fn expect(raw: &ScenarioFile, problems: &mut Problems<'_, '_>) -> Expect {
    for (at, id) in raw.expect.findings.iter().enumerate() {
        if id.parse::<BugKind>().is_err() {
            let help = did_you_mean(id, BugKind::ALL.iter().map(|kind| kind.as_str())).map_or_else(
                || "the ids stand in the list of bug kinds".to_owned(),
                |guess| format!("did you mean `{guess}`?"),
            );
            problems.value(
                &["expect", "findings", &at.to_string()],
                "not a finding",
                format!("`{id}` is not the id of a finding"),
                &help,
            );
        }
    }
    let outcomes = raw.expect.outcome.as_ref().map(|list| list.0.clone());
    if outcomes.as_ref().is_some_and(Vec::is_empty) {
        problems.value(
            &["expect", "outcome"],
            "empty",
            "no outcome would be right",
            "name at least one, or leave `outcome` out",
        );
    }
    Expect {
        deliveries: raw.expect.deliveries,
        outcomes: outcomes.unwrap_or_default(),
        findings: raw.expect.findings.clone(),
    }
}

/// What a scenario needs, said or inferred.
fn needs(raw: &ScenarioFile, wanted: &Wanted, faults: &[PlannedFault]) -> Vec<Need> {
    let mut needs = raw.needs.clone();
    let mut add = |need, when: bool| {
        if when {
            needs.push(need);
        }
    };
    add(Need::Customers, wanted.customers > 1);
    add(Need::CallerKey, wanted.caller_keys.is_some());
    add(Need::Expiry, wanted.expires_after.is_some());
    add(Need::Workers, raw.client.workers.is_some_and(|n| n > 1));
    add(Need::Failover, raw.provider.failover);
    for fault in faults {
        add(Need::Failover, fault.provider == Some(2));
        add(Need::Lookup, fault.request == RequestKind::Lookup);
        match &fault.action {
            Action::Receipt(_) => add(Need::Callback, true),
            Action::Database(_) => add(Need::Database, true),
            Action::Submit(_) => add(Need::FrontDoor, true),
            Action::Client(ClientFault::Kill(at) | ClientFault::Terminate(at)) => {
                add(Need::Restart, at.process == ClientProcess::Sender);
                add(Need::FrontDoor, at.process == ClientProcess::Submit);
            }
            Action::Client(ClientFault::Pause(_))
            | Action::Toxic(_)
            | Action::Down(_)
            | Action::Blackhole(_)
            | Action::Provider(_) => {}
        }
    }
    needs.sort_unstable();
    needs.dedup();
    needs
}

/// One fault; `None` where it is wrong.
fn planned(
    fault: &RawFault,
    at: usize,
    wanted: &Wanted,
    problems: &mut Problems<'_, '_>,
) -> Option<PlannedFault> {
    let number = at.to_string();
    let action = action(fault, &number, problems)?;
    let provider = place::provider(fault, &number, problems);
    place::intent(fault, &number, wanted.count, problems);
    let place = place::place(fault, &number, &action, wanted.count, problems)?;
    place::request(fault, &number, &action, problems);
    let document = problems.document;
    let text = document
        .get(&["fault", &number])
        .and_then(toml::de::DeValue::as_table)
        .map(text)
        .unwrap_or_default();
    Some(PlannedFault {
        id: u32::try_from(at + 1).unwrap_or(u32::MAX),
        line: document.line(document.key_span(&["fault", &number]).start),
        text,
        intent: fault.intent,
        provider,
        request: fault.request,
        place,
        action,
    })
}

/// The fault on one line, as a file could have it.
fn text(table: &toml::de::DeTable<'_>) -> String {
    let parts: Vec<String> = in_file_order(table)
        .into_iter()
        .map(
            |(key, value)| match value.as_table().map(in_file_order).as_deref() {
                Some([(kind, settings)]) => format!("{key}.{kind} = {}", inline(settings)),
                _ => format!("{key} = {}", inline(value)),
            },
        )
        .collect();
    parts.join(", ")
}

/// What goes wrong, where exactly one kind is named.
fn action(fault: &RawFault, number: &str, problems: &mut Problems<'_, '_>) -> Option<Action> {
    let mut found: Vec<(&str, Action)> = Vec::new();
    if let Some(toxic) = &fault.toxic {
        let action = match (toxic.resolve(), toxic) {
            (Some(resolved), _) => {
                if !(0.0..=1.0).contains(&resolved.toxicity) {
                    problems.value(
                        &["fault", number, "toxic", toxic.name(), "toxicity"],
                        "not a probability",
                        "a toxicity is a probability from 0 to 1",
                        "",
                    );
                }
                Action::Toxic(resolved)
            }
            (None, super::toxic::RawToxic::Down(down)) => {
                some_time(
                    down.lasts,
                    &["fault", number, "toxic", "down", "for"],
                    problems,
                );
                Action::Down(down.lasts)
            }
            (None, _) => return None,
        };
        found.push(("toxic", action));
    }
    if let Some(RawConnect::Blackhole(hole)) = &fault.connect {
        some_time(
            hole.lasts,
            &["fault", number, "connect", "blackhole", "for"],
            problems,
        );
        found.push(("connect", Action::Blackhole(hole.lasts)));
    }
    if let Some(NumberOrFault::Fault(provider)) = &fault.provider {
        provider_settings(provider, number, problems);
        found.push(("provider", Action::Provider(provider.clone())));
    }
    if let Some(receipt) = &fault.receipt {
        found.push(("receipt", Action::Receipt(receipt.clone())));
    }
    if let Some(client) = &fault.client {
        if let ClientFault::Pause(pause) = client {
            some_time(
                pause.lasts,
                &["fault", number, "client", "pause", "for"],
                problems,
            );
        }
        found.push(("client", Action::Client(client.clone())));
    }
    if let Some(database) = &fault.database {
        found.push(("database", Action::Database(database.clone())));
    }
    if let Some(submit) = &fault.submit {
        found.push(("submit", Action::Submit(submit.clone())));
    }
    match found.len() {
        1 => found.pop().map(|(_, action)| action),
        0 => {
            problems.key(
                &["fault", number],
                "nothing goes wrong here",
                "this fault does not say what goes wrong",
                &format!("add exactly one of {}", DOMAINS.join(", ")),
            );
            None
        }
        _ => {
            let names: Vec<&str> = found.iter().map(|(name, _)| *name).collect();
            problems.key(
                &["fault", number, names[1]],
                "the second",
                format!(
                    "this fault says two things that go wrong: {}",
                    names.join(", ")
                ),
                "begin another [[fault]] for it",
            );
            None
        }
    }
}

fn some_time(span: Span, path: &[&str], problems: &mut Problems<'_, '_>) {
    if span.0.is_zero() {
        problems.value(
            path,
            "no time at all",
            "a fault that lasts no time does nothing",
            "",
        );
    }
}

fn provider_settings(fault: &ProviderFault, number: &str, problems: &mut Problems<'_, '_>) {
    let at = |kind, key| ["fault", number, "provider", kind, key];
    match fault {
        ProviderFault::Respond(respond) => respond_settings(respond, number, problems),
        ProviderFault::RateLimit(limit) => {
            whole_seconds(
                limit.retry_after,
                &at("rate-limit", "retry-after"),
                problems,
            );
            let forms = [
                limit.retry_after.is_some(),
                limit.retry_after_date.is_some(),
                limit.retry_after_raw.is_some(),
            ];
            if forms.iter().filter(|given| **given).count() > 1 {
                problems.key(
                    &["fault", number, "provider", "rate-limit"],
                    "several forms",
                    "`Retry-After` is given in more than one form",
                    "keep one of retry-after, retry-after-date, retry-after-raw",
                );
            }
            if let Some(raw) = &limit.retry_after_raw
                && HeaderValue::from_str(raw).is_err()
            {
                problems.value(
                    &at("rate-limit", "retry-after-raw"),
                    "not a header's value",
                    "this cannot stand in a header",
                    "a header's value has no line breaks and no control characters",
                );
            }
        }
        ProviderFault::Redirect(redirect) if !matches!(redirect.status, 307 | 308) => {
            problems.value(
                &at("redirect", "status"),
                "307 or 308",
                format!("{} is not a redirect that keeps a POST", redirect.status),
                "use 307 or 308; for any other status there is provider.respond",
            );
        }
        ProviderFault::InFlight(flight) => {
            some_time(flight.lasts, &at("in-flight", "for"), problems);
            whole_seconds(
                flight.retry_after,
                &at("in-flight", "retry-after"),
                problems,
            );
        }
        ProviderFault::Delay(delay) => some_time(delay.lasts, &at("delay", "for"), problems),
        ProviderFault::Hang(_)
        | ProviderFault::Reset(_)
        | ProviderFault::Close(_)
        | ProviderFault::Truncate(_)
        | ProviderFault::Garble(_)
        | ProviderFault::Redirect(_)
        | ProviderFault::Crash(_) => {}
    }
}

fn respond_settings(respond: &Respond, number: &str, problems: &mut Problems<'_, '_>) {
    let at = |key| ["fault", number, "provider", "respond", key];
    if !(200..=599).contains(&respond.status) {
        problems.value(
            &at("status"),
            "200 to 599",
            format!("{} is not a status that ends an exchange", respond.status),
            "",
        );
    }
    whole_seconds(respond.retry_after, &at("retry-after"), problems);
    if respond.retry_after.is_some() && respond.retry_after_date.is_some() {
        problems.key(
            &at("retry-after-date"),
            "the second form",
            "`Retry-After` is given in two forms",
            "keep one of retry-after and retry-after-date",
        );
    }
    for (name, value) in &respond.headers {
        let path = ["fault", number, "provider", "respond", "headers", name];
        if HeaderName::from_bytes(name.as_bytes()).is_err() {
            problems.key(
                &path,
                "not a header's name",
                format!("`{name}` is not a header's name"),
                "",
            );
        } else if HeaderValue::from_str(value).is_err() {
            problems.value(
                &path,
                "not a header's value",
                "this cannot stand in a header",
                "a header's value has no line breaks and no control characters",
            );
        }
    }
}

fn whole_seconds(span: Option<Span>, path: &[&str], problems: &mut Problems<'_, '_>) {
    if span.is_some_and(|span| span.0.subsec_nanos() != 0) {
        problems.value(
            path,
            "not whole seconds",
            "`Retry-After` counts whole seconds",
            "write \"1s\" or \"2s\", or any text at all through `headers`",
        );
    }
}

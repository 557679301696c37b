//! From the raw file to a valid [`Scenario`]: whatever serde cannot see.
//!
//! Owns the checks of a scenario as a whole, and the needs that follow from it. Its faults are
//! [`super::fault`]'s.

use stub_provider::fault::RequestKind;

use super::{
    Scenario,
    fault::planned,
    file::{CallerKeys, ScenarioFile},
    invent::{MOST, Wanted},
};
use crate::{
    bug_kind::BugKind,
    diagnostic::{FileError, did_you_mean},
    document::{Document, Problems},
    fault::{Action, ClientFault, ClientProcess},
    plan::{Expect, Need, PlannedFault},
};

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
    if intents.close_ids && count > 1 << 8 {
        problems.value(
            &["intents", "count"],
            "too many",
            "there are 256 identities that differ only in their last two characters",
            "",
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
        close_ids: intents.close_ids,
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

//! One `[[fault]]`: what goes wrong, from the raw table to a planned fault.
//!
//! Owns the choice of exactly one kind and the checks of durations. The provider's own settings
//! are [`super::provider`]'s, the aim is [`super::place`]'s.

use stub_provider::duration::Span;

use super::{
    file::{NumberOrFault, RawConnect, RawFault},
    invent::Wanted,
    place,
    provider::provider_settings,
    toxic::RawToxic,
};
use crate::{
    document::{Problems, in_file_order, inline},
    fault::{Action, ClientFault},
    plan::PlannedFault,
};

/// The keys of a `[[fault]]` of which exactly one stands.
pub(crate) const DOMAINS: [&str; 7] = [
    "toxic", "connect", "provider", "receipt", "client", "database", "submit",
];

/// One fault; `None` where it is wrong.
pub(crate) fn planned(
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
            (None, RawToxic::Down(down)) => {
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

pub(crate) fn some_time(span: Span, path: &[&str], problems: &mut Problems<'_, '_>) {
    if span.0.is_zero() {
        problems.value(
            path,
            "no time at all",
            "a fault that lasts no time does nothing",
            "",
        );
    }
}

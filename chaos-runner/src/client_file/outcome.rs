//! `[outcome]`: how to learn what the client believes, made valid.

use std::collections::BTreeMap;

use super::{
    ExitCodes, OutcomeProbe, Submit,
    field::{DATABASES, Fields, exactly_one},
    file::RawOutcome,
    template::Scope,
};
use crate::{document::Problems, intent::Outcome};

pub(crate) fn outcome(
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

//! Every command of a client file: the slips in writing them, and whether they can be run.

use std::{env, ffi::OsString};

use toml::de::DeValue;

use super::{
    ClientFile, OutcomeProbe, Submit,
    command::{self, Unrunnable},
};
use crate::{diagnostic::FileError, document::Document};

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

pub(crate) fn unrunnable(program: &str, why: &Unrunnable) -> (&'static str, String, String) {
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

//! A client that is one command, given on the command line.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    path::Path,
};

use stub_provider::Profile;

use super::{
    ClientFile, ExitCodes, OutcomeProbe, Submit, TIMEOUT,
    command::{self, CommandLine},
    commands::unrunnable,
    resolve::PROFILE,
    template::{Scope, Template},
};
use crate::{diagnostic::FileError, policy::Policy};

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

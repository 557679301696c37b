//! `audit`: the arguments, and carrying them out.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
    sync::Arc,
};

use anstream::{AutoStream, ColorChoice};
use clap::Args;
use stub_provider::{Profile, duration::Span};

use super::{Files, OutputArgs, Verbosity};
use crate::{
    audit::{
        self, Options,
        admin::Admin,
        report::{console, json, junit},
        result::Audited,
        rule::Rule,
        target::Target,
    },
    diagnostic::{FileError, did_you_mean},
    exit_code::ExitCode,
    run::{self, interrupt},
};

/// The file that people are told where an argument is wrong.
const COMMAND_LINE: &str = "the command line";

/// What can be typed after `audit`.
#[derive(Debug, Args)]
pub struct AuditArgs {
    /// Where the provider is, as in <http://127.0.0.1:9090>; what stands behind the host comes
    /// before every path of the profile.
    #[arg(long, value_name = "URL")]
    pub url: Target,
    /// What it promises: the name of a built-in profile, or a profile file.
    #[arg(long, value_name = "NAME|FILE")]
    pub profile: String,
    /// Only this rule; may be given several times.
    #[arg(long, value_name = "RULE")]
    pub only: Vec<Rule>,
    /// Allow a provider that is not on this machine. It gets real messages, which cost money and
    /// make phones ring: about thirty, and three times --concurrency requests that must become
    /// three messages and become many at a provider that races.
    #[arg(long)]
    pub allow_remote: bool,
    /// The credential that requests bear [default: one that is made up, on this machine only].
    #[arg(
        long,
        value_name = "TOKEN",
        env = "CHAOS_AUDIT_CUSTOMER",
        hide_env_values = true
    )]
    pub customer: Option<String>,
    /// Another customer's credential [default: one that is made up, on this machine only].
    #[arg(
        long = "customer-2",
        value_name = "TOKEN",
        env = "CHAOS_AUDIT_CUSTOMER_2",
        hide_env_values = true
    )]
    pub customer_2: Option<String>,
    /// The number that every message goes to [default: numbers that are kept free for fiction].
    #[arg(long, value_name = "NUMBER")]
    pub to: Option<String>,
    /// The number that messages come from.
    #[arg(long, value_name = "NUMBER", default_value = "+12025550199")]
    pub from: String,
    /// How many equal requests are sent at once.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(2..=1000))]
    pub concurrency: u16,
    /// How long one exchange may take.
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub timeout: Span,
    /// The admin API of a provider that is made for tests: its faults and its clock.
    #[arg(long, value_name = "URL")]
    pub admin: Option<Target>,
    /// Where its clock can be moved by POST, as in <http://127.0.0.1:9090/admin/clock>.
    #[arg(long, value_name = "URL")]
    pub clock_url: Option<Target>,
    /// A command that restarts the provider and returns when it is back; run by `sh -c`.
    #[arg(long, value_name = "CMD")]
    pub restart: Option<String>,
    /// The seed of keys, numbers and words [default: another one each time, so that no key was
    /// ever seen].
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Reports into files; the JSON report has every exchange in it.
    #[command(flatten)]
    pub files: Files,
}

/// Why an audit came to no judgement.
#[derive(Debug, thiserror::Error)]
enum Failure {
    /// What was asked for makes no sense; nothing was sent.
    #[error("{0}")]
    Usage(#[from] FileError),
    /// The harness could not do its work.
    #[error(transparent)]
    Harness(#[from] run::Error),
    /// A report could not be written.
    #[error("the report {0} cannot be written: {1}")]
    Report(String, io::Error),
    /// The output cannot be written.
    #[error("the output cannot be written: {0}")]
    Output(io::Error),
}

impl AuditArgs {
    /// Audits the provider, tells of it, and says how the program ends.
    #[must_use]
    pub fn execute(self, output: OutputArgs) -> ExitCode {
        match self.try_execute(output.verbosity()) {
            Ok(code) => code,
            Err(Failure::Usage(error)) => {
                let colour = AutoStream::choice(&io::stderr()) != ColorChoice::Never;
                anstream::eprint!("{}", error.report(colour));
                ExitCode::Usage
            }
            Err(failure) => {
                anstream::eprintln!("error: {failure}");
                ExitCode::Harness
            }
        }
    }

    fn try_execute(self, verbosity: Verbosity) -> Result<ExitCode, Failure> {
        let profile = profile(&self.profile)?;
        let options = self.options()?;
        self.files.ready()?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(run::Error::io("starting the runtime"))?;
        let mut out = AutoStream::auto(io::stdout());
        let mut wrote = Ok(());
        if verbosity > Verbosity::Quiet {
            let url = options.target.url();
            wrote = write!(
                out,
                "{}",
                console::heading(&url, profile.name(), profile.title())
            );
        }
        let audited = runtime.block_on(async {
            let cancel = interrupt::token()?;
            let mut tell = |checked: &audit::result::Checked| {
                let dull = matches!(
                    checked.judgement.as_str(),
                    "kept" | "not-checked" | "not-applicable"
                );
                if wrote.is_err() || (verbosity == Verbosity::Quiet && dull) {
                    return;
                }
                let mut text = console::line(checked);
                if verbosity > Verbosity::Normal {
                    text.push_str(&console::exchanges(checked));
                }
                wrote = write!(out, "{text}").and_then(|()| out.flush());
            };
            Ok::<_, run::Error>(audit::audit(options, profile, cancel, &mut tell).await)
        })?;
        self.write_reports(&audited)?;
        match wrote.and_then(|()| write!(out, "{}", console::summary(&audited))) {
            // Whoever closed the pipe has read what they wanted.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Output(error)),
            _ => Ok(audited.exit_code()),
        }
    }

    fn options(&self) -> Result<Options, FileError> {
        let here = self.url.is_loopback();
        let asked = [
            Some(&self.url),
            self.admin.as_ref(),
            self.clock_url.as_ref(),
        ];
        let away = asked.into_iter().flatten().find(|url| !url.is_loopback());
        if let Some(url) = away.filter(|_| !self.allow_remote) {
            return Err(FileError::new(
                COMMAND_LINE,
                format!("{} is not on this machine", url.url()),
            )
            .help(
                "an audit sends real messages, dozens of them: they cost money and make phones \
                 ring. Add --allow-remote if that is what you want, with --customer and --to",
            ));
        }
        if let Some(to) = &self.to {
            number("--to", to)?;
        }
        if self.timeout.0.is_zero() {
            return Err(FileError::new(
                COMMAND_LINE,
                "--timeout is 0: every exchange would be over before it begins",
            ));
        }
        let made_up = |name: &str| here.then(|| name.to_owned());
        let customer = self.customer.clone().or_else(|| made_up("audit-1"));
        let Some(customer) = customer else {
            return Err(
                FileError::new(COMMAND_LINE, "there is no credential for this provider")
                    .help("name it with --customer, or better in CHAOS_AUDIT_CUSTOMER"),
            );
        };
        let rules = Rule::ALL.iter().copied();
        Ok(Options {
            target: self.url.clone(),
            rules: rules
                .filter(|rule| self.only.is_empty() || self.only.contains(rule))
                .collect(),
            seed: self.seed.unwrap_or_else(rand::random),
            customer,
            customer_2: self.customer_2.clone().or_else(|| made_up("audit-2")),
            to: self.to.clone(),
            from: self.from.clone(),
            timeout: self.timeout.0,
            concurrency: usize::from(self.concurrency),
            admin: self.admin.clone().map(Admin),
            clock: self.clock_url.clone(),
            restart: self.restart.clone(),
        })
    }

    fn write_reports(&self, audited: &Audited) -> Result<(), Failure> {
        if let Some(path) = &self.files.json {
            write(path, &json::document(audited).to_string())?;
        }
        if let Some(path) = &self.files.junit {
            let text = junit::document(audited).map_err(|error| {
                Failure::Report(path.display().to_string(), io::Error::other(error))
            })?;
            write(path, &text)?;
        }
        Ok(())
    }
}

/// A number that a phone can have: at most 15 digits (ITU-T E.164, section 6).
fn number(option: &str, text: &str) -> Result<(), FileError> {
    let digits = text.strip_prefix('+').unwrap_or(text);
    if (3..=15).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit()) {
        return Ok(());
    }
    Err(FileError::new(
        COMMAND_LINE,
        format!("{option} `{text}` is no phone number: write it as in +12025550142"),
    ))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| Failure::Report(path.display().to_string(), error))
}

/// A built-in profile by its name, or else a file.
fn profile(named: &str) -> Result<Arc<Profile>, FileError> {
    if let Some(profile) = Profile::builtin(named) {
        return Ok(profile);
    }
    let path = Path::new(named);
    let looks_like_a_file = path.extension().is_some() || path.components().count() > 1;
    if looks_like_a_file || path.exists() {
        return Profile::load(path).map(Arc::new);
    }
    let known: Vec<&str> = Profile::names().collect();
    let guess = did_you_mean(named, known.iter().copied());
    let guess = guess.map_or_else(String::new, |guess| format!("did you mean `{guess}`? "));
    Err(
        FileError::new(COMMAND_LINE, format!("there is no profile `{named}`")).help(format!(
            "{guess}built in: {}; anything else is the path of a file",
            known.join(", ")
        )),
    )
}

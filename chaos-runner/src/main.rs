//! The program: parses the arguments and does what they say.

use std::{
    env,
    io::{self, IsTerminal as _},
    os::unix::process::CommandExt as _,
    process,
};

use chaos_runner::{
    cli::{Cli, Command, CommandError, Verbosity},
    exit_code::ExitCode,
    run::guardian,
};
use clap::Parser;
use tracing_subscriber::{
    filter::LevelFilter, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};

fn main() -> process::ExitCode {
    let mut words = env::args().skip(1);
    if words.next().as_deref() == Some(guardian::SUBCOMMAND) {
        guardian::keep(&words.next().unwrap_or_default());
        return ExitCode::Pass.into();
    }
    if let Err(error) = without_proxies_for_loopback() {
        anstream::eprintln!("error: cannot start again without the environment's proxies: {error}");
        return ExitCode::Harness.into();
    }
    let cli = Cli::parse();
    cli.output.apply();
    let done = match cli.command {
        Command::Run(arguments) => match arguments.options(cli.output) {
            Ok(options) => {
                log(options.verbosity);
                return options.execute().into();
            }
            Err(error) => Err(CommandError::from(error)),
        },
        Command::Audit(arguments) => {
            log(cli.output.verbosity());
            return arguments.execute(cli.output).into();
        }
        Command::Replay(arguments) => match arguments.options(cli.output) {
            Ok(options) => {
                log(options.verbosity);
                return options.execute().into();
            }
            Err(error) => Err(CommandError::from(error)),
        },
        Command::Recheck(arguments) => match arguments.execute(cli.output) {
            Ok(code) => return code.into(),
            Err(error) => Err(error),
        },
        Command::Merge(arguments) => match arguments.execute(cli.output) {
            Ok(code) => return code.into(),
            Err(error) => Err(error),
        },
        Command::Explore(arguments) => {
            log(cli.output.verbosity());
            match arguments.execute(cli.output) {
                Ok(code) => return code.into(),
                Err(error) => Err(CommandError::from(error)),
            }
        }
        Command::List(arguments) => arguments.run(),
        Command::Show(arguments) => arguments.run(),
        Command::Init(arguments) => arguments.run(),
        Command::Schema(arguments) => arguments.run(),
        Command::Completions(arguments) => arguments.run(),
        Command::Man(arguments) => arguments.run(),
    };
    match done {
        Ok(()) => ExitCode::Pass.into(),
        Err(error) => error.report().into(),
    }
}

/// The harness's own log, on standard error: warnings, or what `RUST_LOG` says; more with `-vv`.
fn log(verbosity: Verbosity) {
    let level = match verbosity {
        Verbosity::Quiet => LevelFilter::OFF,
        Verbosity::Normal | Verbosity::Verbose => LevelFilter::ERROR,
        Verbosity::Debug => LevelFilter::DEBUG,
    };
    tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_ansi(io::stderr().is_terminal())
        .with_writer(io::stderr)
        .finish()
        .with(stub_provider::logs::chosen(level))
        .init();
}

/// Runs this program again with the proxies of the environment switched off for loopback:
/// the Toxiproxy client obeys `http_proxy` even for 127.0.0.1, and a variable of a running
/// process cannot be changed safely.
fn without_proxies_for_loopback() -> io::Result<()> {
    const LOOPBACK: &str = "127.0.0.1,localhost";
    let set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let proxied = ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]
        .into_iter()
        .any(set);
    let spared = ["no_proxy", "NO_PROXY"]
        .into_iter()
        .filter_map(|name| env::var(name).ok())
        .any(|list| list.split(',').any(|host| host.trim() == "127.0.0.1"));
    if !proxied || spared {
        return Ok(());
    }
    let spare = |name: &str| match env::var(name) {
        Ok(list) if !list.is_empty() => format!("{list},{LOOPBACK}"),
        _ => LOOPBACK.to_owned(),
    };
    Err(process::Command::new(env::current_exe()?)
        .args(env::args_os().skip(1))
        .env("no_proxy", spare("no_proxy"))
        .env("NO_PROXY", spare("NO_PROXY"))
        .exec())
}

//! The program: parses the arguments and does what they say.

use std::process;

use chaos_runner::{
    cli::{Cli, Command, CommandError, RunOptions},
    exit_code::ExitCode,
};
use clap::Parser;

fn main() -> process::ExitCode {
    let cli = Cli::parse();
    cli.output.apply();
    let done = match cli.command {
        Command::Run(arguments) => match arguments.options(cli.output) {
            Ok(options) => return run(&options).into(),
            Err(error) => Err(CommandError::from(error)),
        },
        Command::List(arguments) => arguments.run(),
        Command::Show(arguments) => arguments.run(),
        Command::Init(arguments) => arguments.run(),
        Command::Schema(arguments) => arguments.run(),
    };
    match done {
        Ok(()) => ExitCode::Pass.into(),
        Err(error) => error.report().into(),
    }
}

fn run(options: &RunOptions) -> ExitCode {
    anstream::eprintln!(
        "error: {} scenarios against {}: running is not built yet",
        options.scenarios.len(),
        options.client.name
    );
    ExitCode::Harness
}

//! `toxic-proxy`: the engine and its HTTP API as a program of its own.
//!
//! Owns the command line, the logs, signals and exit codes.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, IsTerminal, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, ValueEnum};
use tokio::net::lookup_host;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use toxic_proxy::{Config, Server};
use tracing_subscriber::{
    filter::{LevelFilter, Targets},
    layer::SubscriberExt as _,
    util::SubscriberInitExt as _,
};

/// Stopped by SIGINT or SIGTERM: 0. Wrong command line: 2, by clap.
const CONFIG: u8 = 2;
/// The API's address or a signal handler could not be had.
const FAILED: u8 = 1;

/// A TCP proxy that injects faults, driven by the HTTP API of Toxiproxy.
///
/// Exit codes: 0 stopped by a signal, 1 the API could not listen, 2 wrong
/// command line or configuration file.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// Host that the HTTP API listens on.
    #[arg(long, default_value = "127.0.0.1", conflicts_with = "listen")]
    host: String,
    /// Port that the HTTP API listens on; 0 takes a free one.
    #[arg(long, default_value_t = 8474, conflicts_with = "listen")]
    port: u16,
    /// Address that the HTTP API listens on, in place of host and port.
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<String>,
    /// Replays toxicity and jitter; by default another one each time.
    #[arg(long)]
    seed: Option<u64>,
    /// JSON list of proxies to create at the start; each may have toxics.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// What to log: error, warn, info, debug, trace, or a filter such as
    /// `toxic_proxy=debug`.
    #[arg(
        long,
        value_name = "LEVEL",
        default_value = "info",
        env = "TOXIC_PROXY_LOG"
    )]
    log_level: String,
    /// How to log, to standard error.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    log_format: Format,
    /// Print what lets a shell complete these options, and stop.
    #[arg(long, value_name = "SHELL", exclusive = true)]
    completions: Option<clap_complete::Shell>,
    /// Print the manual page, and stop.
    #[arg(long, exclusive = true)]
    man: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// Lines for people.
    Text,
    /// One JSON object a line.
    Json,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.man || arguments.completions.is_some() {
        return match describe(arguments.completions) {
            Ok(()) => ExitCode::SUCCESS,
            // Whoever closed the pipe has read what they wanted.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("error: the output cannot be written: {error}");
                ExitCode::from(FAILED)
            }
        };
    }
    if let Err(message) = start_logs(&arguments) {
        eprintln!("error: {message}");
        return ExitCode::from(CONFIG);
    }
    match run(arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err((code, message)) => {
            eprintln!("error: {message}");
            ExitCode::from(code)
        }
    }
}

/// Prints the completions for a shell, or else the manual page.
fn describe(shell: Option<clap_complete::Shell>) -> io::Result<()> {
    let mut text = Vec::new();
    match shell {
        Some(shell) => {
            clap_complete::generate(shell, &mut Arguments::command(), "toxic-proxy", &mut text);
        }
        None => clap_mangen::Man::new(Arguments::command()).render(&mut text)?,
    }
    let mut out = io::stdout().lock();
    out.write_all(&text)?;
    out.flush()
}

fn start_logs(arguments: &Arguments) -> Result<(), String> {
    let chosen: Targets = arguments
        .log_level
        .parse()
        .map_err(|error| format!("--log-level {}: {error}", arguments.log_level))?;
    let logs = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_ansi(io::stderr().is_terminal())
        .with_writer(io::stderr);
    match arguments.log_format {
        Format::Text => logs.finish().with(chosen).init(),
        Format::Json => logs.json().finish().with(chosen).init(),
    }
    Ok(())
}

async fn run(arguments: Arguments) -> Result<(), (u8, String)> {
    let address = match &arguments.listen {
        Some(listen) => listen.clone(),
        None if arguments.host.contains(':') => format!("[{}]:{}", arguments.host, arguments.port),
        None => format!("{}:{}", arguments.host, arguments.port),
    };
    let listen = resolve(&address)
        .await
        .map_err(|error| (FAILED, format!("{address}: {error}")))?;
    let seed = arguments
        .seed
        .unwrap_or_else(|| RandomState::new().build_hasher().finish());
    let server = Server::bind(Config { listen, seed })
        .await
        .map_err(|error| (FAILED, error.to_string()))?;
    let shutdown = CancellationToken::new();
    stop_on_signals(&shutdown).map_err(|error| (FAILED, format!("signals: {error}")))?;
    if let Some(path) = &arguments.config {
        let proxies = server
            .engine()
            .load(path)
            .await
            .map_err(|error| (CONFIG, error.to_string()))?;
        tracing::info!(proxies, config = %path.display(), "proxies created");
    }
    tracing::info!(address = %server.api_addr(), seed, version = toxic_proxy::VERSION, "API listens");
    server.serve(shutdown).await;
    tracing::info!("stopped");
    Ok(())
}

async fn resolve(address: &str) -> io::Result<SocketAddr> {
    let all: Vec<SocketAddr> = lookup_host(address).await?.collect();
    let found = all.iter().find(|address| address.is_ipv4()).or(all.first());
    found
        .copied()
        .ok_or_else(|| io::Error::other("no such host"))
}

fn stop_on_signals(shutdown: &CancellationToken) -> io::Result<()> {
    for kind in [SignalKind::interrupt(), SignalKind::terminate()] {
        let mut signals = signal(kind)?;
        let shutdown = shutdown.clone();
        tokio::spawn(async move {
            signals.recv().await;
            shutdown.cancel();
        });
    }
    Ok(())
}

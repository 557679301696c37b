//! The command line of the reference client.

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use outbox_worker::clock::UnixMillis;
use outbox_worker::config::{ConfigError, DatabaseConfig, WorkerConfig};
use outbox_worker::receipts;
use outbox_worker::store::{Enqueued, NewMessage, Store, StoreError};
use outbox_worker::worker::{self, Until};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};
use tracing_subscriber::{
    filter::{LevelFilter, Targets},
    layer::SubscriberExt as _,
    util::SubscriberInitExt as _,
};

/// Sends each SMS exactly once, through a transactional outbox.
///
/// The outbox is named by `DATABASE_URL`, the provider by `SMS_API_BASE`. Every other
/// setting has a default for production; the README lists them.
#[derive(Debug, Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make the tables (and the database, where it is missing).
    Migrate,
    /// Put a message into the outbox.
    ///
    /// The same intent with the same content again succeeds and changes nothing; with
    /// other content it is refused with exit code 65. Exit code 75: the outbox could not
    /// be reached or stayed locked; nothing was stored.
    Enqueue {
        /// The business's own name for this SMS, unique for the customer.
        intent: String,
        /// The recipient, E.164.
        #[arg(allow_hyphen_values = true)]
        to: String,
        /// The text.
        #[arg(allow_hyphen_values = true)]
        body: String,
        /// On whose account it is sent.
        #[arg(long, default_value = "default", value_parser = token)]
        customer: String,
        /// After this moment (RFC 3339) it is useless; empty: never.
        #[arg(long, default_value = "", value_parser = expiry)]
        expires_at: Expiry,
        /// The idempotency key to send it under; empty: one is made.
        #[arg(long, default_value = "", value_parser = token)]
        key: String,
        /// The login it lets in; an older challenge for it that waits is cancelled.
        #[arg(long)]
        login: Option<String>,
    },
    /// Put many new messages into the outbox, from JSON lines on standard input.
    ///
    /// Each line has `intent`, `to` and `body`, and may have `customer`, `expires_at`, `key`
    /// and `login`. One transaction: all are stored, or none (exit code 65 where one is there
    /// already, or cannot be read).
    EnqueueAll,
    /// Send what is due, until stopped.
    Work {
        /// Wait for retries too, and end when nothing is pending any more.
        #[arg(long)]
        once: bool,
        /// Do what is due now, once, and leave retries to the next run.
        #[arg(long, conflicts_with = "once")]
        pass: bool,
    },
    /// List every message and its outcome, as JSON lines.
    Status,
    /// List the dead letter queue: what is set aside for a person, as JSON lines.
    Dead,
}

/// When a message expires, if ever.
#[derive(Debug, Clone, Copy)]
struct Expiry(Option<UnixMillis>);

/// What can stand in a header as it is.
fn token(text: &str) -> Result<String, String> {
    if text.len() > 255 {
        return Err("at most 255 characters can be sent".to_owned());
    }
    if text.bytes().all(|byte| byte.is_ascii_graphic()) {
        Ok(text.to_owned())
    } else {
        Err("only visible ASCII characters can be sent".to_owned())
    }
}

fn expiry(text: &str) -> Result<Expiry, String> {
    if text.is_empty() {
        return Ok(Expiry(None));
    }
    let at: jiff::Timestamp = text
        .parse()
        .map_err(|error| format!("expected a time such as 2026-03-01T12:00:00.250Z ({error})"))?;
    Ok(Expiry(Some(at.as_millisecond())))
}

/// Exit codes, after sysexits.h.
mod exit {
    /// The intent is there with other content (`EX_DATAERR`).
    pub(crate) const CONFLICT: u8 = 65;
    /// The outbox cannot be used now (`EX_TEMPFAIL`).
    pub(crate) const TRY_AGAIN: u8 = 75;
    /// The environment is wrong (`EX_CONFIG`).
    pub(crate) const CONFIG: u8 = 78;
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(
        "intent {0:?} is in the outbox already with other content, or its key is another intent's; nothing was changed"
    )]
    Conflict(String),
    #[error("line {0} of standard input: {1}; nothing was stored")]
    Line(usize, String),
    #[error("one of the messages, or its key, is in the outbox already; nothing was stored")]
    OneConflicts,
    #[error("port {0}: {1}")]
    Port(u16, std::io::Error),
    #[error("{0}")]
    Http(#[from] reqwest::Error),
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

impl Failure {
    fn code(&self) -> u8 {
        match self {
            Self::Config(_)
            | Self::Store(
                StoreError::UnknownScheme | StoreError::Database(sqlx::Error::Configuration(_)),
            ) => exit::CONFIG,
            Self::Store(_) => exit::TRY_AGAIN,
            Self::Conflict(_) | Self::OneConflicts | Self::Line(..) => exit::CONFLICT,
            Self::Port(..) | Self::Http(_) | Self::Io(_) => 1,
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    start_log();
    match run(cli.command).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("outbox-worker: {failure}");
            ExitCode::from(failure.code())
        }
    }
}

/// Logs what `RUST_LOG` chooses, or else `info`, and of the database errors alone.
fn start_log() {
    let said = std::env::var("RUST_LOG").unwrap_or_default();
    let otherwise = || {
        Targets::new()
            .with_default(LevelFilter::INFO)
            .with_target("sqlx", LevelFilter::ERROR)
    };
    let (chosen, wrong) = match said.parse() {
        _ if said.is_empty() => (otherwise(), None),
        Ok(chosen) => (chosen, None),
        Err(error) => (otherwise(), Some(error)),
    };
    tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_target(false)
        .finish()
        .with(chosen)
        .init();
    if let Some(error) = wrong {
        warn!(%error, "RUST_LOG is not understood, and ignored");
    }
}

async fn run(command: Command) -> Result<(), Failure> {
    let database = DatabaseConfig::from_env()?;
    if let Command::Work { once, pass } = command {
        let until = match (once, pass) {
            (true, _) => Until::Drained,
            (_, true) => Until::Passed,
            _ => Until::Stopped,
        };
        return work(&database, WorkerConfig::from_env()?, until).await;
    }
    let store = Store::connect(&database, 1).await?;
    store.ensure_schema().await?;
    match command {
        Command::Migrate | Command::Work { .. } => {}
        Command::Enqueue {
            intent,
            to,
            body,
            customer,
            expires_at,
            key,
            login,
        } => {
            let new = NewMessage {
                intent,
                customer: if customer.is_empty() {
                    "default".to_owned()
                } else {
                    customer
                },
                recipient: to,
                body,
                expires_at: expires_at.0,
                key: Some(key).filter(|key| !key.is_empty()),
                login: login.filter(|login| !login.is_empty()),
            };
            match store.enqueue(&new).await? {
                Enqueued::New { superseded: 0 } => {}
                Enqueued::New { superseded } => {
                    info!(intent = new.intent, superseded, "older challenges stopped");
                }
                Enqueued::Already => info!(intent = new.intent, "in the outbox already"),
                Enqueued::Conflict => return Err(Failure::Conflict(new.intent)),
            }
        }
        Command::EnqueueAll => {
            let all = read_lines(std::io::stdin().lock())?;
            if !store.enqueue_all(&all).await? {
                return Err(Failure::OneConflicts);
            }
            info!(messages = all.len(), "stored");
        }
        Command::Status => {
            print(&store.status().await?)?;
        }
        Command::Dead => {
            print(&store.dead_letters().await?)?;
        }
    }
    store.close().await;
    Ok(())
}

/// A message as a line of standard input has it.
#[derive(Debug, serde::Deserialize)]
struct Line {
    intent: String,
    to: String,
    body: String,
    #[serde(default)]
    customer: String,
    #[serde(default)]
    expires_at: Option<String>,
    #[serde(default)]
    key: Option<String>,
    #[serde(default)]
    login: Option<String>,
}

/// Reads every message before the first is stored.
fn read_lines(input: impl std::io::BufRead) -> Result<Vec<NewMessage>, Failure> {
    let mut all = Vec::new();
    for (number, line) in (1..).zip(input.lines()) {
        let wrong = |why: String| Failure::Line(number, why);
        let line: Line = serde_json::from_str(&line?).map_err(|e| wrong(e.to_string()))?;
        let customer = token(&line.customer).map_err(wrong)?;
        all.push(NewMessage {
            intent: line.intent,
            customer: if customer.is_empty() {
                "default".to_owned()
            } else {
                customer
            },
            recipient: line.to,
            body: line.body,
            expires_at: expiry(&line.expires_at.unwrap_or_default())
                .map_err(wrong)?
                .0,
            key: line
                .key
                .filter(|key| !key.is_empty())
                .map(|key| token(&key).map_err(wrong))
                .transpose()?,
            login: line.login.filter(|login| !login.is_empty()),
        });
    }
    Ok(all)
}

/// JSON lines on standard output.
fn print(lines: &[impl serde::Serialize]) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for line in lines {
        serde_json::to_writer(&mut out, line)?;
        out.write_all(b"\n")?;
    }
    out.flush()
}

async fn work(
    database: &DatabaseConfig,
    config: WorkerConfig,
    until: Until,
) -> Result<(), Failure> {
    let stop = CancellationToken::new();
    stop_on_signal(&stop)?;
    let Some(store) = open_patiently(database, &config, &stop).await? else {
        return Ok(());
    };
    if let Some(port) = config.port {
        let secret = config.webhook_secret.clone();
        receipts::start(port, store.clone(), secret, stop.clone())
            .await
            .map_err(|error| Failure::Port(port, error))?;
    }
    info!(worker = config.worker_id, ?until, "working");
    worker::run(store, config, until, stop).await?;
    Ok(())
}

/// A worker outlives its database: one that is locked or away at the start is waited for.
async fn open_patiently(
    database: &DatabaseConfig,
    config: &WorkerConfig,
    stop: &CancellationToken,
) -> Result<Option<Store>, Failure> {
    loop {
        let opened = async {
            let store = Store::connect(database, 4).await?;
            store.ensure_schema().await?;
            Ok::<_, StoreError>(store)
        };
        let failure = match opened.await {
            Ok(store) => return Ok(Some(store)),
            Err(error) => Failure::from(error),
        };
        if failure.code() != exit::TRY_AGAIN {
            return Err(failure);
        }
        warn!(%failure, "the outbox cannot be opened; trying again");
        tokio::select! {
            () = tokio::time::sleep(config.poll.max(std::time::Duration::from_millis(100))) => {}
            () = stop.cancelled() => return Ok(None),
        }
    }
}

fn stop_on_signal(stop: &CancellationToken) -> std::io::Result<()> {
    for kind in [SignalKind::terminate(), SignalKind::interrupt()] {
        let mut signals = signal(kind)?;
        let stop = stop.clone();
        tokio::spawn(async move {
            signals.recv().await;
            stop.cancel();
        });
    }
    Ok(())
}

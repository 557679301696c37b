//! The provider as a program: an SMS API on a port of this machine.

use std::{
    io::{self, IsTerminal as _, Write as _},
    net::SocketAddr,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    thread,
    time::Duration,
};

use clap::{CommandFactory as _, Parser};
use stub_provider::diagnostic::did_you_mean;
use stub_provider::{
    Config, LifeTimes, Limits, Profile, Provider, Quota, Rate, StoreConfig, WebhookTimes,
    duration::Span, logs,
};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::{
    filter::LevelFilter, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};

/// Every request leaves a record that stays: the system's allocator spends more on them than the
/// provider does.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// An SMS provider to test against: records every attempt and every delivery, and forgets no key.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
struct Args {
    /// Where to listen; port 0 is one that is free.
    #[arg(long, env = "STUB_LISTEN", default_value = "127.0.0.1:9090")]
    listen: SocketAddr,
    /// Allow an address that other machines can reach (the admin API stays closed to them).
    #[arg(long)]
    listen_any: bool,
    /// Which provider's API to speak: the name of a built-in profile, or a profile file.
    #[arg(long, default_value = "v1")]
    profile: String,
    /// How long a stored answer is kept, in place of what the profile says.
    #[arg(long)]
    retention: Option<Span>,
    /// Where receipts go, for example `http://127.0.0.1:8080/receipts`.
    #[arg(long)]
    callback: Option<String>,
    /// Allow receipts to leave this machine.
    #[arg(long)]
    callback_any: bool,
    /// What receipts are signed with.
    #[arg(
        long,
        env = "STUB_WEBHOOK_SECRET",
        default_value = "stub-provider",
        hide_env_values = true
    )]
    webhook_secret: String,
    /// The time between two states of a message (queued, sent, delivered).
    #[arg(long, default_value = "200ms")]
    receipt_spacing: Span,
    /// From acceptance to `queued`.
    #[arg(long, default_value = "0s")]
    queued_after: Span,
    /// From `queued` to `sent`, in place of the spacing.
    #[arg(long)]
    sent_after: Option<Span>,
    /// From `sent` to the last state, in place of the spacing.
    #[arg(long)]
    delivered_after: Option<Span>,
    /// What has not come to its last state so long after acceptance is `expired`.
    #[arg(long, default_value = "4h")]
    validity: Span,
    /// Send each receipt when its state is reached, though the one before it is not acknowledged.
    #[arg(long)]
    receipts_unordered: bool,
    /// Submit requests of each customer in a time, replays too: 429 beyond. For example 10/s.
    #[arg(long, value_name = "RATE")]
    rate_limit: Option<Rate>,
    /// Submit requests of each customer that are worked on at once: 429 beyond.
    #[arg(long, value_name = "N")]
    concurrency_limit: Option<u32>,
    /// Messages that are accepted from each customer in a day (UTC): 429 beyond.
    #[arg(long, value_name = "N")]
    daily_quota: Option<u64>,
    /// Messages of one sender that are accepted and not `sent` yet: 429 and code 21611 beyond.
    #[arg(long, value_name = "N")]
    queue_limit: Option<u32>,
    /// Decides message ids.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Keep keys, answers, deliveries and attempts in this directory too: what was answered
    /// survives `kill -9` at any instant. Without it they are in memory alone.
    #[arg(long, env = "STUB_DATA_DIR", value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// How many attempts are kept at most, with their messages and keys; the oldest go first. A key
    /// that goes before its retention is over is said and counted. Without it all are kept.
    #[arg(long, value_name = "N", conflicts_with_all = ["data_dir", "store"])]
    keep: Option<NonZeroUsize>,
    /// Answer only what would survive a power loss too (a sync of the disk for each commit).
    #[arg(long, requires = "data_dir")]
    fsync: bool,
    /// Share keys, answers, deliveries and attempts with every other provider on this database:
    /// postgres://user:password@host:port/database.
    #[arg(
        long,
        env = "STUB_STORE",
        value_name = "URL",
        conflicts_with = "data_dir",
        hide_env_values = true
    )]
    store: Option<String>,
    /// How many keys are decided at once, each on a connection of its own to that database;
    /// others wait. Half as many again are for everything else.
    #[arg(long, default_value_t = 16, requires = "store", value_parser = clap::value_parser!(u32).range(1..))]
    store_connections: u32,
    /// Write logs as JSON lines. `RUST_LOG` chooses what is logged.
    #[arg(long)]
    json_logs: bool,
    /// Stop when standard input ends, and so with whoever started this, however that ended.
    #[arg(long)]
    until_eof: bool,
    /// Print what lets a shell complete these options, and stop.
    #[arg(long, value_name = "SHELL", exclusive = true)]
    completions: Option<clap_complete::Shell>,
    /// Print the manual page, and stop.
    #[arg(long, exclusive = true)]
    man: bool,
}

fn main() -> ExitCode {
    let args = Args::parse();
    if args.man || args.completions.is_some() {
        return match describe(args.completions) {
            Ok(()) => ExitCode::SUCCESS,
            // Whoever closed the pipe has read what they wanted.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("error: the output cannot be written: {error}");
                ExitCode::from(5)
            }
        };
    }
    log(args.json_logs);
    small_pages();
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: the runtime cannot start: {error}");
            return ExitCode::from(5);
        }
    };
    match runtime.block_on(run(args)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(report) => {
            eprintln!("error: {report:?}");
            ExitCode::from(2)
        }
    }
}

/// Prints the completions for a shell, or else the manual page.
fn describe(shell: Option<clap_complete::Shell>) -> io::Result<()> {
    let mut text = Vec::new();
    match shell {
        Some(shell) => {
            clap_complete::generate(shell, &mut Args::command(), "stub-provider", &mut text);
        }
        None => clap_mangen::Man::new(Args::command()).render(&mut text)?,
    }
    let mut out = io::stdout().lock();
    out.write_all(&text)?;
    out.flush()
}

fn log(json: bool) {
    let chosen = logs::chosen(LevelFilter::INFO);
    let lines = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_ansi(io::stderr().is_terminal())
        .with_writer(io::stderr);
    if json {
        lines.json().finish().with(chosen).init();
    } else {
        lines.finish().with(chosen).init();
    }
}

/// Memory comes in small pages. A huge one is cleared while a request waits for it, milliseconds at
/// a time, and what is on record is written once and hardly read again.
fn small_pages() {
    #[cfg(target_os = "linux")]
    if let Err(error) = nix::sys::prctl::set_thp_disable(true) {
        tracing::debug!(%error, "huge pages stay as the system has them");
    }
}

async fn run(args: Args) -> miette::Result<()> {
    let outside = !args.listen.ip().is_loopback();
    if outside && !args.listen_any {
        return Err(miette::miette!(
            help = "add --listen-any if that is what you want",
            "{} can be reached from other machines",
            args.listen
        ));
    }
    let config = Config {
        listen: args.listen,
        profile: profile(&args.profile)?,
        retention: args.retention.map(|span| span.0),
        seed: args.seed,
        callback: args.callback,
        allow_remote_callback: args.callback_any,
        webhook_secret: args.webhook_secret,
        life: LifeTimes {
            accepted: args.queued_after.0,
            queued: args.sent_after.unwrap_or(args.receipt_spacing).0,
            sent: args.delivered_after.unwrap_or(args.receipt_spacing).0,
            validity: args.validity.0,
        },
        webhooks: WebhookTimes {
            retry_base: Duration::from_millis(500),
            retry_cap: Duration::from_secs(30),
            in_order: !args.receipts_unordered,
            ..WebhookTimes::default()
        },
        quota: Quota {
            rate: args.rate_limit,
            concurrency: args.concurrency_limit,
            daily: args.daily_quota,
            queue: args.queue_limit,
        },
        store: match (args.data_dir, args.store) {
            (Some(dir), _) => StoreConfig::Disk {
                dir,
                fsync: args.fsync,
            },
            (None, Some(url)) => StoreConfig::Shared {
                url,
                connections: args.store_connections,
            },
            (None, None) => StoreConfig::Memory,
        },
        limits: Limits {
            keep: args.keep,
            ..Limits::default()
        },
        ..Config::default()
    };
    // Before the start: a signal that comes right after it must not be missed.
    let stop = |kind| {
        signal(kind).map_err(|error| miette::miette!("signals cannot be waited for: {error}"))
    };
    let mut interrupt = stop(SignalKind::interrupt())?;
    let mut terminate = stop(SignalKind::terminate())?;
    let provider = Provider::start(config)
        .await
        .map_err(|error| miette::miette!("{error}"))?;
    tracing::info!(url = %provider.url(), profile = args.profile, "ready");
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        () = end_of_input(), if args.until_eof => {}
    }
    tracing::info!("stopping");
    provider.stop().await;
    Ok(())
}

/// Returns when standard input has ended or cannot be read. A thread of its own reads it: the
/// runtime would wait at the end for a read of its own that nothing ends.
async fn end_of_input() {
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    thread::spawn(move || {
        // Why it ended makes no difference; dropping `end` is what is waited for.
        drop(io::copy(&mut io::stdin().lock(), &mut io::sink()));
        drop(end);
    });
    drop(ended.await);
}

/// A built-in profile by its name, or else a file.
fn profile(named: &str) -> miette::Result<Arc<Profile>> {
    if let Some(profile) = Profile::builtin(named) {
        return Ok(profile);
    }
    let path = PathBuf::from(named);
    let looks_like_a_file = path.extension().is_some() || path.components().count() > 1;
    if !looks_like_a_file && !Path::new(named).exists() {
        let known: Vec<_> = Profile::names().collect();
        let guess = did_you_mean(named, known.iter().copied())
            .map(|guess| format!("did you mean `{guess}`? "))
            .unwrap_or_default();
        return Err(miette::miette!(
            help = format!(
                "{guess}built in: {}; anything else is the path of a file",
                known.join(", ")
            ),
            "there is no profile `{named}`"
        ));
    }
    Ok(Arc::new(Profile::load(&path)?))
}

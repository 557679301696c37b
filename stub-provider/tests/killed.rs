//! The provider is killed at any instant, and everything that it answered is there afterwards.
//!
//! `STUB_KILLS=500 cargo test -p stub-provider --test killed` kills it that often;
//! `STUB_KILLS_FSYNC` is the same for `--fsync`.

mod lab;

use std::{
    net::SocketAddr,
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use lab::{
    Answer, TO, ask, get, message, post,
    process::{Process, program},
};
use serde_json::Value;
use tokio::{net::TcpStream, sync::Notify};

const CLIENTS: usize = 8;

/// What the clients know: every key that was sent, and what was answered.
#[derive(Default)]
struct Known {
    answered: Vec<(String, Answer)>,
    /// Sent, but the provider died before it answered.
    unknown: Vec<String>,
}

/// Where a request under that key goes: some are errors that are stored.
fn body(key: &str) -> String {
    let to = if key.ends_with('7') {
        "+15005550001"
    } else {
        TO
    };
    message(to, &format!("words of {key}"))
}

/// Sends one key after the other until the provider is gone.
async fn client(
    addr: SocketAddr,
    name: String,
    answers: Arc<AtomicI64>,
    enough: Arc<Notify>,
) -> Known {
    let mut known = Known::default();
    let Ok(mut stream) = TcpStream::connect(addr).await else {
        return known;
    };
    for number in 0.. {
        let key = format!("{name}-{number}");
        let asked = lab::try_ask(&mut stream, &post(Some(&key), &body(&key))).await;
        let Ok(answer) = asked else {
            known.unknown.push(key);
            break;
        };
        known.answered.push((key, answer));
        if answers.fetch_sub(1, Ordering::Relaxed) == 1 {
            enough.notify_one();
        }
    }
    known
}

/// Starts the provider, loads it, and kills it after that many answers.
async fn round(number: usize, args: &[&str], answers: i64) -> Known {
    let provider = Process::start(args);
    let left = Arc::new(AtomicI64::new(answers));
    let enough = Arc::new(Notify::new());
    let clients: Vec<_> = (0..CLIENTS)
        .map(|of_round| {
            let name = format!("k{number}-{of_round}");
            tokio::spawn(client(provider.addr, name, left.clone(), enough.clone()))
        })
        .collect();
    enough.notified().await;
    let log = provider.kill();
    assert!(!log.contains("ERROR") && !log.contains("panicked"), "{log}");
    let mut known = Known::default();
    for client in clients {
        let of_client = client.await.expect("a client that comes to its end");
        known.answered.extend(of_client.answered);
        known.unknown.extend(of_client.unknown);
    }
    known
}

/// Every answer replays the same bytes, and no key has a second delivery.
async fn check(addr: SocketAddr, answered: &[(String, Answer)]) {
    let mut stream = TcpStream::connect(addr).await.expect("a connection");
    for (key, first) in answered {
        let request = post(Some(key), &body(key));
        let replay = lab::try_ask(&mut stream, &request)
            .await
            .expect("an answer");
        assert_eq!(replay.header("idempotent-replayed"), Some("true"), "{key}");
        assert_eq!(replay.lasting(), first.clone().lasting(), "{key}");
    }
}

async fn kill_at_any_instant(kills: usize, more: &[&str]) {
    let dir = tempfile::tempdir().expect("a directory");
    let mut args = vec!["--data-dir", dir.path().to_str().expect("text")];
    args.extend(more);
    let mut known = Known::default();
    let mut torn = 0;
    for number in 0..kills {
        // Spread over a connection's first request and some hundred commits.
        let answers = [1, 3, 10, 40, 150][number % 5] + i64::try_from(number % 7).expect("small");
        let of_round = round(number, &args, answers).await;
        let provider = Process::start(&args);
        torn += u64::from(provider.cut() > 0);
        check(provider.addr, &of_round.answered).await;
        known.answered.extend(of_round.answered);
        known.unknown.extend(of_round.unknown);
    }

    let provider = Process::start(&args);
    check(provider.addr, &known.answered).await;
    // Whether these were accepted nobody knows; asked again, each is, once.
    let mut stream = TcpStream::connect(provider.addr)
        .await
        .expect("a connection");
    for key in &known.unknown {
        let request = post(Some(key), &body(key));
        let answer = lab::try_ask(&mut stream, &request)
            .await
            .expect("an answer");
        assert!(matches!(answer.status, 201 | 400), "{answer:?}");
    }
    let delivered = ask(provider.addr, &get("/admin/delivered")).await.json();
    let delivered = delivered.as_object().expect("an object");
    let answered = known.answered.iter().map(|(key, _)| key);
    for key in answered.chain(&known.unknown) {
        let buzzes = delivered
            .get(key)
            .and_then(Value::as_array)
            .map_or(0, Vec::len);
        assert_eq!(buzzes, usize::from(!key.ends_with('7')), "{key}");
    }
    println!(
        "{kills} kills under load: {} answers replay the same bytes, {} keys were under way, \
         {torn} torn tails were cut",
        known.answered.len(),
        known.unknown.len()
    );
}

fn times(variable: &str, default: usize) -> usize {
    std::env::var(variable).map_or(default, |n| n.parse().expect("a number of kills"))
}

#[tokio::test]
async fn what_was_answered_is_there_after_a_kill_at_any_instant() {
    kill_at_any_instant(times("STUB_KILLS", 5), &[]).await;
}

#[tokio::test]
async fn what_was_answered_is_there_after_a_kill_with_fsync_too() {
    kill_at_any_instant(times("STUB_KILLS_FSYNC", 2), &["--fsync"]).await;
}

fn log_length(dir: &Path) -> u64 {
    let log = std::fs::metadata(dir.join("provider.db-wal"));
    log.expect("a log").len()
}

/// Copies a directory as it stands.
fn copy(from: &Path, to: &Path) {
    for file in std::fs::read_dir(from).expect("readable") {
        let file = file.expect("readable").path();
        let name = file.file_name().expect("a name");
        std::fs::copy(&file, to.join(name)).expect("writable");
    }
}

#[tokio::test]
async fn a_torn_tail_is_cut_and_reported_and_nothing_before_it_is_lost() {
    let dir = tempfile::tempdir().expect("a directory");
    let provider = Process::start(&["--data-dir", dir.path().to_str().expect("text")]);
    // How long the log was when each was answered.
    let mut answers = Vec::new();
    for number in 0..12 {
        let key = format!("k-{number}");
        let answer = ask(provider.addr, &post(Some(&key), &body(&key))).await;
        answers.push((key, answer, log_length(dir.path())));
    }
    provider.kill();
    let whole = log_length(dir.path());

    let cut = |at: u64| (at, None);
    let garbled = |at: u64| (at, Some(0x5a));
    let damages = [
        cut(whole - 1),
        garbled(whole - 1),
        garbled(whole - 4096),
        cut(answers[8].2 + 5),
        cut(answers[5].2 - 5),
        garbled(answers[3].2 + 40),
        cut(7),
    ];
    for (at, garbling) in damages {
        let copied = tempfile::tempdir().expect("a directory");
        copy(dir.path(), copied.path());
        let path = copied.path().join("provider.db-wal");
        let mut log = std::fs::read(&path).expect("a log");
        let place = usize::try_from(at).expect("small");
        match garbling {
            None => log.truncate(place),
            Some(with) => log[place] ^= with,
        }
        std::fs::write(&path, log).expect("writable");

        let provider = Process::start(&["--data-dir", copied.path().to_str().expect("text")]);
        assert!(
            provider.cut() > 0,
            "damage at {at} of {whole}: {:?}",
            provider.said
        );
        let mut there = 0;
        for (key, answer, _) in answers.iter().filter(|(_, _, log)| *log <= at) {
            let replay = ask(provider.addr, &post(Some(key), &body(key))).await;
            assert_eq!(
                replay.lasting(),
                answer.clone().lasting(),
                "damage at {at} of {whole}"
            );
            there += u64::from(answer.status == 201);
        }
        assert!(provider.recovered()["deliveries"].as_u64() >= Some(there));
    }
}

/// A provider whose files cannot grow beyond some KiB.
fn cramped(dir: &Path, kib: u32) -> Process {
    let mut shell = Command::new("bash");
    // Ignored, so that a write fails in place of the process.
    let script = format!("trap '' XFSZ; ulimit -f {kib}; exec \"$0\" \"$@\"");
    shell
        .arg("-c")
        .arg(script)
        .arg(program().get_program())
        .args(["--listen", "127.0.0.1:0", "--json-logs", "--data-dir"])
        .arg(dir)
        .env_remove("RUST_LOG");
    Process::run(shell)
}

#[tokio::test]
async fn a_disk_that_is_full_makes_nobody_believe_what_is_not_kept() {
    let dir = tempfile::tempdir().expect("a directory");
    let provider = cramped(dir.path(), 400);
    let mut stream = TcpStream::connect(provider.addr)
        .await
        .expect("a connection");
    let mut kept = Vec::new();
    for number in 0.. {
        let key = format!("k-{number}");
        match lab::try_ask(&mut stream, &post(Some(&key), &body(&key))).await {
            Ok(answer) => kept.push((key, answer)),
            // It ends without a word: whether this one is kept, nobody knows.
            Err(_) => break,
        }
    }
    assert!(
        kept.iter()
            .all(|(_, answer)| matches!(answer.status, 201 | 400))
    );
    // Known or new: the store has failed, and nothing is promised.
    for key in ["k-0", "new"] {
        let answer = ask(provider.addr, &post(Some(key), &body(key))).await;
        assert_eq!(answer.status, 503, "{answer:?}");
    }
    assert!(provider.kill().contains("nothing is accepted"));

    let provider = Process::start(&["--data-dir", dir.path().to_str().expect("text")]);
    for (key, answer) in kept {
        let replay = ask(provider.addr, &post(Some(&key), &body(&key))).await;
        assert_eq!(replay.lasting(), answer.lasting());
    }
}

#[test]
fn a_second_program_on_one_directory_is_told_so() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().to_str().expect("text");
    let first = Process::start(&["--data-dir", path]);
    let second = program()
        .args(["--listen", "127.0.0.1:0", "--data-dir", path])
        .output()
        .expect("it runs");
    assert_eq!(second.status.code(), Some(2));
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(said.contains("in use by another provider"), "{said}");
    drop(first);
}

//! A directory with a client file and scenarios, and the program run in it.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    net::{SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use chaos_runner::history::{EventKind, History};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tempfile::TempDir;

/// Longer than anything here takes on the slowest machine: only a hang comes to it.
pub const PATIENCE: Duration = Duration::from_mins(2);

/// A client that is one command: it sends, and its exit code says what it believes.
pub const SENDER: &str = r#"
name = "sender"
[env]
COURIER_TIMEOUT_MS = "2000"
[submit]
command = ["COURIER", "send", "{intent}", "{to}", "{body}"]
[outcome]
exit-code = { 0 = "sent", 1 = "failed", other = "unknown" }
[policy]
max-attempts = 4
read-timeout = "2s"
backoff = { base = "20ms", cap = "20ms" }
"#;

/// A client with an outbox and a worker.
pub const WORKER: &str = r#"
name = "worker"
[env]
COURIER_DB = "{work_dir}/outbox.db"
COURIER_TIMEOUT_MS = "2000"
[setup]
command = ["COURIER", "migrate"]
[submit]
command = ["COURIER", "enqueue", "{intent}", "{customer}", "{to}", "{body}"]
[worker]
command = ["COURIER", "work"]
ready = { log = "at work" }
[database]
url = "sqlite://{work_dir}/outbox.db"
[outcome]
sql = { url = "sqlite://{work_dir}/outbox.db", query = "select intent, status as outcome, attempts from outbox" }
map = { in_progress = "pending" }
[policy]
max-attempts = 4
read-timeout = "2s"
lease = "1s"
backoff = { base = "20ms", cap = "20ms" }
"#;

/// The provider answers 503 once.
pub const ERROR_ONCE: &str = r#"
title = "503 once"
why = "An error must be retried."
[[fault]]
attempt = 1
provider.respond = { stage = "before-accept", status = 503 }
"#;

/// Where things stand for one test.
pub struct Bench {
    dir: TempDir,
}

impl Bench {
    /// A bench with `client` as its client file; `COURIER` in it is the small client.
    pub fn new(client: &str) -> Self {
        let bench = Self {
            dir: tempfile::tempdir().expect("a directory"),
        };
        let courier = courier();
        assert!(
            courier.exists(),
            "{} is built by `cargo test`; with --test, add --examples",
            courier.display()
        );
        let text = client.replace("COURIER\"", &format!("{}\"", courier.display()));
        bench.write("client.toml", &text);
        bench
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().expect("a file is in a directory")).expect("a directory");
        fs::write(path, text).expect("a file");
    }

    /// The program, to be run here with `arguments`.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_chaos-runner"));
        command
            .current_dir(self.path())
            .args(arguments)
            .env_remove("CLICOLOR_FORCE")
            .env_remove("RUST_LOG")
            .env_remove("GITHUB_ACTIONS")
            .env_remove("GITHUB_STEP_SUMMARY")
            .env("NO_COLOR", "1")
            .stdin(Stdio::null());
        command
    }

    /// Runs the program here.
    pub fn run(&self, arguments: &[&str]) -> Run {
        let output = self.command(arguments).output().expect("the program runs");
        self.told(&output)
    }

    /// What an ended program left here.
    pub fn told(&self, output: &Output) -> Run {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("it prints text");
        Run {
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
            latest: self.path().join("target/chaos/latest"),
        }
    }

    /// Starts the program here and does not wait for it.
    pub fn start(&self, arguments: &[&str], told: &Told) -> Started {
        let child = self
            .command(arguments)
            .env("COURIER_TELL", told.addr.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        Started { child }
    }
}

/// The small client.
pub fn courier() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_chaos-runner"))
        .parent()
        .expect("a program is in a directory")
        .join("examples/courier")
}

/// What a run of the program came to.
#[derive(Debug)]
pub struct Run {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    pub latest: PathBuf,
}

impl Run {
    /// Asserts how it ended; everything that it said stands in the failure.
    #[track_caller]
    pub fn ends_with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub fn says(self, words: &str) -> Self {
        // Lines are wrapped for people.
        let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let all = format!("{} {}", flat(&self.stdout), flat(&self.stderr));
        assert!(
            all.contains(words),
            "{words:?}\n{}\n{}",
            self.stdout,
            self.stderr
        );
        self
    }

    #[track_caller]
    pub fn history(&self, scenario: &str) -> History {
        let path = self.latest.join(scenario).join("history.json");
        let text =
            fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}\n{}", path.display(), self.stdout));
        serde_json::from_slice(&text).expect("a history is JSON")
    }

    #[track_caller]
    pub fn report(&self) -> serde_json::Value {
        let text = fs::read(self.latest.join("report.json")).expect("a report");
        serde_json::from_slice(&text).expect("a report is JSON")
    }
}

/// A running program.
pub struct Started {
    child: Child,
}

impl Started {
    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).expect("a process number");
        kill(Pid::from_raw(pid), signal).expect("the program runs");
    }

    /// The name that the run gives to its processes and proxies.
    pub fn run_name(&self) -> String {
        format!("r{}", self.child.id())
    }

    pub fn wait(self) -> Output {
        self.child.wait_with_output().expect("the program ends")
    }
}

/// What the clients of a run tell of themselves.
pub struct Told {
    addr: SocketAddr,
    heard: Receiver<(String, TcpStream)>,
    alive: Vec<(String, TcpStream)>,
}

impl Told {
    pub fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let addr = listener.local_addr().expect("an address");
        let (send, heard) = mpsc::channel();
        // Ends with the test's process: a listener has no other end.
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let mut line = String::new();
                let mut reader = BufReader::new(stream);
                let read = reader.read_line(&mut line);
                if read.is_err() || send.send((line, reader.into_inner())).is_err() {
                    return;
                }
            }
        });
        Self {
            addr,
            heard,
            alive: Vec::new(),
        }
    }

    /// Waits until a client has said that it does something that begins with `words`, `times`.
    #[track_caller]
    pub fn wait_for(&mut self, words: &str, times: usize) {
        let mut seen = 0;
        while seen < times {
            let (line, stream) = self
                .heard
                .recv_timeout(PATIENCE)
                .unwrap_or_else(|_| panic!("nobody does {words:?}: {:?}", self.lines()));
            seen += usize::from(line.starts_with(words));
            self.alive.push((line, stream));
        }
    }

    /// Waits until every client that has ever said something is gone.
    #[track_caller]
    pub fn wait_until_all_are_gone(&mut self) {
        self.alive.extend(self.heard.try_iter());
        for (line, stream) in &mut self.alive {
            stream
                .set_read_timeout(Some(PATIENCE))
                .expect("a time limit");
            match stream.read(&mut [0]) {
                Ok(0) => {}
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {}
                other => panic!("`{}` is still there: {other:?}", line.trim()),
            }
        }
    }

    fn lines(&self) -> Vec<&str> {
        self.alive.iter().map(|(line, _)| line.trim()).collect()
    }
}

/// The processes that are left of a run once its guardian is through: those that bear its name
/// in their environment.
pub fn left_of(run: &str) -> Vec<String> {
    let guardian = format!("__guardian\0{run}\0");
    let is_guardian = |path: &PathBuf| {
        fs::read(path.join("cmdline"))
            .is_ok_and(|words| String::from_utf8_lossy(&words).ends_with(&guardian))
    };
    // Nobody tells of the end of a process that is not a child.
    while processes().any(|path| is_guardian(&path)) {
        thread::yield_now();
    }
    let mark = format!("CHAOS_RUN={run}");
    processes()
        .filter(|path| {
            fs::read(path.join("environ")).is_ok_and(|environment| {
                environment
                    .split(|byte| *byte == 0)
                    .any(|entry| entry == mark.as_bytes())
            })
        })
        .map(|path| {
            let command = fs::read(path.join("cmdline")).unwrap_or_default();
            format!("{} {}", path.display(), String::from_utf8_lossy(&command))
        })
        .collect()
}

fn processes() -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir("/proc").expect("Linux");
    entries.filter_map(|entry| Some(entry.ok()?.path()))
}

/// One attempt as the tests name it: intent and ordinal.
pub type Nth = (usize, u32);

/// The attempts that reached a provider, in order.
pub fn attempts(history: &History) -> Vec<Nth> {
    let of = |kind: &EventKind| match kind {
        EventKind::Attempt {
            intent, ordinal, ..
        } => Some((intent.unwrap_or(0), *ordinal)),
        _ => None,
    };
    history.events.iter().filter_map(|e| of(&e.kind)).collect()
}

/// On which attempts a fault acted, sorted; one without an attempt is told by its intent and 0.
pub fn fired(history: &History, id: u32) -> Vec<Nth> {
    let numbered = |wanted: u64| {
        history.events.iter().find_map(|event| match &event.kind {
            EventKind::Attempt {
                attempt,
                intent,
                ordinal,
                ..
            } if *attempt == wanted => Some((intent.unwrap_or(0), *ordinal)),
            _ => None,
        })
    };
    let mut fired: Vec<Nth> = history
        .events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::FaultFired {
                fault,
                attempt,
                intent,
            } if *fault == id => Some(match attempt {
                Some(attempt) => numbered(*attempt).expect("a fault acts on an attempt"),
                None => (intent.unwrap_or(0), 0),
            }),
            _ => None,
        })
        .collect();
    fired.sort_unstable();
    fired
}

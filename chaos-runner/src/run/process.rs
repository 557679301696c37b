//! A process of the client under test.
//!
//! Owns its start in a process group of its own, its output in files, its signals and its end.
//! What to run, and when, is the lab's.

use std::{
    collections::BTreeMap,
    fmt,
    fs::File,
    io::{self, Write as _},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use nix::{
    errno::Errno,
    sys::{
        signal::{Signal, killpg},
        wait::{Id, WaitPidFlag, WaitStatus, waitid},
    },
    unistd::Pid,
};

use super::guardian::{self, Guardian};

/// What to run, with every placeholder filled in.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The directory to run in.
    pub directory: PathBuf,
    /// Variables beside the runner's own.
    pub env: BTreeMap<String, String>,
    /// What stands on its standard input; `None`: nothing.
    pub stdin: Option<String>,
}

impl Invocation {
    /// The same, but stopped (SIGSTOP) before its first instruction.
    pub fn stopped_at_first(self) -> Self {
        let program = self.program.display().to_string();
        let stop_first = ["-c", "kill -STOP $$ && exec \"$@\"", "sh"].map(str::to_owned);
        Self {
            program: "sh".into(),
            arguments: stop_first
                .into_iter()
                .chain([program])
                .chain(self.arguments)
                .collect(),
            ..self
        }
    }
}

impl fmt::Display for Invocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.program.display())?;
        self.arguments
            .iter()
            .try_for_each(|argument| write!(f, " {argument}"))
    }
}

/// How a process ended: its exit code, or `None` where a signal ended it.
pub type Exit = Option<i32>;

/// A running process and its group.
#[derive(Debug)]
pub struct Running {
    group: i32,
    gone: Arc<AtomicBool>,
}

impl Running {
    /// Starts `what`; its output is appended to `output` with `.stdout` and `.stderr`. `ended`
    /// is called once with its exit.
    ///
    /// # Errors
    ///
    /// When the program cannot be started or a file cannot be opened.
    pub fn start(
        what: &Invocation,
        output: &Path,
        guardian: &Arc<Guardian>,
        ended: impl FnOnce(Exit) + Send + 'static,
    ) -> io::Result<Self> {
        let file = |suffix: &str| -> io::Result<File> {
            File::options()
                .create(true)
                .append(true)
                .open(output.with_extension(suffix))
        };
        let (stdout, stderr) = (file("stdout")?, file("stderr")?);
        let mut child = Command::new(&what.program)
            .args(&what.arguments)
            .current_dir(&what.directory)
            .envs(&what.env)
            .stdin(if what.stdin.is_some() {
                Stdio::piped()
            } else {
                Stdio::null()
            })
            .stdout(stdout)
            .stderr(stderr)
            .process_group(0)
            .spawn()?;
        let group = i32::try_from(child.id()).map_err(io::Error::other)?;
        guardian.watch(group);
        let gone = Arc::new(AtomicBool::new(false));
        let running = Self {
            group,
            gone: Arc::clone(&gone),
        };
        if let (Some(text), Some(mut pipe)) = (what.stdin.clone(), child.stdin.take()) {
            // Apart from the wait: what the process has left behind may hold its input open, unread.
            let write = move || {
                // A client that does not read its input shows by what it then does not send.
                if let Err(error) = pipe.write_all(text.as_bytes()) {
                    tracing::debug!(%error, "the client closed its standard input early");
                }
            };
            on_a_thread(format!("input-{group}"), write)?;
        }
        let watcher = Arc::clone(guardian);
        // Not on the runtime: the system may take its time over a process that has ended (a tenth of
        // a second and more on a busy machine), and whoever waits for it stands still meanwhile.
        let watch = move || {
            let exit = match child.wait() {
                Ok(status) => status.code(),
                Err(error) => {
                    tracing::warn!(%error, "cannot wait for a client process");
                    None
                }
            };
            // What the leader left in its group ends with it.
            guardian::end_group(group);
            gone.store(true, Ordering::Release);
            watcher.forget(group);
            ended(exit);
        };
        on_a_thread(format!("wait-{group}"), watch)?;
        Ok(running)
    }

    /// The number of its first process.
    pub fn id(&self) -> i32 {
        self.group
    }

    /// Sends a signal to the whole group, unless its first process has ended. Returns whether it
    /// was sent.
    ///
    /// # Errors
    ///
    /// When the system refuses.
    pub fn signal(&self, signal: Signal) -> io::Result<bool> {
        if self.gone.load(Ordering::Acquire) || has_ended(self.group) {
            return Ok(false);
        }
        match killpg(Pid::from_raw(self.group), signal) {
            Ok(()) => Ok(true),
            Err(Errno::ESRCH) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

fn on_a_thread(name: String, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name(name).spawn(work).map(drop)
}

/// Whether a child has ended, be it that nobody has noted it yet. It stays there to be noted.
fn has_ended(child: i32) -> bool {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    match waitid(Id::Pid(Pid::from_raw(child)), flags) {
        Ok(status) => status != WaitStatus::StillAlive,
        Err(error) => error == Errno::ECHILD,
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Its number may be another's once it is gone.
        if !self.gone.load(Ordering::Acquire) {
            guardian::end_group(self.group);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _};

    use super::*;

    fn guardian() -> Arc<Guardian> {
        let mut keeper = std::process::Command::new("cat");
        keeper.stdout(Stdio::null());
        Arc::new(Guardian::listening(keeper).expect("cat"))
    }

    fn shell(script: &str, dir: &Path, stdin: Option<&str>) -> Invocation {
        Invocation {
            program: "sh".into(),
            arguments: vec!["-c".into(), script.into()],
            directory: dir.into(),
            env: BTreeMap::from([("WORD".into(), "a word".into())]),
            stdin: stdin.map(str::to_owned),
        }
    }

    async fn run(script: &str, stdin: Option<&str>) -> (Exit, String) {
        let dir = tempfile::tempdir().expect("a directory");
        let what = shell(script, dir.path(), stdin);
        let (send, ended) = tokio::sync::oneshot::channel();
        let _running = Running::start(&what, &dir.path().join("out"), &guardian(), |exit| {
            send.send(exit).expect("somebody waits");
        })
        .expect("sh");
        let exit = ended.await.expect("it ends");
        let out = std::fs::read_to_string(dir.path().join("out.stdout")).expect("a file");
        (exit, out)
    }

    #[tokio::test]
    async fn the_exit_code_is_told_and_a_signal_has_none() {
        assert_eq!(run("exit 75", None).await.0, Some(75));
        assert_eq!(run("kill -9 $$", None).await.0, None);
    }

    #[tokio::test]
    async fn the_environment_and_the_input_arrive_and_the_output_is_kept() {
        let (exit, out) = run("echo $WORD; cat", Some("a line\n")).await;
        assert_eq!((exit, out.as_str()), (Some(0), "a word\na line\n"));
    }

    #[tokio::test]
    async fn the_end_is_told_though_a_child_holds_the_input_open_and_reads_nothing() {
        // More than a pipe takes.
        let input = "x".repeat(1 << 20);
        let (exit, _) = run("exec 4<&0; sleep 1000 & exit 3", Some(&input)).await;
        assert_eq!(exit, Some(3));
    }

    #[tokio::test]
    async fn a_signal_to_a_process_that_has_ended_is_not_taken_for_sent() {
        let dir = tempfile::tempdir().expect("a directory");
        let (send, ended) = tokio::sync::oneshot::channel();
        let what = shell("exit 0", dir.path(), None);
        let running = Running::start(&what, &dir.path().join("out"), &guardian(), |exit| {
            send.send(exit).expect("somebody waits");
        })
        .expect("sh");
        ended.await.expect("it ends");
        assert!(!running.signal(Signal::SIGKILL).expect("no error"));
    }

    #[tokio::test]
    async fn a_process_is_killed_with_everything_that_it_has_started() {
        let dir = tempfile::tempdir().expect("a directory");
        let fifo = dir.path().join("fifo");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).expect("a fifo");
        // Both hold the fifo open: its end is the end of the last of them.
        let script = "exec 3>fifo; sleep 1000 & echo up >&3; sleep 1000";
        let what = shell(script, dir.path(), None);
        let running =
            Running::start(&what, &dir.path().join("out"), &guardian(), |_| {}).expect("sh");
        let read = tokio::task::spawn_blocking(move || {
            let mut fifo = BufReader::new(File::open(fifo).expect("a fifo"));
            let mut line = String::new();
            fifo.read_line(&mut line).expect("a line");
            (line, fifo)
        });
        let (line, mut fifo) = read.await.expect("a line");
        assert_eq!(line, "up\n");
        drop(running);
        let rest = tokio::task::spawn_blocking(move || {
            let mut rest = String::new();
            fifo.read_to_string(&mut rest).map(|_| rest)
        });
        assert_eq!(rest.await.expect("it ends").expect("an end"), "");
    }
}

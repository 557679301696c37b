//! The guardian: a small process of our own that outlives the runner by a moment and ends what
//! it would leave behind.
//!
//! Owns the promise that no client process survives the runner, however it dies. The guardian
//! holds the reading end of a pipe; when the runner is gone, by `kill -9` too, the pipe closes
//! and the guardian kills every process of the run. It knows them by the process groups that it
//! was told of, and on Linux by the run's name in their environment, which a child inherits
//! before anyone can tell of it.

use std::{
    collections::BTreeSet,
    io::{self, BufRead, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::Mutex,
};

use nix::{
    errno::Errno,
    sys::signal::{Signal, killpg},
    unistd::Pid,
};

/// The hidden subcommand that the guardian runs as.
pub const SUBCOMMAND: &str = "__guardian";

/// The variable that marks every process of a run.
pub const RUN_VARIABLE: &str = "CHAOS_RUN";

/// The runner's end of the pipe. Dropping it ends the run's processes.
#[derive(Debug)]
pub struct Guardian {
    pipe: Mutex<Option<ChildStdin>>,
    child: Mutex<Child>,
}

impl Guardian {
    /// Starts the guardian of the run named `run`.
    ///
    /// # Errors
    ///
    /// When this program cannot be started a second time.
    pub fn start(run: &str) -> io::Result<Self> {
        let mut keeper = Command::new(std::env::current_exe()?);
        keeper
            .arg(SUBCOMMAND)
            .arg(run)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Self::listening(keeper)
    }

    /// Starts `keeper`, which reads what we tell.
    pub(super) fn listening(mut keeper: Command) -> io::Result<Self> {
        use std::os::unix::process::CommandExt as _;
        let mut child = keeper
            .stdin(Stdio::piped())
            // A group of its own: the terminal's Ctrl-C is for the runner.
            .process_group(0)
            .spawn()?;
        let pipe = child.stdin.take();
        Ok(Self {
            pipe: Mutex::new(pipe),
            child: Mutex::new(child),
        })
    }

    /// Tells of a process group that must not survive.
    pub fn watch(&self, group: i32) {
        self.tell('+', group);
    }

    /// Tells that a process group is gone (its number may be given to others).
    pub fn forget(&self, group: i32) {
        self.tell('-', group);
    }

    fn tell(&self, sign: char, group: i32) {
        let mut pipe = self
            .pipe
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(pipe) = pipe.as_mut()
            && let Err(error) = writeln!(pipe, "{sign}{group}")
        {
            tracing::warn!(%error, "the guardian does not listen; a killed runner may leave clients behind");
        }
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        let mut pipe = self
            .pipe
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        drop(pipe.take());
        let mut child = self
            .child
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Err(error) = child.wait() {
            tracing::warn!(%error, "cannot wait for the guardian");
        }
    }
}

/// What the guardian process does: reads until the runner is gone, then ends what is left.
pub fn keep(run: &str) {
    let mut groups = BTreeSet::new();
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        if let Some(group) = line.strip_prefix('+').and_then(|n| n.parse::<i32>().ok()) {
            groups.insert(group);
        } else if let Some(group) = line.strip_prefix('-').and_then(|n| n.parse::<i32>().ok()) {
            groups.remove(&group);
        }
    }
    for group in groups {
        end_group(group);
    }
    end_marked(run);
}

/// Sends SIGKILL to a process group; one that is gone already is no error.
pub fn end_group(group: i32) {
    // 0 and 1 would be our own group and everything.
    if group > 1
        && let Err(error) = killpg(Pid::from_raw(group), Signal::SIGKILL)
        && error != Errno::ESRCH
    {
        tracing::warn!(group, %error, "cannot end a process group of the client");
    }
}

/// Kills every process whose environment names the run, until two looks find none: a process
/// that is just being started shows no environment for a moment.
fn end_marked(run: &str) {
    let mark = format!("{RUN_VARIABLE}={run}");
    let mut empty = 0;
    // A process that forks faster than it is killed is bounded by the number of looks.
    for _ in 0..100 {
        let found = marked(&mark);
        if found.is_empty() {
            empty += 1;
            if empty == 2 {
                return;
            }
        }
        for pid in found {
            // It may be gone already: that is what is wanted.
            let _gone = nix::sys::signal::kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }
}

fn marked(mark: &str) -> Vec<i32> {
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| *pid != own)
        .filter(|pid| {
            // A zombie has an empty environment, so that it is not found again.
            std::fs::read(format!("/proc/{pid}/environ")).is_ok_and(|env| {
                env.split(|byte| *byte == 0)
                    .any(|entry| entry == mark.as_bytes())
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};

    use super::*;

    fn sleeper() -> Command {
        let mut command = Command::new("sleep");
        command.arg("1000").stdin(Stdio::null());
        command
    }

    #[test]
    fn the_guardian_is_told_of_each_group_and_of_its_end() {
        let dir = tempfile::tempdir().expect("a directory");
        let heard = dir.path().join("heard");
        let mut keeper = Command::new("cat");
        keeper.stdout(std::fs::File::create(&heard).expect("a file"));
        let guardian = Guardian::listening(keeper).expect("cat");
        guardian.watch(4_000_001);
        guardian.watch(4_000_002);
        guardian.forget(4_000_001);
        // Waits until it has ended.
        drop(guardian);
        let heard = std::fs::read_to_string(heard).expect("a file");
        assert_eq!(heard, "+4000001\n+4000002\n-4000001\n");
    }

    #[test]
    fn processes_that_bear_the_run_are_ended_in_whatever_group_and_no_others() {
        let run = format!("unit-{}", std::process::id());
        let mut ours = sleeper()
            .env(RUN_VARIABLE, &run)
            .process_group(0)
            .spawn()
            .expect("sleep");
        let mut other = sleeper()
            .env(RUN_VARIABLE, format!("{run}0"))
            .spawn()
            .expect("sleep");
        end_marked(&run);
        assert_eq!(ours.wait().expect("it ends").signal(), Some(9));
        assert!(other.try_wait().expect("a status").is_none());
        other.kill().expect("it runs");
        other.wait().expect("it ends");
    }

    #[test]
    fn our_own_group_is_never_ended() {
        // Were they not passed over, this test would not come to its end.
        end_group(0);
        end_group(1);
        end_group(-1);
    }
}

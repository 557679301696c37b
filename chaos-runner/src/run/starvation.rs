//! How long the client's processes were ready to run and had no processor.
//!
//! Owns reading it from the kernel (proc(5): the second field of `/proc/PID/task/TID/schedstat`,
//! nanoseconds on a run queue). On a machine that has too little time for a client its timers run
//! ahead of its work, and what it then does late or early is not its doing. What that means for a
//! finding is the judgement's.

use std::{
    collections::HashMap,
    fs,
    time::{Duration, Instant},
};

/// How often it is looked at.
const EVERY: Duration = Duration::from_millis(10);

/// What each thread had waited when it was last looked at.
#[derive(Debug, Default)]
pub struct Starvation {
    waited: HashMap<i32, u64>,
    looked: Option<Instant>,
}

impl Starvation {
    /// Whether it is time to look again.
    pub fn is_due(&self, now: Instant) -> bool {
        self.looked
            .is_none_or(|then| now.saturating_duration_since(then) >= EVERY)
    }

    /// How long the one of these processes' and their children's threads that waited longest has
    /// waited since the last look, at most the time since then. Where the kernel does not tell:
    /// none. Not the sum: many threads that each wait a little delay nothing.
    pub fn look(&mut self, processes: impl IntoIterator<Item = i32>, now: Instant) -> Duration {
        let mut waited = HashMap::new();
        for process in processes {
            note(process, &mut waited);
        }
        let nanos = waited
            .iter()
            .map(|(thread, now)| now.saturating_sub(self.waited.get(thread).copied().unwrap_or(0)))
            .max()
            .unwrap_or(0);
        let since = self.looked.replace(now);
        self.waited = waited;
        let most = since.map_or(Duration::MAX, |then| now.saturating_duration_since(then));
        Duration::from_nanos(nanos).min(most)
    }
}

/// Notes every thread of a process and of its children. A process that has ended has none.
fn note(process: i32, waited: &mut HashMap<i32, u64>) {
    let Ok(tasks) = fs::read_dir(format!("/proc/{process}/task")) else {
        return;
    };
    for task in tasks.flatten() {
        let Some(thread) = task.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // A thread can end between one line and the next.
        let text = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
        if let Some(nanos) = run_delay(&text)
            && waited.insert(thread, nanos).is_none()
        {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            for child in children.split_whitespace().filter_map(|id| id.parse().ok()) {
                note(child, waited);
            }
        }
    }
}

/// The second field of a `schedstat`, in nanoseconds.
fn run_delay(text: &str) -> Option<u64> {
    text.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_field_is_the_wait() {
        assert_eq!(run_delay("3400 5206900 1\n"), Some(5_206_900));
        assert_eq!(run_delay(""), None);
        assert_eq!(run_delay("1 x 2"), None);
    }

    #[test]
    fn a_wait_is_counted_once_and_never_beyond_the_time_that_passed() {
        let own = i32::try_from(std::process::id()).expect("a process number");
        let mut starvation = Starvation::default();
        let now = Instant::now();
        assert!(starvation.is_due(now));
        starvation.look([own], now);
        assert!(!starvation.is_due(now));
        assert!(starvation.is_due(now + EVERY));
        assert!(starvation.look([own], now + EVERY) <= EVERY);
        assert_eq!(starvation.look([], now + EVERY * 2), Duration::ZERO);
    }
}

//! What the kernel tells of the threads of the client's processes.
//!
//! Owns reading it (proc(5): `/proc/PID/task/TID/schedstat`, nanoseconds on a processor and on a run
//! queue, and `stat`). What it means is [`super::starvation`]'s and [`super::rest`]'s.

use std::{collections::HashMap, fs, path::Path};

/// What a thread has had since it began, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// On a processor.
    pub ran: u64,
    /// Ready to run, without one.
    pub waited: u64,
}

/// The threads of these processes and of their children, by number. A process that has ended has
/// none; nor has any where the kernel does not tell.
pub fn of(processes: impl IntoIterator<Item = i32>) -> HashMap<i32, Times> {
    let mut threads = HashMap::new();
    for process in processes {
        note(process, &mut threads);
    }
    threads
}

fn note(process: i32, threads: &mut HashMap<i32, Times>) {
    let Ok(tasks) = fs::read_dir(format!("/proc/{process}/task")) else {
        return;
    };
    for task in tasks.flatten() {
        let Some(thread) = task.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // A thread can end between one line and the next.
        if let Some(times) = read(&task.path(), "schedstat").and_then(|text| times(&text))
            && threads.insert(thread, times).is_none()
        {
            let children = read(&task.path(), "children").unwrap_or_default();
            for child in children.split_whitespace().filter_map(|id| id.parse().ok()) {
                note(child, threads);
            }
        }
    }
}

/// Whether a thread is on a processor, ready to be, or waits for a disk. The times do not tell: a
/// wait for a processor is added to them when it is over.
pub fn is_at_work(thread: i32) -> bool {
    // Any thread has a directory here, though only the first of a process is listed.
    let stat = read(Path::new(&format!("/proc/{thread}")), "stat");
    stat.is_some_and(|stat| matches!(state(&stat), Some('R' | 'D')))
}

fn read(directory: &Path, name: &str) -> Option<String> {
    fs::read_to_string(directory.join(name)).ok()
}

/// The first two fields of a `schedstat`.
fn times(text: &str) -> Option<Times> {
    let mut fields = text.split_whitespace().map(str::parse);
    Some(Times {
        ran: fields.next()?.ok()?,
        waited: fields.next()?.ok()?,
    })
}

/// The state in a `stat`: what follows the name, which may hold anything.
fn state(text: &str) -> Option<char> {
    let (_, after) = text.rsplit_once(')')?;
    after.trim_start().chars().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_two_fields_are_the_times() {
        let read = Times {
            ran: 3_400,
            waited: 5_206_900,
        };
        assert_eq!(times("3400 5206900 1\n"), Some(read));
        assert_eq!(times(""), None);
        assert_eq!(times("1 x 2"), None);
    }

    #[test]
    fn the_state_stands_behind_a_name_with_brackets_and_spaces() {
        assert_eq!(state("17 (a) D (b) S 1 17"), Some('S'));
        assert_eq!(state("17 (java) D 1 17"), Some('D'));
        assert_eq!(state(""), None);
    }

    #[test]
    fn this_process_has_run_and_is_at_work_now() {
        let own = i32::try_from(std::process::id()).expect("a process number");
        let threads = of([own]);
        assert!(threads.values().any(|times| times.ran > 0));
        assert!(of([i32::MAX]).is_empty());
        assert!(threads.keys().copied().any(is_at_work) && !is_at_work(i32::MAX));
    }
}

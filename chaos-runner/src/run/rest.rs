//! Whether the client's processes wait for something, and have done what they could before.
//!
//! Owns telling a client that is still starting from one that waits: for an answer, or for its own
//! next try. A connect that is refused or not answered leaves no other trace. A process that starts
//! is on a processor, in the queue for one, or waits for a disk, however slow the machine is.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use super::threads::{self, Times};

/// How often to look: more than once in any pause that a client makes between two tries.
pub const WATCH: Duration = Duration::from_millis(10);

/// What each thread had when it was last looked at.
#[derive(Debug, Default)]
pub struct Rest {
    threads: HashMap<i32, Times>,
    looked: Option<Instant>,
}

impl Rest {
    /// How long these processes and their children have rested since the last look: all of the time,
    /// or none. The first look never says so. At rest is who was at work, or would have been, for
    /// less than half of the time, and is not now: a worker that looks for work every few
    /// milliseconds rests. Where the kernel does not tell, all do.
    pub fn look(&mut self, processes: impl IntoIterator<Item = i32>, now: Instant) -> Duration {
        let threads = threads::of(processes);
        let worked = busy(&self.threads, &threads);
        let at_it = threads.keys().copied().any(threads::is_at_work);
        let since = self.looked.replace(now);
        self.threads = threads;
        let watched = since.map_or(Duration::ZERO, |then| now.saturating_duration_since(then));
        if at_it || worked > watched / 2 {
            Duration::ZERO
        } else {
            watched
        }
    }
}

/// How long the threads were at work, or waited for a processor, between two looks.
fn busy(before: &HashMap<i32, Times>, after: &HashMap<i32, Times>) -> Duration {
    let of = |times: &Times| times.ran + times.waited;
    let nanos = after
        .iter()
        .map(|(thread, now)| of(now).saturating_sub(before.get(thread).map_or(0, of)))
        .sum();
    Duration::from_nanos(nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads(all: &[(i32, u64, u64)]) -> HashMap<i32, Times> {
        all.iter()
            .map(|&(thread, ran, waited)| (thread, Times { ran, waited }))
            .collect()
    }

    #[test]
    fn work_and_the_wait_for_a_processor_are_both_no_rest() {
        let before = threads(&[(1, 100, 0), (2, 50, 50)]);
        assert_eq!(busy(&before, &before), Duration::ZERO);
        let after = threads(&[(1, 130, 5), (2, 50, 57), (3, 8, 0)]);
        assert_eq!(busy(&before, &after), Duration::from_nanos(50));
        // Who has ended does nothing any more.
        let one_ended = threads(&[(2, 51, 50)]);
        assert_eq!(busy(&before, &one_ended), Duration::from_nanos(1));
    }

    #[test]
    fn the_first_look_says_nothing_and_each_other_all_of_the_time_since() {
        let now = Instant::now();
        let mut rest = Rest::default();
        assert_eq!(rest.look([], now), Duration::ZERO);
        assert_eq!(rest.look([], now + WATCH), WATCH);
        assert_eq!(rest.look([], now + WATCH * 3), WATCH * 2);
    }

    #[test]
    fn a_process_that_sleeps_rests_and_one_that_works_does_not() {
        let sleeper = std::process::Command::new("sleep").arg("600").spawn();
        let mut sleeper = sleeper.expect("a process");
        let spinner = std::process::Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .spawn();
        let mut spinner = spinner.expect("a process");
        let rests = |process: &std::process::Child| {
            let number = i32::try_from(process.id()).expect("a process number");
            let mut rest = Rest::default();
            let now = Instant::now();
            rest.look([number], now);
            rest.look([number], now + WATCH) > Duration::ZERO
        };
        // Each takes its time to start: asked until it has.
        let works = (0..100_000).any(|_| !rests(&spinner));
        let sleeps = (0..100_000).any(|_| rests(&sleeper));
        for process in [&mut sleeper, &mut spinner] {
            process.kill().expect("it runs");
            process.wait().expect("it ends");
        }
        assert!(works && sleeps);
    }
}

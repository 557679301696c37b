//! How long the client's processes were ready to run and had no processor.
//!
//! Owns the comparison of one look with the next ([`super::threads`] reads). On a machine that has
//! too little time for a client its timers run ahead of its work, and what it then does late or
//! early is not its doing. What that means for a finding is the judgement's.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use super::threads::{self, Times};

/// How often it is looked at.
const EVERY: Duration = Duration::from_millis(10);

/// What each thread had waited when it was last looked at.
#[derive(Debug, Default)]
pub struct Starvation {
    threads: HashMap<i32, Times>,
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
        let threads = threads::of(processes);
        let before = |thread| self.threads.get(thread).map_or(0, |times| times.waited);
        let nanos = threads
            .iter()
            .map(|(thread, now)| now.waited.saturating_sub(before(thread)))
            .max()
            .unwrap_or(0);
        let since = self.looked.replace(now);
        self.threads = threads;
        let most = since.map_or(Duration::MAX, |then| now.saturating_duration_since(then));
        Duration::from_nanos(nanos).min(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

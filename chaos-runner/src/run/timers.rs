//! What a lab means to do later, in order of time.
//!
//! Owns the agenda only; the lab's loop sleeps until the next entry and carries it out.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use crate::history::Process;

/// Something that is due at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Due {
    /// See for how long the client has rested while links are cut from the start.
    CountRest {
        /// How long it had when it was last looked at.
        rested: Duration,
        /// When they heal all the same.
        at_last: Instant,
    },
    /// Take connects again at a side, or answer them again.
    HealLink {
        /// Which side.
        side: usize,
        /// Which fault ends.
        fault: u32,
    },
    /// Give the client its database back.
    HealDatabase {
        /// Which fault ends.
        fault: u32,
    },
    /// Let everything pass that was blocked while the client stood still.
    Unblock {
        /// For which fault.
        fault: u32,
    },
    /// Start a process (again).
    Start(Process),
    /// Let a stopped process go on.
    Continue {
        /// Which process.
        process: Process,
        /// Which fault ends.
        fault: u32,
    },
    /// Ask for the client's outcomes.
    Probe,
}

/// The agenda.
#[derive(Debug, Default)]
pub struct Timers {
    entries: BTreeMap<(Instant, u64), Due>,
    count: u64,
}

impl Timers {
    /// Puts `due` on the agenda.
    pub fn at(&mut self, when: Instant, due: Due) {
        self.count += 1;
        self.entries.insert((when, self.count), due);
    }

    /// Puts a probe on the agenda, unless one is due sooner.
    pub fn probe_by(&mut self, when: Instant) {
        let is_probe = |(_, due): &(&(Instant, u64), &Due)| **due == Due::Probe;
        let standing = self.entries.iter().find(is_probe).map(|(key, _)| *key);
        match standing {
            Some((sooner, _)) if sooner <= when => {}
            Some(later) => {
                self.entries.remove(&later);
                self.at(when, Due::Probe);
            }
            None => self.at(when, Due::Probe),
        }
    }

    /// When the next entry is due.
    pub fn next(&self) -> Option<Instant> {
        self.entries.keys().next().map(|(when, _)| *when)
    }

    /// Takes the first entry that is due by `now`.
    pub fn take_due(&mut self, now: Instant) -> Option<Due> {
        let entry = self.entries.first_entry()?;
        (entry.key().0 <= now).then(|| entry.remove())
    }

    /// Whether anything but probes is on the agenda.
    pub fn has_work(&self) -> bool {
        self.entries.values().any(|due| *due != Due::Probe)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_out_in_order_of_time_and_only_one_probe_stands() {
        let now = Instant::now();
        let mut timers = Timers::default();
        timers.at(now + Duration::from_secs(2), Due::HealDatabase { fault: 1 });
        timers.probe_by(now + Duration::from_secs(3));
        timers.probe_by(now + Duration::from_secs(1));
        timers.probe_by(now + Duration::from_secs(2));
        assert_eq!(timers.next(), Some(now + Duration::from_secs(1)));
        assert_eq!(timers.take_due(now), None);
        let later = now + Duration::from_secs(5);
        assert_eq!(timers.take_due(later), Some(Due::Probe));
        assert!(timers.has_work());
        assert_eq!(timers.take_due(later), Some(Due::HealDatabase { fault: 1 }));
        assert_eq!(timers.take_due(later), None);
        assert!(!timers.has_work());
    }
}

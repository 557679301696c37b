//! The wall clock, as the outbox stores it: whole milliseconds since 1970.
//!
//! Deadlines, leases and `Retry-After` outlive the process, so they cannot be
//! monotonic instants. Hosts that share one outbox must agree on the time to well
//! within a lease.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970-01-01T00:00:00Z.
pub type UnixMillis = i64;

/// The time now, rounded down: a bound that has been reached by `now` is past.
#[must_use]
pub fn now() -> UnixMillis {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// A duration in milliseconds, rounded up so that nothing that waits for it is early.
#[must_use]
pub fn millis(duration: Duration) -> UnixMillis {
    let up = duration.as_nanos().div_ceil(1_000_000);
    i64::try_from(up).unwrap_or(i64::MAX)
}

/// How long until `at`, counted from `now`; zero when it is past.
#[must_use]
pub fn until(at: UnixMillis, now: UnixMillis) -> Duration {
    Duration::from_millis(u64::try_from(at.saturating_sub(now)).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fraction_of_a_millisecond_is_waited_for_whole() {
        assert_eq!(millis(Duration::from_micros(1)), 1);
        assert_eq!(millis(Duration::from_millis(7)), 7);
        assert_eq!(millis(Duration::MAX), i64::MAX);
    }

    #[test]
    fn the_past_is_no_wait() {
        assert_eq!(until(5, 9), Duration::ZERO);
        assert_eq!(until(9, 5), Duration::from_millis(4));
    }
}

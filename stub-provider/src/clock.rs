//! [`Clock`]: the one time that the provider lives by.
//!
//! Owns "now", waking sleepers when it is advanced by hand, and the wall-clock form of a moment.
//! Retention, receipts, delays and `Retry-After` dates read it. Events do not: they carry the
//! process's own monotonic time, which nobody can advance.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use tokio::sync::Notify;

/// A monotonic clock that can be advanced. Clones are the same clock.
#[derive(Clone, Debug)]
pub struct Clock(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    start: Instant,
    /// Wall-clock time at the clock's zero, in microseconds since the Unix epoch.
    unix_micros: AtomicU64,
    advanced_micros: AtomicU64,
    advanced: Notify,
}

impl Default for Clock {
    fn default() -> Self {
        Self(Arc::new(Inner {
            start: Instant::now(),
            unix_micros: AtomicU64::new(micros(
                SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .unwrap_or_default(),
            )),
            advanced_micros: AtomicU64::new(0),
            advanced: Notify::new(),
        }))
    }
}

impl Clock {
    /// The time since the clock was made, plus everything that it was advanced by.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.at(Instant::now())
    }

    /// The clock's time at a moment of the process's monotonic time.
    #[must_use]
    pub(crate) fn at(&self, moment: Instant) -> Duration {
        moment.saturating_duration_since(self.0.start)
            + Duration::from_micros(self.0.advanced_micros.load(Ordering::Relaxed))
    }

    /// The wall-clock form of a time of this clock, since the Unix epoch.
    #[must_use]
    pub fn unix(&self, at: Duration) -> Duration {
        Duration::from_micros(self.0.unix_micros.load(Ordering::Relaxed)) + at
    }

    /// Everything that the clock was moved forward by, in all.
    pub(crate) fn moved(&self) -> Duration {
        Duration::from_micros(self.0.advanced_micros.load(Ordering::Relaxed))
    }

    /// Goes on with an earlier clock, before anything has read this one: zero is where that one
    /// had it, and it shows at least `unix` (both since the Unix epoch) and at least `least`, which
    /// holds where the system's clock was set back meanwhile.
    pub(crate) fn resume(&self, zero: Duration, unix: Duration, least: Duration) {
        let unix = unix.max(self.unix(self.now()));
        self.0.unix_micros.store(micros(zero), Ordering::Relaxed);
        let due = unix.saturating_sub(zero).max(least);
        // Rounded up.
        self.forward(micros(due.saturating_sub(self.now())).saturating_add(1));
    }

    /// The sum is bounded, so that a time of this clock always has a wall-clock form.
    fn forward(&self, by_micros: u64) {
        let far = micros(CENTURY * 10);
        let _ = self
            .0
            .advanced_micros
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |sum| {
                Some(sum.saturating_add(by_micros).min(far))
            });
        self.0.advanced.notify_waiters();
    }

    /// The calendar's form of a time of this clock, to the microsecond; what is beyond the calendar
    /// shows as its end.
    #[must_use]
    pub fn timestamp(&self, at: Duration) -> jiff::Timestamp {
        jiff::SignedDuration::try_from(self.unix(Duration::from_micros(micros(at))))
            .ok()
            .and_then(|unix| jiff::Timestamp::from_duration(unix).ok())
            .unwrap_or(jiff::Timestamp::MAX)
    }

    /// Moves the clock forward and wakes whoever waits for a time that has now come. A century is
    /// the most that one step can be: longer ones are cut to it.
    pub fn advance(&self, by: Duration) {
        self.forward(micros(by.min(CENTURY)));
    }

    /// Returns once the clock shows `at` or later.
    pub async fn sleep_until(&self, at: Duration) {
        loop {
            let advanced = self.0.advanced.notified();
            tokio::pin!(advanced);
            advanced.as_mut().enable();
            let Some(left) = at.checked_sub(self.now()).filter(|left| !left.is_zero()) else {
                return;
            };
            tokio::select! {
                () = tokio::time::sleep(left) => {}
                () = &mut advanced => {}
            }
        }
    }

    /// Returns once the clock has moved on by `span`.
    pub async fn sleep(&self, span: Duration) {
        self.sleep_until(self.now().saturating_add(span)).await;
    }
}

const CENTURY: Duration = Duration::from_hours(100 * 366 * 24);

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::{pin::Pin, task::Poll};

    use super::*;

    #[tokio::test]
    async fn a_sleeper_wakes_when_the_clock_is_advanced_past_its_time() {
        let clock = Clock::default();
        let due = clock.now() + Duration::from_hours(24);
        let mut sleeper = std::pin::pin!(clock.sleep_until(due));
        assert!(poll_once(sleeper.as_mut()).await.is_pending());
        clock.advance(Duration::from_hours(23));
        assert!(poll_once(sleeper.as_mut()).await.is_pending());
        clock.advance(Duration::from_hours(1));
        sleeper.await;
        assert!(clock.now() >= due);
    }

    /// Polls once.
    async fn poll_once(mut future: Pin<&mut impl Future<Output = ()>>) -> Poll<()> {
        std::future::poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await
    }

    #[test]
    fn a_clock_goes_on_where_an_earlier_one_was_and_never_back() {
        let (hour, far) = (Duration::from_hours(1), Duration::from_hours(1000));
        let clock = Clock::default();
        let zero = clock.unix(Duration::ZERO).saturating_sub(hour);
        clock.resume(zero, zero + hour * 25, Duration::ZERO);
        assert_eq!(clock.unix(Duration::ZERO), zero);
        assert!(clock.now() >= hour * 25 && clock.now() < hour * 26);

        // The system's clock now shows a time before everything that is on record.
        let clock = Clock::default();
        let zero = clock.unix(Duration::ZERO) + hour;
        clock.resume(zero, zero.saturating_sub(hour), far);
        assert!(clock.now() >= far && clock.now() < far + hour);
    }

    #[test]
    fn advancing_without_end_never_overflows() {
        let clock = Clock::default();
        for _ in 0..100 {
            clock.advance(Duration::MAX);
        }
        assert!(clock.unix(clock.now()) > clock.now());
    }
}

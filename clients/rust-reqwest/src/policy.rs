//! The numbers: how long to wait for what, and when to stop.

use std::{env, time::Duration};

use jiff::SignedDuration;
use rand::Rng;

/// How long to wait for what, and when to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// For a connection.
    pub connect_timeout: Duration,
    /// For the whole answer, connecting included.
    pub read_timeout: Duration,
    /// The limit of the first wait; doubled each time.
    pub backoff_base: Duration,
    /// The limit of every wait.
    pub backoff_cap: Duration,
    /// The longest `Retry-After` that is waited for.
    pub retry_after_max: Duration,
    /// How long the provider remembers a key.
    pub key_retention: Duration,
    /// The first included.
    pub max_attempts: u32,
}

/// A variable that is no duration.
#[derive(Debug, thiserror::Error)]
#[error("{name}: `{text}` is no duration; write 300ms, 2s, 24h")]
pub struct NotADuration {
    name: &'static str,
    text: String,
}

impl Policy {
    /// From the environment, with defaults for production.
    ///
    /// # Errors
    ///
    /// When a variable is no duration.
    pub fn from_env() -> Result<Self, NotADuration> {
        Ok(Self {
            connect_timeout: duration("SMS_CONNECT_TIMEOUT", "3s")?,
            read_timeout: duration("SMS_READ_TIMEOUT", "10s")?,
            backoff_base: duration("SMS_BACKOFF_BASE", "500ms")?,
            backoff_cap: duration("SMS_BACKOFF_CAP", "60s")?,
            retry_after_max: duration("SMS_RETRY_AFTER_MAX", "15m")?,
            key_retention: duration("SMS_KEY_RETENTION", "24h")?,
            max_attempts: 5,
        })
    }

    /// How long to wait after attempt `attempt`, counted from 1.
    ///
    /// Equal jitter: half of the limit for certain, so that the attempts outlast a short outage,
    /// and half drawn, so that those who failed together do not come back together.
    pub fn pause(&self, attempt: u32, rng: &mut impl Rng) -> Duration {
        let grown = self.backoff_base * 2_u32.saturating_pow(attempt.saturating_sub(1).min(16));
        let half = grown.min(self.backoff_cap) / 2;
        half + half.mul_f64(rng.random())
    }
}

fn duration(name: &'static str, otherwise: &str) -> Result<Duration, NotADuration> {
    let text = env::var(name).unwrap_or_else(|_| otherwise.to_owned());
    text.parse::<SignedDuration>()
        .ok()
        .and_then(|signed| Duration::try_from(signed).ok())
        .ok_or(NotADuration { name, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_waits_double_up_to_the_cap_and_half_of_each_is_certain() {
        let policy = Policy {
            backoff_base: Duration::from_millis(50),
            backoff_cap: Duration::from_millis(200),
            ..Policy::from_env().expect("defaults that are durations")
        };
        for (attempt, limit) in [(1, 50), (2, 100), (3, 200), (4, 200), (u32::MAX, 200)] {
            let limit = Duration::from_millis(limit);
            for _ in 0..100 {
                let wait = policy.pause(attempt, &mut rand::rng());
                assert!(wait >= limit / 2 && wait <= limit, "{attempt}: {wait:?}");
            }
        }
    }
}

//! Everything the worker is told by its environment, read once and checked as a whole.
//!
//! The defaults are for production. A set of timings that cannot be right (a lease that
//! an ordinary slow request would outlive) is refused at the start, with the reason.

use std::env;
use std::time::Duration;

use crate::backoff::Backoff;
use crate::policy::Policy;

/// What is wrong with the environment.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A variable that must be there is not.
    #[error("{0} is not set; {1}")]
    Missing(&'static str, &'static str),
    /// A variable cannot be read.
    #[error("{name} is {value:?}: {problem}")]
    Invalid {
        /// The variable.
        name: &'static str,
        /// What it holds.
        value: String,
        /// What it should be.
        problem: String,
    },
    /// Two values contradict one another.
    #[error("{0}")]
    Contradiction(String),
}

/// Where the outbox is, and how long to wait for it.
#[derive(Debug, Clone)]
pub struct DatabaseConfig {
    /// `DATABASE_URL`: `sqlite://path` or `postgres://…`.
    pub url: String,
    /// `OUTBOX_BUSY_TIMEOUT`: how long a locked database is waited for.
    pub busy_timeout: Duration,
    /// `OUTBOX_SQLITE_SYNCHRONOUS`: `full` (what is committed survives a power cut),
    /// `normal` or `off`.
    pub synchronous: String,
}

/// Everything `work` needs.
#[derive(Debug, Clone)]
pub struct WorkerConfig {
    /// `SMS_API_BASE`, and `SMS_API_BASE_2` where there is a second provider.
    pub providers: Vec<reqwest::Url>,
    /// The retry rules.
    pub policy: Policy,
    /// `OUTBOX_READ_TIMEOUT`: from the start of an attempt to the last byte of its answer.
    pub read_timeout: Duration,
    /// `OUTBOX_CONNECT_TIMEOUT`: for the connection alone.
    pub connect_timeout: Duration,
    /// `OUTBOX_LEASE`: how long a claim is ours.
    pub lease: Duration,
    /// `OUTBOX_POLL`: the longest time between two looks at the table.
    pub poll: Duration,
    /// `OUTBOX_BATCH`: rows per claim.
    pub batch: usize,
    /// `OUTBOX_CONCURRENCY`: attempts in flight at once.
    pub concurrency: usize,
    /// `OUTBOX_MAX_REDIRECTS`: 307 and 308 hops that one claim follows.
    pub max_redirects: usize,
    /// `OUTBOX_WORKER_ID`: who we are in the claims.
    pub worker_id: String,
    /// `PORT`: where receipts, health and metrics are served; absent: nowhere.
    pub port: Option<u16>,
    /// `SMS_WEBHOOK_SECRET`: signs the receipts.
    pub webhook_secret: String,
}

impl DatabaseConfig {
    /// Reads the database's part of the environment.
    ///
    /// # Errors
    /// When a variable is missing or cannot be read.
    pub fn from_env() -> Result<Self, ConfigError> {
        let synchronous = text("OUTBOX_SQLITE_SYNCHRONOUS").unwrap_or_else(|| "full".to_owned());
        if !["full", "normal", "off"].contains(&synchronous.as_str()) {
            return Err(ConfigError::Invalid {
                name: "OUTBOX_SQLITE_SYNCHRONOUS",
                value: synchronous,
                problem: "expected full, normal or off".to_owned(),
            });
        }
        Ok(Self {
            url: text("DATABASE_URL").ok_or(ConfigError::Missing(
                "DATABASE_URL",
                "name the outbox, as sqlite://outbox.db or postgres://user@host/name",
            ))?,
            busy_timeout: duration("OUTBOX_BUSY_TIMEOUT", "5s")?,
            synchronous,
        })
    }
}

impl WorkerConfig {
    /// Reads the worker's part of the environment.
    ///
    /// # Errors
    /// When a variable is missing or cannot be read, or the timings contradict one another.
    pub fn from_env() -> Result<Self, ConfigError> {
        let first = url("SMS_API_BASE")?.ok_or(ConfigError::Missing(
            "SMS_API_BASE",
            "name the provider's base URL, as http://127.0.0.1:9090",
        ))?;
        let mut providers = vec![first];
        providers.extend(url("SMS_API_BASE_2")?);
        let read_timeout = duration("OUTBOX_READ_TIMEOUT", "10s")?;
        let config = Self {
            providers,
            policy: Policy {
                backoff: Backoff {
                    base: duration("OUTBOX_BACKOFF_BASE", "500ms")?,
                    cap: duration("OUTBOX_BACKOFF_CAP", "60s")?,
                },
                max_attempts: number("OUTBOX_MAX_ATTEMPTS", 8)?,
                max_lookups: number("OUTBOX_MAX_LOOKUPS", 4)?,
                retry_after_max: duration("OUTBOX_RETRY_AFTER_MAX", "15m")?,
                max_age: duration("OUTBOX_MAX_AGE", "24h")?,
                key_retention: duration("SMS_KEY_RETENTION", "24h")?,
                attempt_time: read_timeout,
                expiry_margin: duration("OUTBOX_EXPIRY_MARGIN", "100ms")?,
            },
            read_timeout,
            connect_timeout: duration("OUTBOX_CONNECT_TIMEOUT", "3s")?,
            lease: duration("OUTBOX_LEASE", "30s")?,
            poll: duration("OUTBOX_POLL", "500ms")?,
            batch: count("OUTBOX_BATCH", 16)?,
            concurrency: count("OUTBOX_CONCURRENCY", 16)?,
            max_redirects: number("OUTBOX_MAX_REDIRECTS", 3)?,
            worker_id: text("OUTBOX_WORKER_ID")
                .unwrap_or_else(|| format!("{}-{}", std::process::id(), uuid::Uuid::new_v4())),
            port: optional("PORT")?,
            webhook_secret: text("SMS_WEBHOOK_SECRET").unwrap_or_else(|| "whsec_test".to_owned()),
        };
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), ConfigError> {
        let contradiction = |text: String| Err(ConfigError::Contradiction(text));
        if self.connect_timeout >= self.read_timeout {
            return contradiction(format!(
                "OUTBOX_CONNECT_TIMEOUT ({:?}) must be shorter than OUTBOX_READ_TIMEOUT ({:?}): \
                 otherwise an attempt that never connected looks like one whose answer was lost",
                self.connect_timeout, self.read_timeout
            ));
        }
        // One request, and as much again for the writes before and after it.
        let least = self.read_timeout * 2;
        if self.lease < least {
            return contradiction(format!(
                "OUTBOX_LEASE ({:?}) must be at least twice OUTBOX_READ_TIMEOUT ({:?}), so {least:?}: \
                 a second worker would take a message whose request is still running",
                self.lease, self.read_timeout
            ));
        }
        if self.policy.max_attempts < 1 {
            return contradiction("OUTBOX_MAX_ATTEMPTS must be at least 1".to_owned());
        }
        if self.poll.is_zero() {
            return contradiction("OUTBOX_POLL must be longer than zero".to_owned());
        }
        Ok(())
    }
}

/// A variable's text; an empty one counts as absent.
fn text(name: &'static str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn optional<T: std::str::FromStr>(name: &'static str) -> Result<Option<T>, ConfigError>
where
    T::Err: std::fmt::Display,
{
    let Some(value) = text(name) else {
        return Ok(None);
    };
    match value.parse() {
        Ok(parsed) => Ok(Some(parsed)),
        Err(error) => Err(ConfigError::Invalid {
            name,
            problem: error.to_string(),
            value,
        }),
    }
}

fn number<T: std::str::FromStr>(name: &'static str, default: T) -> Result<T, ConfigError>
where
    T::Err: std::fmt::Display,
{
    Ok(optional(name)?.unwrap_or(default))
}

fn count(name: &'static str, default: usize) -> Result<usize, ConfigError> {
    match number(name, default)? {
        0 => Err(ConfigError::Contradiction(format!(
            "{name} must be at least 1"
        ))),
        some => Ok(some),
    }
}

/// A friendly duration: `300ms`, `1.5s`, `2m`, `24h`.
fn duration(name: &'static str, default: &'static str) -> Result<Duration, ConfigError> {
    let value = text(name).unwrap_or_else(|| default.to_owned());
    read_duration(&value).map_err(|problem| ConfigError::Invalid {
        name,
        value,
        problem,
    })
}

fn read_duration(text: &str) -> Result<Duration, String> {
    let signed: jiff::SignedDuration = text
        .parse()
        .map_err(|error| format!("expected a duration such as 300ms, 2s or 24h ({error})"))?;
    Duration::try_from(signed).map_err(|_| "a duration cannot be negative".to_owned())
}

fn url(name: &'static str) -> Result<Option<reqwest::Url>, ConfigError> {
    let Some(url) = optional::<reqwest::Url>(name)? else {
        return Ok(None);
    };
    if url.scheme() == "http" && url.has_host() {
        Ok(Some(url))
    } else {
        Err(ConfigError::Invalid {
            name,
            value: url.to_string(),
            problem: "expected http://host:port (this build has no TLS: put a TLS proxy in front)"
                .to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn friendly_durations_are_read() {
        for (text, millis) in [
            ("300ms", 300),
            ("1s", 1000),
            ("1.5s", 1500),
            ("24h", 86_400_000),
        ] {
            assert_eq!(read_duration(text), Ok(Duration::from_millis(millis)));
        }
    }

    #[test]
    fn a_bare_number_and_a_negative_duration_are_refused() {
        assert!(read_duration("300").is_err());
        assert!(read_duration("-1s").is_err());
    }
}

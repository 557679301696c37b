//! Reading the outbox: what is in it, what is set aside, how much of each.

use sqlx::Row;

use super::{Store, StoreError, on};
use crate::clock::UnixMillis;

/// One message and what the outbox believes of it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct StatusLine {
    /// The business's name for it.
    pub intent: String,
    /// On whose account.
    pub customer: String,
    /// The `status` column.
    pub outcome: String,
    /// Attempts begun.
    pub attempts: i64,
}

/// One message that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct DeadLetter {
    /// The business's name for it.
    pub intent: String,
    /// On whose account.
    pub customer: String,
    /// `dead` or `unknown`.
    pub outcome: String,
    /// Which rule stopped it.
    pub rule: String,
    /// Attempts begun.
    pub attempts: i64,
    /// How the last attempt ended.
    pub last_error: String,
    /// Its key at the provider, to ask about it.
    pub key: String,
}

/// How many messages there are of each status, and of attempts by how they ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// By `sms_outbox.status`.
    pub messages: Vec<(String, i64)>,
    /// By `sms_attempt.state`.
    pub attempts: Vec<(String, i64)>,
    /// When the oldest pending row was due.
    pub oldest_due: Option<UnixMillis>,
}

impl Store {
    /// Every message, oldest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn status(&self) -> Result<Vec<StatusLine>, StoreError> {
        on!(self, pool => {
            let rows = sqlx::query(
                "select intent, customer, status, attempt_count from sms_outbox order by created_at, id",
            )
            .fetch_all(pool)
            .await?;
            let mut lines = Vec::with_capacity(rows.len());
            for row in &rows {
                lines.push(StatusLine {
                    intent: row.try_get(0)?,
                    customer: row.try_get(1)?,
                    outcome: row.try_get(2)?,
                    attempts: row.try_get(3)?,
                });
            }
            Ok(lines)
        })
    }

    /// The dead letter queue: every message that is set aside, oldest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn dead_letters(&self) -> Result<Vec<DeadLetter>, StoreError> {
        on!(self, pool => {
            let rows = sqlx::query(
                "select intent, customer, status, rule, attempt_count, last_error, key from sms_outbox
                 where status in ('dead', 'unknown') order by created_at, id",
            )
            .fetch_all(pool)
            .await?;
            let mut letters = Vec::with_capacity(rows.len());
            for row in &rows {
                letters.push(DeadLetter {
                    intent: row.try_get(0)?,
                    customer: row.try_get(1)?,
                    outcome: row.try_get(2)?,
                    rule: row.try_get(3)?,
                    attempts: row.try_get(4)?,
                    last_error: row.try_get(5)?,
                    key: row.try_get(6)?,
                });
            }
            Ok(letters)
        })
    }

    /// Counts for the metrics page.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn counts(&self) -> Result<Counts, StoreError> {
        on!(self, pool => {
            let mut counts = Counts::default();
            for row in sqlx::query("select status, count(*) from sms_outbox group by status")
                .fetch_all(pool)
                .await?
            {
                counts.messages.push((row.try_get(0)?, row.try_get(1)?));
            }
            for row in sqlx::query("select state, count(*) from sms_attempt group by state")
                .fetch_all(pool)
                .await?
            {
                counts.attempts.push((row.try_get(0)?, row.try_get(1)?));
            }
            counts.oldest_due =
                sqlx::query_scalar("select min(next_attempt_at) from sms_outbox where status = 'pending'")
                    .fetch_one(pool)
                    .await?;
            Ok(counts)
        })
    }
}

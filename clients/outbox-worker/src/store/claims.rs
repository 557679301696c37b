//! Claims, attempts and their settlement: who works on a row, and what came of it.
//!
//! A claim is a lease with a fence. Every later write names the fence it was made under,
//! so that a worker that slept through its lease can change nothing any more.

use sqlx::Row;

use super::{Store, StoreError, on};
use crate::clock::UnixMillis;
use crate::message::{Message, NextStep, Status};
use crate::policy::Next;
use crate::rule::Rule;

/// When there is something to do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The earliest time of a pending row.
    pub next_due: Option<UnixMillis>,
    /// The earliest end of a lease.
    pub next_lease_end: Option<UnixMillis>,
}

impl Schedule {
    /// Nothing is pending and nothing is claimed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.next_due.is_none() && self.next_lease_end.is_none()
    }
}

/// What is known of a message after what was just done; replaces what the row says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// See [`Message::touched`].
    pub touched: bool,
    /// See [`Message::ambiguous`].
    pub ambiguous: bool,
    /// See [`Message::provider`].
    pub provider: i64,
    /// See [`Message::lookups`].
    pub lookups: i64,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptEnd {
    /// Which one.
    pub attempt_no: i64,
    /// The `state` column.
    pub state: &'static str,
    /// The response's status, where one arrived.
    pub http_status: Option<u16>,
    /// Why, in words.
    pub detail: String,
}

const CLAIMED_COLUMNS: &str = "id, key, intent, customer, recipient, body, fingerprint, attempt_count, \
    lookup_count, first_attempt_at, touched, ambiguous, superseded, provider, next_step, rule, created_at, \
    expires_at, fence, lease_until";

impl Store {
    /// When the next row is due and the next lease ends. Takes no lock.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn schedule(&self) -> Result<Schedule, StoreError> {
        on!(self, pool => {
            let row = sqlx::query(
                "select (select min(next_attempt_at) from sms_outbox where status = 'pending'),
                        (select min(lease_until) from sms_outbox where status = 'in_progress')",
            )
            .fetch_one(pool)
            .await?;
            Ok(Schedule { next_due: row.try_get(0)?, next_lease_end: row.try_get(1)? })
        })
    }

    /// Takes up to `limit` due rows.
    ///
    /// # Errors
    /// When the database refuses.
    pub async fn claim(
        &self,
        owner: &str,
        now: UnixMillis,
        lease_until: UnixMillis,
        limit: usize,
    ) -> Result<Vec<Message>, StoreError> {
        let claim = format!(
            "with due as materialized (
                 select id from sms_outbox where status = 'pending' and next_attempt_at <= $1
                 order by next_attempt_at, id limit $2 {}
             )
             update sms_outbox
             set status = 'in_progress', lease_owner = $3, lease_until = $4, fence = fence + 1
             where id in (select id from due)
             returning {CLAIMED_COLUMNS}",
            self.locking().rows
        );
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        on!(self, pool => {
            let mut tx = pool.begin_with(self.locking().begin).await?;
            let rows = sqlx::query(&claim)
                .bind(now)
                .bind(limit)
                .bind(owner)
                .bind(lease_until)
                .fetch_all(&mut *tx)
                .await?;
            let mut messages = Vec::with_capacity(rows.len());
            for row in &rows {
                messages.push(Message {
                    id: row.try_get("id")?,
                    key: row.try_get("key")?,
                    intent: row.try_get("intent")?,
                    customer: row.try_get("customer")?,
                    recipient: row.try_get("recipient")?,
                    body: row.try_get("body")?,
                    fingerprint: row.try_get("fingerprint")?,
                    attempts: row.try_get("attempt_count")?,
                    lookups: row.try_get("lookup_count")?,
                    first_attempt_at: row.try_get("first_attempt_at")?,
                    touched: row.try_get("touched")?,
                    ambiguous: row.try_get("ambiguous")?,
                    superseded: row.try_get("superseded")?,
                    provider: row.try_get("provider")?,
                    next_step: match row.try_get::<String, _>("next_step")?.as_str() {
                        "ask" => NextStep::Ask,
                        _ => NextStep::Send,
                    },
                    rule: Rule::parse(&row.try_get::<String, _>("rule")?),
                    created_at: row.try_get("created_at")?,
                    expires_at: row.try_get("expires_at")?,
                    fence: row.try_get("fence")?,
                    lease_until: row.try_get("lease_until")?,
                });
            }
            tx.commit().await?;
            Ok(messages)
        })
    }

    /// Records, before a byte is sent, that an attempt begins. From here on a crash
    /// leaves it `SUBMISSION_UNKNOWN`. The lease is counted anew from here. False where
    /// the claim is no longer ours; nothing may be sent then.
    ///
    /// # Errors
    /// When the database refuses.
    pub async fn begin_attempt(
        &self,
        message: &Message,
        now: UnixMillis,
    ) -> Result<bool, StoreError> {
        on!(self, pool => {
            let mut tx = pool.begin_with(self.locking().begin).await?;
            let ours = sqlx::query(
                "update sms_outbox
                 set attempt_count = attempt_count + 1,
                     first_attempt_at = coalesce(first_attempt_at, $3), provider = $4,
                     lease_until = $5
                 where id = $1 and fence = $2 and status = 'in_progress'",
            )
            .bind(&message.id)
            .bind(message.fence)
            .bind(now)
            .bind(message.provider)
            .bind(message.lease_until)
            .execute(&mut *tx)
            .await?
            .rows_affected();
            if ours == 0 {
                tx.rollback().await?;
                return Ok(false);
            }
            sqlx::query(
                "insert into sms_attempt (outbox_id, attempt_no, fence, provider, state, started_at)
                 select id, attempt_count, fence, provider, 'STARTED', $2 from sms_outbox where id = $1",
            )
            .bind(&message.id)
            .bind(now)
            .execute(&mut *tx)
            .await?;
            tx.commit().await?;
            Ok(true)
        })
    }

    /// Ends an attempt that is followed by another under the same claim (a redirect's
    /// next hop, the second provider).
    ///
    /// # Errors
    /// When the database refuses.
    pub async fn end_attempt(
        &self,
        message: &Message,
        end: &AttemptEnd,
        now: UnixMillis,
    ) -> Result<(), StoreError> {
        on!(self, pool => {
            sqlx::query(END_ATTEMPT)
                .bind(&message.id)
                .bind(end.attempt_no)
                .bind(end.state)
                .bind(end.http_status.map(i64::from))
                .bind(&end.detail)
                .bind(now)
                .execute(pool)
                .await?;
            Ok(())
        })
    }

    /// Writes what came of a claim and lets it go. False where the claim is no longer
    /// ours, or a receipt has settled the message meanwhile; the row stays as it is.
    ///
    /// # Errors
    /// When the database refuses.
    pub async fn settle(
        &self,
        message: &Message,
        end: Option<&AttemptEnd>,
        facts: Facts,
        next: Next,
        provider_id: Option<&str>,
        now: UnixMillis,
    ) -> Result<bool, StoreError> {
        let (status, step, at, rule) = match next {
            Next::Sent => (Status::Sent, NextStep::Send, now, None),
            Next::Retry(at) => (Status::Pending, NextStep::Send, at, None),
            Next::Ask(at, rule) => (Status::Pending, NextStep::Ask, at, Some(rule)),
            Next::Dead(rule) => (Status::Dead, NextStep::Send, now, Some(rule)),
            Next::Unknown(rule) => (Status::Unknown, NextStep::Send, now, Some(rule)),
        };
        let why = end.map(|end| end.detail.as_str());
        on!(self, pool => {
            let mut tx = pool.begin_with(self.locking().begin).await?;
            let ours = sqlx::query(
                "update sms_outbox
                 set status = $3, next_step = $4, next_attempt_at = $5, rule = $6,
                     provider_id = coalesce($7, provider_id), last_error = coalesce($8, last_error),
                     touched = $9, ambiguous = $10, provider = $11, lookup_count = $12,
                     lease_owner = '', lease_until = 0
                 where id = $1 and fence = $2 and status = 'in_progress'",
            )
            .bind(&message.id)
            .bind(message.fence)
            .bind(status.as_str())
            .bind(step.as_str())
            .bind(at)
            .bind(rule.map_or("", Rule::as_str))
            .bind(provider_id)
            .bind(if status == Status::Sent { Some("") } else { why })
            .bind(facts.touched)
            .bind(facts.ambiguous)
            .bind(facts.provider)
            .bind(facts.lookups)
            .execute(&mut *tx)
            .await?
            .rows_affected();
            if let Some(end) = end {
                // What was seen of this attempt is true whoever holds the row now.
                sqlx::query(END_ATTEMPT)
                    .bind(&message.id)
                    .bind(end.attempt_no)
                    .bind(end.state)
                    .bind(end.http_status.map(i64::from))
                    .bind(&end.detail)
                    .bind(now)
                    .execute(&mut *tx)
                    .await?;
            }
            tx.commit().await?;
            Ok(ours == 1)
        })
    }
}

const END_ATTEMPT: &str = "update sms_attempt
     set state = $3, http_status = $4, detail = $5, ended_at = $6
     where outbox_id = $1 and attempt_no = $2";

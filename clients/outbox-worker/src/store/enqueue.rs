//! The front door: a business row and its outbox row, in one transaction.

use sqlx::Row;

use super::{Store, StoreError, on};
use crate::clock::{self, UnixMillis};
use crate::message::fingerprint;
use crate::rule::Rule;

/// What the business wants sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    /// The business's own name for this SMS, unique for the customer.
    pub intent: String,
    /// On whose account it is sent.
    pub customer: String,
    /// Where it goes.
    pub recipient: String,
    /// What it says.
    pub body: String,
    /// After this it is useless.
    pub expires_at: Option<UnixMillis>,
    /// The key on which the caller insists; absent: the outbox id.
    pub key: Option<String>,
    /// The login that it lets in; a newer challenge replaces an older one.
    pub login: Option<String>,
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enqueued {
    /// It is in the outbox now.
    New {
        /// How many older challenges for the same login it replaced.
        superseded: u64,
    },
    /// It was there already, with the same content.
    Already,
    /// The intent is there already with other content, or the key is another intent's.
    /// Nothing was changed.
    Conflict,
}

const INSERT_CHALLENGE: &str = "insert into login_challenge
     (id, customer, login, recipient, created_at) values ($1, $2, $3, $4, $5)";

const INSERT_MESSAGE: &str = "insert into sms_outbox (id, key, intent, customer, login, recipient,
     body, fingerprint, next_attempt_at, expires_at, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
     on conflict do nothing";

/// Stores a challenge and its message in a transaction of either database; how many messages were
/// new.
macro_rules! insert {
    ($tx:ident, $new:ident, $id:expr, $key:expr, $print:expr, $now:expr) => {{
        sqlx::query(INSERT_CHALLENGE)
            .bind($id)
            .bind(&$new.customer)
            .bind(&$new.login)
            .bind(&$new.recipient)
            .bind($now)
            .execute(&mut *$tx)
            .await?;
        sqlx::query(INSERT_MESSAGE)
            .bind($id)
            .bind($key)
            .bind(&$new.intent)
            .bind(&$new.customer)
            .bind(&$new.login)
            .bind(&$new.recipient)
            .bind(&$new.body)
            .bind($print)
            .bind($now)
            .bind($new.expires_at)
            .bind($now)
            .execute(&mut *$tx)
            .await?
            .rows_affected()
    }};
}

impl Store {
    /// Puts many new messages into the outbox in one transaction: all of them, or none. False
    /// where one of them is there already, or its key is; nothing was changed then.
    ///
    /// # Errors
    /// When the database refuses, or stays locked beyond the busy timeout.
    pub async fn enqueue_all(&self, all: &[NewMessage]) -> Result<bool, StoreError> {
        let now = clock::now();
        on!(self, pool => {
            let mut tx = pool.begin_with(self.locking().begin).await?;
            for new in all {
                let id = uuid::Uuid::now_v7().to_string();
                let key = new.key.as_ref().unwrap_or(&id);
                let print = fingerprint(&new.customer, &new.recipient, &new.body);
                let inserted = insert!(tx, new, &id, key, &print, now);
                if inserted == 0 {
                    tx.rollback().await?;
                    return Ok(false);
                }
            }
            tx.commit().await?;
            Ok(true)
        })
    }

    /// Puts a message into the outbox, once.
    ///
    /// # Errors
    /// When the database refuses, or stays locked beyond the busy timeout.
    pub async fn enqueue(&self, new: &NewMessage) -> Result<Enqueued, StoreError> {
        let id = uuid::Uuid::now_v7().to_string();
        let key = new.key.as_ref().unwrap_or(&id);
        let print = fingerprint(&new.customer, &new.recipient, &new.body);
        let now = clock::now();
        on!(self, pool => {
            let mut tx = pool.begin_with(self.locking().begin).await?;
            // Of two callers at once, the second waits here for the first to commit.
            let inserted = insert!(tx, new, &id, key, &print, now);
            if inserted == 0 {
                tx.rollback().await?;
                let first = sqlx::query(
                    "select fingerprint, key from sms_outbox where customer = $1 and intent = $2",
                )
                .bind(&new.customer)
                .bind(&new.intent)
                .fetch_optional(pool)
                .await?;
                let same = match first {
                    Some(first) => {
                        first.try_get::<String, _>(0)? == print
                            && (new.key.is_none() || first.try_get::<String, _>(1)? == *key)
                    }
                    // The intent is new, so it was the key that is taken.
                    None => false,
                };
                return Ok(if same { Enqueued::Already } else { Enqueued::Conflict });
            }
            let mut superseded = 0;
            if let Some(login) = &new.login {
                // Never attempted: it is certain that nothing of it can arrive.
                let cancelled = sqlx::query(
                    "update sms_outbox set status = 'cancelled', rule = $4
                     where customer = $1 and login = $2 and id <> $3
                       and status = 'pending' and attempt_count = 0",
                )
                .bind(&new.customer)
                .bind(login)
                .bind(&id)
                .bind(Rule::Superseded.as_str())
                .execute(&mut *tx)
                .await?
                .rows_affected();
                // Attempted, or just being so: no further attempt is made, but what became
                // of it is still asked.
                let stopped = sqlx::query(
                    "update sms_outbox set superseded = true
                     where customer = $1 and login = $2 and id <> $3
                       and status in ('pending', 'in_progress')",
                )
                .bind(&new.customer)
                .bind(login)
                .bind(&id)
                .execute(&mut *tx)
                .await?
                .rows_affected();
                superseded = cancelled + stopped;
            }
            tx.commit().await?;
            Ok(Enqueued::New { superseded })
        })
    }
}

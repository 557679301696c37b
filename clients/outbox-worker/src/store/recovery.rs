//! Taking things back up: claims that came to nothing, leases that ran out, messages of
//! which nobody knew.

use std::collections::HashSet;

use sqlx::Row;

use super::{Store, StoreError, on};
use crate::clock::UnixMillis;
use crate::message::Message;

impl Store {
    /// Puts a claim back as it was before it. `begun`: the attempt that was recorded last
    /// has not been sent after all, and so was none.
    ///
    /// # Errors
    /// When the database refuses.
    pub async fn release(
        &self,
        message: &Message,
        begun: bool,
        now: UnixMillis,
    ) -> Result<(), StoreError> {
        on!(self, pool => {
            let mut tx = pool.begin_with(self.locking().begin).await?;
            let ours = sqlx::query(
                "update sms_outbox
                 set status = 'pending', next_attempt_at = $3, lease_owner = '', lease_until = 0,
                     attempt_count = attempt_count - $4,
                     first_attempt_at = case when attempt_count > $4 then first_attempt_at end
                 where id = $1 and fence = $2 and status = 'in_progress'",
            )
            .bind(&message.id)
            .bind(message.fence)
            .bind(now)
            .bind(i64::from(begun))
            .execute(&mut *tx)
            .await?
            .rows_affected();
            if ours == 1 && begun {
                sqlx::query("delete from sms_attempt where outbox_id = $1 and attempt_no = $2")
                    .bind(&message.id)
                    .bind(message.attempts)
                    .execute(&mut *tx)
                    .await?;
            }
            tx.commit().await?;
            Ok(())
        })
    }

    /// Opens the question about every `unknown` message again whose first attempt is no
    /// older than `since`: the provider still knows its key. Returns how many.
    ///
    /// # Errors
    /// When the database refuses.
    pub async fn ask_again(&self, since: UnixMillis, now: UnixMillis) -> Result<u64, StoreError> {
        on!(self, pool => {
            let reopened = sqlx::query(
                "update sms_outbox
                 set status = 'pending', next_step = 'ask', lookup_count = 0, next_attempt_at = $2
                 where status = 'unknown' and first_attempt_at >= $1",
            )
            .bind(since)
            .bind(now)
            .execute(pool)
            .await?
            .rows_affected();
            Ok(reopened)
        })
    }

    /// Takes rows whose lease has run out from whoever held them. An attempt that had
    /// begun may have been accepted: it becomes `SUBMISSION_UNKNOWN`, and the row goes
    /// on under the same key. Rows in `live` are being worked on right here, late as they
    /// may be, and are left alone. Returns the intents.
    ///
    /// # Errors
    /// When the database refuses.
    pub async fn sweep(
        &self,
        now: UnixMillis,
        live: &HashSet<String>,
    ) -> Result<Vec<String>, StoreError> {
        let stale = format!(
            "select id, intent from sms_outbox where status = 'in_progress' and lease_until <= $1 {}",
            self.locking().rows
        );
        on!(self, pool => {
            let mut tx = pool.begin_with(self.locking().begin).await?;
            let rows = sqlx::query(&stale).bind(now).fetch_all(&mut *tx).await?;
            let mut intents = Vec::with_capacity(rows.len());
            for row in &rows {
                let id: String = row.try_get("id")?;
                if live.contains(&id) {
                    continue;
                }
                let begun = sqlx::query(
                    "update sms_attempt
                     set state = 'SUBMISSION_UNKNOWN', detail = 'the lease ran out', ended_at = $2
                     where outbox_id = $1 and state = 'STARTED'",
                )
                .bind(&id)
                .bind(now)
                .execute(&mut *tx)
                .await?
                .rows_affected()
                    > 0;
                sqlx::query(
                    "update sms_outbox
                     set status = 'pending', fence = fence + 1, lease_owner = '', lease_until = 0,
                         next_attempt_at = $2, touched = touched or $3, ambiguous = ambiguous or $3
                     where id = $1",
                )
                .bind(&id)
                .bind(now)
                .bind(begun)
                .execute(&mut *tx)
                .await?;
                intents.push(row.try_get("intent")?);
            }
            tx.commit().await?;
            Ok(intents)
        })
    }
}

//! Receipts: stored before they are acknowledged, applied once, and only forwards.

use super::{Store, StoreError, on};
use crate::clock::UnixMillis;

/// What the provider reports about a message afterwards.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
pub struct Receipt {
    /// Names this report; a repeated one bears the same.
    pub event_id: String,
    /// The provider's name for the message.
    pub message_id: String,
    /// The key it was submitted under; absent for a message without one.
    #[serde(default)]
    pub idempotency_key: Option<String>,
    /// `queued`, `sent`, `delivered` or `undelivered`.
    pub status: String,
}

/// What a receipt did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    /// It was here before; nothing changed.
    Duplicate,
    /// It is stored, but no message of ours bears its key.
    Unmatched,
    /// It is stored and its message knows of it.
    Matched {
        /// It settled a message whose outcome was open.
        settled: bool,
    },
}

/// How far along a delivery is; a receipt never takes it back.
fn rank(status: &str) -> i64 {
    match status {
        "queued" => 1,
        "sent" => 2,
        "delivered" | "undelivered" => 3,
        _ => 0,
    }
}

impl Store {
    /// Stores a receipt and applies it, in one transaction. A receipt proves acceptance,
    /// so a message that was open or unknown is `sent` from here on, even before the
    /// answer to its request is in.
    ///
    /// # Errors
    /// When the database refuses; the receipt must not be acknowledged then.
    pub async fn receive(&self, receipt: &Receipt, now: UnixMillis) -> Result<Applied, StoreError> {
        let key = receipt.idempotency_key.as_deref().unwrap_or_default();
        on!(self, pool => {
            let mut tx = pool.begin_with(self.locking().begin).await?;
            let new = sqlx::query(
                "insert into sms_receipt (event_id, message_id, idempotency_key, status, received_at, applied)
                 values ($1, $2, $3, $4, $5, false) on conflict (event_id) do nothing",
            )
            .bind(&receipt.event_id)
            .bind(&receipt.message_id)
            .bind(key)
            .bind(&receipt.status)
            .bind(now)
            .execute(&mut *tx)
            .await?
            .rows_affected();
            if new == 0 {
                tx.rollback().await?;
                return Ok(Applied::Duplicate);
            }
            let delivery = sqlx::query(
                "update sms_outbox set delivery = case
                     when $4 > case delivery when 'queued' then 1 when 'sent' then 2
                                             when 'delivered' then 3 when 'undelivered' then 3 else 0 end
                     then $3 else delivery end,
                     provider_id = coalesce(provider_id, $2)
                 where id = $1 or (provider_id = $2 and $1 = '')",
            )
            .bind(key)
            .bind(&receipt.message_id)
            .bind(&receipt.status)
            .bind(rank(&receipt.status))
            .execute(&mut *tx)
            .await?
            .rows_affected();
            if delivery == 0 {
                tx.commit().await?;
                return Ok(Applied::Unmatched);
            }
            let settled = sqlx::query(
                "update sms_outbox
                 set status = 'sent', next_step = 'send', rule = '', last_error = '',
                     lease_owner = '', lease_until = 0
                 where (id = $1 or (provider_id = $2 and $1 = ''))
                   and status in ('pending', 'in_progress', 'unknown', 'dead')",
            )
            .bind(key)
            .bind(&receipt.message_id)
            .execute(&mut *tx)
            .await?
            .rows_affected();
            sqlx::query("update sms_receipt set applied = true where event_id = $1")
                .bind(&receipt.event_id)
                .execute(&mut *tx)
                .await?;
            tx.commit().await?;
            Ok(Applied::Matched { settled: settled > 0 })
        })
    }
}

//! Receipts: stored before they are acknowledged, applied once, and only forwards.

use sqlx::Row;

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
    /// Whose phone it is about.
    #[serde(default)]
    pub to: String,
    /// `queued`, `sent`, or one of the ends: `delivered`, `undelivered`, `expired`.
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
        "delivered" | "undelivered" | "expired" => 3,
        _ => 0,
    }
}

/// Which of these rows (their ids, and what the provider called them) a receipt is about:
/// the one that bears the provider's name, or else the only one that may.
fn pick(candidates: Vec<(String, Option<String>)>, message_id: &str) -> Option<String> {
    let mut unnamed = Vec::new();
    for (id, named) in candidates {
        match named {
            Some(named) if named == message_id => return Some(id),
            Some(_) => {}
            None => unnamed.push(id),
        }
    }
    (unnamed.len() == 1).then(|| unnamed.remove(0))
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
            // A receipt names no customer, and customers may have chosen equal keys: the
            // recipient and the provider's own name tell them apart.
            let rows = sqlx::query(
                "select id, provider_id from sms_outbox
                 where (key = $1 and ($2 = '' or recipient = $2)) or ($1 = '' and provider_id = $3)",
            )
            .bind(key)
            .bind(&receipt.to)
            .bind(&receipt.message_id)
            .fetch_all(&mut *tx)
            .await?;
            let mut candidates = Vec::with_capacity(rows.len());
            for row in &rows {
                let named: Option<String> = row.try_get(1)?;
                candidates.push((row.try_get::<String, _>(0)?, named));
            }
            let Some(id) = pick(candidates, &receipt.message_id) else {
                tx.commit().await?;
                return Ok(Applied::Unmatched);
            };
            sqlx::query(
                "update sms_outbox set delivery = case
                     when $4 > case delivery when 'queued' then 1 when 'sent' then 2
                                             when 'delivered' then 3 when 'undelivered' then 3
                                             when 'expired' then 3 else 0 end
                     then $3 else delivery end,
                     provider_id = coalesce(provider_id, $2)
                 where id = $1",
            )
            .bind(&id)
            .bind(&receipt.message_id)
            .bind(&receipt.status)
            .bind(rank(&receipt.status))
            .execute(&mut *tx)
            .await?;
            let settled = sqlx::query(
                "update sms_outbox
                 set status = 'sent', next_step = 'send', rule = '', last_error = '',
                     lease_owner = '', lease_until = 0
                 where id = $1 and status in ('pending', 'in_progress', 'unknown', 'dead')",
            )
            .bind(&id)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, named: Option<&str>) -> (String, Option<String>) {
        (id.to_owned(), named.map(str::to_owned))
    }

    #[test]
    fn a_receipt_is_for_the_row_that_bears_the_providers_name() {
        let rows = vec![
            row("a", Some("msg_1")),
            row("b", Some("msg_2")),
            row("c", None),
        ];
        assert_eq!(pick(rows, "msg_2").as_deref(), Some("b"));
    }

    #[test]
    fn a_row_without_a_name_is_taken_only_where_there_is_no_choice() {
        let one = vec![row("a", Some("msg_1")), row("b", None)];
        assert_eq!(pick(one, "msg_2").as_deref(), Some("b"));
        assert_eq!(pick(vec![row("a", None), row("b", None)], "msg_2"), None);
        assert_eq!(pick(vec![row("a", Some("msg_1"))], "msg_2"), None);
    }
}

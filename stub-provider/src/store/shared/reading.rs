//! What all replicas know, read back.

use std::sync::Arc;

use sqlx::{Row as _, postgres::PgRow};

use super::{Shared, refused};
use crate::{
    accept::Found,
    arrival::Asked,
    ledger::KeyId,
    message::{MessageId, Naming},
    record::{Attempt, Delivery},
    store::{
        Refused,
        disk::span,
        rows::{AttemptRow, attempt_row},
    },
};

/// Which deliveries are asked for.
#[derive(Clone, Copy)]
pub(crate) enum Which<'k> {
    All,
    Id(MessageId),
    Under(&'k KeyId),
}

impl Shared {
    /// Every attempt of all replicas.
    pub(crate) async fn attempts(&self) -> Result<Vec<Arc<Attempt>>, Refused> {
        let rows = sqlx::query("select * from stub_provider.attempts order by id")
            .fetch_all(&self.noting)
            .await
            .map_err(|error| refused(&error))?;
        rows.iter().map(attempt).collect()
    }

    /// The deliveries of all replicas, in the order of their numbers: all, that of an id, or those
    /// under a key.
    pub(crate) async fn deliveries(&self, which: Which<'_>) -> Result<Vec<Delivery>, Refused> {
        let (id, key) = match which {
            Which::All => (None, None),
            Which::Id(id) => (Some(id.0.cast_signed()), None),
            Which::Under(key) => (None, Some(key.parts())),
        };
        let rows = sqlx::query(
            "select attempts.*, messages.id as number, messages.at as delivered
             from stub_provider.messages join stub_provider.attempts
                on attempts.id = messages.attempt
             where ($1::bigint is null or messages.id = $1)
                and ($2::bytea is null or (messages.customer = $2 and messages.key = $3))
             order by messages.id",
        )
        .bind(id)
        .bind(key.map(|(customer, _)| customer.as_bytes()))
        .bind(key.map(|(_, name)| name.as_bytes()))
        .fetch_all(&self.noting)
        .await
        .map_err(|error| refused(&error))?;
        let delivery = |row: &PgRow| {
            let number = row.try_get("number").map(i64::cast_unsigned);
            let at = row.try_get("delivered").map(span);
            Ok(Delivery::new(
                MessageId(number.map_err(|error| refused(&error))?),
                attempt(row)?,
                at.map_err(|error| refused(&error))?,
            ))
        };
        rows.iter().map(delivery).collect()
    }

    /// What a lookup finds, whichever replica it was that accepted it.
    pub(crate) async fn find(
        &self,
        customer: &str,
        asked: &Asked,
        naming: Naming,
    ) -> Result<Found, Refused> {
        match asked {
            Asked::ByKey(key) => {
                let key = KeyId::new(customer, key);
                Ok(Found {
                    in_flight: self.in_flight(&key).await?,
                    deliveries: self.deliveries(Which::Under(&key)).await?,
                })
            }
            Asked::ById(id) => {
                let Some(id) = naming.parse(id) else {
                    return Ok(Found::default());
                };
                let delivery = self.deliveries(Which::Id(id)).await?.pop();
                Ok(Found::one(delivery, customer))
            }
            Asked::To(number) => {
                let all = self.deliveries(Which::All).await?;
                Ok(Found::to(number, all, customer))
            }
            Asked::Submit => Ok(Found::default()),
        }
    }

    /// How many attempts and deliveries there are.
    pub(crate) async fn counts(&self) -> Result<(usize, usize), Refused> {
        let counts: (i64, i64) = sqlx::query_as(
            "select (select count(*) from stub_provider.attempts),
                    (select count(*) from stub_provider.messages)",
        )
        .fetch_one(&self.noting)
        .await
        .map_err(|error| refused(&error))?;
        let size = |n| usize::try_from(n).unwrap_or_default();
        Ok((size(counts.0), size(counts.1)))
    }
}

fn attempt(row: &PgRow) -> Result<Arc<Attempt>, Refused> {
    let read = || {
        let sender: Option<Vec<u8>> = row.try_get("sender")?;
        let sender = sender.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Ok::<AttemptRow, sqlx::Error>(attempt_row!(row, sender))
    };
    let row = read().map_err(|error| refused(&error))?;
    let (id, by_key) = (row.id.cast_unsigned(), row.by_key);
    let mut attempt = row.attempt().map_err(|what| {
        tracing::error!(what, "in the store: cannot be read");
        Refused
    })?;
    // What it is counted as was known only when it was written.
    attempt.renumber(id, u32::try_from(by_key).unwrap_or(u32::MAX));
    Ok(Arc::new(attempt))
}

//! A key to decide, and the decision.
//!
//! Owns the transaction that is the ownership of a key, from the lock to the commit.

use std::{sync::Arc, time::Duration};

use sha2::{Digest as _, Sha256};
use sqlx::{Postgres, Row as _, Transaction, postgres::PgRow};

use super::{Shared, refused};
use crate::{
    accept::Conclusion,
    clock::Clock,
    event::AttemptId,
    fingerprint::Fingerprint,
    ledger::{Claim, KeyId},
    message::{MessageId, Naming},
    record::{Attempt, Reached},
    reply::Reply,
    store::{
        Refused, Unkept,
        disk::{micros, span},
        rows,
    },
};

/// A key, or a new message without one, that nobody else can decide now. Dropping it gives it
/// back.
pub(crate) struct Owned {
    transaction: Transaction<'static, Postgres>,
    /// The number of the message, should there be one.
    pub(crate) number: MessageId,
}

/// What comes of asking for a key.
pub(crate) enum Owning {
    /// The caller has it.
    Free(Owned),
    /// It is not to be had.
    Taken(Claim<Arc<Reply>>),
}

fn lock_of(key: &KeyId) -> i64 {
    let digest = Sha256::digest(key.text());
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    i64::from_be_bytes(first)
}

impl Shared {
    /// Enters a request: its number, and which one it is under `counted`.
    pub(crate) async fn enter(
        &self,
        attempt: &Attempt,
        counted: &str,
    ) -> Result<(AttemptId, u32), Refused> {
        let row: (i64, i64) = sqlx::query_as(
            "with counted as (
                insert into stub_provider.counts values ($1, 1)
                on conflict (what) do update set n = counts.n + 1 returning n
            )
            insert into stub_provider.attempts
                (at, connection, nth_on_connection, method, target, headers, body, reading,
                 by_key, sender, reached)
            select $2, $3, $4, $5, $6, $7, $8, $9, n, $10, $11 from counted
            returning id, by_key",
        )
        .bind(counted.as_bytes())
        .bind(micros(attempt.at()))
        .bind(attempt.connection.cast_signed())
        .bind(i64::from(attempt.nth_on_connection))
        .bind(attempt.request.method())
        .bind(attempt.request.target())
        .bind(attempt.request.head())
        .bind(attempt.request.body())
        .bind(rows::reading(&attempt.reading()))
        .bind(attempt.request.said().sender.map(str::as_bytes))
        .bind(Reached::Arrived.word())
        .fetch_one(&self.noting)
        .await
        .map_err(|error| refused(&error))?;
        let by_key = u32::try_from(row.1).unwrap_or(u32::MAX);
        Ok((row.0.cast_unsigned(), by_key))
    }

    /// Takes a key for its next decision, or finds what was decided. With `wait` it waits for
    /// whoever has it; else that is found.
    pub(crate) async fn own(
        &self,
        key: Option<(&KeyId, Fingerprint)>,
        wait: bool,
        clock: &Clock,
        retention: Duration,
    ) -> Result<Owning, Refused> {
        self.try_own(key, wait, clock, retention)
            .await
            .map_err(|error| refused(&error))
    }

    async fn try_own(
        &self,
        key: Option<(&KeyId, Fingerprint)>,
        wait: bool,
        clock: &Clock,
        retention: Duration,
    ) -> Result<Owning, sqlx::Error> {
        let mut transaction = self.deciding.begin().await?;
        if let Some((key, _)) = key {
            if wait {
                sqlx::query("select pg_advisory_xact_lock($1)")
                    .bind(lock_of(key))
                    .execute(&mut *transaction)
                    .await?;
            } else if !try_lock(&mut transaction, key).await? {
                return Ok(Owning::Taken(Claim::InFlight));
            }
        }
        let (customer, name) = key.map_or(("", ""), |(key, _)| key.parts());
        let row = sqlx::query(
            "select provider.ahead, nextval('stub_provider.message') as number, keys.*
             from stub_provider.provider
             left join stub_provider.keys on customer = $1 and key = $2 and $3",
        )
        .bind(customer.as_bytes())
        .bind(name.as_bytes())
        .bind(key.is_some())
        .fetch_one(&mut *transaction)
        .await?;
        self.follow(clock, row.try_get("ahead")?);
        let number: i64 = row.try_get("number")?;
        let since: Option<i64> = row.try_get("at")?;
        if let (Some(since), Some((_, fingerprint))) = (since, key) {
            if clock.now().saturating_sub(span(since)) < retention {
                return Ok(Owning::Taken(claim(&row, fingerprint)?));
            }
            // It is not kept any longer; the unique key stays the referee for what comes now.
            sqlx::query("delete from stub_provider.keys where customer = $1 and key = $2")
                .bind(customer.as_bytes())
                .bind(name.as_bytes())
                .execute(&mut *transaction)
                .await?;
        }
        Ok(Owning::Free(Owned {
            transaction,
            number: MessageId(number.cast_unsigned()),
        }))
    }

    /// Commits a decision: the delivery and the stored answer together, or neither. True where
    /// another message was accepted under the key before, by whichever replica.
    pub(crate) async fn conclude(
        &self,
        owned: Owned,
        conclusion: &Conclusion,
        naming: Naming,
    ) -> Result<bool, Unkept> {
        let mut transaction = owned.transaction;
        let again = write(&mut transaction, conclusion, naming)
            .await
            .map_err(|error| {
                refused(&error);
                Unkept::Refused
            })?;
        transaction.commit().await.map(|()| again).map_err(|error| {
            // Where the server says no it is no; where it says nothing, nobody knows.
            let said = matches!(error, sqlx::Error::Database(_));
            tracing::error!(%error, known = said, "a commit failed");
            if said {
                Unkept::Refused
            } else {
                Unkept::Unknown
            }
        })
    }

    /// Replaces the stored answer of a key.
    pub(crate) async fn restated(&self, key: &KeyId, reply: &Reply) -> Result<(), Refused> {
        let (customer, name) = key.parts();
        let query = sqlx::query(
            "update stub_provider.keys set status = $3, headers = $4, body = $5
             where customer = $1 and key = $2",
        );
        query
            .bind(customer.as_bytes())
            .bind(name.as_bytes())
            .bind(i64::from(reply.status.as_u16()))
            .bind(rows::headers(reply))
            .bind(&reply.body[..])
            .execute(&self.noting)
            .await
            .map(drop)
            .map_err(|error| refused(&error))
    }

    /// Whether any replica works on a key.
    pub(super) async fn in_flight(&self, key: &KeyId) -> Result<bool, Refused> {
        let ask = async {
            let mut transaction = self.noting.begin().await?;
            let free = try_lock(&mut transaction, key).await?;
            transaction.rollback().await?;
            Ok(!free)
        };
        ask.await.map_err(|error: sqlx::Error| refused(&error))
    }
}

async fn try_lock(
    transaction: &mut Transaction<'static, Postgres>,
    key: &KeyId,
) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar("select pg_try_advisory_xact_lock($1)")
        .bind(lock_of(key))
        .fetch_one(&mut **transaction)
        .await
}

async fn write(
    transaction: &mut Transaction<'static, Postgres>,
    conclusion: &Conclusion,
    naming: Naming,
) -> Result<bool, sqlx::Error> {
    let by = conclusion.attempt.id.cast_signed();
    let (customer, name) = conclusion.key().map(KeyId::parts).unzip();
    let (customer, name) = (customer.map(str::as_bytes), name.map(str::as_bytes));
    let message = conclusion.delivery.as_ref().map(|one| one.id);
    let mut again = false;
    if let Some(delivery) = &conclusion.delivery {
        again = sqlx::query_scalar(
            "insert into stub_provider.messages values ($1, $2, $3, $4, $5, $6)
             returning exists (
                select 1 from stub_provider.messages earlier
                where earlier.customer = $5 and earlier.key = $6
             )",
        )
        .bind(delivery.id.0.cast_signed())
        .bind(naming.name(delivery.id))
        .bind(by)
        .bind(micros(delivery.at()))
        .bind(customer)
        .bind(name)
        .fetch_one(&mut **transaction)
        .await?;
    }
    let fingerprint = conclusion.fingerprint();
    if let (Some(answer), Some(fingerprint)) = (&conclusion.answer, fingerprint) {
        sqlx::query("insert into stub_provider.keys values ($1, $2, $3, $4, $5, $6, $7, $8, $9)")
            .bind(customer)
            .bind(name)
            .bind(&fingerprint.bytes()[..])
            .bind(by)
            .bind(i64::from(answer.status.as_u16()))
            .bind(rows::headers(answer))
            .bind(&answer.body[..])
            .bind(message.map(|id| id.0.cast_signed()))
            .bind(micros(conclusion.at))
            .execute(&mut **transaction)
            .await?;
    }
    sqlx::query("update stub_provider.attempts set reached = $2, message = $3 where id = $1")
        .bind(by)
        .bind(conclusion.attempt.reached().word())
        .bind(message.map(|id| id.0.cast_signed()))
        .execute(&mut **transaction)
        .await?;
    Ok(again)
}

/// What a row of `keys` means for a request.
fn claim(row: &PgRow, fingerprint: Fingerprint) -> Result<Claim<Arc<Reply>>, sqlx::Error> {
    let damaged = || sqlx::Error::Decode("a stored answer cannot be read".into());
    let bound: Vec<u8> = row.try_get("fingerprint")?;
    if rows::fingerprint(&bound).ok_or_else(damaged)? != fingerprint {
        return Ok(Claim::Mismatch);
    }
    let headers: Vec<u8> = row.try_get("headers")?;
    let answer = rows::reply(row.try_get("status")?, &headers, row.try_get("body")?);
    let message: Option<i64> = row.try_get("message")?;
    let of: i64 = row.try_get("attempt")?;
    Ok(Claim::Stored {
        answer: answer.ok_or_else(damaged)?,
        of: of.cast_unsigned(),
        message: message.map(|number| MessageId(number.cast_unsigned())),
    })
}

//! Taking up what a database has kept.
//!
//! Owns the way back from the tables to ledger and records, the clock included: a key is kept
//! exactly as long as if the provider had never been away.

use std::{sync::Arc, time::Duration};

use sqlx::{Row as _, sqlite::SqliteRow};

use super::{
    Recovered, StoreError,
    disk::{Database, since_epoch, span},
    rows::{self, AttemptRow},
};
use crate::{
    arrival::counted_as,
    core::Core,
    event::End,
    ledger::{KeyId, Settled},
    message::MessageId,
    record::{Attempt, Delivery},
    reply::Reply,
};

/// Rows that are in memory at once.
const PAGE: i64 = 4096;

impl Database {
    /// Takes up everything that was kept.
    pub(super) async fn recover(&mut self, core: &Core) -> Result<Recovered, StoreError> {
        let mut recovered = Recovered {
            torn: self.tail.torn,
            ..Recovered::default()
        };
        let mut latest = Duration::ZERO;
        self.attempts(core, &mut recovered, &mut latest).await?;
        self.messages(core, &mut recovered, &mut latest).await?;
        self.answers(core, &mut latest).await?;
        recovered.keys = core.ledger.stored();
        core.records.go_on_from(self.next.0, self.next.1);
        let now = since_epoch();
        core.clock
            .resume(self.zero, now.saturating_add(self.ahead), latest);
        Ok(recovered)
    }

    /// One page of a table behind the row `after`.
    async fn page(
        &mut self,
        select: &'static str,
        after: i64,
    ) -> Result<Vec<SqliteRow>, StoreError> {
        let fail = self.failed("reading what it has kept");
        sqlx::query(select)
            .bind(after)
            .bind(PAGE)
            .fetch_all(&mut self.connection)
            .await
            .map_err(fail)
    }

    fn damaged(&self, what: &str) -> StoreError {
        StoreError::Damaged {
            place: self.place.clone(),
            what: format!("{what} cannot be read"),
        }
    }

    async fn attempts(
        &mut self,
        core: &Core,
        recovered: &mut Recovered,
        latest: &mut Duration,
    ) -> Result<(), StoreError> {
        let fail = self.failed("reading its attempts");
        let mut after = -1;
        loop {
            let rows = self
                .page(
                    "select * from attempts where id > ? order by id limit ?",
                    after,
                )
                .await?;
            if rows.is_empty() {
                return Ok(());
            }
            for row in rows {
                after = row.try_get("id").map_err(&fail)?;
                let key: Option<String> = row.try_get("key").map_err(&fail)?;
                let row = attempt_row(&row).map_err(&fail)?;
                let attempt = row.attempt().map_err(|what| self.damaged(&what))?;
                // Whether it was answered, nobody knows: the provider was gone before that was
                // on record.
                recovered.cut_off += u64::from(attempt.finish(End::Crashed));
                recovered.attempts += 1;
                *latest = (*latest).max(attempt.at);
                count(core, &attempt, key.as_deref());
                core.records.arrivals().push(Arc::new(attempt));
            }
        }
    }

    async fn messages(
        &mut self,
        core: &Core,
        recovered: &mut Recovered,
        latest: &mut Duration,
    ) -> Result<(), StoreError> {
        let fail = self.failed("reading its messages");
        let mut after = -1;
        loop {
            let rows = self
                .page(
                    "select id, attempt, at from messages where id > ? order by id limit ?",
                    after,
                )
                .await?;
            if rows.is_empty() {
                return Ok(());
            }
            for row in rows {
                after = row.try_get("id").map_err(&fail)?;
                let by: i64 = row.try_get("attempt").map_err(&fail)?;
                let Some(by) = core.records.attempt(by.cast_unsigned()) else {
                    return Err(self.damaged(&format!("the attempt of message {after}")));
                };
                let at = span(row.try_get("at").map_err(&fail)?);
                recovered.deliveries += 1;
                *latest = (*latest).max(at);
                core.records.restore(Delivery {
                    id: MessageId(after.cast_unsigned()),
                    by,
                    at,
                });
            }
        }
    }

    async fn answers(&mut self, core: &Core, latest: &mut Duration) -> Result<(), StoreError> {
        let fail = self.failed("reading its answers");
        let mut after = -1;
        loop {
            let rows = self
                .page(
                    "select * from answers where id > ? order by id limit ?",
                    after,
                )
                .await?;
            if rows.is_empty() {
                return Ok(());
            }
            for row in rows {
                after = row.try_get("id").map_err(&fail)?;
                let key: String = row.try_get("key").map_err(&fail)?;
                let settled = settled(&row).map_err(&fail)?;
                let Some(settled) = settled else {
                    return Err(self.damaged(&format!("answer {after}")));
                };
                *latest = (*latest).max(settled.at);
                core.ledger.restore(KeyId::from_text(&key), settled);
            }
        }
    }
}

/// Counts a request again, as it was counted when it came.
fn count(core: &Core, attempt: &Attempt, key: Option<&str>) {
    if let Some(key) = key {
        core.ledger.recount(KeyId::from_text(key), attempt.by_key);
    } else {
        let what = counted_as(&attempt.reading).into_owned();
        let mut count = core.keyless.entry(what).or_insert(0);
        *count = attempt.by_key.max(*count);
    }
}

fn attempt_row(row: &SqliteRow) -> Result<AttemptRow, sqlx::Error> {
    Ok(AttemptRow {
        id: row.try_get("id")?,
        at: row.try_get("at")?,
        connection: row.try_get("connection")?,
        nth_on_connection: row.try_get("nth_on_connection")?,
        method: row.try_get("method")?,
        target: row.try_get("target")?,
        headers: row.try_get("headers")?,
        body: row.try_get("body")?,
        reading: row.try_get("reading")?,
        by_key: row.try_get("by_key")?,
        sender: row.try_get("sender")?,
        reached: row.try_get("reached")?,
        status: row.try_get("status")?,
        ended: row.try_get("ended")?,
        message: row.try_get("message")?,
    })
}

/// How a key was settled; `None` where the columns do not say it.
fn settled(row: &SqliteRow) -> Result<Option<Settled<Arc<Reply>>>, sqlx::Error> {
    let status: Option<i64> = row.try_get("status")?;
    let answer = match status {
        None => None,
        Some(status) => {
            let headers: Vec<u8> = row.try_get("headers")?;
            let body: Vec<u8> = row.try_get("body")?;
            match rows::reply(status, &headers, body) {
                Some(reply) => Some(reply),
                None => return Ok(None),
            }
        }
    };
    let fingerprint: Vec<u8> = row.try_get("fingerprint")?;
    let Some(fingerprint) = rows::fingerprint(&fingerprint) else {
        return Ok(None);
    };
    let of: i64 = row.try_get("attempt")?;
    let message: Option<i64> = row.try_get("message")?;
    Ok(Some(Settled {
        of: of.cast_unsigned(),
        fingerprint,
        answer,
        message: message.map(|number| MessageId(number.cast_unsigned())),
        at: span(row.try_get("at")?),
    }))
}

//! Taking up what a database has kept.
//!
//! Owns the way back from the tables to ledger and records, the clock included: a key is kept
//! exactly as long as if the provider had never been away.

use std::{sync::Arc, time::Duration};

use sqlx::{Row as _, sqlite::SqliteRow};

use super::{
    Recovered, StoreError,
    disk::{Database, since_epoch, span},
    rows::{self, AttemptRow, attempt_row},
};
use crate::{
    arrival::counted_as,
    core::Core,
    event::End,
    fault::MessageStatus,
    inbound::{Inbound, keyword},
    ledger::{KeyId, Settled},
    message::MessageId,
    receipt::Tried,
    record::{Attempt, Delivery},
    reply::Reply,
};

/// Rows that are in memory at once.
const PAGE: i64 = 4096;

impl Database {
    /// Takes up everything that was kept.
    pub(super) async fn recover(&mut self, core: &Arc<Core>) -> Result<Recovered, StoreError> {
        let mut recovered = Recovered {
            torn: self.tail.torn,
            ..Recovered::default()
        };
        let mut latest = Duration::ZERO;
        self.attempts(core, &mut recovered, &mut latest).await?;
        let reported = self.messages(core, &mut recovered, &mut latest).await?;
        self.answers(core, &mut latest).await?;
        self.tries(core, &mut latest).await?;
        self.inbound(core, &mut latest).await?;
        recovered.keys = core.ledger.stored();
        core.records.go_on_from(self.next.0, self.next.1);
        let now = since_epoch();
        core.clock
            .resume(self.zero, now.saturating_add(self.ahead), latest);
        core.recount();
        core.report_again(&reported);
        Ok(recovered)
    }

    /// Reads a table from its first row to its last, a page at a time. `select` takes the id that
    /// it begins behind, and how many rows it may give.
    async fn each(
        &mut self,
        what: &str,
        select: &'static str,
        mut take: impl FnMut(i64, &SqliteRow) -> Result<(), Unread>,
    ) -> Result<(), StoreError> {
        let fail = self.failed("reading what it has kept");
        let mut after = -1;
        loop {
            let rows = sqlx::query(select)
                .bind(after)
                .bind(PAGE)
                .fetch_all(&mut self.connection)
                .await
                .map_err(&fail)?;
            if rows.is_empty() {
                return Ok(());
            }
            for row in &rows {
                after = row.try_get("id").map_err(&fail)?;
                take(after, row).map_err(|unread| match unread {
                    Unread::Column(error) => fail(error),
                    Unread::Sense => StoreError::Damaged {
                        place: self.place.clone(),
                        what: format!("{what} {after} cannot be read"),
                    },
                    Unread::Part(part) => StoreError::Damaged {
                        place: self.place.clone(),
                        what: format!("{part} cannot be read"),
                    },
                })?;
            }
        }
    }

    async fn attempts(
        &mut self,
        core: &Core,
        recovered: &mut Recovered,
        latest: &mut Duration,
    ) -> Result<(), StoreError> {
        let select = "select * from attempts where id > ? order by id limit ?";
        self.each("attempt", select, |_, row| {
            let key: Option<String> = row.try_get("key")?;
            let sender = row.try_get("sender")?;
            let kept: AttemptRow = attempt_row!(row, sender);
            let attempt = kept.attempt().map_err(Unread::Part)?;
            // Whether it was answered, nobody knows: the provider was gone before that was on
            // record.
            recovered.cut_off += u64::from(attempt.finish(End::Crashed));
            recovered.attempts += 1;
            *latest = (*latest).max(attempt.at());
            count(core, &attempt, key.as_deref());
            core.records.arrivals().push(Arc::new(attempt));
            Ok(())
        })
        .await
    }

    /// Which of them the client was to be told about.
    async fn messages(
        &mut self,
        core: &Core,
        recovered: &mut Recovered,
        latest: &mut Duration,
    ) -> Result<Vec<Delivery>, StoreError> {
        let select = "select * from messages where id > ? order by id limit ?";
        let mut reported = Vec::new();
        self.each("the attempt of message", select, |id, row| {
            let by: i64 = row.try_get("attempt")?;
            let by = core.records.attempt(by.cast_unsigned());
            let by = by.ok_or(Unread::Sense)?;
            let at = span(row.try_get("at")?);
            recovered.deliveries += 1;
            *latest = (*latest).max(at);
            let delivery = Delivery::new(MessageId(id.cast_unsigned()), by, at);
            if row.try_get("reported")? {
                reported.push(delivery.clone());
            }
            core.records.restore(delivery);
            Ok(())
        })
        .await?;
        Ok(reported)
    }

    async fn tries(&mut self, core: &Core, latest: &mut Duration) -> Result<(), StoreError> {
        let select = "select * from receipts where id > ? order by id limit ?";
        self.each("the receipt", select, |_, row| {
            let message: i64 = row.try_get("message")?;
            let answered: Option<i64> = row.try_get("answered")?;
            let number = |number: i64| u32::try_from(number).map_err(|_| Unread::Sense);
            let tried = Tried {
                event_id: row.try_get("event_id")?,
                status: MessageStatus::from_word(row.try_get("status")?).ok_or(Unread::Sense)?,
                attempt: number(row.try_get("attempt")?)?,
                answered: answered
                    .map(u16::try_from)
                    .transpose()
                    .map_err(|_| Unread::Sense)?,
                at: span(row.try_get("at")?),
            };
            *latest = (*latest).max(tried.at);
            core.tries.add(MessageId(message.cast_unsigned()), tried);
            Ok(())
        })
        .await
    }

    async fn inbound(&mut self, core: &Core, latest: &mut Duration) -> Result<(), StoreError> {
        let select = "select * from inbound where id > ? order by id limit ?";
        self.each("the message from a phone", select, |_, row| {
            let message: String = row.try_get("message")?;
            let message: Inbound = serde_json::from_str(&message).map_err(|_| Unread::Sense)?;
            *latest = (*latest).max(span(row.try_get("at")?));
            core.opt_outs.hear(&message, keyword(&message.body));
            Ok(())
        })
        .await
    }

    async fn answers(&mut self, core: &Core, latest: &mut Duration) -> Result<(), StoreError> {
        let select = "select * from answers where id > ? order by id limit ?";
        self.each("answer", select, |_, row| {
            let key: String = row.try_get("key")?;
            let settled = settled(row)?.ok_or(Unread::Sense)?;
            *latest = (*latest).max(settled.at);
            core.ledger.restore(&KeyId::from_text(&key), settled);
            Ok(())
        })
        .await
    }
}

/// Why a row cannot be taken up.
enum Unread {
    /// The database does not give a column.
    Column(sqlx::Error),
    /// What is in it makes no sense.
    Sense,
    /// A part of it makes no sense; which.
    Part(String),
}

impl From<sqlx::Error> for Unread {
    fn from(error: sqlx::Error) -> Self {
        Self::Column(error)
    }
}

/// Counts a request again, as it was counted when it came.
fn count(core: &Core, attempt: &Attempt, key: Option<&str>) {
    if let Some(key) = key {
        core.ledger.recount(&KeyId::from_text(key), attempt.by_key);
    } else {
        let what = counted_as(&attempt.reading()).into_owned();
        let mut count = core.keyless.entry(what).or_insert(0);
        *count = attempt.by_key.max(*count);
    }
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

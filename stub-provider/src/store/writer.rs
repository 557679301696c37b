//! The one writer of a database.
//!
//! Owns its transactions. Everything that waits goes into one, and whoever waits for it is let go
//! together: under load a commit is shared by many. Where a write fails nothing can be promised
//! any more: the store says so for good, and what was being written is answered by nobody.

use std::{collections::HashSet, sync::Arc};

use sqlx::{Connection as _, Executor as _, QueryBuilder, Sqlite};

use super::{
    disk::{Database, micros, since_epoch},
    queue::{Entry, Queue},
    rows,
};
use crate::{
    accept::Conclusion,
    clock::Clock,
    event::AttemptId,
    ledger::KeyId,
    message::MessageId,
    receipt::Tried,
    record::{Attempt, Delivery},
};

/// Writes what waits in a queue.
pub(crate) struct Writer {
    database: Database,
    queue: Arc<Queue>,
    clock: Clock,
    /// Attempts that are written and not over.
    open: HashSet<AttemptId>,
    /// What the clock had been moved by when its time was last kept.
    moved: std::time::Duration,
}

/// What is added at the end of the tables.
#[derive(Default)]
struct Rows<'e> {
    fresh: HashSet<AttemptId>,
    attempts: Vec<(&'e Attempt, Option<&'e KeyId>)>,
    changed: Vec<&'e Attempt>,
    messages: Vec<(&'e Delivery, String, bool)>,
    told: Vec<(MessageId, &'e Tried)>,
    answers: Vec<(&'e Conclusion, &'e KeyId)>,
}

impl<'e> Rows<'e> {
    fn arrived(&mut self, attempt: &'e Attempt, key: Option<&'e KeyId>) {
        if self.fresh.insert(attempt.id) {
            self.attempts.push((attempt, key));
        }
    }
}

impl Writer {
    pub(super) fn new(database: Database, queue: Arc<Queue>, clock: Clock) -> Self {
        Self {
            database,
            queue,
            moved: clock.moved(),
            clock,
            open: HashSet::new(),
        }
    }

    /// Writes until the queue is closed and empty.
    pub(super) async fn run(mut self) {
        while let Some(entries) = self.queue.next().await {
            if self.queue.failed() {
                continue;
            }
            if let Err(error) = self.write(&entries).await {
                // Before anybody is let go: whoever takes over a key must find it said.
                self.queue.fail();
                tracing::error!(
                    place = self.database.place,
                    %error,
                    "cannot be written; from now on nothing is accepted. Start again once it can"
                );
                continue;
            }
            entries.into_iter().for_each(done);
        }
        if let Err(error) = self.database.connection.close().await {
            tracing::warn!(%error, "the store was not closed in good order; nothing is lost");
        }
    }

    async fn write(&mut self, entries: &[Entry]) -> Result<(), sqlx::Error> {
        self.execute("begin immediate").await?;
        let mut rows = Rows::default();
        for entry in entries {
            match entry {
                Entry::Arrived(attempt, key) => rows.arrived(attempt, key.as_ref()),
                Entry::Ended(attempt) | Entry::Noted(attempt, _) => rows.changed.push(attempt),
                Entry::Concluded(core, conclusion, _) => {
                    let key = conclusion.key();
                    let known = rows.fresh.contains(&conclusion.attempt.id)
                        || self.open.contains(&conclusion.attempt.id);
                    if known {
                        rows.changed.push(&conclusion.attempt);
                    } else {
                        // Everything was cleared while it was under way.
                        rows.arrived(&conclusion.attempt, key);
                    }
                    if let Some(delivery) = &conclusion.delivery {
                        let name = core.naming.name(delivery.id);
                        rows.messages
                            .push((delivery, name, core.webhooks.has_callback()));
                    }
                    rows.answers.extend(key.map(|key| (&**conclusion, key)));
                }
                Entry::Told(message, tried) => rows.told.push((*message, tried)),
                Entry::Heard(message, at, _) => {
                    sqlx::query("insert into inbound (at, message) values (?, ?)")
                        .bind(micros(*at))
                        .bind(message.as_str())
                        .execute(&mut self.database.connection)
                        .await?;
                }
                Entry::Restated(key, reply, _) => {
                    self.flush(&mut rows).await?;
                    sqlx::query(
                        "update answers set status = ?, headers = ?, body = ? \
                         where id = (select max(id) from answers where key = ?)",
                    )
                    .bind(i64::from(reply.status.as_u16()))
                    .bind(rows::headers(reply))
                    .bind(&reply.body[..])
                    .bind(key.text())
                    .execute(&mut self.database.connection)
                    .await?;
                }
                Entry::Forgotten(_) => {
                    self.flush(&mut rows).await?;
                    self.execute("delete from answers").await?;
                }
                Entry::Cleared {
                    attempt, message, ..
                } => {
                    self.flush(&mut rows).await?;
                    self.open.clear();
                    for table in ["attempts", "messages", "answers", "receipts", "inbound"] {
                        self.execute(&format!("delete from {table}")).await?;
                    }
                    sqlx::query("update provider set next_attempt = ?, next_message = ?")
                        .bind(attempt.cast_signed())
                        .bind(message.cast_signed())
                        .execute(&mut self.database.connection)
                        .await?;
                }
                Entry::Flushed(_) => {}
            }
        }
        self.flush(&mut rows).await?;
        self.keep_time().await?;
        self.execute("commit").await
    }

    async fn execute(&mut self, sql: &str) -> Result<(), sqlx::Error> {
        self.database.connection.execute(sql).await.map(drop)
    }

    /// Keeps how far the clock is ahead of the system's, where somebody has moved it.
    async fn keep_time(&mut self) -> Result<(), sqlx::Error> {
        let moved = self.clock.moved();
        if moved == self.moved {
            return Ok(());
        }
        self.moved = moved;
        let ahead = self
            .clock
            .unix(self.clock.now())
            .saturating_sub(since_epoch());
        sqlx::query("update provider set ahead = ?")
            .bind(micros(ahead))
            .execute(&mut self.database.connection)
            .await
            .map(drop)
    }

    /// Adds the rows so far to their tables.
    async fn flush(&mut self, rows: &mut Rows<'_>) -> Result<(), sqlx::Error> {
        let rows = std::mem::take(rows);
        let to = &mut self.database.connection;
        for some in in_powers_of_two(&rows.attempts) {
            let mut sql = QueryBuilder::<Sqlite>::new("insert into attempts ");
            sql.push_values(some, |mut row, (attempt, key)| {
                let progress = attempt.progress();
                if progress.end.is_none() {
                    self.open.insert(attempt.id);
                }
                row.push_bind(attempt.id.cast_signed())
                    .push_bind(micros(attempt.at()))
                    .push_bind(attempt.connection.cast_signed())
                    .push_bind(i64::from(attempt.nth_on_connection))
                    .push_bind(attempt.request.method())
                    .push_bind(attempt.request.target())
                    .push_bind(attempt.request.head())
                    .push_bind(attempt.request.body())
                    .push_bind(rows::reading(&attempt.reading()))
                    .push_bind(i64::from(attempt.by_key))
                    .push_bind(attempt.request.said().sender)
                    .push_bind(key.map(KeyId::text))
                    .push_bind(progress.reached.word())
                    .push_bind(progress.status.map(i64::from))
                    .push_bind(progress.end.map(crate::event::End::word))
                    .push_bind(progress.message.map(|id| id.0.cast_signed()));
            });
            sql.build().execute(&mut *to).await?;
        }
        for some in in_powers_of_two(&rows.messages) {
            let mut sql = QueryBuilder::<Sqlite>::new("insert into messages ");
            sql.push_values(some, |mut row, (delivery, name, reported)| {
                row.push_bind(delivery.id.0.cast_signed())
                    .push_bind(name.as_str())
                    .push_bind(delivery.by.id.cast_signed())
                    .push_bind(micros(delivery.at()))
                    .push_bind(*reported);
            });
            sql.build().execute(&mut *to).await?;
        }
        for some in in_powers_of_two(&rows.told) {
            let mut sql = QueryBuilder::<Sqlite>::new(
                "insert into receipts (message, event_id, status, attempt, answered, at) ",
            );
            sql.push_values(some, |mut row, (message, tried)| {
                row.push_bind(message.0.cast_signed())
                    .push_bind(tried.event_id.as_str())
                    .push_bind(tried.status.as_str())
                    .push_bind(i64::from(tried.attempt))
                    .push_bind(tried.answered.map(i64::from))
                    .push_bind(micros(tried.at));
            });
            sql.build().execute(&mut *to).await?;
        }
        for some in in_powers_of_two(&rows.answers) {
            let mut sql = QueryBuilder::<Sqlite>::new(
                "insert into answers \
                 (attempt, key, fingerprint, status, headers, body, message, at) ",
            );
            sql.push_values(some, |mut row, (conclusion, key)| {
                let answer = conclusion.answer.as_deref();
                let message = conclusion.delivery.as_ref();
                row.push_bind(conclusion.attempt.id.cast_signed())
                    .push_bind(key.text())
                    .push_bind(conclusion.fingerprint().map(|print| &print.bytes()[..]))
                    .push_bind(answer.map(|reply| i64::from(reply.status.as_u16())))
                    .push_bind(answer.map(rows::headers))
                    .push_bind(answer.map(|reply| &reply.body[..]))
                    .push_bind(message.map(|delivery| delivery.id.0.cast_signed()))
                    .push_bind(micros(conclusion.at));
            });
            sql.build().execute(&mut *to).await?;
        }
        let mut seen = rows.fresh;
        let changed: Vec<_> = rows
            .changed
            .into_iter()
            .filter(|attempt| self.open.contains(&attempt.id) && seen.insert(attempt.id))
            .collect();
        for some in in_powers_of_two(&changed) {
            let mut sql = QueryBuilder::<Sqlite>::new(
                "update attempts set reached = column2, status = column3, ended = column4, \
                 message = column5 from (",
            );
            sql.push_values(some, |mut row, attempt| {
                let progress = attempt.progress();
                if progress.end.is_some() {
                    self.open.remove(&attempt.id);
                }
                row.push_bind(attempt.id.cast_signed())
                    .push_bind(progress.reached.word())
                    .push_bind(progress.status.map(i64::from))
                    .push_bind(progress.end.map(crate::event::End::word))
                    .push_bind(progress.message.map(|id| id.0.cast_signed()));
            });
            sql.push(") where id = column1");
            sql.build().execute(&mut *to).await?;
        }
        Ok(())
    }
}

/// Everything of an entry is kept: whoever waits goes on.
fn done(entry: Entry) {
    let waits = match entry {
        Entry::Arrived(..) | Entry::Ended(_) | Entry::Told(..) => return,
        Entry::Concluded(core, conclusion, done) => {
            conclusion.publish(&core, false);
            done
        }
        Entry::Noted(_, done)
        | Entry::Heard(_, _, done)
        | Entry::Restated(_, _, done)
        | Entry::Forgotten(done)
        | Entry::Cleared { done, .. }
        | Entry::Flushed(done) => done,
    };
    // Nobody waits any more where the client has hung up: it is kept all the same.
    let _ = waits.send(());
}

/// Few different lengths, so that few different statements are prepared.
fn in_powers_of_two<T>(mut list: &[T]) -> impl Iterator<Item = &[T]> {
    std::iter::from_fn(move || {
        let length = (list.len().checked_ilog2()?).min(6);
        let (some, rest) = list.split_at(1 << length);
        list = rest;
        Some(some)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_cut_into_few_lengths_and_nothing_is_left_out() {
        let list: Vec<_> = (0..203).collect();
        let parts: Vec<_> = in_powers_of_two(&list).collect();
        assert_eq!(parts.concat(), list);
        let lengths: Vec<_> = parts.iter().map(|part| part.len()).collect();
        assert_eq!(lengths, [64, 64, 64, 8, 2, 1]);
    }
}

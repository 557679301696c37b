//! One truth for many replicas, in `PostgreSQL`.
//!
//! Owns who may decide a key: whoever has an open transaction that holds the key's lock. Its
//! delivery and its stored answer are committed with it, so a replica that is killed takes nothing
//! with it and leaves nothing half done: the server rolls it back, and the next one takes over.
//! The unique key of `keys` is the referee: even two owners at once could only commit one.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use sha2::{Digest as _, Sha256};
use sqlx::{
    Executor as _, PgPool, Postgres, Row as _, Transaction,
    postgres::{PgConnectOptions, PgPoolOptions, PgRow},
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{
    Refused, StoreError, Unkept,
    disk::{micros, same_provider, since_epoch, span},
    rows::{self, AttemptRow},
};
use crate::{
    accept::{Conclusion, Found},
    arrival::Asked,
    clock::Clock,
    event::AttemptId,
    fingerprint::Fingerprint,
    ledger::{Claim, KeyId},
    message::{MessageId, Naming},
    record::{Attempt, Delivery, Reached},
    reply::Reply,
};

/// Of the tables. A provider opens no others.
const VERSION: i64 = 1;

/// Times are microseconds of the provider's clock, whose zero is `provider.zero`. A key is in the
/// scope of its customer; both are bytes, since a key from a body may hold any character.
const TABLES: &str = "
create schema stub_provider;
create table stub_provider.provider (
    one boolean primary key default true check (one),
    version bigint not null, profile text not null, seed text not null,
    zero bigint not null, ahead bigint not null
);
create sequence stub_provider.message minvalue 0 start 0;
create table stub_provider.counts (what bytea primary key, n bigint not null);
create table stub_provider.attempts (
    id bigint generated always as identity primary key, at bigint not null,
    connection bigint not null, nth_on_connection bigint not null,
    method text not null, target text not null, headers bytea not null, body bytea not null,
    reading text not null, by_key bigint not null, sender bytea,
    reached text not null, status bigint, ended text, message bigint
);
create table stub_provider.messages (
    id bigint primary key, name text not null unique,
    attempt bigint not null unique, at bigint not null, customer bytea, key bytea
);
create index on stub_provider.messages (customer, key);
create table stub_provider.keys (
    customer bytea not null, key bytea not null, fingerprint bytea not null,
    attempt bigint not null, status bigint not null, headers bytea not null, body bytea not null,
    message bigint, at bigint not null,
    primary key (customer, key)
);
";

/// What one replica has of the shared store.
pub(crate) struct Shared {
    place: String,
    /// For owners of keys and those that wait for one, each with a transaction of its own.
    deciding: PgPool,
    /// For everything else: nothing here waits for a key, so owners and people are never stuck
    /// behind those who do.
    noting: PgPool,
    /// Where the clock's zero is, since the Unix epoch.
    zero: Duration,
    /// What the clock had been advanced by, in microseconds, as far as is known here.
    ahead: AtomicU64,
    changes: UnboundedSender<Option<Arc<Attempt>>>,
    connections: u32,
}

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

/// Writes how attempts went on; nobody waits for it.
pub(crate) struct Keeper {
    pool: PgPool,
    /// `None`: nothing more comes.
    changes: UnboundedReceiver<Option<Arc<Attempt>>>,
}

fn lock_of(key: &KeyId) -> i64 {
    let digest = Sha256::digest(key.text());
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    i64::from_be_bytes(first)
}

impl Shared {
    /// Connects, and makes the tables where there are none.
    pub(crate) async fn open(
        url: &str,
        connections: u32,
        profile: &str,
        seed: u64,
    ) -> Result<(Self, Keeper), StoreError> {
        let options: PgConnectOptions = url.parse().map_err(|source| StoreError::Database {
            place: "--store".into(),
            during: "reading its address",
            source,
        })?;
        // Without the password, which stands in the URL.
        let place = format!(
            "postgres://{}:{}/{}",
            options.get_host(),
            options.get_port(),
            options.get_database().unwrap_or_default()
        );
        let fail = |during| {
            let place = place.clone();
            move |source| StoreError::Database {
                place,
                during,
                source,
            }
        };
        let pool = |most| {
            PgPoolOptions::new()
                .max_connections(most)
                .acquire_timeout(Duration::from_mins(1))
        };
        let noting = pool(connections.div_ceil(2).max(2))
            .connect_with(options.clone())
            .await
            .map_err(fail("connecting"))?;
        let mut begin = noting.begin().await.map_err(fail("connecting"))?;
        // Replicas may start together: one makes the tables, the others wait for it.
        sqlx::query("select pg_advisory_xact_lock(hashtextextended('stub_provider', 0))")
            .execute(&mut *begin)
            .await
            .map_err(fail("reading its tables"))?;
        let there: bool = sqlx::query_scalar("select to_regnamespace('stub_provider') is not null")
            .fetch_one(&mut *begin)
            .await
            .map_err(fail("reading its tables"))?;
        if !there {
            // Asked of the connection and not of the query, whose future no task could take.
            begin
                .execute(sqlx::raw_sql(TABLES))
                .await
                .map_err(fail("making its tables"))?;
            sqlx::query(
                "insert into stub_provider.provider (version, profile, seed, zero, ahead) \
                 values ($1, $2, $3, (extract(epoch from clock_timestamp()) * 1000000)::bigint, 0)",
            )
            .bind(VERSION)
            .bind(profile)
            .bind(seed.to_string())
            .execute(&mut *begin)
            .await
            .map_err(fail("making its tables"))?;
        }
        let whose = sqlx::query("select * from stub_provider.provider")
            .fetch_one(&mut *begin)
            .await
            .map_err(fail("reading whose it is"))?;
        begin.commit().await.map_err(fail("making its tables"))?;
        let number = |name| whose.try_get::<i64, _>(name);
        let text = |name| whose.try_get::<String, _>(name);
        let read = || {
            Ok((
                [
                    (
                        "version",
                        number("version")?.to_string(),
                        VERSION.to_string(),
                    ),
                    ("the profile", text("profile")?, profile.to_owned()),
                    ("the seed", text("seed")?, seed.to_string()),
                ],
                number("zero")?,
                number("ahead")?,
            ))
        };
        let (same, zero, ahead) = read().map_err(fail("reading whose it is"))?;
        same_provider(&place, same)?;
        let (changes, receiver) = unbounded_channel();
        let shared = Self {
            deciding: pool(connections.max(1)).connect_lazy_with(options),
            zero: span(zero),
            ahead: AtomicU64::new(ahead.cast_unsigned()),
            changes,
            connections,
            place,
            noting: noting.clone(),
        };
        let keeper = Keeper {
            pool: noting,
            changes: receiver,
        };
        Ok((shared, keeper))
    }

    /// Sets a clock to the time that all replicas live by: that of the database's machine.
    pub(crate) async fn set(&self, clock: &Clock) -> Result<(), StoreError> {
        let now: i64 =
            sqlx::query_scalar("select (extract(epoch from clock_timestamp()) * 1000000)::bigint")
                .fetch_one(&self.noting)
                .await
                .map_err(|source| StoreError::Database {
                    place: self.place.clone(),
                    during: "reading its clock",
                    source,
                })?;
        let ahead = Duration::from_micros(self.ahead.load(Ordering::Relaxed));
        let skew = since_epoch().abs_diff(span(now));
        if skew > Duration::from_secs(2) {
            tracing::warn!(?skew, "this machine's clock and the database's differ");
        }
        clock.resume(self.zero, span(now).saturating_add(ahead), Duration::ZERO);
        Ok(())
    }

    /// Follows what another replica was told to advance the clock by.
    fn follow(&self, clock: &Clock, ahead: i64) {
        let before = self
            .ahead
            .fetch_max(ahead.cast_unsigned(), Ordering::Relaxed);
        let more = ahead.cast_unsigned().saturating_sub(before);
        if more > 0 {
            clock.advance(Duration::from_micros(more));
        }
    }

    /// Reads what the clock was advanced by.
    pub(crate) async fn read_clock(&self, clock: &Clock) -> Result<(), Refused> {
        let ahead: i64 = sqlx::query_scalar("select ahead from stub_provider.provider")
            .fetch_one(&self.noting)
            .await
            .map_err(|error| refused(&error))?;
        self.follow(clock, ahead);
        Ok(())
    }

    /// Advances the clock of all replicas.
    pub(crate) async fn advance(&self, clock: &Clock, by: Duration) -> Result<(), Refused> {
        let ahead: i64 = sqlx::query_scalar(
            "update stub_provider.provider set ahead = ahead + $1 returning ahead",
        )
        .bind(micros(by))
        .fetch_one(&self.noting)
        .await
        .map_err(|error| refused(&error))?;
        self.follow(clock, ahead);
        Ok(())
    }

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
        .bind(micros(attempt.at))
        .bind(attempt.connection.cast_signed())
        .bind(i64::from(attempt.nth_on_connection))
        .bind(attempt.request.method())
        .bind(attempt.request.target())
        .bind(attempt.request.head())
        .bind(attempt.request.body())
        .bind(rows::reading(&attempt.reading))
        .bind(attempt.sender.as_deref().map(str::as_bytes))
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

    /// Commits a decision: the delivery and the stored answer together, or neither.
    pub(crate) async fn conclude(
        &self,
        owned: Owned,
        conclusion: &Conclusion,
        naming: Naming,
    ) -> Result<(), Unkept> {
        let mut transaction = owned.transaction;
        write(&mut transaction, conclusion, naming)
            .await
            .map_err(|error| {
                refused(&error);
                Unkept::Refused
            })?;
        transaction.commit().await.map_err(|error| {
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

    /// No replica knows any key from now on.
    pub(crate) async fn forgotten(&self) -> Result<(), Refused> {
        self.run(
            "delete from stub_provider.keys;
             update stub_provider.messages set customer = null, key = null",
        )
        .await
    }

    /// No replica knows anything from now on; numbers go on.
    pub(crate) async fn cleared(&self) -> Result<(), Refused> {
        self.run(
            "delete from stub_provider.keys; delete from stub_provider.messages;
             delete from stub_provider.attempts; delete from stub_provider.counts",
        )
        .await
    }

    async fn run(&self, sql: &'static str) -> Result<(), Refused> {
        // One implicit transaction.
        let ran = (&self.noting).execute(sqlx::raw_sql(sql)).await;
        ran.map(drop).map_err(|error| refused(&error))
    }

    /// An attempt went on or ended.
    pub(crate) fn changed(&self, attempt: &Arc<Attempt>) {
        // An error: the keeper is gone, and the provider with it.
        let _ = self.changes.send(Some(attempt.clone()));
    }

    /// Nothing more changes.
    pub(crate) fn close(&self) {
        // As above.
        let _ = self.changes.send(None);
    }

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
            Ok(Delivery {
                id: MessageId(number.map_err(|error| refused(&error))?),
                at: at.map_err(|error| refused(&error))?,
                by: attempt(row)?,
            })
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

    /// Whether any replica works on a key.
    async fn in_flight(&self, key: &KeyId) -> Result<bool, Refused> {
        let ask = async {
            let mut transaction = self.noting.begin().await?;
            let free = try_lock(&mut transaction, key).await?;
            transaction.rollback().await?;
            Ok(!free)
        };
        ask.await.map_err(|error: sqlx::Error| refused(&error))
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

    /// What it is, for people.
    pub(crate) fn shown(&self) -> serde_json::Value {
        serde_json::json!({
            "kind": "shared",
            "place": self.place,
            "connections": self.connections,
        })
    }
}

/// Which deliveries are asked for.
#[derive(Clone, Copy)]
pub(crate) enum Which<'k> {
    All,
    Id(MessageId),
    Under(&'k KeyId),
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
) -> Result<(), sqlx::Error> {
    let by = conclusion.attempt.id.cast_signed();
    let (customer, name) = conclusion.key().map(KeyId::parts).unzip();
    let (customer, name) = (customer.map(str::as_bytes), name.map(str::as_bytes));
    let message = conclusion.delivery.as_ref().map(|one| one.id);
    if let Some(delivery) = &conclusion.delivery {
        sqlx::query("insert into stub_provider.messages values ($1, $2, $3, $4, $5, $6)")
            .bind(delivery.id.0.cast_signed())
            .bind(naming.name(delivery.id))
            .bind(by)
            .bind(micros(delivery.at))
            .bind(customer)
            .bind(name)
            .execute(&mut **transaction)
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
        .await
        .map(drop)
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

fn attempt(row: &PgRow) -> Result<Arc<Attempt>, Refused> {
    let read = || {
        let sender: Option<Vec<u8>> = row.try_get("sender")?;
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
            sender: sender.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
            reached: row.try_get("reached")?,
            status: row.try_get("status")?,
            ended: row.try_get("ended")?,
            message: row.try_get("message")?,
        })
    };
    let row = read().map_err(|error: sqlx::Error| refused(&error))?;
    let (id, by_key) = (row.id.cast_unsigned(), row.by_key);
    let mut attempt = row.attempt().map_err(|what| {
        tracing::error!(what, "in the store: cannot be read");
        Refused
    })?;
    // What it is counted as was known only when it was written.
    attempt.renumber(id, u32::try_from(by_key).unwrap_or(u32::MAX));
    Ok(Arc::new(attempt))
}

/// The database said no, or nothing, to a question that changes nothing.
fn refused(error: &sqlx::Error) -> Refused {
    tracing::error!(%error, "the shared store cannot be used");
    Refused
}

impl Keeper {
    /// Writes until the provider is gone.
    pub(crate) async fn run(mut self) {
        let mut some = Vec::new();
        let mut closed = false;
        while !closed && self.changes.recv_many(&mut some, 256).await > 0 {
            closed = some.iter().any(Option::is_none);
            let (mut ids, mut reached, mut status, mut ended) = (vec![], vec![], vec![], vec![]);
            for attempt in some.drain(..).flatten() {
                let progress = attempt.progress();
                ids.push(attempt.id.cast_signed());
                // Acceptance is on record only by its own commit.
                let reach = matches!(progress.reached, Reached::Answering | Reached::Replayed);
                reached.push(reach.then(|| progress.reached.word().to_owned()));
                status.push(progress.status.map(i64::from));
                ended.push(progress.end.map(|end| end.word().to_owned()));
            }
            let written = sqlx::query(
                "update stub_provider.attempts set
                    reached = coalesce(new.reached, attempts.reached),
                    status = new.status, ended = new.ended
                 from unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[])
                    as new (id, reached, status, ended)
                 where attempts.id = new.id",
            )
            .bind(ids)
            .bind(reached)
            .bind(status)
            .bind(ended)
            .execute(&self.pool)
            .await;
            if let Err(error) = written {
                tracing::warn!(%error, "how attempts ended is not on record");
            }
        }
    }
}

//! One truth for many replicas, in `PostgreSQL`.
//!
//! Owns who may decide a key: whoever has an open transaction that holds the key's lock. Its
//! delivery and its stored answer are committed with it, so a replica that is killed takes nothing
//! with it and leaves nothing half done: the server rolls it back, and the next one takes over.
//! The unique key of `keys` is the referee: even two owners at once could only commit one.

mod keeper;
mod owning;
mod reading;

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use sqlx::{
    ConnectOptions as _, Connection as _, Executor as _, PgPool, Row as _,
    postgres::{PgConnectOptions, PgPoolOptions},
};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

pub(crate) use self::{
    keeper::Keeper,
    owning::{Owned, Owning},
    reading::Which,
};
use super::{
    Refused, StoreError,
    disk::{micros, same_provider, since_epoch, span},
};
use crate::{clock::Clock, record::Attempt};

/// Of the tables. A provider opens no others.
const VERSION: i64 = 1;

/// How long a server may take for the first connection.
const PATIENCE: Duration = Duration::from_secs(10);

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

impl Shared {
    /// Connects, and makes the tables where there are none.
    pub(crate) async fn open(
        url: &str,
        connections: u32,
        profile: &str,
        seed: u64,
    ) -> Result<(Self, Keeper), StoreError> {
        let options = read(url)?;
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
        reach(&options).await.map_err(fail("connecting"))?;
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

    /// What it is, for people.
    pub(crate) fn shown(&self) -> serde_json::Value {
        serde_json::json!({
            "kind": "shared",
            "place": self.place,
            "connections": self.connections,
        })
    }
}

/// Where a URL says that the database is.
fn read(url: &str) -> Result<PgConnectOptions, StoreError> {
    let wrong = |source| StoreError::Database {
        place: "--store".into(),
        during: "reading its address",
        source,
    };
    let schemes = ["postgres://", "postgresql://"];
    if !schemes.iter().any(|scheme| url.starts_with(scheme)) {
        let why = "write a URL that begins with postgres://";
        return Err(wrong(sqlx::Error::Configuration(why.into())));
    }
    url.parse().map_err(wrong)
}

/// Connects once. A pool tries again until its time is over; that nobody is there is said at once.
async fn reach(options: &PgConnectOptions) -> Result<(), sqlx::Error> {
    let first = tokio::time::timeout(PATIENCE, options.connect());
    let first = first.await.unwrap_or_else(|_| {
        let why = format!("no answer within {} s", PATIENCE.as_secs());
        let error = io::Error::new(io::ErrorKind::TimedOut, why);
        Err(sqlx::Error::Io(error))
    })?;
    first.close().await
}

/// The database said no, or nothing, to a question that changes nothing.
fn refused(error: &sqlx::Error) -> Refused {
    tracing::error!(%error, "the shared store cannot be used");
    Refused
}

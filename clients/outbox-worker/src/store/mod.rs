//! The outbox tables, on SQLite or PostgreSQL. Owns every statement; knows no HTTP and
//! no retry rule.
//!
//! Both databases understand the same statements here, but for how a transaction takes
//! its locks (`sqlite`, `postgres`). Each is written once and run on whichever database
//! is open, through the macro `on`.

mod claims;
mod enqueue;
mod inspect;
mod postgres;
mod receipts;
mod recovery;
mod sqlite;

use std::time::Duration;

use sqlx::{PgPool, SqlitePool};

pub use claims::{AttemptEnd, Facts, Schedule};
pub use enqueue::{Enqueued, NewMessage};
pub use inspect::{Counts, DeadLetter, StatusLine};
pub use receipts::{Applied, Receipt};

use crate::config::DatabaseConfig;

/// Runs one block on whichever database is open; it is type-checked for both.
macro_rules! on {
    ($store:expr, $pool:ident => $body:expr) => {
        match &$store.pool {
            $crate::store::Pool::Sqlite($pool) => $body,
            $crate::store::Pool::Postgres($pool) => $body,
        }
    };
}
use on;

/// Why the outbox could not be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// `DATABASE_URL` names no database that is known here.
    #[error("DATABASE_URL must begin with sqlite:// or postgres://")]
    UnknownScheme,
    /// The database refused, is locked, or cannot be reached.
    #[error("database: {0}")]
    Database(#[from] sqlx::Error),
}

/// An open outbox.
#[derive(Debug, Clone)]
pub struct Store {
    pool: Pool,
}

#[derive(Debug, Clone)]
enum Pool {
    Sqlite(SqlitePool),
    Postgres(PgPool),
}

/// The two things in which the databases' locks differ.
struct Locking {
    /// Begins a transaction that is going to write.
    begin: &'static str,
    /// Ends a `select` of rows that are going to be written.
    rows: &'static str,
}

/// The tables. One text for both databases; a new column comes with a new version.
const SCHEMA: [&str; 8] = [
    "create table if not exists login_challenge (
        id text primary key,
        customer text not null,
        login text,
        recipient text not null,
        created_at bigint not null
    )",
    "create table if not exists sms_outbox (
        id text primary key references login_challenge (id),
        key text not null,
        intent text not null,
        customer text not null,
        login text,
        recipient text not null,
        body text not null,
        fingerprint text not null,
        status text not null default 'pending' check (status in
            ('pending', 'in_progress', 'sent', 'dead', 'unknown', 'cancelled')),
        next_step text not null default 'send' check (next_step in ('send', 'ask')),
        rule text not null default '',
        attempt_count bigint not null default 0,
        lookup_count bigint not null default 0,
        first_attempt_at bigint,
        next_attempt_at bigint not null,
        touched boolean not null default false,
        ambiguous boolean not null default false,
        superseded boolean not null default false,
        provider bigint not null default 1,
        lease_owner text not null default '',
        lease_until bigint not null default 0,
        fence bigint not null default 0,
        expires_at bigint,
        provider_id text,
        delivery text not null default '',
        last_error text not null default '',
        created_at bigint not null,
        unique (customer, intent),
        unique (customer, key)
    )",
    "create table if not exists sms_attempt (
        outbox_id text not null references sms_outbox (id),
        attempt_no bigint not null,
        fence bigint not null,
        provider bigint not null,
        state text not null,
        http_status bigint,
        detail text not null default '',
        started_at bigint not null,
        ended_at bigint,
        primary key (outbox_id, attempt_no)
    )",
    "create table if not exists sms_receipt (
        event_id text primary key,
        message_id text not null,
        idempotency_key text not null,
        status text not null,
        received_at bigint not null,
        applied boolean not null
    )",
    "create index if not exists sms_outbox_key on sms_outbox (key)",
    "create index if not exists sms_outbox_due on sms_outbox (status, next_attempt_at)",
    "create index if not exists sms_outbox_leases on sms_outbox (status, lease_until)",
    "create index if not exists sms_outbox_login on sms_outbox (customer, login, status)",
];

/// Grows with [`SCHEMA`].
const SCHEMA_VERSION: i64 = 1;

impl Store {
    /// Opens the outbox; a missing SQLite file is made.
    ///
    /// # Errors
    /// When the URL is of neither kind, or the database cannot be opened.
    pub async fn connect(config: &DatabaseConfig, connections: u32) -> Result<Self, StoreError> {
        let pool = if config.url.starts_with("sqlite:") {
            Pool::Sqlite(sqlite::open(config, connections).await?)
        } else if config.url.starts_with("postgres:") || config.url.starts_with("postgresql:") {
            Pool::Postgres(postgres::open(config, connections).await?)
        } else {
            return Err(StoreError::UnknownScheme);
        };
        Ok(Self { pool })
    }

    /// Makes the tables where they are missing. Any number of processes may do so at once.
    ///
    /// # Errors
    /// When the database refuses.
    pub async fn ensure_schema(&self) -> Result<(), StoreError> {
        match &self.pool {
            Pool::Sqlite(pool) => sqlite::ensure_schema(pool).await?,
            Pool::Postgres(pool) => postgres::ensure_schema(pool).await?,
        }
        Ok(())
    }

    /// Closes every connection; what has been committed stays.
    pub async fn close(&self) {
        on!(self, pool => pool.close().await);
    }

    fn locking(&self) -> &'static Locking {
        match self.pool {
            Pool::Sqlite(_) => &sqlite::LOCKING,
            Pool::Postgres(_) => &postgres::LOCKING,
        }
    }
}

/// How long a connection is waited for, beyond the time a lock is.
const ACQUIRE_SLACK: Duration = Duration::from_secs(5);

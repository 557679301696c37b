//! What is SQLite's own: one file, one writer at a time.

use std::str::FromStr;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, Row, SqlitePool};

use super::{ACQUIRE_SLACK, Locking, SCHEMA, SCHEMA_VERSION};
use crate::config::DatabaseConfig;

/// `immediate` takes the write lock at the start, where the busy timeout still helps; a
/// transaction that reads first and writes later would be refused at once instead.
pub(super) const LOCKING: Locking = Locking {
    begin: "begin immediate",
    rows: "",
};

pub(super) async fn open(
    config: &DatabaseConfig,
    connections: u32,
) -> Result<SqlitePool, sqlx::Error> {
    let options = SqliteConnectOptions::from_str(&config.url)?
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(match config.synchronous.as_str() {
            "off" => SqliteSynchronous::Off,
            "normal" => SqliteSynchronous::Normal,
            _ => SqliteSynchronous::Full,
        })
        .foreign_keys(true)
        .busy_timeout(config.busy_timeout)
        .disable_statement_logging();
    SqlitePoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(config.busy_timeout + ACQUIRE_SLACK)
        .test_before_acquire(false)
        .connect_with(options)
        .await
}

pub(super) async fn ensure_schema(pool: &SqlitePool) -> Result<(), sqlx::Error> {
    // Reading the version takes no lock, so that a command on a finished outbox does not
    // wait for whoever is writing.
    let row = sqlx::query("pragma user_version").fetch_one(pool).await?;
    if row.try_get::<i64, _>(0)? >= SCHEMA_VERSION {
        return Ok(());
    }
    let mut tx = pool.begin_with(LOCKING.begin).await?;
    for statement in SCHEMA {
        sqlx::query(statement).execute(&mut *tx).await?;
    }
    let version = format!("pragma user_version = {SCHEMA_VERSION}");
    sqlx::query(&version).execute(&mut *tx).await?;
    tx.commit().await
}

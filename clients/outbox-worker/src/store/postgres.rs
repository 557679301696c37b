//! What is PostgreSQL's own: row locks, and a server on which the database may have yet
//! to be made.

use std::str::FromStr;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions, Connection, PgPool, Row};

use super::{ACQUIRE_SLACK, Locking, SCHEMA, SCHEMA_VERSION};
use crate::config::DatabaseConfig;

/// Rows that another worker is claiming are passed over, not waited for.
pub(super) const LOCKING: Locking = Locking {
    begin: "begin",
    rows: "for update skip locked",
};

/// Names the lock under which the tables are made.
const MIGRATION_LOCK: i64 = 0x736d_735f_6f75_7462;

/// `invalid_catalog_name`: there is no such database.
const NO_SUCH_DATABASE: &str = "3D000";
/// `duplicate_database`, and the unique violation that two creators at once can meet.
const MADE_MEANWHILE: [&str; 2] = ["42P04", "23505"];

pub(super) async fn open(config: &DatabaseConfig, connections: u32) -> Result<PgPool, sqlx::Error> {
    let options = PgConnectOptions::from_str(&config.url)?
        .application_name("outbox-worker")
        .options([(
            "lock_timeout",
            format!("{}ms", config.busy_timeout.as_millis()),
        )])
        .disable_statement_logging();
    let pool = PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(config.busy_timeout + ACQUIRE_SLACK);
    match pool.clone().connect_with(options.clone()).await {
        Err(error) if code(&error).as_deref() == Some(NO_SUCH_DATABASE) => {
            create_database(&options).await?;
            pool.connect_with(options).await
        }
        done => done,
    }
}

async fn create_database(options: &PgConnectOptions) -> Result<(), sqlx::Error> {
    let name = options
        .get_database()
        .unwrap_or_default()
        .replace('"', "\"\"");
    let mut server = options.clone().database("postgres").connect().await?;
    let made = sqlx::query(&format!("create database \"{name}\""))
        .execute(&mut server)
        .await;
    server.close().await?;
    match made {
        Err(error) if code(&error).is_some_and(|code| MADE_MEANWHILE.contains(&code.as_str())) => {
            Ok(())
        }
        other => other.map(|_| ()),
    }
}

pub(super) async fn ensure_schema(pool: &PgPool) -> Result<(), sqlx::Error> {
    if version(pool).await? >= SCHEMA_VERSION {
        return Ok(());
    }
    let mut tx = pool.begin().await?;
    // `create table if not exists` is not safe against itself; one at a time, then.
    sqlx::query("select pg_advisory_xact_lock($1)")
        .bind(MIGRATION_LOCK)
        .execute(&mut *tx)
        .await?;
    for statement in SCHEMA {
        sqlx::query(statement).execute(&mut *tx).await?;
    }
    sqlx::query("create table if not exists outbox_schema (version bigint primary key)")
        .execute(&mut *tx)
        .await?;
    sqlx::query("insert into outbox_schema (version) values ($1) on conflict do nothing")
        .bind(SCHEMA_VERSION)
        .execute(&mut *tx)
        .await?;
    tx.commit().await
}

async fn version(pool: &PgPool) -> Result<i64, sqlx::Error> {
    let found = sqlx::query("select to_regclass('outbox_schema') is not null")
        .fetch_one(pool)
        .await?;
    if !found.try_get::<bool, _>(0)? {
        return Ok(0);
    }
    let row = sqlx::query("select coalesce(max(version), 0) from outbox_schema")
        .fetch_one(pool)
        .await?;
    row.try_get(0)
}

fn code(error: &sqlx::Error) -> Option<String> {
    error
        .as_database_error()
        .and_then(sqlx::error::DatabaseError::code)
        .map(std::borrow::Cow::into_owned)
}

//! Faults of the client's own database: a write lock held by another session, and a database
//! that takes no connection.
//!
//! Owns the session that holds the lock, or the switch that shuts the database. When to use it is
//! the nemesis'.

use std::time::Duration;

use sqlx::{
    Connection as _, PgConnection, SqliteConnection, postgres::PgConnectOptions,
    sqlite::SqliteConnectOptions,
};

use super::error::Error;

/// A fault in force. Dropping it without [`Disturbance::heal`] ends a lock with its session.
#[derive(Debug)]
pub enum Disturbance {
    /// A write lock on the whole SQLite file.
    SqliteLock(SqliteConnection),
    /// Locks on every table of the PostgreSQL database.
    PostgresLock(PgConnection),
    /// A PostgreSQL database that takes no connection; the session is on another database.
    PostgresDown {
        /// A session on the maintenance database.
        session: PgConnection,
        /// The database that is shut.
        database: String,
    },
}

/// Holds a write lock on the database at `url`.
///
/// # Errors
///
/// When it cannot be opened, or the lock not be had.
pub async fn lock(url: &str) -> Result<Disturbance, Error> {
    let failed = failure(url);
    if is_postgres(url) {
        let mut session = PgConnection::connect(url).await.map_err(&failed)?;
        sqlx::query("begin")
            .execute(&mut session)
            .await
            .map_err(&failed)?;
        sqlx::query(
            "do $$ declare t record; begin \
               for t in select schemaname, tablename from pg_tables \
                        where schemaname not in ('pg_catalog', 'information_schema') loop \
                 execute format('lock table %I.%I in exclusive mode', t.schemaname, t.tablename); \
               end loop; end $$;",
        )
        .execute(&mut session)
        .await
        .map_err(&failed)?;
        return Ok(Disturbance::PostgresLock(session));
    }
    let options: SqliteConnectOptions = url.parse().map_err(&failed)?;
    let options = options
        .create_if_missing(false)
        .busy_timeout(Duration::from_secs(5));
    let mut session = SqliteConnection::connect_with(&options)
        .await
        .map_err(&failed)?;
    sqlx::query("begin immediate")
        .execute(&mut session)
        .await
        .map_err(&failed)?;
    Ok(Disturbance::SqliteLock(session))
}

/// Shuts the PostgreSQL database at `url`: sessions are ended, new ones refused.
///
/// # Errors
///
/// When the role may not do that, or the database is a file, which cannot be down.
pub async fn down(url: &str) -> Result<Disturbance, Error> {
    let failed = failure(url);
    if !is_postgres(url) {
        return Err(Error::Database {
            url: url.to_owned(),
            why: "only a database server can be down".into(),
        });
    }
    let options: PgConnectOptions = url.parse().map_err(&failed)?;
    let database = options.get_database().unwrap_or("postgres").to_owned();
    let mut session = PgConnection::connect_with(&options.database("postgres"))
        .await
        .map_err(&failed)?;
    allow(&mut session, &database, false)
        .await
        .map_err(&failed)?;
    sqlx::query("select pg_terminate_backend(pid) from pg_stat_activity where datname = $1")
        .bind(&database)
        .execute(&mut session)
        .await
        .map_err(&failed)?;
    Ok(Disturbance::PostgresDown { session, database })
}

impl Disturbance {
    /// Ends the fault.
    ///
    /// # Errors
    ///
    /// When the database server does not do what it is told.
    pub async fn heal(self) -> Result<(), Error> {
        match self {
            Self::SqliteLock(mut session) => {
                let failed = failure("sqlite");
                sqlx::query("rollback")
                    .execute(&mut session)
                    .await
                    .map_err(&failed)?;
                session.close().await.map_err(&failed)
            }
            Self::PostgresLock(mut session) => {
                let failed = failure("postgres");
                sqlx::query("rollback")
                    .execute(&mut session)
                    .await
                    .map_err(&failed)?;
                session.close().await.map_err(&failed)
            }
            Self::PostgresDown {
                mut session,
                database,
            } => {
                let failed = failure(&database);
                allow(&mut session, &database, true)
                    .await
                    .map_err(&failed)?;
                session.close().await.map_err(&failed)
            }
        }
    }
}

/// Whether the database is one of a server rather than a file.
pub fn is_postgres(url: &str) -> bool {
    url.starts_with("postgres://") || url.starts_with("postgresql://")
}

async fn allow(session: &mut PgConnection, database: &str, open: bool) -> Result<(), sqlx::Error> {
    // An identifier cannot be a parameter.
    let quoted = database.replace('"', "\"\"");
    let statement = format!("alter database \"{quoted}\" allow_connections {open}");
    sqlx::query(&statement)
        .execute(&mut *session)
        .await
        .map(|_| ())
}

fn failure(url: &str) -> impl Fn(sqlx::Error) -> Error + '_ {
    move |error| Error::Database {
        url: url.to_owned(),
        why: error.to_string(),
    }
}

//! The database in a provider's directory.
//!
//! Owns the directory's lock, the tables, and whose they are. `SQLite` keeps them: its log takes a
//! commit in one sequential write, is read back by itself after a death at any instant, and the
//! file can be looked into by anybody with `sqlite3`.

use std::{
    fs::{self, File, TryLockError},
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use sqlx::{
    ConnectOptions as _, Connection as _, Executor as _, Row as _,
    sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous},
};

use super::{
    StoreError,
    wal::{self, Tail},
};

/// Of the tables. A provider opens no others.
const VERSION: i64 = 2;

/// Everything is added at the end of its table, so that a commit touches few pages. Times are
/// microseconds of the provider's clock, whose zero is `provider.zero`.
const TABLES: &str = "
create table provider (
    version integer not null, profile text not null, seed text not null,
    zero integer not null, ahead integer not null,
    next_attempt integer not null, next_message integer not null
) strict;
create table attempts (
    id integer primary key, at integer not null,
    connection integer not null, nth_on_connection integer not null,
    method text not null, target text not null, headers blob not null, body blob not null,
    reading text not null, by_key integer not null, sender text, key text,
    reached text not null, status integer, ended text, message integer
) strict;
create table messages (
    id integer primary key, name text not null, attempt integer not null, at integer not null,
    reported integer not null
) strict;
create table answers (
    id integer primary key, attempt integer not null, key text not null, fingerprint blob not null,
    status integer, headers blob, body blob, message integer, at integer not null
) strict;
create table receipts (
    id integer primary key, message integer not null, event_id text not null, status text not null,
    attempt integer not null, answered integer, at integer not null
) strict;
create table inbound (
    id integer primary key, at integer not null, message text not null
) strict;
create view deliveries as
    select messages.name as id, reading ->> 'customer' as customer, reading ->> 'key' as key,
        reading ->> 'to' as recipient, reading ->> 'text' as words, attempt,
        datetime((zero + messages.at) / 1000000, 'unixepoch') as at
    from messages join attempts on attempts.id = messages.attempt, provider;
";

/// An open database, and the lock on its directory.
pub(crate) struct Database {
    pub(super) place: String,
    pub(super) connection: SqliteConnection,
    /// Where the clock's zero is, since the Unix epoch.
    pub(super) zero: Duration,
    /// What the clock had been advanced by.
    pub(super) ahead: Duration,
    /// The least numbers of the next attempt and message.
    pub(super) next: (u64, u64),
    pub(super) tail: Tail,
    _lock: File,
}

impl Database {
    /// Opens the database in `dir`, or makes a new one.
    pub(super) async fn open(
        dir: &Path,
        fsync: bool,
        profile: &str,
        seed: u64,
    ) -> Result<Self, StoreError> {
        let lock = lock(dir)?;
        let file = dir.join("provider.db");
        let log = dir.join("provider.db-wal");
        // Before SQLite opens the database: it cuts the tail.
        let tail = wal::measure(&log).map_err(|source| StoreError::System { path: log, source })?;
        let place = file.display().to_string();
        let fail = |during| {
            let place = place.clone();
            move |source| StoreError::Database {
                place,
                during,
                source,
            }
        };
        let mut connection = SqliteConnectOptions::new()
            .filename(&file)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(if fsync {
                SqliteSynchronous::Full
            } else {
                SqliteSynchronous::Normal
            })
            // Somebody may be looking into the file.
            .busy_timeout(Duration::from_secs(30))
            .pragma("wal_autocheckpoint", "4000")
            .connect()
            .await
            .map_err(fail("opening it"))?;
        let mut begin = connection
            .begin_with("begin immediate")
            .await
            .map_err(fail("opening it"))?;
        let tables: i64 = sqlx::query_scalar("select count(*) from sqlite_schema")
            .fetch_one(&mut *begin)
            .await
            .map_err(fail("reading its tables"))?;
        if tables == 0 {
            begin
                .execute(TABLES)
                .await
                .map_err(fail("making its tables"))?;
            sqlx::query("insert into provider values (?, ?, ?, ?, 0, 1, 0)")
                .bind(VERSION)
                .bind(profile)
                .bind(seed.to_string())
                .bind(micros(since_epoch()))
                .execute(&mut *begin)
                .await
                .map_err(fail("making its tables"))?;
        }
        let whose = sqlx::query("select * from provider")
            .fetch_one(&mut *begin)
            .await
            .map_err(fail("reading whose it is"))?;
        begin.commit().await.map_err(fail("opening it"))?;
        let number = |name| whose.try_get::<i64, _>(name);
        let text = |name| whose.try_get::<String, _>(name);
        let read = || {
            let same = [
                (
                    "version",
                    number("version")?.to_string(),
                    VERSION.to_string(),
                ),
                ("the profile", text("profile")?, profile.to_owned()),
                ("the seed", text("seed")?, seed.to_string()),
            ];
            let span = |name| number(name).map(span);
            let next = |name| number(name).map(i64::cast_unsigned);
            let next = (next("next_attempt")?, next("next_message")?);
            Ok((same, span("zero")?, span("ahead")?, next))
        };
        let (same, zero, ahead, next) = read().map_err(fail("reading whose it is"))?;
        same_provider(&dir.display().to_string(), same)?;
        Ok(Self {
            place,
            connection,
            zero,
            ahead,
            next,
            tail,
            _lock: lock,
        })
    }

    /// What a failure here is called.
    pub(super) fn failed(
        &self,
        during: &'static str,
    ) -> impl Fn(sqlx::Error) -> StoreError + use<> {
        let place = self.place.clone();
        move |source| StoreError::Database {
            place: place.clone(),
            during,
            source,
        }
    }
}

/// Compares what a store was made with (the second of each) with what a provider has.
pub(super) fn same_provider(
    place: &str,
    same: [(&'static str, String, String); 3],
) -> Result<(), StoreError> {
    for (what, theirs, ours) in same {
        if theirs != ours {
            return Err(StoreError::Other {
                place: place.to_owned(),
                what,
                theirs,
                ours,
            });
        }
    }
    Ok(())
}

/// Takes the directory for this process. The lock ends with the process, however it ends.
fn lock(dir: &Path) -> Result<File, StoreError> {
    let refused = |path: &Path| {
        let path = path.to_owned();
        move |source| StoreError::System { path, source }
    };
    fs::create_dir_all(dir).map_err(refused(dir))?;
    let path = dir.join("provider.lock");
    let file = File::create(&path).map_err(refused(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::InUse {
            dir: dir.to_owned(),
        }),
        Err(TryLockError::Error(source)) => Err(refused(&path)(source)),
    }
}

/// The system's time.
pub(super) fn since_epoch() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

/// A span as the tables have it.
pub(super) fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

/// A span that the tables have.
pub(super) fn span(micros: i64) -> Duration {
    Duration::from_micros(u64::try_from(micros).unwrap_or_default())
}

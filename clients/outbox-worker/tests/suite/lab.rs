//! Where a test runs: an outbox of its own, on either database, and the program under
//! the timings that the suite uses.

use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use sqlx::{Connection, PgConnection, Row, SqliteConnection};
use tempfile::TempDir;

use crate::provider::Provider;

/// For tests in which an answer never comes: it need not be waited for long.
pub(crate) const IMPATIENT: [(&str, &str); 2] =
    [("OUTBOX_READ_TIMEOUT", "1s"), ("OUTBOX_LEASE", "2s")];

/// Short waits between tries, but time enough for any answer on a loaded machine.
const TIMINGS: [(&str, &str); 9] = [
    ("OUTBOX_READ_TIMEOUT", "20s"),
    ("OUTBOX_CONNECT_TIMEOUT", "800ms"),
    ("OUTBOX_BACKOFF_BASE", "20ms"),
    ("OUTBOX_BACKOFF_CAP", "50ms"),
    ("OUTBOX_MAX_ATTEMPTS", "5"),
    ("OUTBOX_RETRY_AFTER_MAX", "5s"),
    ("OUTBOX_LEASE", "60s"),
    ("OUTBOX_POLL", "20ms"),
    ("OUTBOX_SQLITE_SYNCHRONOUS", "off"),
];

enum Database {
    Sqlite { _directory: TempDir },
    Postgres { server: String, name: String },
}

/// One outbox.
pub(crate) struct Lab {
    database: Database,
    url: String,
}

impl Lab {
    pub(crate) fn sqlite() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        Self {
            url: format!("sqlite://{}/outbox.db", directory.path().display()),
            database: Database::Sqlite {
                _directory: directory,
            },
        }
    }

    /// A database of its own on the server that `CHAOS_POSTGRES` names.
    pub(crate) fn postgres() -> Self {
        let server = std::env::var("CHAOS_POSTGRES")
            .unwrap_or_else(|_| "postgres://postgres@127.0.0.1:5432".to_owned());
        let name = format!("outbox_{}", uuid::Uuid::new_v4().simple());
        Self {
            url: format!("{server}/{name}"),
            database: Database::Postgres { server, name },
        }
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_outbox-worker"));
        command
            .args(args)
            .env("DATABASE_URL", &self.url)
            .envs(TIMINGS)
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("the program starts")
    }

    /// Puts one message in; it must be taken.
    pub(crate) fn enqueue(&self, intent: &str, more: &[&str]) {
        let mut args = vec!["enqueue", intent, "+12025550142", "Your code is 4711"];
        args.extend(more);
        let output = self.run(&args);
        assert!(output.status.success(), "{}", text(&output.stderr));
    }

    /// Runs the worker until nothing is pending, and returns what it logged.
    pub(crate) fn drain(&self, env: &[(&str, &str)]) -> String {
        let output = self
            .command(&["work", "--once"])
            .envs(env.iter().copied())
            .output()
            .expect("the program starts");
        let log = text(&output.stderr);
        assert!(output.status.success(), "{log}");
        log
    }

    /// A worker that has yet to be stopped.
    pub(crate) fn start_worker(&self, env: &[(&str, &str)]) -> Running {
        let child = self
            .command(&["work"])
            .envs(env.iter().copied())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        Running(child)
    }

    /// What `status` says of an intent: the outcome and the attempts.
    pub(crate) fn status(&self, intent: &str) -> (String, i64) {
        let lines = self.lines("status");
        let line = lines
            .iter()
            .find(|line| line["intent"] == intent)
            .expect("the intent is in the outbox");
        (
            line["outcome"].as_str().expect("a text").to_owned(),
            line["attempts"].as_i64().expect("a number"),
        )
    }

    pub(crate) fn lines(&self, command: &str) -> Vec<Value> {
        let output = self.run(&[command]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON lines"))
            .collect()
    }

    /// The first column of every row, as text.
    pub(crate) fn query(&self, sql: &str) -> Vec<String> {
        block_on(async {
            match &self.database {
                Database::Sqlite { .. } => {
                    let mut open = SqliteConnection::connect(&self.url).await?;
                    let rows = sqlx::query(sql).fetch_all(&mut open).await?;
                    rows.iter().map(|row| row.try_get(0)).collect()
                }
                Database::Postgres { .. } => {
                    let mut open = PgConnection::connect(&self.url).await?;
                    let rows = sqlx::query(sql).fetch_all(&mut open).await?;
                    rows.iter().map(|row| row.try_get(0)).collect()
                }
            }
        })
    }

    /// How every attempt ended, in order.
    pub(crate) fn attempt_states(&self) -> Vec<String> {
        self.query("select state from sms_attempt order by outbox_id, attempt_no")
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if let Database::Postgres { server, name } = &self.database {
            let drop = format!("drop database if exists {name} with (force)");
            block_on(async {
                let mut open = PgConnection::connect(&format!("{server}/postgres")).await?;
                sqlx::query(&drop).execute(&mut open).await
            });
        }
    }
}

fn block_on<T>(work: impl Future<Output = Result<T, sqlx::Error>>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(work)
        .expect("the database answers")
}

/// A worker that is ended with the test.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    pub(crate) fn kill(mut self) {
        self.0.kill().expect("it is ours");
        self.0.wait().expect("it is ours");
    }

    /// SIGTERM; waits for the end and returns whether it was a good one.
    pub(crate) fn terminate(mut self) -> bool {
        let ended = Command::new("kill")
            .args(["-TERM", &self.0.id().to_string()])
            .status()
            .expect("kill is there");
        assert!(ended.success());
        self.0.wait().expect("it is ours").success()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(crate) fn drain(lab: &Lab, provider: &Provider) -> String {
    lab.drain(&[("SMS_API_BASE", &provider.url())])
}

pub(crate) fn drain_impatiently(lab: &Lab, provider: &Provider) {
    let url = provider.url();
    let mut env = vec![("SMS_API_BASE", url.as_str())];
    env.extend(IMPATIENT);
    lab.drain(&env);
}

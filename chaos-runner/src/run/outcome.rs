//! Asking the client what it believes became of each intent.
//!
//! Owns the three forms of `[outcome]`: a query on the client's own database, a command that
//! prints JSON lines, and the exit code of the submit command (which the lab sees by itself).

use std::{collections::BTreeMap, time::Duration};

use serde_json::Value;
use sqlx::{
    Column as _, Connection as _, Row as _, TypeInfo as _, ValueRef as _,
    postgres::PgConnection,
    sqlite::{SqliteConnectOptions, SqliteConnection, SqliteRow},
};

use super::error::Error;
use crate::intent::Outcome;

/// One row of the client's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Belief {
    /// The intent's id, or its recipient.
    pub subject: Subject,
    /// What became of it.
    pub outcome: Outcome,
    /// How many attempts the client counted.
    pub attempts: Option<u32>,
}

/// How a row says which intent it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// By the intent's id.
    Intent(String),
    /// By the recipient.
    To(String),
}

/// A query on the client's database, with the connection kept between calls.
#[derive(Debug)]
pub struct SqlProbe {
    url: String,
    query: String,
    map: BTreeMap<String, Outcome>,
    connection: Option<Database>,
}

#[derive(Debug)]
enum Database {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

/// No query of a probe takes longer on a database that is there.
const PATIENCE: Duration = Duration::from_secs(5);

impl SqlProbe {
    /// A probe of the database at `url`; nothing is opened yet.
    pub fn new(url: String, query: String, map: BTreeMap<String, Outcome>) -> Self {
        Self {
            url,
            query,
            map,
            connection: None,
        }
    }

    /// Asks once. `None`: there is no answer, since the database or table is not there (yet), or
    /// a fault has taken it away.
    ///
    /// # Errors
    ///
    /// When the answer has not the columns that are needed, or a word that is no outcome.
    pub async fn ask(&mut self) -> Result<Option<Vec<Belief>>, Error> {
        let rows = match tokio::time::timeout(PATIENCE, self.rows()).await {
            Ok(Ok(rows)) => rows,
            Ok(Err(error)) => {
                self.connection = None;
                if is_our_mistake(&error) {
                    return Err(Error::Outcome {
                        what: self.query.clone(),
                        why: error.to_string(),
                    });
                }
                tracing::debug!(%error, "the outcome query has no answer yet");
                return Ok(None);
            }
            Err(_) => {
                self.connection = None;
                return Ok(None);
            }
        };
        rows.iter()
            .map(|row| belief(row, &self.map, &self.query))
            .collect::<Result<_, _>>()
            .map(Some)
    }

    async fn rows(&mut self) -> Result<Vec<Value>, sqlx::Error> {
        if self.connection.is_none() {
            self.connection = Some(open(&self.url).await?);
        }
        match self.connection.as_mut() {
            Some(Database::Sqlite(db)) => {
                let rows = sqlx::query(&self.query).fetch_all(db).await?;
                Ok(rows.iter().map(sqlite_json).collect())
            }
            Some(Database::Postgres(db)) => {
                let query = format!("select row_to_json(q)::text from ({}) q", self.query);
                let rows: Vec<String> = sqlx::query_scalar(&query).fetch_all(db).await?;
                Ok(rows
                    .iter()
                    .filter_map(|row| serde_json::from_str(row).ok())
                    .collect())
            }
            None => Ok(Vec::new()),
        }
    }
}

/// Whether asking again cannot help: the database is there and says that the query is wrong.
/// A missing table is not: the client has yet to make it.
fn is_our_mistake(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Database(db) => {
            let text = db.message();
            let missing_table = text.contains("no such table")
                || db.code().as_deref() == Some("42P01")
                || db.code().as_deref() == Some("3D000");
            let wrong = text.contains("no such column")
                || text.contains("syntax error")
                || matches!(db.code().as_deref(), Some("42703" | "42601"));
            wrong && !missing_table
        }
        sqlx::Error::Configuration(_) => true,
        _ => false,
    }
}

async fn open(url: &str) -> Result<Database, sqlx::Error> {
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        return PgConnection::connect(url).await.map(Database::Postgres);
    }
    let options: SqliteConnectOptions = url.parse()?;
    let options = options
        .create_if_missing(false)
        .read_only(true)
        .busy_timeout(Duration::from_secs(1));
    SqliteConnection::connect_with(&options)
        .await
        .map(Database::Sqlite)
}

fn sqlite_json(row: &SqliteRow) -> Value {
    let mut object = serde_json::Map::new();
    for column in row.columns() {
        let index = column.ordinal();
        let is_integer = row
            .try_get_raw(index)
            .is_ok_and(|raw| !raw.is_null() && raw.type_info().name() == "INTEGER");
        let value = if is_integer {
            row.try_get::<i64, _>(index)
                .map_or(Value::Null, Value::from)
        } else {
            row.try_get::<Option<String>, _>(index)
                .ok()
                .flatten()
                .map_or(Value::Null, Value::from)
        };
        object.insert(column.name().to_owned(), value);
    }
    Value::Object(object)
}

/// Reads the JSON lines that an outcome command prints.
///
/// # Errors
///
/// When a line is not JSON, or lacks what is needed.
pub fn beliefs(
    output: &str,
    map: &BTreeMap<String, Outcome>,
    command: &str,
) -> Result<Vec<Belief>, Error> {
    output
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            let row: Value = serde_json::from_str(line).map_err(|error| Error::Outcome {
                what: command.to_owned(),
                why: format!("printed `{line}`, which is not JSON: {error}"),
            })?;
            belief(&row, map, command)
        })
        .collect()
}

fn belief(row: &Value, map: &BTreeMap<String, Outcome>, what: &str) -> Result<Belief, Error> {
    let wrong = |why: String| Error::Outcome {
        what: what.to_owned(),
        why,
    };
    let text = |name: &str| row.get(name).and_then(Value::as_str).map(str::to_owned);
    let subject = text("intent")
        .map(Subject::Intent)
        .or_else(|| text("to").map(Subject::To))
        .ok_or_else(|| wrong(format!("a row has neither `intent` nor `to`: {row}")))?;
    let word = text("outcome").ok_or_else(|| wrong(format!("a row has no `outcome`: {row}")))?;
    let outcome = match map.get(&word) {
        Some(outcome) => *outcome,
        None => word
            .parse()
            .map_err(|why| wrong(format!("{why}; say what it means under [outcome] map")))?,
    };
    let attempts = row
        .get("attempts")
        .and_then(Value::as_u64)
        .and_then(|n| u32::try_from(n).ok());
    Ok(Belief {
        subject,
        outcome,
        attempts,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_lines_are_read_with_the_clients_own_words_mapped() {
        let map = BTreeMap::from([("in_progress".to_owned(), Outcome::Pending)]);
        let output = "{\"intent\":\"a\",\"outcome\":\"sent\",\"attempts\":2}\n\n{\"to\":\"+12025550142\",\"outcome\":\"in_progress\"}\n";
        let beliefs = beliefs(output, &map, "./status").expect("two good lines");
        assert_eq!(beliefs[0].attempts, Some(2));
        assert_eq!(beliefs[1].subject, Subject::To("+12025550142".into()));
        assert_eq!(beliefs[1].outcome, Outcome::Pending);
    }

    #[test]
    fn a_word_that_is_no_outcome_is_an_error_that_says_where_to_map_it() {
        let error = beliefs(
            "{\"intent\":\"a\",\"outcome\":\"done\"}",
            &BTreeMap::new(),
            "./status",
        )
        .expect_err("`done` is not an outcome");
        assert!(error.to_string().contains("[outcome] map"), "{error}");
    }

    #[tokio::test]
    async fn a_database_that_is_not_there_yet_gives_no_answer() {
        let directory = tempfile::tempdir().expect("a directory");
        let url = format!("sqlite://{}/none.db", directory.path().display());
        let mut probe = SqlProbe::new(url, "select 1".into(), BTreeMap::new());
        assert_eq!(probe.ask().await.expect("no error"), None);
    }
}

//! How attempts went on, written behind their answers.

use std::sync::Arc;

use sqlx::PgPool;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::record::{Attempt, Reached};

/// Writes how attempts went on; nobody waits for it.
pub(crate) struct Keeper {
    pub(super) pool: PgPool,
    /// `None`: nothing more comes.
    pub(super) changes: UnboundedReceiver<Option<Arc<Attempt>>>,
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

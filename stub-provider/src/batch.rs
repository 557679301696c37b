//! One request with several messages: an attempt for each.
//!
//! Owns what is done where a key is of a recipient and a request names several: each is an
//! attempt of its own, held and faulted by itself, and the answer says of each how it went. What
//! ends one without an answer ends the connection, and with it all of them.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::oneshot;

use crate::{
    carry::Outcome,
    connection::{Answered, Stop, answering, conclude, set_off, whole},
    era::Era,
    place::walk,
    profile::{KeyUnit, Profile},
    record::{Arrival, Attempt},
    reply::Reply,
    wire::Line,
};

/// How many messages a request carries, where each has a key of its own. A request that names
/// none is one that is wrong.
pub(crate) fn size(profile: &Profile, body: &[u8]) -> usize {
    if profile.key.unit == KeyUnit::Request {
        return 1;
    }
    let path = profile.submit.recipient.array().unwrap_or_default();
    serde_json::from_slice::<Value>(body)
        .ok()
        .and_then(|whole| Some(walk(&whole, path, 0)?.as_array()?.len()))
        .unwrap_or(1)
        .max(1)
}

/// Carries every message of a request to its outcome.
pub(crate) async fn carried(
    line: Arc<Line>,
    era: Arc<Era>,
    came: Arrival,
    size: usize,
) -> Answered {
    let core = line.core.clone();
    let mut parts = Vec::with_capacity(size);
    for element in 0..size {
        let (attempt, mut standing) = core.arrive_submit(&came, element);
        let Ok(attempt) = core.share(attempt, &standing).await else {
            // Those before it go on; of this request nobody knows more than that.
            return Err(Stop);
        };
        let permit = core.admit(&attempt, &mut standing);
        line.carry_beside(attempt.clone());
        let outcome = set_off(&core, &era, &attempt, (standing, permit), true);
        parts.push((attempt, outcome));
    }
    tokio::select! {
        biased;
        answered = together(&line, parts) => answered,
        end = line.hang_up() => {
            line.finish(end);
            Err(Stop)
        }
    }
}

async fn together(
    line: &Arc<Line>,
    parts: Vec<(Arc<Attempt>, oneshot::Receiver<Outcome>)>,
) -> Answered {
    let core = &line.core;
    let mut answers = Vec::with_capacity(parts.len());
    for (attempt, outcome) in parts {
        match outcome.await {
            Ok(Outcome::Answer { reply, replayed }) => answers.push((attempt, reply, replayed)),
            Ok(other) => return conclude(line, &attempt, other).await,
            // The provider's era is over; the connection is about to hear of it.
            Err(_) => std::future::pending().await,
        }
    }
    let all_replayed = answers.iter().all(|(_, _, replayed)| *replayed);
    // What is not about a recipient is the answer to all of them.
    let success = core.profile.submit.success;
    let of_all = answers.iter().find(|(_, reply, _)| reply.status != success);
    let reply = if let Some((_, reply, _)) = of_all {
        reply.clone()
    } else {
        let parts: Vec<_> = answers
            .iter()
            .map(|(_, reply, _)| String::from_utf8_lossy(&reply.body))
            .collect();
        core.around(&Reply::json(success, parts.join(",")))
    };
    for (attempt, _, replayed) in &answers {
        answering(line, attempt, &reply, *replayed);
    }
    Ok(whole(line, reply, all_replayed))
}

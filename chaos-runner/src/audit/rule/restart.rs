//! A provider that is started again still knows its keys.

use std::{process::Stdio, time::Duration};

use tokio::process::Command;

use super::About;
use crate::audit::{
    bench::Bench,
    effects::{self, Listing},
    exchange::Exchange,
    judgement::Judgement,
    promise::Promise,
    stored,
};

pub(super) const ABOUT: About = About {
    id: "restart",
    sentence: "A provider that is started again repeats the stored answer, byte for byte, and \
               sends nothing again.",
    section: "2.5",
    needs: "`--restart CMD`, a command that returns when the provider is back",
};

/// How long the command may take.
const PATIENCE: Duration = Duration::from_mins(2);

struct Seen {
    first: Exchange,
    before: Exchange,
    after: Exchange,
    listing: Option<Listing>,
}

pub(super) async fn check(bench: &Bench) -> Judgement {
    let Some(command) = &bench.options.restart else {
        return Judgement::NotChecked("the provider cannot be restarted (--restart would)".into());
    };
    let draft = bench.draft();
    let sent = bench.api.compose(&draft);
    let first = bench.send("a new key", &sent).await;
    let before = bench.send("the same before the restart", &sent).await;
    if let Err(why) = restart(command).await {
        return Judgement::undecided(why);
    }
    let seen = Seen {
        first,
        before,
        after: bench.send("the same after the restart", &sent).await,
        listing: bench.list(&draft).await,
    };
    judge(&bench.promise, &seen)
}

/// Runs the command. Its output goes nowhere: a provider that it leaves running would hold a pipe
/// open for ever.
async fn restart(command: &str) -> Result<(), String> {
    let mut child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("--restart cannot be run: {error}"))?;
    match tokio::time::timeout(PATIENCE, child.wait()).await {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => Err(format!(
            "--restart failed ({status}): run it by hand to see why"
        )),
        Ok(Err(error)) => Err(format!("--restart cannot be waited for: {error}")),
        Err(_) => Err(format!("--restart did not return within {PATIENCE:?}")),
    }
}

fn judge(promise: &Promise, seen: &Seen) -> Judgement {
    if !seen.first.succeeded() {
        let result = seen.first.result();
        return Judgement::undecided(format!("the first request was not accepted ({result})"));
    }
    let one = effects::one(
        &[&seen.first, &seen.before, &seen.after],
        seen.listing.as_ref(),
    );
    let same = stored::same_message(promise, &seen.first, &seen.after);
    // Whether a repeated answer is the first one, byte for byte, is another rule's question.
    let bytes = match (seen.before.answer(), seen.after.answer()) {
        (Some(before), Some(after)) if before.body != after.body => Judgement::broken(
            "the stored answer has another body after the restart",
            [&seen.before, &seen.after],
        ),
        _ => Judgement::kept("the same answer after the restart"),
    };
    Judgement::of_parts([one, same, bytes])
        .kept_as("the same answer after the restart, one message")
        .broken_as(|why| format!("after the restart: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::{
        exchange::Outcome,
        made::{accepted, listing, lost, promise, replayed},
    };

    fn judged(after: Exchange, ids: &[&str]) -> Judgement {
        let seen = Seen {
            first: accepted(1, "m"),
            before: replayed(2, "m"),
            after,
            listing: Some(listing(4, ids)),
        };
        judge(&promise(), &seen)
    }

    #[test]
    fn the_same_answer_keeps_it() {
        assert_eq!(judged(replayed(3, "m"), &["m"]).as_str(), "kept");
    }

    #[test]
    fn a_new_message_breaks_it() {
        assert_eq!(judged(accepted(3, "n"), &["n"]).as_str(), "broken");
    }

    #[test]
    fn other_bytes_break_it() {
        let mut after = replayed(3, "m");
        if let Outcome::Answered(answer) = &mut after.outcome {
            answer.body.push(b' ');
        }
        assert!(judged(after, &["m"]).text().contains("another body"));
    }

    #[test]
    fn a_lost_answer_leaves_it_undecided() {
        assert_eq!(judged(lost(3), &["m"]).as_str(), "inconclusive");
    }

    #[tokio::test]
    async fn a_command_that_fails_is_no_restart() {
        assert_eq!(restart("true").await, Ok(()));
        let why = restart("exit 3").await.expect_err("it failed");
        assert!(why.contains('3'), "{why}");
    }
}

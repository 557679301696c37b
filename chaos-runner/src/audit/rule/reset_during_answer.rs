//! The connection breaks during the request, before the answer or as it comes: still one message.

use std::time::{Duration, Instant};

use super::About;
use crate::audit::{
    bench::{Bench, Cut},
    effects::{self, Listing},
    exchange::{Exchange, Sent},
    judgement::Judgement,
    promise::{InFlight, Promise},
    stored,
};

pub(super) const ABOUT: About = About {
    id: "reset-during-answer",
    sentence: "A client that loses its connection, before the answer or while it comes, and \
               retries with the same key, has sent one message; half a request sends nothing.",
    section: "1",
    needs: "",
};

/// How long after the request the connection is reset, if no answer came before: where the
/// provider is by then differs.
const WAITS: [Duration; 3] = [
    Duration::ZERO,
    Duration::from_millis(20),
    Duration::from_millis(100),
];

/// A request that was cut, and what came of its key afterwards.
struct Broken {
    cut: Exchange,
    /// What the provider lists between the cut and the retry.
    between: Option<Listing>,
    retry: Exchange,
    again: Exchange,
    listing: Option<Listing>,
}

pub(super) async fn check(bench: &Bench) -> Judgement {
    let promise = &bench.promise;
    let mut parts = vec![
        judge_answering(promise, &observe(bench, Cut::Answering).await),
        judge_half(promise, &observe(bench, Cut::HalfSent).await),
    ];
    for wait in WAITS {
        let seen = observe(bench, Cut::Sent(wait)).await;
        parts.push(judge_sent(&seen));
    }
    Judgement::of_parts(parts)
}

async fn observe(bench: &Bench, how: Cut) -> Broken {
    let draft = bench.draft();
    let sent = bench.api.compose(&draft);
    let what = match how {
        Cut::HalfSent => "half of a request, then a reset",
        Cut::Sent(_) => "a request, then a reset",
        Cut::Answering => "a request, then a reset as the answer comes",
    };
    let cut = bench.send_and_cut(what, &sent, how).await;
    let between = match how {
        Cut::HalfSent => bench.list(&draft).await,
        Cut::Sent(_) | Cut::Answering => None,
    };
    Broken {
        cut,
        between,
        retry: settled(bench, "the retry with the same key", &sent).await,
        again: bench.send("the same once more", &sent).await,
        listing: bench.list(&draft).await,
    }
}

/// Sends a request until its key is not being worked on any more: the provider may still be at
/// the one that was cut.
async fn settled(bench: &Bench, what: &str, sent: &Sent) -> Exchange {
    let deadline = Instant::now() + bench.options.timeout;
    loop {
        let exchange = bench.send(what, sent).await;
        let in_flight = match bench.promise.in_flight {
            InFlight::Waits => None,
            InFlight::Refused(status) => Some(status),
        };
        let busy = exchange.answer().map(|answer| answer.counts) == in_flight
            && in_flight.is_some()
            && (bench.promise.repeats || in_flight != Some(bench.promise.used));
        if !busy || Instant::now() >= deadline {
            return exchange;
        }
        // Nothing but asking again tells when the work is done.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The answer had begun: the provider was done, and the client's loss changes nothing.
fn judge_answering(promise: &Promise, seen: &Broken) -> Judgement {
    let retry = match seen.cut.answer() {
        Some(_) => stored::same_message(promise, &seen.cut, &seen.retry),
        None if promise.repeats => accepted(&seen.retry),
        None => stored::refused(promise.used, &seen.retry),
    };
    let kept = "one message when the answer was lost as it came";
    let all = [&seen.cut, &seen.retry, &seen.again];
    let one = effects::one(&all, seen.listing.as_ref())
        .broken_as(|why| format!("the answer was lost as it came: {why}"));
    Judgement::of_parts([one, retry]).kept_as(kept)
}

/// Nothing but a whole request is a request.
fn judge_half(promise: &Promise, seen: &Broken) -> Judgement {
    if let Some(ids) = seen
        .between
        .as_ref()
        .and_then(|listing| listing.ids.as_ref())
        && !ids.is_empty()
    {
        let between = seen.between.as_ref().map(|listing| &listing.exchange);
        let why = "half a request became a message";
        return Judgement::broken(why, std::iter::once(&seen.cut).chain(between));
    }
    let retry = stored::accepted_anew(promise, &seen.retry)
        .broken_as(|why| format!("{why}, for only half a request came before it"))
        .after(&seen.cut);
    let one = effects::one(&[&seen.retry, &seen.again], seen.listing.as_ref());
    Judgement::of_parts([one, retry]).kept_as("nothing of half a request")
}

/// Whether the first was done by then is not known; the provider's list knows what came of it.
fn judge_sent(seen: &Broken) -> Judgement {
    if seen.listing.is_none() && seen.cut.answer().is_none() {
        return Judgement::NotChecked(
            "a reset before any answer (the API has no list that would tell)".to_owned(),
        );
    }
    let all = [&seen.cut, &seen.retry, &seen.again];
    effects::one(&all, seen.listing.as_ref())
        .kept_as("one message when it was lost before it came")
        .broken_as(|why| format!("the client went before the answer: {why}"))
        .after(&seen.cut)
}

fn accepted(exchange: &Exchange) -> Judgement {
    if exchange.succeeded() {
        return Judgement::kept("the retry was accepted");
    }
    Judgement::undecided(format!(
        "the retry was not accepted ({})",
        exchange.result()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::made::{accepted, cut, listing, lost, promise, replayed};

    fn answering(retry: Exchange, ids: &[&str]) -> Broken {
        Broken {
            cut: cut(1, Some(accepted(1, "m"))),
            between: None,
            again: replayed(3, "m"),
            retry,
            listing: Some(listing(4, ids)),
        }
    }

    #[test]
    fn a_stored_answer_for_the_retry_keeps_it() {
        let seen = answering(replayed(2, "m"), &["m"]);
        assert_eq!(judge_answering(&promise(), &seen).as_str(), "kept");
    }

    #[test]
    fn a_second_message_breaks_it() {
        let seen = answering(accepted(2, "n"), &["m", "n"]);
        match judge_answering(&promise(), &seen) {
            Judgement::Broken(broken) => assert_eq!(broken.proof, [1, 2]),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_unseen_answer_is_settled_by_the_list_alone() {
        let mut seen = answering(replayed(2, "m"), &["m"]);
        seen.cut = cut(1, None);
        assert_eq!(judge_answering(&promise(), &seen).as_str(), "kept");
        seen.listing = None;
        assert_eq!(judge_answering(&promise(), &seen).as_str(), "inconclusive");
    }

    #[test]
    fn a_reset_before_the_answer_is_judged_by_the_list() {
        let seen = |ids: Option<&[&str]>| Broken {
            cut: cut(1, None),
            between: None,
            retry: accepted(2, "n"),
            again: replayed(3, "n"),
            listing: ids.map(|ids| listing(4, ids)),
        };
        assert_eq!(judge_sent(&seen(Some(&["n"]))).as_str(), "kept");
        match judge_sent(&seen(Some(&["m", "n"]))) {
            Judgement::Broken(broken) => assert_eq!(broken.proof, [1, 2, 4]),
            other => panic!("{other:?}"),
        }
        assert_eq!(judge_sent(&seen(None)).as_str(), "not-checked");
    }

    #[test]
    fn half_a_request_leaves_nothing() {
        let seen = |between: &[&str], retry: Exchange| Broken {
            cut: cut(1, None),
            between: Some(listing(2, between)),
            retry,
            again: replayed(4, "m"),
            listing: Some(listing(5, &["m"])),
        };
        let judged = |between: &[&str], retry| judge_half(&promise(), &seen(between, retry));
        assert_eq!(judged(&[], accepted(3, "m")).as_str(), "kept");
        assert_eq!(judged(&["m"], replayed(3, "m")).as_str(), "broken");
        assert_eq!(judged(&[], replayed(3, "m")).as_str(), "broken");
        assert_eq!(judged(&[], lost(3)).as_str(), "inconclusive");
    }
}

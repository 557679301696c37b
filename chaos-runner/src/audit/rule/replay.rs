//! The same key with the same bytes: the stored answer, byte for byte, and one message.

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
    id: "replay",
    sentence: "A retry with the same key and the same bytes gets the stored answer, byte for \
               byte, and sends nothing again.",
    section: "2.6",
    needs: "",
};

struct Seen {
    first: Exchange,
    again: [Exchange; 2],
    listing: Option<Listing>,
}

pub(super) async fn check(bench: &Bench) -> Judgement {
    let draft = bench.draft();
    let sent = bench.api.compose(&draft);
    let seen = Seen {
        first: bench.send("a new key", &sent).await,
        again: [
            bench.send("the same key and bytes", &sent).await,
            bench.send("the same once more", &sent).await,
        ],
        listing: bench.list(&draft).await,
    };
    judge(&bench.promise, &seen)
}

fn judge(promise: &Promise, seen: &Seen) -> Judgement {
    if !seen.first.succeeded() {
        let result = seen.first.result();
        return Judgement::undecided(format!("the first request was not accepted ({result})"));
    }
    let all: Vec<&Exchange> = std::iter::once(&seen.first).chain(&seen.again).collect();
    let stored = seen.again.iter().map(|again| {
        if promise.repeats {
            stored::same_bytes(promise, &seen.first, again)
        } else {
            stored::refused(promise.used, again)
        }
    });
    // Whether it doubles weighs more than how the answer looks, and is said first.
    let parts = std::iter::once(effects::one(&all, seen.listing.as_ref()));
    Judgement::of_parts(parts.chain(stored))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::made::{accepted, listing, lost, promise, refused, replayed};

    fn seen(again: [Exchange; 2], ids: &[&str]) -> Seen {
        Seen {
            first: accepted(1, "m"),
            again,
            listing: Some(listing(4, ids)),
        }
    }

    #[test]
    fn stored_answers_and_one_message_keep_it() {
        let seen = seen([replayed(2, "m"), replayed(3, "m")], &["m"]);
        assert_eq!(judge(&promise(), &seen).as_str(), "kept");
    }

    #[test]
    fn a_second_message_breaks_it_and_is_said_before_all_else() {
        let seen = seen([accepted(2, "n"), replayed(3, "m")], &["m", "n"]);
        let judgement = judge(&promise(), &seen);
        assert!(judgement.text().starts_with("2 messages"), "{judgement:?}");
    }

    #[test]
    fn the_second_retry_counts_like_the_first() {
        let seen = seen([replayed(2, "m"), accepted(3, "m")], &["m"]);
        assert_eq!(judge(&promise(), &seen).as_str(), "broken");
    }

    #[test]
    fn a_lost_answer_leaves_it_undecided() {
        let seen = seen([replayed(2, "m"), lost(3)], &["m"]);
        assert_eq!(judge(&promise(), &seen).as_str(), "inconclusive");
    }

    #[test]
    fn a_provider_that_replays_nothing_must_refuse() {
        let mut promise = promise();
        promise.repeats = false;
        let refusals = seen([refused(2, 409), refused(3, 409)], &["m"]);
        assert_eq!(judge(&promise, &refusals).as_str(), "kept");
        let repeats = seen([replayed(2, "m"), refused(3, 409)], &["m"]);
        assert_eq!(judge(&promise, &repeats).as_str(), "broken");
    }
}

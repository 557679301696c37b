//! The same key with another payload: refused, and nothing is sent.

use super::About;
use crate::audit::{
    bench::Bench,
    effects::{self, Listing},
    exchange::{Exchange, Sent},
    judgement::Judgement,
    promise::{Bound, Promise, Scope},
    stored,
};

pub(super) const ABOUT: About = About {
    id: "mismatch",
    sentence: "A key that comes with another payload is refused as promised, sends nothing, and \
               leaves the stored answer as it was.",
    section: "2.7",
    needs: "",
};

struct Seen {
    first: Exchange,
    /// Other words under the key.
    words: Exchange,
    /// Another recipient; `None`: all messages must go to one number.
    recipient: Option<Exchange>,
    /// The same JSON in other bytes; `None`: the body is not JSON.
    reformatted: Option<Exchange>,
    /// The first request again.
    again: Exchange,
    listing: Option<Listing>,
    /// A new key, and the same to another operation; `None`: there is no other.
    elsewhere: Option<[Exchange; 2]>,
}

pub(super) async fn check(bench: &Bench) -> Judgement {
    let draft = bench.draft();
    let sent = bench.api.compose(&draft);
    let first = bench.send("a new key", &sent).await;

    let mut other = draft.clone();
    other.text = bench.invent().words();
    let other = bench.api.compose(&other);
    let words = bench.send("the same key, other words", &other).await;

    let recipient = if bench.options.to.is_none() {
        let mut other = draft.clone();
        while other.to == draft.to {
            other.to = bench.invent().number();
        }
        let other = bench.api.compose(&other);
        Some(bench.send("the same key, another recipient", &other).await)
    } else {
        None
    };
    let reformatted = match reformat(&sent) {
        Some(other) => Some(
            bench
                .send("the same key, the same JSON in other bytes", &other)
                .await,
        ),
        None => None,
    };
    let again = bench.send("the first request again", &sent).await;
    let listing = bench.list(&draft).await;
    let draft = bench.draft();
    let sent = bench.api.compose(&draft);
    let elsewhere = match bench.api.compose_elsewhere(&draft) {
        Some(other) => Some([
            bench.send("another new key", &sent).await,
            bench
                .send("the same key to another operation", &other)
                .await,
        ]),
        None => None,
    };
    let seen = Seen {
        first,
        words,
        recipient,
        reformatted,
        again,
        listing,
        elsewhere,
    };
    judge(&bench.promise, &seen)
}

/// The same JSON with more white space.
fn reformat(sent: &Sent) -> Option<Sent> {
    let value: serde_json::Value = serde_json::from_slice(&sent.body).ok()?;
    let mut other = sent.clone();
    other.body = serde_json::to_vec_pretty(&value).ok()?;
    (other.body != sent.body).then_some(other)
}

fn judge(promise: &Promise, seen: &Seen) -> Judgement {
    if !seen.first.succeeded() {
        let result = seen.first.result();
        return Judgement::undecided(format!("the first request was not accepted ({result})"));
    }
    let mut all = vec![&seen.first, &seen.words, &seen.again];
    all.extend(&seen.recipient);
    all.extend(&seen.reformatted);
    let mut parts = vec![effects::one(&all, seen.listing.as_ref())];
    let other = |exchange: &Exchange| match promise.bound {
        Bound::Nothing => stored::same_message(promise, &seen.first, exchange),
        Bound::Bytes | Bound::Content => stored::refused(promise.mismatch, exchange)
            .broken_as(|why| format!("{}: {why}", exchange.what))
            .after(&seen.first),
    };
    parts.push(other(&seen.words));
    parts.extend(seen.recipient.as_ref().map(other));
    parts.extend(
        seen.reformatted
            .as_ref()
            .map(|exchange| match promise.bound {
                Bound::Bytes => other(exchange),
                Bound::Content | Bound::Nothing => {
                    stored::same_message(promise, &seen.first, exchange)
                }
            }),
    );
    parts.push(stored::same_message(promise, &seen.first, &seen.again));
    parts.extend(seen.elsewhere.as_ref().map(|[first, other]| {
        let judgement = match (promise.scope, promise.bound) {
            (Scope::CustomerAndOperation, _) => stored::accepted_anew(promise, other),
            (Scope::Customer, Bound::Nothing) => stored::same_message(promise, first, other),
            (Scope::Customer, _) => stored::refused(promise.mismatch, other),
        };
        judgement
            .broken_as(|why| format!("{}: {why}", other.what))
            .after(first)
    }));
    Judgement::of_parts(parts).kept_as(match promise.bound {
        Bound::Nothing => "every payload is the first one again".to_owned(),
        Bound::Bytes | Bound::Content => {
            format!("another payload is refused with {}", promise.mismatch)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::made::{accepted, listing, lost, promise, refused, replayed};

    fn kept() -> Seen {
        Seen {
            first: accepted(1, "m"),
            words: refused(2, 422),
            recipient: Some(refused(3, 422)),
            reformatted: Some(refused(4, 422)),
            again: replayed(5, "m"),
            listing: Some(listing(6, &["m"])),
            elsewhere: None,
        }
    }

    #[test]
    fn refusals_and_the_stored_answer_after_them_keep_it() {
        assert_eq!(judge(&promise(), &kept()).as_str(), "kept");
    }

    #[test]
    fn a_stored_answer_for_other_words_breaks_it() {
        let seen = Seen {
            words: replayed(2, "m"),
            ..kept()
        };
        match judge(&promise(), &seen) {
            Judgement::Broken(broken) => assert_eq!(broken.proof, [1, 2]),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_message_of_other_words_breaks_it() {
        let seen = Seen {
            words: accepted(2, "n"),
            ..kept()
        };
        assert!(judge(&promise(), &seen).text().starts_with("2 messages"));
    }

    #[test]
    fn another_status_than_the_promised_one_breaks_it() {
        let seen = Seen {
            recipient: Some(refused(3, 400)),
            ..kept()
        };
        assert!(judge(&promise(), &seen).text().contains("400"));
    }

    #[test]
    fn white_space_counts_where_bytes_are_bound_and_only_there() {
        let seen = || Seen {
            reformatted: Some(replayed(4, "m")),
            ..kept()
        };
        assert_eq!(judge(&promise(), &seen()).as_str(), "broken");
        let mut promise = promise();
        promise.bound = Bound::Content;
        assert_eq!(judge(&promise, &seen()).as_str(), "kept");
        assert_eq!(judge(&promise, &kept()).as_str(), "broken");
    }

    #[test]
    fn where_nothing_is_bound_every_payload_gets_the_stored_answer() {
        let mut promise = promise();
        promise.bound = Bound::Nothing;
        assert_eq!(judge(&promise, &kept()).as_str(), "broken");
        let seen = Seen {
            words: replayed(2, "m"),
            recipient: None,
            reformatted: Some(replayed(4, "m")),
            ..kept()
        };
        assert_eq!(judge(&promise, &seen).as_str(), "kept");
    }

    #[test]
    fn another_operation_is_another_request_or_another_key_as_promised() {
        let seen = |other| Seen {
            elsewhere: Some([accepted(7, "x"), other]),
            ..kept()
        };
        let by_operation = Promise {
            scope: Scope::CustomerAndOperation,
            ..promise()
        };
        assert_eq!(judge(&promise(), &seen(refused(8, 422))).as_str(), "kept");
        assert_eq!(
            judge(&promise(), &seen(accepted(8, "y"))).as_str(),
            "broken"
        );
        assert_eq!(
            judge(&by_operation, &seen(accepted(8, "y"))).as_str(),
            "kept"
        );
        assert_eq!(
            judge(&by_operation, &seen(refused(8, 422))).as_str(),
            "broken"
        );
    }

    #[test]
    fn a_lost_refusal_leaves_it_undecided() {
        let seen = Seen {
            words: lost(2),
            ..kept()
        };
        assert_eq!(judge(&promise(), &seen).as_str(), "inconclusive");
    }

    #[test]
    fn a_refusal_that_spoils_the_stored_answer_breaks_it() {
        let seen = Seen {
            again: refused(5, 422),
            ..kept()
        };
        assert_eq!(judge(&promise(), &seen).as_str(), "broken");
    }
}

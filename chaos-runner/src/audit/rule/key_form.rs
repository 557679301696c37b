//! What is a key: missing and empty ones, quotes, characters.

use super::About;
use crate::audit::{
    bench::Bench,
    effects,
    exchange::{Exchange, Sent},
    judgement::Judgement,
    promise::{Missing, Promise, Quoting},
    stored,
};

pub(super) const ABOUT: About = About {
    id: "key-form",
    sentence: "A missing, an empty, a malformed, a quoted and a bare key are each treated as \
               promised.",
    section: "2.1",
    needs: "",
};

struct Seen {
    /// The same request twice, without any key.
    missing: [Exchange; 2],
    /// With a key that is there and empty.
    empty: [Exchange; 2],
    /// With texts that are no keys, and what is wrong with each.
    malformed: Vec<(&'static str, Exchange)>,
    /// A key as it is written, and with quotes added or taken away; `None`: it is in no header.
    quotes: Option<[Exchange; 2]>,
}

pub(super) async fn check(bench: &Bench) -> Judgement {
    let mut draft = bench.draft();
    draft.key = None;
    let sent = bench.api.compose(&draft);
    let missing = [
        bench.send("without a key", &sent).await,
        bench.send("without a key, again", &sent).await,
    ];

    let mut draft = bench.draft();
    draft.key = Some(String::new());
    let sent = bench.api.compose(&draft);
    let empty = [
        bench.send("with an empty key", &sent).await,
        bench.send("with an empty key, again", &sent).await,
    ];

    let mut malformed = Vec::new();
    for (wrong, key) in bench.api.malformed_keys() {
        let sent = bench.api.compose_as_written(&bench.draft(), &key);
        let what = format!("with a malformed key: {wrong}");
        malformed.push((wrong, bench.send(&what, &sent).await));
    }

    let sent = bench.api.compose(&bench.draft());
    let quotes = match requoted(&bench.promise, &sent) {
        Some(other) => Some([
            bench.send("a new key as it is written", &sent).await,
            bench
                .send("the same with quotes added or taken away", &other)
                .await,
        ]),
        None => None,
    };
    let seen = Seen {
        missing,
        empty,
        malformed,
        quotes,
    };
    judge(&bench.promise, &seen)
}

/// The request with quotes around its key, or without those that are there.
fn requoted(promise: &Promise, sent: &Sent) -> Option<Sent> {
    let header = promise.header.as_deref()?;
    let mut other = sent.clone();
    let (_, value) = other
        .headers
        .iter_mut()
        .find(|(name, _)| name.eq_ignore_ascii_case(header))?;
    *value = match value.strip_prefix('"').and_then(|v| v.strip_suffix('"')) {
        Some(bare) => bare.to_owned(),
        None => format!("\"{value}\""),
    };
    Some(other)
}

fn judge(promise: &Promise, seen: &Seen) -> Judgement {
    let mut parts = vec![without(promise, "no key", &seen.missing)];
    parts.push(empty(promise, &seen.empty));
    parts.extend(seen.malformed.iter().map(|(wrong, exchange)| {
        stored::refused(promise.malformed, exchange)
            .kept_as(format!(
                "a malformed key is refused with {}",
                promise.malformed
            ))
            .broken_as(|why| format!("a key that is malformed ({wrong}) was {why}"))
    }));
    parts.extend(seen.quotes.as_ref().map(|pair| quotes(promise, pair)));
    Judgement::of_parts(parts)
}

/// Two equal requests that bear no key.
fn without(promise: &Promise, what: &str, pair: &[Exchange; 2]) -> Judgement {
    let [first, again] = pair;
    match promise.missing {
        Missing::Refused(status) => {
            let each = pair.iter().map(|exchange| {
                stored::refused(status, exchange)
                    .kept_as(format!("{what} is refused with {status}"))
                    .broken_as(|why| format!("{what} was {why}"))
            });
            Judgement::of_parts(each)
        }
        Missing::Delivers => {
            let each = pair
                .iter()
                .map(|exchange| stored::accepted_anew(promise, exchange));
            let whole = Judgement::of_parts(each).broken_as(|why| format!("{what}: {why}"));
            if !matches!(whole, Judgement::Kept(_)) {
                return whole;
            }
            match (first.message(), again.message()) {
                (Some(a), Some(b)) if a == b => Judgement::broken(
                    format!("two requests with {what} became one message"),
                    [first, again],
                ),
                _ => Judgement::kept(format!("{what} is a new message each time")),
            }
        }
    }
}

/// Two equal requests with a key that is there and empty.
fn empty(promise: &Promise, pair: &[Exchange; 2]) -> Judgement {
    if promise.empty_is_missing {
        return without(promise, "an empty key", pair);
    }
    let each = pair.iter().map(|exchange| {
        stored::refused(promise.malformed, exchange)
            .kept_as(format!(
                "an empty key is refused with {}",
                promise.malformed
            ))
            .broken_as(|why| format!("an empty key was {why}"))
    });
    Judgement::of_parts(each)
}

fn quotes(promise: &Promise, [written, other]: &[Exchange; 2]) -> Judgement {
    if !written.succeeded() {
        let result = written.result();
        return Judgement::undecided(format!("a new key was not accepted ({result})"));
    }
    match promise.quoting {
        Quoting::Either => {
            let parts = [
                effects::one(&[written, other], None),
                stored::same_message(promise, written, other),
            ];
            Judgement::of_parts(parts)
                .kept_as("with and without quotes it is one key")
                .broken_as(|why| format!("{why} (the same key with and without quotes)"))
        }
        Quoting::Quoted => stored::refused(promise.malformed, other)
            .kept_as(format!(
                "a key without quotes is refused with {}",
                promise.malformed
            ))
            .broken_as(|why| format!("a key without quotes was {why}")),
        // Quotes are characters like others then: another key, or no key at all.
        Quoting::Bare => match (other.message(), written.message()) {
            (Some(a), Some(b)) if a == b => Judgement::broken(
                "a key in quotes was taken for the same key without them",
                [written, other],
            ),
            (Some(_), _) => Judgement::kept("quotes are part of the key"),
            (None, _) => stored::refused(promise.malformed, other)
                .kept_as(format!(
                    "a key in quotes is refused with {}",
                    promise.malformed
                ))
                .broken_as(|why| format!("a key in quotes was {why}")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::made::{accepted, lost, promise, refused, replayed};

    fn kept() -> Seen {
        Seen {
            missing: [accepted(1, "a"), accepted(2, "b")],
            empty: [accepted(3, "c"), accepted(4, "d")],
            malformed: Vec::new(),
            quotes: Some([accepted(5, "e"), replayed(6, "e")]),
        }
    }

    #[test]
    fn a_new_message_for_each_keyless_request_keeps_it() {
        assert_eq!(judge(&promise(), &kept()).as_str(), "kept");
    }

    #[test]
    fn keyless_requests_must_not_become_one_message() {
        let seen = Seen {
            missing: [accepted(1, "a"), accepted(2, "a")],
            ..kept()
        };
        assert_eq!(judge(&promise(), &seen).as_str(), "broken");
    }

    #[test]
    fn the_empty_key_must_not_be_a_key_that_all_share() {
        let seen = Seen {
            empty: [accepted(3, "c"), replayed(4, "c")],
            ..kept()
        };
        assert_eq!(judge(&promise(), &seen).as_str(), "broken");
        let strict = Promise {
            empty_is_missing: false,
            ..promise()
        };
        assert_eq!(judge(&strict, &kept()).as_str(), "broken");
        let seen = Seen {
            empty: [refused(3, 400), refused(4, 400)],
            ..kept()
        };
        assert_eq!(judge(&strict, &seen).as_str(), "kept");
    }

    #[test]
    fn where_a_key_is_required_its_absence_is_refused() {
        let strict = Promise {
            missing: Missing::Refused(400),
            ..promise()
        };
        assert_eq!(judge(&strict, &kept()).as_str(), "broken");
        let seen = Seen {
            missing: [refused(1, 400), refused(2, 400)],
            empty: [refused(3, 400), refused(4, 400)],
            ..kept()
        };
        assert_eq!(judge(&strict, &seen).as_str(), "kept");
    }

    #[test]
    fn a_malformed_key_must_be_refused_with_the_promised_status() {
        let with = |exchange| Seen {
            malformed: vec![("a comma", exchange)],
            ..kept()
        };
        assert_eq!(judge(&promise(), &with(refused(7, 400))).as_str(), "kept");
        assert_eq!(
            judge(&promise(), &with(accepted(7, "x"))).as_str(),
            "broken"
        );
        assert_eq!(judge(&promise(), &with(lost(7))).as_str(), "inconclusive");
    }

    #[test]
    fn quotes_are_what_the_promise_says_of_them() {
        let judged = |quoting, other: Exchange| {
            let promise = Promise {
                quoting,
                ..promise()
            };
            let seen = Seen {
                quotes: Some([accepted(5, "e"), other]),
                ..kept()
            };
            judge(&promise, &seen).as_str()
        };
        assert_eq!(judged(Quoting::Either, replayed(6, "e")), "kept");
        assert_eq!(judged(Quoting::Either, accepted(6, "f")), "broken");
        assert_eq!(judged(Quoting::Quoted, refused(6, 400)), "kept");
        assert_eq!(judged(Quoting::Quoted, replayed(6, "e")), "broken");
        assert_eq!(judged(Quoting::Bare, accepted(6, "f")), "kept");
        assert_eq!(judged(Quoting::Bare, refused(6, 400)), "kept");
        assert_eq!(judged(Quoting::Bare, replayed(6, "e")), "broken");
    }

    #[test]
    fn quotes_are_added_where_there_are_none_and_taken_where_there_are() {
        let sent = |value: &str| Sent {
            method: "POST".into(),
            target: "/".into(),
            headers: vec![("Idempotency-Key".into(), value.into())],
            body: Vec::new(),
        };
        let other =
            |value: &str| requoted(&promise(), &sent(value)).map(|s| s.headers[0].1.clone());
        assert_eq!(other("a").as_deref(), Some("\"a\""));
        assert_eq!(other("\"a\"").as_deref(), Some("a"));
    }
}

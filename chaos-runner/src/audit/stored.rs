//! Whether an answer is the stored one.
//!
//! Owns the comparison of a repeated answer with the first: byte for byte where that is the rule,
//! by the message where another rule is at stake, so that one fault of a provider is one broken
//! rule.

use super::{
    exchange::{Answer, Exchange},
    judgement::Judgement,
    promise::Promise,
};

/// Headers that speak of the moment, the connection or the way, not of the message.
const OF_THE_MOMENT: &[&str] = &[
    "age",
    "alt-svc",
    "cf-ray",
    "connection",
    "date",
    "keep-alive",
    "nel",
    "report-to",
    "request-id",
    "server-timing",
    "set-cookie",
    "traceparent",
    "transfer-encoding",
    "via",
    "x-amz-cf-id",
    "x-amzn-requestid",
    "x-amzn-trace-id",
    "x-request-id",
    "x-runtime",
];

/// Whether `again` is the stored answer of `first`, byte for byte.
pub(super) fn same_bytes(promise: &Promise, first: &Exchange, again: &Exchange) -> Judgement {
    let (Some(stored), Some(answer)) = (first.answer(), again.answer()) else {
        return no_answer(again);
    };
    if answer.counts != stored.counts
        && let Some(judgement) = passing(again, answer)
    {
        return judgement;
    }
    if answer.status != stored.status || answer.counts != stored.counts {
        let (is, was) = if answer.status == stored.status {
            (answer.counts, stored.counts)
        } else {
            (answer.status, stored.status)
        };
        let why = format!("the retry was answered {is}, the first request {was}");
        return Judgement::broken(why, [first, again]);
    }
    if answer.body != stored.body {
        return Judgement::broken(different(&stored.body, &answer.body), [first, again]);
    }
    if let Some(why) = headers_differ(promise, stored, answer) {
        return Judgement::broken(why, [first, again]);
    }
    if let Some(name) = &promise.replay_mark {
        if !is_marked(promise, answer) {
            let why = format!("the stored answer lacks the promised `{name}: true`");
            return Judgement::broken(why, [again]);
        }
        if is_marked(promise, stored) {
            let why = format!("the first answer already says `{name}: true`");
            return Judgement::broken(why, [first]);
        }
    }
    Judgement::kept("the same status, headers and body")
}

/// Whether `again` is an answer of the kind that is promised for a used key: the stored one, by
/// its status and its message, or the refusal where nothing is replayed.
pub(super) fn same_message(promise: &Promise, first: &Exchange, again: &Exchange) -> Judgement {
    let (Some(stored), Some(answer)) = (first.answer(), again.answer()) else {
        return no_answer(again);
    };
    if let Some(judgement) = passing(again, answer) {
        return judgement;
    }
    let expected = if promise.repeats {
        stored.counts
    } else {
        promise.used
    };
    if answer.counts != expected {
        let why = format!("answered {} where {expected} is promised", answer.counts);
        return Judgement::broken(why, [first, again]);
    }
    if let (Some(known), Some(new)) = (first.message(), again.message())
        && known != new
    {
        return Judgement::broken("answered with another message", [first, again]);
    }
    Judgement::kept("the stored answer")
}

/// Whether a request was refused with the promised status.
pub(super) fn refused(status: u16, exchange: &Exchange) -> Judgement {
    let Some(answer) = exchange.answer() else {
        return no_answer(exchange);
    };
    if answer.counts == status {
        return Judgement::kept(format!("refused with {status}"));
    }
    if let Some(judgement) = passing(exchange, answer) {
        return judgement;
    }
    let why = format!("answered {} where {status} is promised", answer.counts);
    Judgement::broken(why, [exchange])
}

/// Whether a request was accepted as one that was never seen.
pub(super) fn accepted_anew(promise: &Promise, exchange: &Exchange) -> Judgement {
    let Some(answer) = exchange.answer() else {
        return no_answer(exchange);
    };
    if let Some(judgement) = passing(exchange, answer) {
        return judgement;
    }
    if !answer.is_success() {
        let why = format!("answered {} where it had to be accepted", answer.counts);
        return Judgement::broken(why, [exchange]);
    }
    if is_marked(promise, answer) {
        let why = "answered with a stored answer where it had to be new";
        return Judgement::broken(why, [exchange]);
    }
    Judgement::kept("accepted as new")
}

/// Whether an answer bears the promised mark of a stored one.
pub(super) fn is_marked(promise: &Promise, answer: &Answer) -> bool {
    promise
        .replay_mark
        .as_ref()
        .and_then(|name| answer.header(name))
        .is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

fn no_answer(exchange: &Exchange) -> Judgement {
    Judgement::undecided(format!("{} ({})", exchange.what, exchange.result()))
}

/// Whether an answer says something about its key, and is neither "too many requests" nor an
/// error of the server.
pub(super) fn says_of_the_key(answer: &Answer) -> bool {
    !matches!(answer.counts, 408 | 425 | 429) && answer.counts < 500
}

fn passing(exchange: &Exchange, answer: &Answer) -> Option<Judgement> {
    (!says_of_the_key(answer))
        .then(|| Judgement::undecided(format!("{} was answered {}", exchange.what, answer.counts)))
}

/// Which header differs that should not.
fn headers_differ(promise: &Promise, stored: &Answer, again: &Answer) -> Option<String> {
    let mark = promise.replay_mark.as_deref();
    let telling = |answer: &Answer| {
        let mut headers: Vec<(String, String)> = answer
            .headers
            .iter()
            .filter(|(name, _)| {
                let name = name.as_str();
                !OF_THE_MOMENT.contains(&name)
                    && !name.contains("ratelimit")
                    && !name.contains("rate-limit")
                    && Some(name) != mark
            })
            .cloned()
            .collect();
        headers.sort();
        headers
    };
    let (stored, again) = (telling(stored), telling(again));
    let first = |a: &[(String, String)], b: &[(String, String)]| {
        a.iter().find(|line| !b.contains(line)).cloned()
    };
    match (first(&stored, &again), first(&again, &stored)) {
        (None, None) => None,
        (Some((name, was)), Some((other, is))) if name == other => Some(format!(
            "the header `{name}` was `{was}`, and is `{is}` in the stored answer"
        )),
        (Some((name, _)), _) => Some(format!("the stored answer lacks the header `{name}`")),
        (None, Some((name, _))) => Some(format!(
            "the stored answer has the header `{name}`, which the first had not"
        )),
    }
}

/// How two bodies differ, in one sentence.
fn different(stored: &[u8], again: &[u8]) -> String {
    let at = stored
        .iter()
        .zip(again)
        .position(|(a, b)| a != b)
        .unwrap_or(stored.len().min(again.len()));
    let json = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).ok();
    let same = json(stored).is_some_and(|value| Some(value) == json(again));
    let beside = if same {
        ": the same JSON in other bytes"
    } else {
        ""
    };
    format!(
        "the body of the stored answer differs from the first at byte {at} ({} and {} bytes){beside}",
        stored.len(),
        again.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::made::{
        accepted, answer, answered, lost, marked, promise, refused as no, replayed,
    };

    #[test]
    fn the_same_bytes_with_the_mark_are_the_stored_answer() {
        let seen = same_bytes(&promise(), &accepted(1, "m"), &replayed(2, "m"));
        assert_eq!(seen.as_str(), "kept", "{seen:?}");
    }

    #[test]
    fn one_byte_one_header_or_a_lacking_mark_is_seen() {
        let first = answered(1, answer(201, "{\"a\": 1}"));
        let with = |change: &dyn Fn(&mut Answer)| {
            let mut again = answer(201, "{\"a\": 1}");
            change(&mut again);
            same_bytes(&promise(), &first, &marked(answered(2, again)))
        };
        assert_eq!(with(&|_| {}).as_str(), "kept");
        let other = with(&|a| a.body = b"{\"a\":1}".to_vec());
        assert!(
            other.text().contains("same JSON in other bytes"),
            "{other:?}"
        );
        let other = with(&|a| a.status = 200);
        assert!(other.text().contains("200"), "{other:?}");
        let other = with(&|a| a.headers[0].1 = "text/plain".into());
        assert!(other.text().contains("`content-type`"), "{other:?}");
        let moment = with(&|a| a.headers.push(("date".into(), "now".into())));
        assert_eq!(moment.as_str(), "kept");
        let unmarked = same_bytes(&promise(), &first, &answered(2, answer(201, "{\"a\": 1}")));
        assert!(
            unmarked.text().contains("lacks the promised"),
            "{unmarked:?}"
        );
    }

    #[test]
    fn a_mark_on_the_first_answer_is_no_mark() {
        let seen = same_bytes(&promise(), &replayed(1, "m"), &replayed(2, "m"));
        assert_eq!(seen.as_str(), "broken");
    }

    #[test]
    fn no_answer_and_an_error_of_the_server_say_nothing() {
        for again in [lost(2), no(2, 503), no(2, 429)] {
            let first = accepted(1, "m");
            assert_eq!(
                same_bytes(&promise(), &first, &again).as_str(),
                "inconclusive"
            );
            assert_eq!(
                same_message(&promise(), &first, &again).as_str(),
                "inconclusive"
            );
            assert_eq!(refused(422, &again).as_str(), "inconclusive");
            assert_eq!(accepted_anew(&promise(), &again).as_str(), "inconclusive");
        }
    }

    #[test]
    fn where_nothing_is_replayed_the_refusal_is_the_answer() {
        let mut promise = promise();
        promise.repeats = false;
        let first = accepted(1, "m");
        assert_eq!(same_message(&promise, &first, &no(2, 409)).as_str(), "kept");
        assert_eq!(
            same_message(&promise, &first, &accepted(2, "m")).as_str(),
            "broken"
        );
    }

    #[test]
    fn another_message_is_not_the_stored_answer() {
        let seen = same_message(&promise(), &accepted(1, "m"), &accepted(2, "n"));
        assert_eq!(seen.as_str(), "broken");
    }

    #[test]
    fn a_stored_answer_is_not_new() {
        assert_eq!(
            accepted_anew(&promise(), &accepted(1, "m")).as_str(),
            "kept"
        );
        assert_eq!(
            accepted_anew(&promise(), &replayed(1, "m")).as_str(),
            "broken"
        );
        assert_eq!(accepted_anew(&promise(), &no(1, 422)).as_str(), "broken");
    }
}

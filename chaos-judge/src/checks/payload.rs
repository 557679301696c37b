//! Is the content under one key always the same, to the byte?

use serde_json::Value;

use super::{Observed, Symptom, SymptomKind};
use crate::history::{reply::Reply, reply::reply, view::View};

/// Cites the first request under the key and the first that differs from it.
pub(super) fn check(view: &View<'_>) -> Observed {
    let mut seen = Observed::default();
    for intent in view.intents() {
        // Other words under one submitted id are the front door's affair.
        if view.submitted_again(intent.number) {
            continue;
        }
        let tries = view.tries(intent.number);
        let mut compared = false;
        for (nth, attempt) in tries.iter().enumerate() {
            let first = tries[..nth].iter().find(|a| {
                a.key.is_some()
                    && a.key == attempt.key
                    && a.provider == attempt.provider
                    && !matches!(reply(view, a), Reply::Redirect(_))
            });
            let Some(first) = first else { continue };
            compared = true;
            let (a, b) = (&first.request.body, &attempt.request.body);
            if a.as_bytes() == b.as_bytes() {
                continue;
            }
            let json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).ok();
            let same = match (json(a.as_bytes()), json(b.as_bytes())) {
                (Some(a), Some(b)) => a == b,
                _ => false,
            };
            seen.saw(Symptom {
                kind: if same {
                    SymptomKind::BytesDiffer
                } else {
                    SymptomKind::PayloadDiffers
                },
                intent: Some(intent.number),
                evidence: vec![first.arrived.seq, attempt.arrived.seq],
                attempts: vec![first.id, attempt.id],
                detail: if same {
                    "the JSON is equal, its bytes are not".into()
                } else {
                    "the content is not the same".into()
                },
            });
            break;
        }
        if !compared {
            seen.open(format!(
                "no two requests for intent {} under one key",
                intent.number
            ));
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{History, builder::tale};

    fn retried_with(body: &str) -> History {
        tale("payload", 1)
            .with_body(r#"{"to":"+12025550101","n":1}"#)
            .ask(1, Some("k"))
            .refuse(503)
            .with_body(body)
            .ask(1, Some("k"))
            .accept()
            .all_sent()
    }

    fn kinds(history: &History) -> Vec<SymptomKind> {
        check(&View::new(history)).kinds()
    }

    #[test]
    fn the_same_bytes_pass() {
        assert_eq!(kinds(&retried_with(r#"{"to":"+12025550101","n":1}"#)), []);
    }

    #[test]
    fn other_bytes_of_equal_json_and_other_content_are_told_apart() {
        assert_eq!(
            kinds(&retried_with(r#"{"n":1, "to":"+12025550101"}"#)),
            [SymptomKind::BytesDiffer]
        );
        assert_eq!(
            kinds(&retried_with(r#"{"to":"+12025550101","n":2}"#)),
            [SymptomKind::PayloadDiffers]
        );
        assert_eq!(
            kinds(&retried_with("to=1&n=1")),
            [SymptomKind::PayloadDiffers]
        );
    }

    #[test]
    fn another_key_no_key_another_provider_and_a_hop_bind_to_no_content() {
        let retried = |first: Option<&str>, status, provider, second: Option<&str>| {
            let history = tale("other", 1)
                .with_body(r#"{"n":1}"#)
                .ask(1, first)
                .refuse(status)
                .at_provider(provider)
                .with_body(r#"{"n":2}"#)
                .ask(1, second)
                .accept();
            kinds(&history.all_sent())
        };
        assert_eq!(
            retried(Some("a"), 503, 1, Some("a")),
            [SymptomKind::PayloadDiffers]
        );
        assert_eq!(retried(Some("a"), 503, 1, Some("b")), []);
        assert_eq!(retried(None, 503, 1, None), []);
        assert_eq!(retried(Some("a"), 503, 2, Some("a")), []);
        assert_eq!(retried(Some("a"), 307, 1, Some("a")), []);
    }

    #[test]
    fn without_two_requests_under_one_key_nothing_is_decided() {
        let history = tale("one", 1).ask(1, Some("k")).accept().all_sent();
        assert!(!check(&View::new(&history)).undecided.is_empty());
    }
}

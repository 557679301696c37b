//! Is an answer that will never change taken as the last word?

use super::{Observed, Symptom, SymptomKind};
use crate::history::{
    reply::{Reply, has_permanent_code, reply_by},
    retry::{Cause, Retry, retries},
    view::View,
};

/// Cites the answer and the request after it.
pub(super) fn check(view: &View<'_>) -> Observed {
    let mut seen = Observed::default();
    let mut answered = false;
    for intent in view.intents() {
        for attempt in view.tries(intent.number) {
            answered |= matches!(reply_by(view, attempt, u64::MAX), Reply::Permanent(_));
        }
        let found = retries(view, intent.number).into_iter().find(|r| {
            let status = r.from.answer.map_or(0, |(_, answer)| answer.status);
            let coded = r.from.answer.is_some_and(|(_, a)| has_permanent_code(a));
            r.cause == Cause::Permanent
                && (matches!(status, 400 | 401 | 403 | 404 | 422) || coded)
                && !refused_for_its_content(view, intent.number, r)
        });
        if let Some(retry) = found {
            let status = retry.from.answer.map_or(0, |(_, answer)| answer.status);
            let mut evidence: Vec<u64> =
                retry.from.answer.map(|(m, _)| m.seq).into_iter().collect();
            evidence.push(retry.to.arrived.seq);
            seen.saw(Symptom {
                kind: SymptomKind::PermanentRetried,
                intent: Some(intent.number),
                evidence,
                attempts: retry.attempts(),
                detail: format!("{status} was answered, and another request came"),
            });
        }
    }
    if !answered {
        seen.open("no answer was final");
    }
    seen
}

/// Whether the answer may mean that the content under the key had changed: then that is the
/// defect.
fn refused_for_its_content(view: &View<'_>, intent: usize, retry: &Retry<'_, '_>) -> bool {
    let tries = view.tries(intent);
    let mut before = tries.iter().take_while(|a| a.id != retry.from.id);
    before.any(|a| {
        a.key.is_some() && a.key == retry.from.key && a.request.body != retry.from.request.body
    })
}

#[cfg(test)]
mod tests {
    use stub_provider::duration::Span;

    use super::*;
    use crate::{history::builder::tale, intent::Outcome};

    #[test]
    fn an_answer_that_the_client_had_no_patience_left_for_was_perhaps_not_read() {
        let hung_up_after = |millis| {
            tale("400", 1)
                .given(|h| h.client.policy.read_timeout = Some(Span::from_millis(300)))
                .ask(1, Some("k"))
                .refuse(400)
                .wait(millis)
                .hang_up()
                .ask(1, Some("k"))
                .replay(1)
                .answer(400)
                .believe(1, Outcome::Failed)
                .settle()
        };
        let kinds = |history| -> Vec<SymptomKind> {
            let seen = check(&View::new(&history));
            seen.symptoms.into_iter().map(|s| s.kind).collect()
        };
        assert_eq!(kinds(hung_up_after(290)), []);
        assert_eq!(kinds(hung_up_after(20)), [SymptomKind::PermanentRetried]);
    }

    #[test]
    fn one_request_passes() {
        let history = tale("400", 1)
            .ask(1, Some("k"))
            .refuse(400)
            .believe(1, Outcome::Failed)
            .settle();
        assert_eq!(check(&View::new(&history)), Observed::default());
    }

    #[test]
    fn a_second_request_is_seen_for_each_permanent_status() {
        for status in [400, 401, 403, 404, 422] {
            let history = tale("4xx", 1)
                .ask(1, Some("k"))
                .refuse(status)
                .ask(1, Some("k"))
                .refuse(status)
                .believe(1, Outcome::Failed)
                .settle();
            let seen = check(&View::new(&history));
            assert_eq!(seen.symptoms.len(), 1, "{status}");
            assert_eq!(seen.symptoms[0].attempts, [1, 2]);
        }
    }

    #[test]
    fn a_refusal_of_other_content_under_the_key_is_no_permanent_error() {
        let refused = |first: Option<&str>, body: &str| {
            let history = tale("422", 1)
                .with_body(r#"{"n":1}"#)
                .ask(1, first)
                .refuse(503)
                .with_body(body)
                .ask(1, Some("k"))
                .refuse(422)
                .with_body(r#"{"n":1}"#)
                .ask(1, Some("k"))
                .accept()
                .all_sent();
            check(&View::new(&history)).symptoms.len()
        };
        assert_eq!(refused(Some("k"), r#"{"n":2}"#), 0);
        assert_eq!(refused(Some("k"), r#"{"n":1}"#), 1);
        assert_eq!(refused(Some("j"), r#"{"n":2}"#), 1);
        assert_eq!(refused(None, r#"{"n":2}"#), 1);
        // What came later bears no part in it.
        let history = tale("400", 1)
            .ask(1, None)
            .refuse(400)
            .with_body(r#"{"n":2}"#)
            .ask(1, None)
            .accept();
        assert_eq!(check(&View::new(&history.all_sent())).symptoms.len(), 1);
    }

    #[test]
    fn without_such_an_answer_nothing_is_decided() {
        let history = tale("fine", 1).ask(1, Some("k")).accept().all_sent();
        assert!(!check(&View::new(&history)).undecided.is_empty());
    }
}

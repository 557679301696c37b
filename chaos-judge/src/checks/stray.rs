//! Does every request belong to a message that somebody submitted?

use stub_provider::fault::RequestKind;

use super::{Observed, Symptom, SymptomKind};
use crate::history::view::View;

/// Cites the request.
pub(super) fn check(view: &View<'_>) -> Observed {
    let mut seen = Observed::default();
    if view.attempts.is_empty() {
        seen.open("nothing was on the wire");
    }
    for attempt in &view.attempts {
        if attempt.intent.is_none() && attempt.kind == RequestKind::Submit {
            seen.saw(Symptom {
                kind: SymptomKind::StrayAttempt,
                intent: None,
                evidence: vec![attempt.arrived.seq],
                attempts: vec![attempt.id],
                detail: format!(
                    "{} {} is for no intent",
                    attempt.request.method, attempt.request.target
                ),
            });
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::builder::tale;

    #[test]
    fn requests_for_intents_pass() {
        let history = tale("fine", 1).ask(1, Some("k")).accept().all_sent();
        assert_eq!(check(&View::new(&history)), Observed::default());
    }

    #[test]
    fn a_request_for_nobody_is_seen() {
        let history = tale("stray", 1).stray().accept().settle();
        assert_eq!(check(&View::new(&history)).symptoms.len(), 1);
    }

    #[test]
    fn nothing_on_the_wire_decides_nothing() {
        let history = tale("silent", 1).settle();
        assert!(!check(&View::new(&history)).undecided.is_empty());
    }
}

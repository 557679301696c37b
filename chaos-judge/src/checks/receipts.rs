//! Do receipts only ever move an outcome forward, and never a message out again?

use stub_provider::fault::{MessageStatus, ReceiptFault};

use super::{Observed, Symptom, SymptomKind};
use crate::{
    fault::Action,
    history::{
        retry::{Cause, retries},
        view::View,
    },
    intent::Outcome,
};

/// Cites the receipt and what it led to.
pub(super) fn check(view: &View<'_>) -> Observed {
    let mut seen = Observed::default();
    if view.receipts.is_empty() {
        seen.open("no receipt was sent");
        return seen;
    }
    // A forged receipt is none: what it says must change nothing.
    let forged = view
        .history
        .faults
        .iter()
        .any(|f| matches!(&f.action, Action::Receipt(ReceiptFault::BadSignature(_))));
    for intent in view.intents() {
        let number = intent.number;
        let messages: Vec<&str> = view
            .deliveries(number)
            .iter()
            .filter_map(|a| a.delivered.map(|(_, m)| m))
            .collect();
        let receipts: Vec<_> = view
            .receipts
            .iter()
            .filter(|r| messages.contains(&r.message))
            .collect();
        if let Some(retry) = retries(view, number)
            .into_iter()
            .find(|r| r.cause == Cause::Receipt)
        {
            let mut evidence: Vec<u64> = receipts
                .iter()
                .rfind(|r| r.mark.seq < retry.to.arrived.seq)
                .map(|r| r.mark.seq)
                .into_iter()
                .collect();
            evidence.push(retry.to.arrived.seq);
            seen.saw(Symptom {
                kind: SymptomKind::AttemptAfterReceipt,
                intent: Some(number),
                evidence,
                attempts: retry.attempts(),
                detail: "another request after a whole success, when a receipt had come".into(),
            });
        }
        for pair in view.beliefs(number).windows(2) {
            let back =
                pair[0].outcome == Some(Outcome::Sent) && pair[1].outcome != Some(Outcome::Sent);
            let before: Vec<_> = receipts
                .iter()
                .filter(|r| r.mark.seq < pair[1].mark.seq)
                .collect();
            let said_so = !forged
                && pair[1].outcome == Some(Outcome::Failed)
                && before.iter().any(|r| {
                    matches!(
                        r.status,
                        MessageStatus::Undelivered | MessageStatus::Expired
                    )
                });
            if back && !said_so && !before.is_empty() {
                let mut evidence: Vec<u64> =
                    before.last().map(|r| r.mark.seq).into_iter().collect();
                evidence.extend([pair[0].mark.seq, pair[1].mark.seq]);
                seen.saw(Symptom {
                    kind: SymptomKind::OutcomeWentBack,
                    intent: Some(number),
                    evidence,
                    attempts: view
                        .deliveries(number)
                        .first()
                        .map(|a| a.id)
                        .into_iter()
                        .collect(),
                    detail: format!(
                        "`sent` became `{}` after a receipt",
                        pair[1].outcome.map_or("no record", Outcome::as_str)
                    ),
                });
                break;
            }
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use stub_provider::fault::OfReceipt;

    use super::*;
    use crate::history::{
        EventKind, History,
        builder::{Tale, numbers, tale},
    };

    fn receipt(t: Tale, status: MessageStatus) -> Tale {
        t.event(EventKind::Receipt {
            message: "msg_1".into(),
            event_id: "evt_1".into(),
            status,
            attempt: 1,
            answered: Some(200),
        })
    }

    fn sent() -> Tale {
        tale("receipts", 1)
            .ask(1, Some("k"))
            .accept()
            .believe(1, Outcome::Sent)
    }

    fn kinds(history: &History) -> Vec<SymptomKind> {
        check(&View::new(history)).kinds()
    }

    #[test]
    fn two_receipts_that_change_nothing_pass_and_a_true_undelivered_may_change_the_outcome() {
        let twice = receipt(
            receipt(sent(), MessageStatus::Delivered),
            MessageStatus::Delivered,
        );
        assert_eq!(kinds(&twice.all_sent()), []);
        let undelivered = receipt(sent(), MessageStatus::Undelivered)
            .believe(1, Outcome::Failed)
            .settle();
        assert_eq!(kinds(&undelivered), []);
    }

    #[test]
    fn another_request_and_an_outcome_that_goes_back_are_seen() {
        let again = receipt(sent(), MessageStatus::Delivered)
            .ask(1, Some("k"))
            .replay(1)
            .answer(201)
            .all_sent();
        assert_eq!(kinds(&again), [SymptomKind::AttemptAfterReceipt]);
        let back = receipt(sent(), MessageStatus::Queued)
            .believe(1, Outcome::Pending)
            .settle();
        assert_eq!(kinds(&back), [SymptomKind::OutcomeWentBack]);
    }

    #[test]
    fn the_last_receipt_before_the_request_or_the_outcome_is_cited() {
        let two = || {
            let told = receipt(sent(), MessageStatus::Queued);
            receipt(told, MessageStatus::Delivered)
        };
        let again = two().ask(1, Some("k")).replay(1).answer(201);
        let again = receipt(again, MessageStatus::Delivered).all_sent();
        let receipts = numbers(&again, |e| matches!(e, EventKind::Receipt { .. }));
        let requests = numbers(&again, |e| matches!(e, EventKind::Attempt { .. }));
        let seen = check(&View::new(&again));
        assert_eq!(seen.symptoms[0].evidence, [receipts[1], requests[1]]);
        let back = two().believe(1, Outcome::Pending);
        let back = receipt(back, MessageStatus::Delivered).settle();
        let receipts = numbers(&back, |e| matches!(e, EventKind::Receipt { .. }));
        let beliefs = numbers(&back, |e| matches!(e, EventKind::Believed { .. }));
        let seen = check(&View::new(&back));
        assert_eq!(
            seen.symptoms[0].evidence,
            [receipts[1], beliefs[0], beliefs[1]]
        );
    }

    #[test]
    fn an_undelivered_explains_a_failure_and_only_that_and_a_forged_one_explains_nothing() {
        let undelivered = |forged: bool, outcome| {
            let mut told = sent();
            if forged {
                let fault = ReceiptFault::BadSignature(OfReceipt::default());
                told = told.declare(1, Action::Receipt(fault));
            }
            let told = receipt(told, MessageStatus::Undelivered);
            kinds(&told.believe(1, outcome).settle())
        };
        assert_eq!(undelivered(false, Outcome::Failed), []);
        let back = [SymptomKind::OutcomeWentBack];
        assert_eq!(undelivered(false, Outcome::Pending), back);
        assert_eq!(undelivered(true, Outcome::Failed), back);
    }

    #[test]
    fn without_a_receipt_nothing_is_decided() {
        assert!(!check(&View::new(&sent().settle())).undecided.is_empty());
    }
}

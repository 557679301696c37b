//! Which receipts a message gets, when, and with which faults.
//!
//! Pure: sending them is the courier's.

use std::time::Duration;

use crate::{
    fault::{MessageStatus, ReceiptFault},
    record::status_word,
};

/// One receipt on its way.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Receipt {
    pub(super) status: MessageStatus,
    pub(super) event_id: String,
    /// How long after acceptance it is due.
    pub(super) due: Duration,
    /// Late on its own account: the others do not wait for it.
    pub(super) late: bool,
    pub(super) before_response: Option<u32>,
    pub(super) duplicate: Option<u32>,
    pub(super) drop: Option<u32>,
    pub(super) forged: Option<u32>,
    pub(super) fired: Vec<u32>,
}

/// The receipts of one message, with the faults that act on each.
pub(super) fn plan(
    last: MessageStatus,
    spacing: Duration,
    name: &str,
    faults: &[(u32, ReceiptFault)],
) -> Vec<Receipt> {
    let mut receipts: Vec<Receipt> = [MessageStatus::Queued, MessageStatus::Sent, last]
        .into_iter()
        .zip(0u32..)
        .map(|(status, nth)| Receipt {
            status,
            event_id: format!(
                "evt_{}_{}",
                name.trim_start_matches("msg_"),
                status_word(status)
            ),
            due: spacing * nth,
            late: false,
            before_response: None,
            duplicate: None,
            drop: None,
            forged: None,
            fired: Vec::new(),
        })
        .collect();
    for (id, fault) in faults {
        let named = |event: Option<MessageStatus>, receipt: &Receipt| {
            event.is_none_or(|event| event == receipt.status)
        };
        match fault {
            ReceiptFault::Reorder(_) => {
                let (sent, last) = (receipts[1].due, receipts[2].due);
                receipts[1].due = last;
                receipts[2].due = sent;
                receipts[2].fired.push(*id);
            }
            ReceiptFault::Delay(delay) => {
                for receipt in receipts.iter_mut().filter(|r| named(delay.event, r)) {
                    receipt.due += delay.lasts.0;
                    receipt.late = true;
                    receipt.fired.push(*id);
                }
            }
            ReceiptFault::Duplicate(of) => {
                for receipt in receipts.iter_mut().filter(|r| named(of.event, r)) {
                    receipt.duplicate = Some(*id);
                }
            }
            ReceiptFault::Drop(of) => {
                for receipt in receipts.iter_mut().filter(|r| named(of.event, r)) {
                    receipt.drop = Some(*id);
                }
            }
            ReceiptFault::BeforeResponse(of) => {
                for receipt in receipts.iter_mut().filter(|r| named(of.event, r)) {
                    receipt.before_response = Some(*id);
                }
            }
            ReceiptFault::BadSignature(of) => {
                for receipt in receipts.iter_mut().filter(|r| named(of.event, r)) {
                    receipt.forged = Some(*id);
                }
            }
            ReceiptFault::Down(_) => {}
        }
    }
    receipts.sort_by_key(|receipt| receipt.due);
    receipts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        duration::Span,
        fault::{Nothing, OfReceipt, ReceiptDelay},
    };

    fn statuses(faults: &[ReceiptFault]) -> Vec<MessageStatus> {
        let faults: Vec<_> = faults.iter().cloned().map(|fault| (1, fault)).collect();
        plan(
            MessageStatus::Delivered,
            Duration::from_millis(10),
            "msg_1",
            &faults,
        )
        .into_iter()
        .map(|receipt| receipt.status)
        .collect()
    }

    use MessageStatus::{Delivered, Queued, Sent};

    #[test]
    fn receipts_come_in_the_order_of_the_states() {
        assert_eq!(statuses(&[]), [Queued, Sent, Delivered]);
    }

    #[test]
    fn reorder_puts_delivered_before_sent() {
        assert_eq!(
            statuses(&[ReceiptFault::Reorder(Nothing {})]),
            [Queued, Delivered, Sent]
        );
    }

    #[test]
    fn a_delayed_receipt_is_overtaken() {
        let late = ReceiptFault::Delay(ReceiptDelay {
            event: Some(Queued),
            lasts: Span::from_millis(15),
        });
        assert_eq!(statuses(&[late]), [Sent, Queued, Delivered]);
    }

    #[test]
    fn a_fault_without_an_event_is_for_every_receipt() {
        let all = [(7, ReceiptFault::Drop(OfReceipt::default()))];
        let receipts = plan(Delivered, Duration::ZERO, "msg_1", &all);
        assert!(receipts.iter().all(|receipt| receipt.drop == Some(7)));
    }
}

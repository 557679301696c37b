//! Which receipts a message gets, when, and with which faults.
//!
//! Pure: sending them is the courier's.

use std::time::Duration;

use crate::{
    fault::{MessageStatus, ReceiptFault},
    life::Station,
};

/// One receipt on its way.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Receipt {
    pub(super) status: MessageStatus,
    pub(super) event_id: String,
    /// Its place among the states of its message, from 1.
    pub(super) sequence: u32,
    /// How long after acceptance the state is reached.
    pub(super) reached: Duration,
    /// How long after acceptance the receipt is due.
    pub(super) due: Duration,
    /// Late on its own account: the others do not wait for it.
    pub(super) late: bool,
    pub(super) before_response: Option<u32>,
    pub(super) duplicate: Option<u32>,
    pub(super) drop: Option<u32>,
    pub(super) forged: Option<u32>,
    pub(super) fired: Vec<u32>,
}

/// The receipts of one message, with the faults that act on each, in the order in which they are
/// due.
pub(super) fn plan(
    stations: &[Station],
    name: &str,
    faults: &[(u32, ReceiptFault)],
) -> Vec<Receipt> {
    let mut receipts: Vec<Receipt> = stations
        .iter()
        .zip(1u32..)
        .map(|(station, sequence)| Receipt {
            status: station.status,
            event_id: format!(
                "evt_{}_{}",
                name.trim_start_matches("msg_"),
                station.status.as_str()
            ),
            sequence,
            reached: station.reached,
            due: station.reached,
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
                if let [.., before, last] = receipts.as_mut_slice() {
                    std::mem::swap(&mut before.due, &mut last.due);
                    last.fired.push(*id);
                    // The places too: both may be due at once.
                    std::mem::swap(before, last);
                }
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
        life::{Fate, LifeTimes},
    };

    fn life() -> Vec<Station> {
        let times = LifeTimes {
            queued: Duration::from_millis(10),
            sent: Duration::from_millis(10),
            ..LifeTimes::default()
        };
        times.stations(Fate::Delivered, times.validity)
    }

    fn statuses(faults: &[ReceiptFault]) -> Vec<MessageStatus> {
        let faults: Vec<_> = faults.iter().cloned().map(|fault| (1, fault)).collect();
        plan(&life(), "msg_1", &faults)
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
    fn reorder_acts_on_states_that_are_reached_at_once_and_leaves_their_numbers() {
        let at_once = LifeTimes {
            queued: Duration::ZERO,
            sent: Duration::ZERO,
            ..LifeTimes::default()
        };
        let stations = at_once.stations(Fate::Delivered, at_once.validity);
        let receipts = plan(
            &stations,
            "msg_1",
            &[(7, ReceiptFault::Reorder(Nothing {}))],
        );
        let seen: Vec<_> = receipts.iter().map(|r| (r.status, r.sequence)).collect();
        assert_eq!(seen, [(Queued, 1), (Delivered, 3), (Sent, 2)]);
    }

    #[test]
    fn a_life_of_one_state_has_nothing_to_reorder() {
        let never = LifeTimes::default().stations(Fate::Delivered, Duration::ZERO);
        let receipts = plan(&never, "msg_1", &[(7, ReceiptFault::Reorder(Nothing {}))]);
        assert_eq!(receipts.len(), 1);
        assert!(receipts[0].fired.is_empty());
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
        let receipts = plan(&life(), "msg_1", &all);
        assert_eq!(receipts.len(), 3);
        assert!(receipts.iter().all(|receipt| receipt.drop == Some(7)));
    }
}

//! The life of a message: `accepted → queued → sent → delivered | undelivered | expired`.
//!
//! Owns which states a message goes through, and when, as a function of time alone. Who hears of
//! them is the receipts' business; whose clock it is, the provider's.

use std::time::Duration;

use crate::fault::MessageStatus;

/// How long a message stays in each state, on the provider's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LifeTimes {
    /// From acceptance to `queued`.
    pub accepted: Duration,
    /// From `queued` to `sent`.
    pub queued: Duration,
    /// From `sent` to the last state.
    pub sent: Duration,
    /// From acceptance on: a message that has not come to its last state before then is `expired`.
    pub validity: Duration,
}

impl Default for LifeTimes {
    /// Short times, for a provider inside a test; a message is valid for 4 hours.
    fn default() -> Self {
        Self {
            accepted: Duration::ZERO,
            queued: Duration::from_millis(15),
            sent: Duration::from_millis(15),
            validity: Duration::from_hours(4),
        }
    }
}

/// What becomes of a message in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It comes to the phone.
    Delivered,
    /// The network gives it up.
    Undelivered,
    /// The phone cannot be reached: it stays `sent` for as long as it is valid.
    Unreachable,
}

/// A state that receipts report, and when it is reached, counted from acceptance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Station {
    pub(crate) status: MessageStatus,
    pub(crate) reached: Duration,
}

impl LifeTimes {
    /// The states after acceptance, in their order. There is always a last one.
    pub(crate) fn stations(&self, fate: Fate, validity: Duration) -> Vec<Station> {
        let queued = self.accepted;
        let sent = queued.saturating_add(self.queued);
        let last = sent.saturating_add(self.sent);
        let mut stations = Vec::with_capacity(3);
        for (status, reached) in [
            (MessageStatus::Queued, Some(queued)),
            (MessageStatus::Sent, Some(sent)),
            match fate {
                Fate::Delivered => (MessageStatus::Delivered, Some(last)),
                Fate::Undelivered => (MessageStatus::Undelivered, Some(last)),
                Fate::Unreachable => (MessageStatus::Expired, None),
            },
        ] {
            let Some(reached) = reached.filter(|reached| *reached < validity) else {
                stations.push(Station {
                    status: MessageStatus::Expired,
                    reached: validity,
                });
                break;
            };
            stations.push(Station { status, reached });
        }
        stations
    }

    /// From acceptance to the moment at which a message leaves the queue.
    pub(crate) fn in_queue(&self, validity: Duration) -> Duration {
        self.accepted.saturating_add(self.queued).min(validity)
    }
}

/// The state at an age; `accepted` before the first that is reported.
pub(crate) fn word_at(stations: &[Station], age: Duration) -> &'static str {
    stations
        .iter()
        .rev()
        .find(|station| station.reached <= age)
        .map_or("accepted", |station| station.status.as_str())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const TIMES: LifeTimes = LifeTimes {
        accepted: SECOND,
        queued: SECOND,
        sent: SECOND,
        validity: Duration::from_secs(10),
    };

    fn words(fate: Fate, validity: Duration) -> Vec<&'static str> {
        let stations = TIMES.stations(fate, validity);
        (0..12)
            .map(|second| word_at(&stations, SECOND * second))
            .collect()
    }

    #[test]
    fn a_message_goes_from_state_to_state() {
        let seen = words(Fate::Delivered, TIMES.validity);
        assert_eq!(
            seen[..5],
            ["accepted", "queued", "sent", "delivered", "delivered"]
        );
        assert_eq!(words(Fate::Undelivered, TIMES.validity)[3], "undelivered");
    }

    #[test]
    fn what_cannot_be_reached_is_sent_until_it_expires() {
        let seen = words(Fate::Unreachable, TIMES.validity);
        assert_eq!(seen[9..], ["sent", "expired", "expired"]);
    }

    #[test]
    fn a_short_validity_ends_a_life_wherever_it_stands() {
        assert_eq!(
            words(Fate::Delivered, SECOND * 3)[..4],
            ["accepted", "queued", "sent", "expired"]
        );
        assert_eq!(words(Fate::Delivered, SECOND)[..2], ["accepted", "expired"]);
    }

    fn some_time() -> impl Strategy<Value = Duration> {
        (0u64..50).prop_map(Duration::from_millis)
    }

    proptest! {
        #[test]
        fn every_life_goes_forward_and_has_one_end_within_its_validity(
            accepted in some_time(), queued in some_time(), sent in some_time(),
            validity in some_time(), fate in 0..3usize,
        ) {
            let times = LifeTimes { accepted, queued, sent, validity };
            let fate = [Fate::Delivered, Fate::Undelivered, Fate::Unreachable][fate];
            let stations = times.stations(fate, validity);
            for pair in stations.windows(2) {
                prop_assert!(pair[0].reached <= pair[1].reached);
                prop_assert!(pair[0].status < pair[1].status);
                prop_assert!(!pair[0].status.is_last());
            }
            let last = stations.last().expect("a last state");
            prop_assert!(last.status.is_last());
            prop_assert!(last.reached <= validity);
            prop_assert_eq!(last.status == MessageStatus::Expired, last.reached == validity);
        }
    }
}

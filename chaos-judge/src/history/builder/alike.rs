//! Two messages that nothing on the wire tells apart, and where an event stands in a history.

use super::{Tale, tale};
use crate::history::{EventKind, History};

/// Two messages to one number with the same words.
pub fn two_alike() -> Tale {
    tale("alike", 2).given(|h| {
        h.intents[1].to = h.intents[0].to.clone();
        h.intents[1].body = h.intents[0].body.clone();
    })
}

/// The numbers of the events of this kind, in their order.
#[must_use]
pub fn numbers(history: &History, wanted: impl Fn(&EventKind) -> bool) -> Vec<u64> {
    let events = history.events.iter();
    events.filter(|e| wanted(&e.kind)).map(|e| e.seq).collect()
}

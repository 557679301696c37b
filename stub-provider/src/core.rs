//! [`Core`]: everything that one provider knows, shared by all its connections.
//!
//! Owns the parts, and the signal that stops them all. What is done with the parts stands in the
//! files of each concept.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use dashmap::DashMap;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    clock::Clock,
    duplicates::Duplicates,
    fault::{FaultRule, Stage},
    hold::{HoldRule, Holds},
    inbound::OptOuts,
    intent::Intents,
    keep::Drops,
    ledger::Ledger,
    life::LifeTimes,
    message::Naming,
    observers::Observers,
    profile::Profile,
    provider::Limits,
    quota::{Quota, Quotas},
    receipt::{Accepted, Tries},
    record::Records,
    reply::Reply,
    rules::Rules,
    store::Store,
    tally::Tally,
    webhook::Webhooks,
};

/// One provider's state.
pub(crate) struct Core {
    pub(crate) profile: Arc<Profile>,
    pub(crate) clock: Clock,
    pub(crate) ledger: Ledger<Arc<Reply>>,
    pub(crate) retention: Duration,
    pub(crate) records: Records,
    pub(crate) store: Store,
    pub(crate) observers: Observers,
    pub(crate) rules: Rules,
    pub(crate) holds: Holds,
    pub(crate) intents: Intents,
    /// Requests without a key, counted by recipient.
    pub(crate) keyless: DashMap<String, u32>,
    pub(crate) naming: Naming,
    pub(crate) seed: u64,
    pub(crate) limits: Limits,
    pub(crate) life: LifeTimes,
    pub(crate) webhooks: Webhooks,
    pub(crate) accepted: Accepted,
    pub(crate) tries: Tries,
    pub(crate) opt_outs: OptOuts,
    /// `None` where nothing is limited.
    pub(crate) quotas: Option<Quotas>,
    pub(crate) duplicates: Duplicates,
    pub(crate) drops: Drops,
    pub(crate) tally: Tally,
    /// Work that goes on whatever its client does.
    pub(crate) tasks: TaskTracker,
    /// Requests that are being worked on the long way, through holds and faults.
    pub(crate) work: TaskTracker,
    pub(crate) stopping: CancellationToken,
    /// Whether any fault or hold is in force, or a store must be waited for: else a request takes
    /// the short way.
    eventful: AtomicBool,
}

/// What a [`Core`] is made from.
pub(crate) struct Parts {
    pub(crate) profile: Arc<Profile>,
    pub(crate) retention: Duration,
    pub(crate) intents: Intents,
    pub(crate) seed: u64,
    pub(crate) limits: Limits,
    pub(crate) life: LifeTimes,
    pub(crate) webhooks: Webhooks,
    pub(crate) quota: Quota,
    pub(crate) clock: Clock,
    pub(crate) store: Store,
}

impl Core {
    pub(crate) fn new(parts: Parts) -> Self {
        let eventful = AtomicBool::new(parts.store.keeps());
        Self {
            profile: parts.profile,
            clock: parts.clock,
            ledger: Ledger::new(parts.retention),
            retention: parts.retention,
            records: Records::default(),
            store: parts.store,
            observers: Observers::default(),
            rules: Rules::default(),
            holds: Holds::default(),
            intents: parts.intents,
            keyless: DashMap::new(),
            naming: Naming::new(parts.seed),
            seed: parts.seed,
            limits: parts.limits,
            life: parts.life,
            webhooks: parts.webhooks,
            accepted: Accepted::default(),
            tries: Tries::default(),
            opt_outs: OptOuts::default(),
            quotas: Quotas::new(parts.quota),
            duplicates: Duplicates::default(),
            drops: Drops::default(),
            tally: Tally::default(),
            tasks: TaskTracker::new(),
            work: TaskTracker::new(),
            stopping: CancellationToken::new(),
            eventful,
        }
    }

    pub(crate) fn eventful(&self) -> bool {
        self.eventful.load(Ordering::Acquire)
    }

    /// Whether any fault or hold is in force.
    pub(crate) fn disturbed(&self) -> bool {
        !self.rules.is_empty() || !self.holds.is_empty()
    }

    pub(crate) fn add_fault(&self, rule: FaultRule, once: bool) {
        if once {
            self.rules.add_once(rule);
        } else {
            self.rules.add(rule);
        }
        self.eventful.store(true, Ordering::Release);
    }

    pub(crate) fn remove_faults(&self, id: Option<u32>) -> usize {
        let removed = self.rules.remove(id);
        self.settle_eventful();
        removed
    }

    pub(crate) fn hold(&self, stage: Stage, rule: HoldRule) {
        self.holds.add(stage, rule);
        self.eventful.store(true, Ordering::Release);
    }

    pub(crate) fn lift_holds(&self) {
        self.holds.lift();
        self.settle_eventful();
    }

    /// A fault acts on an attempt.
    pub(crate) fn acted(&self, id: u32) {
        if self.rules.acted(id) {
            self.settle_eventful();
        }
    }

    fn settle_eventful(&self) {
        self.eventful.store(self.store.keeps(), Ordering::Release);
        if self.disturbed() {
            self.eventful.store(true, Ordering::Release);
        }
    }
}

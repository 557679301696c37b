//! Which fault is due where: the questions that the lab asks of its plan.
//!
//! Owns the match of a fault against a live attempt and the list of holds that the provider must
//! keep so that network, process and database faults hit exactly their attempt. Pure; putting
//! faults in place is [`super::lab`]'s.

use stub_provider::{
    attempts::Attempts,
    fault::{FaultRule, RequestKind, Stage, Wrong},
};

use crate::{
    fault::{Action, ClientFault, ClientStage, DatabaseFault},
    plan::{Place, Plan, PlannedFault},
};

/// An attempt that is at the provider now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Live {
    /// At which side: 0 for the first provider, 1 for the second.
    pub side: usize,
    /// The provider's own number of it.
    pub id: u64,
    /// On which of the provider's connections.
    pub connection: u64,
    /// Which intent, from 1; `None`: a stray.
    pub intent: Option<usize>,
    /// Which attempt (or lookup) of that intent.
    pub ordinal: u32,
    /// Submit or lookup.
    pub kind: RequestKind,
}

/// The client stage of a process or database fault.
pub fn client_stage(action: &Action) -> Option<ClientStage> {
    match action {
        Action::Client(ClientFault::Kill(at) | ClientFault::Terminate(at)) => Some(at.stage),
        Action::Client(ClientFault::Pause(pause)) => Some(pause.stage),
        Action::Database(DatabaseFault::Lock(at) | DatabaseFault::Down(at)) => Some(at.stage),
        _ => None,
    }
}

/// The provider's stage at which a fault of ours is put in place, where it is one.
fn hold_stage(action: &Action) -> Option<Stage> {
    match action {
        // The answer must leave straight into the toxic.
        Action::Toxic(_) => Some(Stage::AfterAccept),
        _ => match client_stage(action)? {
            ClientStage::BeforeAccept => Some(Stage::BeforeAccept),
            // What is done once the answer has left is prepared before it leaves.
            ClientStage::AfterAccept | ClientStage::Answered => Some(Stage::AfterAccept),
            ClientStage::Submitted | ClientStage::Connected => None,
        },
    }
}

/// Whether a fault is for this attempt.
pub fn is_for(fault: &PlannedFault, live: &Live) -> bool {
    let Place::Attempts(attempts) = &fault.place else {
        return false;
    };
    fault.request == live.kind
        && is_at(fault, live.side)
        && live.intent.is_some()
        && fault
            .intent
            .is_none_or(|intent| live.intent == Some(intent))
        && attempts.contains(live.ordinal)
}

/// The faults to put in place while `live` is held at `stage`, in the order of the file.
pub fn due_at_hold<'a>(plan: &'a Plan, live: &Live, stage: Stage) -> Vec<&'a PlannedFault> {
    plan.faults
        .iter()
        .filter(|fault| hold_stage(&fault.action) == Some(stage) && is_for(fault, live))
        .collect()
}

/// The faults to put in place once the answer to `live` has left.
pub fn due_when_answered<'a>(plan: &'a Plan, live: &Live) -> Vec<&'a PlannedFault> {
    let answered = |fault: &&PlannedFault| {
        client_stage(&fault.action) == Some(ClientStage::Answered) && is_for(fault, live)
    };
    plan.faults.iter().filter(answered).collect()
}

/// The faults that act at a stage before any attempt is seen.
pub fn due_before_arrival(plan: &Plan, stage: ClientStage, intent: usize) -> Vec<&PlannedFault> {
    let due = |fault: &&PlannedFault| {
        client_stage(&fault.action) == Some(stage)
            && fault.intent.is_none_or(|wanted| wanted == intent)
    };
    plan.faults.iter().filter(due).collect()
}

/// What happens to the client or its database when it has connected to a side, each with the
/// proxy's number of the connection (from 1).
pub fn due_when_connected(plan: &Plan, side: usize) -> Vec<(&PlannedFault, u64)> {
    plan.faults
        .iter()
        .filter(|fault| {
            client_stage(&fault.action) == Some(ClientStage::Connected) && is_at(fault, side)
        })
        .filter_map(|fault| match fault.place {
            Place::Connection(k) => Some((fault, u64::from(k))),
            Place::Attempts(_) => None,
        })
        .collect()
}

/// The faults aimed at the proxy's connection `k` (from 1) of a side.
pub fn at_connection(plan: &Plan, side: usize, k: u64) -> Vec<&PlannedFault> {
    let place = Place::Connection(u32::try_from(k).unwrap_or(u32::MAX));
    plan.faults
        .iter()
        .filter(|fault| fault.place == place && is_at(fault, side))
        .collect()
}

/// Whether a fault is for a side.
pub fn is_at(fault: &PlannedFault, side: usize) -> bool {
    fault
        .provider
        .is_none_or(|provider| usize::from(provider) == side + 1)
}

/// A hold that the provider must keep.
#[derive(Clone, Debug, PartialEq)]
pub struct Hold {
    /// Where.
    pub stage: Stage,
    /// Of which intent, as the provider counts them (from 0); `None`: each.
    pub intent: Option<usize>,
    /// Which attempts.
    pub attempts: Attempts,
    /// Submit requests or lookups.
    pub request: RequestKind,
}

/// Every hold that the plan needs at a side.
pub fn holds(plan: &Plan, side: usize) -> Vec<Hold> {
    let mut holds = Vec::new();
    for fault in &plan.faults {
        if let (true, Some(stage), Place::Attempts(attempts)) =
            (is_at(fault, side), hold_stage(&fault.action), &fault.place)
        {
            holds.push(Hold {
                stage,
                intent: fault.intent.map(|number| number - 1),
                attempts: attempts.clone(),
                request: fault.request,
            });
        }
    }
    if plan
        .faults
        .iter()
        .any(|fault| matches!(fault.action, Action::Toxic(_)))
    {
        // A toxic on a connection that is used again must be gone before the next answer.
        for request in [RequestKind::Submit, RequestKind::Lookup] {
            holds.push(Hold {
                stage: Stage::BeforeAccept,
                intent: None,
                attempts: Attempts::All,
                request,
            });
        }
    }
    holds
}

/// The rules that the provider of a side carries out by itself.
pub fn provider_rules(plan: &Plan, side: usize) -> Vec<FaultRule> {
    plan.faults
        .iter()
        .filter(|fault| is_at(fault, side))
        .filter_map(|fault| {
            let wrong = match &fault.action {
                Action::Provider(provider) => Wrong::Provider(provider.clone()),
                Action::Receipt(receipt) => Wrong::Receipt(receipt.clone()),
                _ => return None,
            };
            let Place::Attempts(attempts) = &fault.place else {
                return None;
            };
            Some(FaultRule {
                id: fault.id,
                attempts: attempts.clone(),
                intent: fault.intent.map(|number| number - 1),
                key: None,
                to: None,
                request: fault.request,
                wrong,
            })
        })
        .collect()
}

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

/// The faults of a plan that the harness carries out by itself; the others are the provider's.
pub fn own(plan: &Plan) -> Vec<PlannedFault> {
    let is_own =
        |fault: &&PlannedFault| !matches!(fault.action, Action::Provider(_) | Action::Receipt(_));
    plan.faults.iter().filter(is_own).cloned().collect()
}

/// The faults to put in place while `live` is held at `stage`, in the order of the file.
pub fn due_at_hold<'a>(
    faults: &'a [PlannedFault],
    live: &Live,
    stage: Stage,
) -> Vec<&'a PlannedFault> {
    faults
        .iter()
        .filter(|fault| hold_stage(&fault.action) == Some(stage) && is_for(fault, live))
        .collect()
}

/// The faults to put in place once the answer to `live` has left.
pub fn due_when_answered<'a>(faults: &'a [PlannedFault], live: &Live) -> Vec<&'a PlannedFault> {
    let answered = |fault: &&PlannedFault| {
        client_stage(&fault.action) == Some(ClientStage::Answered) && is_for(fault, live)
    };
    faults.iter().filter(answered).collect()
}

/// The faults that act at a stage before any attempt is seen.
pub fn due_before_arrival(
    faults: &[PlannedFault],
    stage: ClientStage,
    intent: usize,
) -> Vec<&PlannedFault> {
    let due = |fault: &&PlannedFault| {
        client_stage(&fault.action) == Some(stage)
            && fault.intent.is_none_or(|wanted| wanted == intent)
    };
    faults.iter().filter(due).collect()
}

/// What happens to the client or its database when it has connected to a side, each with the
/// proxy's number of the connection (from 1).
pub fn due_when_connected(faults: &[PlannedFault], side: usize) -> Vec<(&PlannedFault, u64)> {
    faults
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

/// Whether a link is cut, for a time, before the client's first connection.
pub fn cuts_from_the_start(plan: &Plan) -> bool {
    plan.faults.iter().any(|fault| {
        fault.place == Place::Connection(1)
            && matches!(fault.action, Action::Down(_) | Action::Blackhole(_))
    })
}

/// The faults aimed at the proxy's connection `k` (from 1) of a side.
pub fn at_connection(faults: &[PlannedFault], side: usize, k: u64) -> Vec<&PlannedFault> {
    let place = Place::Connection(u32::try_from(k).unwrap_or(u32::MAX));
    faults
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;

    fn plan(text: &str) -> Plan {
        let text = format!("title = \"a\"\nwhy = \"b\"\n{text}");
        let scenarios = scenario::load(&text, "a.toml").expect("a scenario");
        scenarios[0].plan(1)
    }

    fn live(intent: usize, ordinal: u32) -> Live {
        Live {
            side: 0,
            id: 1,
            connection: 1,
            intent: Some(intent),
            ordinal,
            kind: RequestKind::Submit,
        }
    }

    fn ids(faults: &[&PlannedFault]) -> Vec<u32> {
        faults.iter().map(|fault| fault.id).collect()
    }

    const TOXIC: &str = "toxic.timeout = { attributes = { timeout = 0 } }";

    #[test]
    fn a_fault_is_due_at_its_attempt_of_its_intent_and_at_no_other() {
        let plan = plan(&format!(
            "[intents]\ncount = 3\n[[fault]]\nattempt = \"2..3\"\nintent = 2\n{TOXIC}\n"
        ));
        let mut due = Vec::new();
        for intent in 1..=3 {
            for ordinal in 1..=4 {
                if !due_at_hold(&plan.faults, &live(intent, ordinal), Stage::AfterAccept).is_empty()
                {
                    due.push((intent, ordinal));
                }
            }
        }
        assert_eq!(due, [(2, 2), (2, 3)]);
        let stray = Live {
            intent: None,
            ..live(2, 2)
        };
        let lookup = Live {
            kind: RequestKind::Lookup,
            ..live(2, 2)
        };
        for other in [stray, lookup] {
            assert!(due_at_hold(&plan.faults, &other, Stage::AfterAccept).is_empty());
        }
        // The answer must leave straight into it.
        assert!(due_at_hold(&plan.faults, &live(2, 2), Stage::BeforeAccept).is_empty());
    }

    #[test]
    fn a_fault_at_one_provider_is_not_due_at_the_other() {
        let plan = plan(&format!(
            "[provider]\nfailover = true\n[[fault]]\nattempt = 1\nprovider = 2\n{TOXIC}\n"
        ));
        let second = Live {
            side: 1,
            ..live(1, 1)
        };
        assert!(due_at_hold(&plan.faults, &live(1, 1), Stage::AfterAccept).is_empty());
        assert_eq!(
            ids(&due_at_hold(&plan.faults, &second, Stage::AfterAccept)),
            [1]
        );
        assert!(
            holds(&plan, 0)
                .iter()
                .all(|hold| hold.stage == Stage::BeforeAccept)
        );
        assert!(
            holds(&plan, 1)
                .iter()
                .any(|hold| hold.stage == Stage::AfterAccept)
        );
    }

    #[test]
    fn a_hold_stands_for_exactly_the_attempts_of_its_fault() {
        let plan = plan(
            "[intents]\ncount = 2\n[[fault]]\nattempt = 2\nintent = 2\n\
             client.kill = { stage = \"before-accept\" }\n",
        );
        let only = Hold {
            stage: Stage::BeforeAccept,
            // From 0 at the provider.
            intent: Some(1),
            attempts: Attempts::only(2),
            request: RequestKind::Submit,
        };
        assert_eq!(holds(&plan, 0), [only]);
    }

    #[test]
    fn with_a_toxic_every_request_is_held_first_so_that_an_older_toxic_can_be_taken_away() {
        let plan = plan(&format!("[[fault]]\nattempt = 1\n{TOXIC}\n"));
        let before: Vec<RequestKind> = holds(&plan, 0)
            .iter()
            .filter(|hold| hold.stage == Stage::BeforeAccept && hold.attempts == Attempts::All)
            .map(|hold| hold.request)
            .collect();
        assert_eq!(before, [RequestKind::Submit, RequestKind::Lookup]);
    }

    #[test]
    fn what_the_provider_does_by_itself_needs_no_hold() {
        let plan = plan("[[fault]]\nattempt = 2\nprovider.hang = { stage = \"after-accept\" }\n");
        assert_eq!(holds(&plan, 0), []);
        let rules = provider_rules(&plan, 0);
        assert_eq!(rules.len(), 1);
        assert_eq!(rules[0].attempts, Attempts::only(2));
        assert!(due_at_hold(&plan.faults, &live(1, 2), Stage::AfterAccept).is_empty());
    }

    #[test]
    fn a_fault_at_a_connection_is_due_at_that_one_only() {
        let down = plan("[[fault]]\nconnection = 2\ntoxic.down = { for = \"1s\" }\n");
        let due: Vec<u64> = (1..=3)
            .filter(|k| !at_connection(&down.faults, 0, *k).is_empty())
            .collect();
        assert_eq!(due, [2]);
        let kill = plan("[[fault]]\nconnection = 3\nclient.kill = { stage = \"connected\" }\n");
        let due: Vec<u64> = due_when_connected(&kill.faults, 0)
            .iter()
            .map(|(_, k)| *k)
            .collect();
        assert_eq!(due, [3]);
    }
}

//! Did each declared fault act, and if not: whose doing was that?
//!
//! Owns [`reach`]: a fault that did not fire never yields a pass. It judges no client.

use std::collections::HashSet;

use stub_provider::fault::RequestKind;

use crate::{
    fault::{Action, ClientFault, ClientStage, DatabaseFault},
    history::{Submission, view::View},
    intent::Outcome,
    plan::{Place, PlannedFault},
    result::Unreached,
};

/// What became of the declared faults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// How many acted at least once.
    pub fired: usize,
    /// Those whose attempt the client rightly never made.
    pub unreached: Vec<Unreached>,
    /// Those that should have acted and did not.
    pub missing: Vec<Missing>,
}

/// A fault that should have acted and did not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// For which intent; `None`: for none alone.
    pub intent: Option<usize>,
    /// Why that spoils the judgement.
    pub why: String,
}

/// What became of each declared fault in a history.
#[must_use]
pub fn reach(view: &View<'_>) -> Reach {
    let mut result = Reach::default();
    for fault in &view.history.faults {
        match &fault.place {
            Place::Connection(k) => {
                if connection_fault_acted(view, fault, *k) {
                    result.fired += 1;
                } else if *k > 1
                    && *k <= most_connections(view)
                    && view.intents().all(|i| settled(view, i.number))
                {
                    // It was done before it had need of another connection.
                    result.unreached.push(Unreached {
                        fault: fault.id,
                        line: fault.line,
                        text: fault.text.clone(),
                        intents: view.intents().map(|i| i.number).collect(),
                    });
                } else {
                    let why = format!("{} was due at connection {k} and did not act", named(fault));
                    result.missing.push(Missing { intent: None, why });
                }
            }
            Place::Attempts(_) => at_attempts(view, fault, &mut result),
        }
    }
    result
}

/// How many connections the client could open at most, by what it promises: one that it can never
/// open is the scenario's mistake. Without a promise: a second one for each message.
fn most_connections(view: &View<'_>) -> u32 {
    let attempts = view.history.client.policy.max_attempts.unwrap_or(2);
    let intents = u32::try_from(view.history.intents.len()).unwrap_or(u32::MAX);
    intents.saturating_mul(attempts)
}

fn named(fault: &PlannedFault) -> String {
    if fault.line > 0 {
        format!("the fault on line {} ({})", fault.line, fault.text)
    } else {
        format!("the fault `{}`", fault.text)
    }
}

/// A fault that keeps requests away is seen by the client's own count; where it keeps none, by
/// what comes after the fault, or by the client's word that it did not get through.
fn connection_fault_acted(view: &View<'_>, fault: &PlannedFault, k: u32) -> bool {
    if view.fired_by(fault.id).next().is_some() {
        return true;
    }
    let Some((applied, _)) = view.applied.iter().find(|(_, id)| *id == fault.id) else {
        return false;
    };
    let later = view.attempts.iter().any(|a| a.arrived.seq > applied.seq);
    let counted = view.intents().any(|i| {
        view.own_count(i.number)
            .is_some_and(|own| own as usize > view.tries(i.number).len())
    });
    let counts_itself = view.intents().all(|i| view.own_count(i.number).is_some());
    let cut_from_the_start =
        k == 1 && matches!(fault.action, Action::Down(_) | Action::Blackhole(_));
    if cut_from_the_start && counts_itself {
        // A request that came only after the link was whole again proves nothing.
        // Whoever then asks the other provider has been turned away by this one.
        let went_elsewhere = |provider| view.attempts.iter().any(|a| a.provider != provider);
        return counted || fault.provider.is_some_and(went_elsewhere);
    }
    let not_through = view.attempts.is_empty()
        && view.intents().all(|i| {
            view.belief(i.number)
                .and_then(|b| b.outcome)
                .is_some_and(|o| o.is_final() && o != Outcome::Sent)
        });
    later || counted || not_through
}

fn at_attempts(view: &View<'_>, fault: &PlannedFault, result: &mut Reach) {
    let Place::Attempts(set) = &fault.place else {
        return;
    };
    let mut fired = false;
    let mut unreached = Vec::new();
    let concerned: Vec<usize> = match fault.intent {
        Some(only) => view.intent(only).map(|i| i.number).into_iter().collect(),
        None => view.intents().map(|i| i.number).collect(),
    };
    let acted_for: Vec<Option<usize>> = view.fired_by(fault.id).map(|(.., of)| *of).collect();
    let acted_for_all = acted_for.contains(&None);
    let acted_for: HashSet<usize> = acted_for.into_iter().flatten().collect();
    for intent in concerned {
        let acted = acted_for_all || acted_for.contains(&intent);
        if acted || submitted_as_told(view, fault, intent) {
            fired = true;
            continue;
        }
        let came = view
            .requests(intent)
            .filter(|a| a.kind == fault.request)
            .filter(|a| fault.provider.is_none_or(|p| p == a.provider))
            .any(|a| set.contains(a.ordinal));
        let missing = |why: String| Missing {
            intent: Some(intent),
            why: format!("{} {why}", named(fault)),
        };
        if at_once(fault) || (came && !needs_acceptance(view, fault, intent)) {
            let why = format!("was due for intent {intent} and did not act");
            result.missing.push(missing(why));
        } else if settled(view, intent) {
            unreached.push(intent);
        } else {
            let what = match fault.request {
                RequestKind::Submit => "attempt",
                RequestKind::Lookup => "lookup",
            };
            result.missing.push(missing(format!(
                "waits for {what} {set} of intent {intent}, which the client did not come to"
            )));
        }
    }
    if fired {
        result.fired += 1;
    }
    if !unreached.is_empty() {
        result.unreached.push(Unreached {
            fault: fault.id,
            line: fault.line,
            text: fault.text.clone(),
            intents: unreached,
        });
    }
}

/// A submit fault is seen by the submission that it causes.
fn submitted_as_told(view: &View<'_>, fault: &PlannedFault, intent: usize) -> bool {
    matches!(fault.action, Action::Submit(_))
        && view
            .submissions(intent)
            .iter()
            .any(|s| s.which != Submission::First)
}

/// Whether the fault is due without any request of the client.
fn at_once(fault: &PlannedFault) -> bool {
    let stage = match &fault.action {
        Action::Client(ClientFault::Kill(at) | ClientFault::Terminate(at)) => at.stage,
        Action::Client(ClientFault::Pause(at)) => at.stage,
        Action::Database(DatabaseFault::Lock(at) | DatabaseFault::Down(at)) => at.stage,
        Action::Submit(_) => return true,
        _ => return false,
    };
    stage == ClientStage::Submitted
}

/// Whether the fault acts on what was accepted, and nothing was.
fn needs_acceptance(view: &View<'_>, fault: &PlannedFault, intent: usize) -> bool {
    matches!(fault.action, Action::Receipt(_)) && view.deliveries(intent).is_empty()
}

/// Whether the client has finished with the intent, as far as anybody can tell.
fn settled(view: &View<'_>, intent: usize) -> bool {
    match view.belief(intent) {
        Some(belief) => match belief.outcome {
            Some(outcome) => outcome.is_final(),
            // Refused at the door: there was nothing to send.
            None => !view.taken_on(intent) && view.tries(intent).is_empty(),
        },
        None => view.timed_out.is_none() && !view.tries(intent).is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use stub_provider::{attempts::Attempts, duration::Span, fault::Stage};

    use super::*;
    use crate::{
        history::builder::{respond, tale},
        intent::Outcome,
    };

    #[test]
    fn a_fault_that_acted_is_counted() {
        let history = tale("fired", 1)
            .ask(1, Some("k"))
            .refuse(503)
            .ask(1, Some("k"))
            .accept()
            .all_sent();
        let reach = reach(&View::new(&history));
        assert_eq!((reach.fired, reach.missing.len()), (1, 0));
    }

    #[test]
    fn a_fault_whose_attempt_came_and_that_did_not_act_is_missing() {
        let history = tale("missing", 1)
            .declare(1, respond(Stage::BeforeAccept, 503))
            .ask(1, Some("k"))
            .accept()
            .all_sent();
        assert_eq!(reach(&View::new(&history)).missing.len(), 1);
    }

    #[test]
    fn a_fault_whose_attempt_was_never_needed_is_unreached_and_not_missing() {
        let history = tale("unreached", 1)
            .declare(2, respond(Stage::BeforeAccept, 503))
            .ask(1, Some("k"))
            .accept()
            .all_sent();
        let reach = reach(&View::new(&history));
        assert_eq!(reach.unreached[0].intents, [1]);
        assert!(reach.missing.is_empty() && reach.fired == 0);
    }

    #[test]
    fn a_client_that_did_not_finish_did_not_come_to_the_fault() {
        let history = tale("pending", 1)
            .declare(2, respond(Stage::BeforeAccept, 503))
            .ask(1, Some("k"))
            .accept()
            .believe(1, Outcome::Pending)
            .time_out();
        assert_eq!(reach(&View::new(&history)).missing.len(), 1);
    }

    #[test]
    fn a_range_is_met_by_any_of_its_attempts() {
        let history = tale("range", 1)
            .ask(1, Some("k"))
            .refuse(503)
            .believe(1, Outcome::Dead)
            .given(|h| h.faults[0].place = Place::Attempts(Attempts::Between(1, 3)))
            .settle();
        assert_eq!(reach(&View::new(&history)).fired, 1);
    }

    #[test]
    fn a_client_that_was_done_with_one_connection_had_no_need_of_the_second() {
        let cut = |t: crate::history::builder::Tale| {
            t.given(|h| {
                h.faults.push(PlannedFault {
                    id: 1,
                    line: 9,
                    text: "down".into(),
                    intent: None,
                    provider: None,
                    request: RequestKind::Submit,
                    place: Place::Connection(2),
                    action: Action::Down(Span::from_millis(100)),
                });
            })
        };
        let refused = || cut(tale("one-shot", 1)).ask(1, Some("k")).refuse(429);
        let gave_up = refused().believe(1, Outcome::Dead).settle();
        let reached = reach(&View::new(&gave_up));
        assert_eq!(reached.unreached[0].line, 9);
        assert!(reached.missing.is_empty());
        let goes_on = refused().believe(1, Outcome::Pending).time_out();
        assert_eq!(reach(&View::new(&goes_on)).missing.len(), 1);
    }

    #[test]
    fn a_refused_connection_is_seen_by_what_comes_after_it_or_by_the_clients_own_count() {
        let down = |t: crate::history::builder::Tale| {
            t.given(|h| {
                h.faults.push(PlannedFault {
                    id: 1,
                    line: 7,
                    text: "down".into(),
                    intent: None,
                    provider: None,
                    request: RequestKind::Submit,
                    place: Place::Connection(1),
                    action: Action::Down(Span::from_millis(300)),
                });
            })
        };
        let applied = crate::history::EventKind::FaultApplied {
            fault: 1,
            attempt: None,
        };
        let uncounted = |outcome| crate::history::EventKind::Believed {
            intent: 1,
            outcome,
            attempts: None,
        };
        let later = || {
            down(tale("down", 1))
                .event(applied.clone())
                .ask(1, Some("k"))
                .accept()
        };
        let of_no_count = later().event(uncounted(Outcome::Sent)).settle();
        assert_eq!(reach(&View::new(&of_no_count)).fired, 1);
        let late_by_its_own_count = later().believe_counting(1, Outcome::Sent, 1).settle();
        assert_eq!(reach(&View::new(&late_by_its_own_count)).missing.len(), 1);
        let turned_away_once = later().believe_counting(1, Outcome::Sent, 2).settle();
        assert_eq!(reach(&View::new(&turned_away_once)).fired, 1);
        let gave_up = down(tale("down", 1))
            .event(applied.clone())
            .event(uncounted(Outcome::Unknown))
            .settle();
        assert_eq!(reach(&View::new(&gave_up)).fired, 1);
        let counted = down(tale("down", 1))
            .event(applied.clone())
            .believe_counting(1, Outcome::Dead, 3)
            .settle();
        assert_eq!(reach(&View::new(&counted)).fired, 1);
        let nothing = down(tale("down", 1))
            .event(applied)
            .believe_counting(1, Outcome::Dead, 0)
            .settle();
        assert_eq!(reach(&View::new(&nothing)).missing.len(), 1);
    }
}

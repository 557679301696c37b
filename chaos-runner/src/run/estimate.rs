//! How long a scenario should take under a client's policy, told before the run.
//!
//! Owns the estimate only; nothing waits by it. Pure.

use std::time::Duration;

use stub_provider::fault::ProviderFault;

use crate::{
    fault::{Action, ToxicKind},
    plan::{Place, Plan},
    policy::Policy,
};

/// What a lab costs by itself: processes, a provider, a proxy.
const LAB: Duration = Duration::from_millis(250);
/// What is assumed of a client that promises nothing.
const READ_TIMEOUT: Duration = Duration::from_secs(10);
const BACKOFF: Duration = Duration::from_millis(500);

/// The time that one scenario should take.
pub fn expected(plan: &Plan, policy: &Policy) -> Duration {
    let read_timeout = policy
        .read_timeout
        .map_or(READ_TIMEOUT, |timeout| timeout.0);
    let (base, cap) = policy
        .backoff
        .as_ref()
        .map_or((BACKOFF, BACKOFF), |backoff| {
            (backoff.base.0, backoff.cap.0)
        });
    let most = policy.max_attempts.unwrap_or(3);
    let mut total = LAB;
    for fault in &plan.faults {
        let times = match &fault.place {
            Place::Attempts(attempts) => {
                (1..=most).filter(|k| attempts.contains(*k)).count() as u64
            }
            Place::Connection(_) => 1,
        };
        let times = u32::try_from(times).unwrap_or(u32::MAX);
        let pause = (base * 2_u32.saturating_pow(times.min(16))).min(cap) / 2;
        let each = if leaves_the_client_waiting(&fault.action) {
            read_timeout
        } else {
            Duration::ZERO
        };
        total += (each + pause) * times + fault.action.longest_wait();
    }
    if plan.one_by_one {
        total += LAB * u32::try_from(plan.intents.len()).unwrap_or(u32::MAX) / 2;
    }
    total
}

fn leaves_the_client_waiting(action: &Action) -> bool {
    match action {
        Action::Toxic(toxic) => toxic.kind == ToxicKind::Timeout,
        Action::Blackhole(_) | Action::Provider(ProviderFault::Hang(_)) => true,
        _ => false,
    }
}

/// The time that all of them should take, `jobs` at once: no less than the longest.
pub fn altogether(each: &[Duration], jobs: usize) -> Duration {
    let sum: Duration = each.iter().sum();
    let shared = sum / u32::try_from(jobs.max(1)).unwrap_or(u32::MAX);
    each.iter().copied().max().unwrap_or_default().max(shared)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;

    fn plan(faults: &str) -> Plan {
        let text = format!("title = \"a\"\nwhy = \"b\"\n{faults}");
        let scenarios = scenario::load(&text, "a.toml").expect("a scenario");
        scenarios[0].plan(1)
    }

    fn policy(text: &str) -> Policy {
        toml::from_str(text).expect("a policy")
    }

    const QUICK: &str = "max-attempts = 5\nread-timeout = \"300ms\"\n\
                         backoff = { base = \"50ms\", cap = \"200ms\" }";

    #[test]
    fn a_fault_that_leaves_the_client_waiting_costs_its_read_timeout_each_time() {
        let hang = |attempts: &str| {
            plan(&format!(
                "[[fault]]\nattempt = {attempts}\nprovider.hang = {{ stage = \"after-accept\" }}\n"
            ))
        };
        let once = expected(&hang("1"), &policy(QUICK));
        let thrice = expected(&hang("\"1..3\""), &policy(QUICK));
        assert!(once >= Duration::from_millis(300), "{once:?}");
        assert!(thrice >= once + Duration::from_millis(600), "{thrice:?}");
        // There are no more attempts than the client makes.
        let all = expected(&hang("\"all\""), &policy(QUICK));
        assert!(all < Duration::from_secs(4), "{all:?}");
    }

    #[test]
    fn a_client_that_promises_nothing_is_taken_to_be_slow() {
        let plan = plan("[[fault]]\nattempt = 1\nprovider.hang = { stage = \"after-accept\" }\n");
        assert!(expected(&plan, &Policy::default()) > expected(&plan, &policy(QUICK)));
    }

    #[test]
    fn together_they_take_no_less_than_the_longest_and_no_less_than_their_share() {
        let each = [1, 2, 9].map(Duration::from_secs);
        assert_eq!(altogether(&each, 1), Duration::from_secs(12));
        assert_eq!(altogether(&each, 8), Duration::from_secs(9));
        assert_eq!(altogether(&[], 0), Duration::ZERO);
    }
}

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

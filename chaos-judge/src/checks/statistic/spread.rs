//! Are the waits of many intents spread, as the client promises?
//!
//! Owns the symptom and its proof. What chance can do, and how many messages it takes to tell, is
//! [`super::jitter`]'s.

use super::{Statistic, jitter::Jitter, own_waits};
use crate::{
    checks::{Observed, Symptom, SymptomKind},
    history::{retry::Retry, view::View},
};

/// What the check promises of itself.
pub(crate) const STATISTIC: Statistic = Statistic {
    tag: "jitter",
    honest: "full, equal or decorrelated jitter under the promised `base` and `cap`, with any noise on top that does not depend on what was drawn",
    broken: "equal waits for all messages, from which no more than one message in ten strays (by more than 20 ms, or a fifth of the base where that is more)",
    samples: (50, 3),
    figures: |policy, messages, waits| Jitter::promised(policy)?.figures(messages, waits),
};

/// The waits of one intent, with the arrivals that end them and the requests that they were.
struct Schedule {
    waits_us: Vec<u64>,
    arrivals: Vec<u64>,
    attempts: Vec<u64>,
}

/// Cites the requests that came back together.
pub(in crate::checks) fn check(view: &View<'_>) -> Observed {
    let mut seen = Observed::default();
    let Some(jitter) = Jitter::promised(&view.history.client.policy) else {
        return seen;
    };
    let schedules: Vec<Schedule> = view
        .intents()
        .map(|intent| {
            let own = own_waits(view, intent.number);
            Schedule {
                waits_us: own.iter().map(Retry::gap_us).collect(),
                arrivals: own.iter().map(|retry| retry.to.arrived.seq).collect(),
                attempts: own.iter().map(|retry| retry.to.id).collect(),
            }
        })
        .collect();
    let mut decided = false;
    for waits in 1..=jitter.waits {
        let group: Vec<&Schedule> = schedules
            .iter()
            .filter(|s| s.waits_us.len() >= waits)
            .collect();
        decided |= jitter.decides(group.len(), waits);
        let Some(together) = jitter.together(group.len(), waits) else {
            continue;
        };
        let firsts: Vec<&[u64]> = group.iter().map(|s| &s.waits_us[..waits]).collect();
        let crowd: Vec<&Schedule> = jitter
            .crowd(&firsts)
            .into_iter()
            .map(|n| group[n])
            .collect();
        if crowd.len() >= together {
            seen.saw(symptom(&jitter, &crowd, group.len(), waits));
            return seen;
        }
    }
    if !decided {
        seen.open(too_few(&jitter, &schedules));
    }
    seen
}

fn symptom(jitter: &Jitter<'_>, crowd: &[&Schedule], messages: usize, waits: usize) -> Symptom {
    let last = waits - 1;
    let mut back: Vec<(u64, u64)> = crowd
        .iter()
        .map(|s| (s.arrivals[last], s.attempts[last]))
        .collect();
    back.sort_unstable();
    let longest: Vec<String> = (0..waits)
        .map(|nth| crowd.iter().map(|s| s.waits_us[nth]).max().unwrap_or(0))
        .map(|wait| (wait / 1_000).to_string())
        .collect();
    Symptom {
        kind: SymptomKind::WaitsCluster,
        intent: None,
        evidence: back.iter().take(8).map(|b| b.0).collect(),
        attempts: back.iter().take(2).map(|b| b.1).collect(),
        detail: format!(
            "{} of {messages} messages came back after the same waits, give or take {:.0} ms: \
             up to {} ms",
            crowd.len(),
            jitter.reach() / 1e3,
            longest.join(", then "),
        ),
    }
}

/// Why nothing is decided, and how many messages it takes.
fn too_few(jitter: &Jitter<'_>, schedules: &[Schedule]) -> String {
    let with = |waits: usize| {
        let has = |s: &&Schedule| s.waits_us.len() >= waits;
        schedules.iter().filter(has).count()
    };
    let nearest = (1..=jitter.waits)
        .filter(|waits| with(*waits) > 0)
        .filter_map(|waits| Some((jitter.messages(waits)?, waits)))
        .min();
    match nearest {
        Some((needed, waits)) => format!(
            "not enough samples for jitter: {} messages were refused and came back {waits} times, \
             and it takes {needed}",
            with(waits)
        ),
        None if with(1) == 0 => {
            "not enough samples for jitter: no message was refused and came back".into()
        }
        None => "not enough samples for jitter: waits as short as the promised ones drown in the \
                 noise of a machine, in whatever number; let the client wait longer in the tests \
                 (a base of 50 ms or more, a cap of four times that) and be refused three times"
            .into(),
    }
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::history::{
        History,
        builder::{Tale, backoff, tale},
    };

    /// Intents that are refused and come back after each of their waits, in milliseconds.
    fn come_back(mut t: Tale, schedules: &[Vec<u64>]) -> Tale {
        for (n, waits) in schedules.iter().enumerate() {
            let key = format!("k{n}");
            t = t.ask(n + 1, Some(&key)).refuse(503);
            for wait in waits {
                t = t.wait(*wait).ask(n + 1, Some(&key)).refuse(503);
            }
        }
        t
    }

    fn back_after(schedules: &[Vec<u64>]) -> History {
        let tale = tale("herd", schedules.len())
            .given(|h| h.client.policy.backoff = Some(backoff(50, 200)));
        come_back(tale, schedules).settle()
    }

    /// Fifty messages whose waits are the limits of the backoff, and up to so many milliseconds.
    fn limits_and(noise: u64) -> Vec<Vec<u64>> {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut after = |limit: u64| limit + rng.random_range(0..=noise);
        (0..50)
            .map(|_| vec![after(50), after(100), after(200)])
            .collect()
    }

    fn seen(history: &History) -> Observed {
        check(&View::new(history))
    }

    #[test]
    fn a_herd_that_comes_back_at_once_is_seen_through_the_schedulers_noise() {
        let history = back_after(&limits_and(25));
        let seen = seen(&history);
        let symptom = &seen.symptoms[0];
        assert_eq!(symptom.kind, SymptomKind::WaitsCluster);
        assert!(
            symptom.detail.contains("of 50 messages") && symptom.detail.contains(", then "),
            "{}",
            symptom.detail
        );
        // The arrivals that ended the third wait, in their order, and the first two of them.
        assert_eq!(symptom.evidence.len(), 8);
        assert_eq!(symptom.attempts.len(), 2);
        let view = View::new(&history);
        let arrivals: Vec<u64> = symptom
            .attempts
            .iter()
            .map(|id| view.attempt(*id).expect("a request").arrived.seq)
            .collect();
        assert_eq!(arrivals, symptom.evidence[..2]);
        assert!(symptom.attempts.iter().all(|id| id % 4 == 0), "{symptom:?}");
    }

    #[test]
    fn the_longest_of_each_wait_and_the_reach_are_told() {
        let detail = &seen(&back_after(&limits_and(0))).symptoms[0].detail;
        assert_eq!(
            detail,
            "50 of 50 messages came back after the same waits, give or take 20 ms: up to 53, then \
             103, then 203 ms"
        );
    }

    #[test]
    fn drawn_waits_pass() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let full: Vec<Vec<u64>> = (0..50)
            .map(|_| [50, 100, 200].map(|l| rng.random_range(0..l)).to_vec())
            .collect();
        assert_eq!(seen(&back_after(&full)), Observed::default());
    }

    #[test]
    fn too_few_messages_decide_nothing_and_say_how_many_it_takes() {
        let seen = seen(&back_after(&limits_and(0)[..15]));
        assert_eq!(seen.symptoms, []);
        assert_eq!(
            seen.undecided,
            [
                "not enough samples for jitter: 15 messages were refused and came back 3 times, \
                 and it takes 41"
            ]
        );
    }

    #[test]
    fn a_message_that_came_back_less_often_is_no_sample_of_its_later_waits() {
        let mut some = limits_and(0);
        for schedule in &mut some[..20] {
            schedule.truncate(2);
        }
        let seen = seen(&back_after(&some));
        assert!(seen.symptoms[0].detail.starts_with("30 of 30 messages"));
    }

    #[test]
    fn waits_that_the_noise_drowns_decide_nothing() {
        let mut history = back_after(&limits_and(0));
        history.client.policy.backoff = Some(backoff(5, 20));
        let seen = seen(&history);
        assert!(seen.symptoms.is_empty() && seen.undecided[0].contains("in whatever number"));
    }

    #[test]
    fn a_client_that_never_came_back_is_told_apart() {
        let seen = seen(&back_after(&vec![Vec::new(); 50]));
        assert!(seen.symptoms.is_empty() && seen.undecided[0].contains("no message was refused"));
    }

    #[test]
    fn without_a_promise_of_jitter_there_is_nothing_to_check() {
        let mut history = back_after(&limits_and(0));
        if let Some(backoff) = &mut history.client.policy.backoff {
            backoff.jitter = false;
        }
        assert_eq!(seen(&history), Observed::default());
        history.client.policy.backoff = None;
        assert_eq!(seen(&history), Observed::default());
    }

    #[test]
    fn a_wait_that_the_provider_asked_for_is_not_the_clients_own() {
        let mut t = tale("told", 50).given(|h| h.client.policy.backoff = Some(backoff(50, 200)));
        for n in 1..=50 {
            let key = format!("k{n}");
            for _ in 0..3 {
                t = t.ask(n, Some(&key));
                t = t.answer_with(503, &[("Retry-After", "1")]).wait(1_000);
            }
        }
        let seen = seen(&t.settle());
        assert!(seen.symptoms.is_empty() && seen.undecided[0].contains("no message was refused"));
    }

    #[test]
    fn a_count_of_its_own_that_is_the_wires_changes_nothing_and_a_lower_one_everything() {
        let told = |count: u32| {
            let tale = tale("herd", 50).given(|h| h.client.policy.backoff = Some(backoff(50, 200)));
            let mut tale = come_back(tale, &limits_and(0));
            for n in 1..=50 {
                tale = tale.believe_counting(n, crate::intent::Outcome::Dead, count);
            }
            seen(&tale.settle())
        };
        assert_eq!(told(4).symptoms.len(), 1);
        // Something below it sends as well.
        assert_eq!(told(3).symptoms, []);
    }
}

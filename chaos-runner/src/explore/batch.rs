//! Many scripts in one plan: a message for each, with the faults of its script at its attempts.
//!
//! Owns the way from scripts to a [`Plan`]. Pure.

use stub_provider::{attempts::Attempts, fault::RequestKind};

use super::{action::Timing, script::Script};
use crate::{
    plan::{Place, Plan, PlannedFault},
    scenario::{self, write},
};

/// A plan in which message *n* (from 1) meets the faults of `scripts[n - 1]`.
#[must_use]
pub fn plan(name: &str, scripts: &[Script], timing: Timing, seed: u64) -> Plan {
    let title = match scripts {
        [only] => format!("Explored: {only}"),
        many => format!("Explored: {} scripts at once", many.len()),
    };
    let mut faults = Vec::new();
    for (at, script) in scripts.iter().enumerate() {
        for (attempt, letter) in (1..).zip(&script.0) {
            let action = letter.action(timing);
            faults.push(PlannedFault {
                id: u32::try_from(faults.len())
                    .unwrap_or(u32::MAX)
                    .saturating_add(1),
                line: 0,
                text: format!("attempt {attempt}: {}", write::in_one_line(&action)),
                intent: Some(at + 1),
                provider: None,
                request: RequestKind::Submit,
                place: Place::Attempts(Attempts::only(attempt)),
                action,
            });
        }
    }
    Plan {
        faults,
        ..scenario::without_faults(name, &title, scripts.len(), seed)
    }
}

/// Scripts as a scenario file, one for each message. Where all are the same one, its faults are
/// those of each message.
#[must_use]
pub fn scenario_file(scripts: &[Script], told: &Told<'_>, timing: Timing) -> String {
    let alike = scripts.windows(2).all(|pair| pair[0] == pair[1]);
    let mut faults = Vec::new();
    for (nth, script) in (1..).zip(scripts.iter().take(if alike { 1 } else { scripts.len() })) {
        for (attempt, letter) in (1..).zip(&script.0) {
            let whose = if alike {
                String::new()
            } else {
                format!("message {nth}, ")
            };
            faults.push(write::Written {
                attempt,
                intent: (!alike).then_some(nth),
                comment: format!("{whose}attempt {attempt} {}", letter.does()),
                action: letter.action(timing),
            });
        }
    }
    write::file(&write::Draft {
        comments: told.comments,
        title: told.title,
        why: told.why,
        tags: &["explored"],
        count: scripts.len(),
        faults,
    })
}

/// The words of a scenario file.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    /// Above everything.
    pub comments: &'a [String],
    /// What happens.
    pub title: &'a str,
    /// Why it matters.
    pub why: &'a str,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::{explore::letter::Letter, scenario};

    const TIMING: Timing = Timing {
        read_timeout: Some(Duration::from_millis(300)),
    };

    #[test]
    fn each_message_meets_the_faults_of_its_own_script_at_its_own_attempts() {
        let scripts = [
            Script(vec![Letter::Unavailable, Letter::HangAfter]),
            Script::default(),
            Script(vec![Letter::Redirect]),
        ];
        let plan = plan("batch", &scripts, TIMING, 7);
        assert_eq!(plan.intents.len(), 3);
        let places: Vec<_> = plan
            .faults
            .iter()
            .map(|f| (f.id, f.intent, f.place.clone()))
            .collect();
        let only = |k| Place::Attempts(Attempts::only(k));
        assert_eq!(
            places,
            [
                (1, Some(1), only(1)),
                (2, Some(1), only(2)),
                (3, Some(3), only(1))
            ]
        );
        assert_eq!(plan.faults[1].action, Letter::HangAfter.action(TIMING));
    }

    proptest! {
        #[test]
        fn a_script_that_is_saved_is_the_same_when_it_is_read(
            letters in prop::collection::vec(prop::sample::select(Letter::ALL.to_vec()), 0..5),
            company in 1_usize..4,
        ) {
            let script = Script(letters);
            let told = Told { comments: &["found by hand".into()], title: "a \"quoted\" title", why: "b" };
            let text = scenario_file(&vec![script.clone(); company], &told, TIMING);
            let read = scenario::load(&text, "saved.toml");
            let read = read.map_err(|e| TestCaseError::fail(format!("{}\n{text}", e.report(false))))?;
            let again = read[0].plan(1);
            prop_assert_eq!(again.intents.len(), company);
            let actions: Vec<_> = again.faults.iter().map(|f| f.action.clone()).collect();
            let wanted: Vec<_> = script.0.iter().map(|l| l.action(TIMING)).collect();
            prop_assert_eq!(actions, wanted);
        }
    }
}

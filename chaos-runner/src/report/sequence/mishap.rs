//! A fault that acted, in the few words that a diagram has room for.

use stub_provider::fault::{Ending, Garbling, Memory, Part, ProviderFault, Stage};

use crate::fault::{Action, ClientFault};

/// What went wrong; the scenario's own line stands beside the finding.
pub(super) fn words(action: &Action, text: &str) -> String {
    match action {
        Action::Toxic(toxic) => format!("{} {}", toxic.kind.as_str(), toxic.stream.as_str()),
        Action::Down(lasts) => format!("connects refused for {lasts}"),
        Action::Blackhole(lasts) => format!("connects unanswered for {lasts}"),
        Action::Provider(fault) => provider(fault),
        Action::Client(ClientFault::Kill(_)) => "killed".to_owned(),
        Action::Client(ClientFault::Terminate(_)) => "asked to end".to_owned(),
        Action::Client(ClientFault::Pause(pause)) => format!("stands still for {}", pause.lasts),
        Action::Receipt(_) | Action::Database(_) | Action::Submit(_) => without_place(text).into(),
    }
}

fn provider(fault: &ProviderFault) -> String {
    match fault {
        ProviderFault::Respond(respond) => {
            let kept = if respond.stored { "" } else { ", not stored" };
            format!("{}, {}{kept}", respond.status, accepted(respond.stage))
        }
        ProviderFault::RateLimit(_) => "429, not accepted".to_owned(),
        ProviderFault::Hang(at) => format!("no answer, {}", accepted(at.stage)),
        ProviderFault::Reset(at) => format!("RST, {}", accepted(at.stage)),
        ProviderFault::Close(at) => format!("FIN and no answer, {}", accepted(at.stage)),
        ProviderFault::Truncate(cut) => format!(
            "{} cut by {}, {}",
            match cut.part {
                Part::Head => "head",
                Part::Body => "body",
            },
            match cut.ending {
                Ending::Close => "FIN",
                Ending::Reset => "RST",
            },
            accepted(cut.stage)
        ),
        ProviderFault::Garble(garble) => format!(
            "{}, {}",
            match garble.how {
                Garbling::NotHttp => "answer is no HTTP",
                Garbling::BadJson => "answer is no JSON",
                Garbling::WrongContentLength => "answer of another length",
            },
            accepted(garble.stage)
        ),
        ProviderFault::Delay(delay) => {
            format!("late by {}, {}", delay.lasts, accepted(delay.stage))
        }
        ProviderFault::Redirect(redirect) => format!("{}, not accepted", redirect.status),
        ProviderFault::InFlight(in_flight) => format!("in flight for {}", in_flight.lasts),
        ProviderFault::Crash(crash) => format!(
            "crash, {}{}",
            accepted(crash.stage),
            match crash.memory {
                Memory::Kept => "",
                Memory::Lost => ", keys forgotten",
            }
        ),
    }
}

fn accepted(stage: Stage) -> &'static str {
    match stage {
        Stage::BeforeAccept => "not accepted",
        Stage::AfterAccept => "accepted",
    }
}

/// A fault's text without its place, which the diagram shows.
fn without_place(text: &str) -> &str {
    ["receipt.", "database.", "submit."]
        .iter()
        .filter_map(|domain| text.find(domain))
        .min()
        .map_or(text, |at| &text[at..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite;

    #[test]
    fn every_fault_of_the_standard_suite_fits_its_line() {
        let scenarios = suite::standard().expect("the standard suite is right");
        let mut seen = 0;
        for fault in scenarios.iter().flat_map(|s| s.plan(1).faults) {
            let said = words(&fault.action, &fault.text);
            if !matches!(
                fault.action,
                Action::Receipt(_) | Action::Database(_) | Action::Submit(_)
            ) {
                assert!(said.chars().count() <= 40, "{said}");
                assert!(!said.contains(['{', '=']), "{said}");
            }
            seen += 1;
        }
        assert!(seen > 50, "{seen}");
    }

    #[test]
    fn what_has_a_place_is_said_without_it() {
        assert_eq!(
            without_place("attempt = 2, receipt.duplicate = {}"),
            "receipt.duplicate = {}"
        );
    }
}

//! Where a fault acts: at which attempt or connection, of which message, at which provider.
//!
//! Owns the rule which faults are aimed by `attempt`, which by `connection` and which by neither.

use stub_provider::{attempts::Attempts, fault::RequestKind};

use super::file::{NumberOrFault, RawFault};
use crate::{
    document::Problems,
    fault::{Action, ClientFault, ClientStage, DatabaseFault, Stream},
    plan::Place,
};

/// What a fault is aimed by.
enum Aim {
    /// `attempt`, which must be said.
    Attempt,
    /// `attempt`, and what it is where nothing is said.
    AttemptOr(Attempts),
    /// `connection`, which must be said: the fault acts before the provider sees a request.
    Connection,
    /// Neither: the fault acts before any attempt.
    Neither,
}

fn aim(action: &Action) -> Aim {
    match action {
        Action::Toxic(toxic) if toxic.stream == Stream::Upstream => Aim::Connection,
        Action::Down(_) | Action::Blackhole(_) => Aim::Connection,
        Action::Toxic(_) | Action::Provider(_) => Aim::Attempt,
        Action::Receipt(_) => Aim::AttemptOr(Attempts::All),
        Action::Submit(_) => Aim::Neither,
        Action::Client(
            ClientFault::Kill(crate::fault::ClientFaultAt { stage, .. })
            | ClientFault::Terminate(crate::fault::ClientFaultAt { stage, .. })
            | ClientFault::Pause(crate::fault::ClientPause { stage, .. }),
        )
        | Action::Database(
            DatabaseFault::Lock(crate::fault::DatabaseFaultAt { stage, .. })
            | DatabaseFault::Down(crate::fault::DatabaseFaultAt { stage, .. }),
        ) => match stage {
            ClientStage::Submitted => Aim::Neither,
            ClientStage::Connected => Aim::Connection,
            ClientStage::BeforeAccept | ClientStage::AfterAccept | ClientStage::Answered => {
                Aim::Attempt
            }
        },
    }
}

/// The attempts or the connection; `None` where it is wrong.
pub(crate) fn place(
    fault: &RawFault,
    number: &str,
    action: &Action,
    intents: usize,
    problems: &mut Problems<'_, '_>,
) -> Option<Place> {
    let path = ["fault", number];
    let attempt = ["fault", number, "attempt"];
    let connection = ["fault", number, "connection"];
    if fault.attempt.is_some() && fault.connection.is_some() {
        problems.key(
            &connection,
            "aimed a second time",
            "this fault is aimed by `attempt` and by `connection`",
            "keep one of them",
        );
        return None;
    }
    match (aim(action), &fault.attempt, fault.connection) {
        (Aim::Attempt | Aim::AttemptOr(_), Some(attempts), _) => {
            Some(Place::Attempts(attempts.clone()))
        }
        (Aim::AttemptOr(attempts), None, None) => Some(Place::Attempts(attempts)),
        (Aim::Attempt, None, None) => {
            problems.key(
                &path,
                "aimed at nothing",
                "this fault does not say at which attempt it acts",
                "add attempt = 1, [1, 3], \"1..3\", \"2..\" or \"all\"",
            );
            None
        }
        (Aim::Attempt | Aim::AttemptOr(_), None, Some(_)) => {
            problems.key(
                &connection,
                "not for this kind",
                "this fault acts on a request that reached the provider: it is aimed by `attempt`",
                "write attempt = … in place of connection = …",
            );
            None
        }
        (Aim::Connection, Some(_), _) => {
            problems.key(
                &attempt,
                "not for this kind",
                "this fault acts before the provider sees a request, so there is no attempt to count",
                "write connection = … in place of attempt = …",
            );
            None
        }
        (Aim::Connection, None, None) => {
            problems.key(
                &path,
                "aimed at nothing",
                "this fault does not say at which connection it acts",
                "add connection = 1 (connections are counted at the proxy)",
            );
            None
        }
        (Aim::Connection, None, Some(0)) => {
            problems.value(
                &connection,
                "counted from 1",
                "connections are counted from 1: there is no connection 0",
                "",
            );
            None
        }
        (Aim::Connection, None, Some(_)) if intents > 1 => {
            problems.key(
                &connection,
                "of which message?",
                format!(
                    "a connection does not say for which of the {intents} messages it was opened"
                ),
                "a fault aimed by `connection` takes one message: remove `count`",
            );
            None
        }
        (Aim::Connection, None, Some(k)) => Some(Place::Connection(k)),
        (Aim::Neither, None, None) => Some(Place::Attempts(Attempts::only(1))),
        (Aim::Neither, Some(_), _) | (Aim::Neither, None, Some(_)) => {
            let key = if fault.attempt.is_some() {
                attempt
            } else {
                connection
            };
            problems.key(
                &key,
                "not for this kind",
                "this fault acts when the message is submitted, before any attempt",
                "remove it; to choose a message, write intent = …",
            );
            None
        }
    }
}

/// Checks that the message is one of those that there are.
pub(crate) fn intent(
    fault: &RawFault,
    number: &str,
    intents: usize,
    problems: &mut Problems<'_, '_>,
) {
    let Some(intent) = fault.intent else { return };
    if intent == 0 || intent > intents {
        let message = if intent == 0 {
            "messages are counted from 1: there is no message 0".to_owned()
        } else {
            format!("there is no message {intent}: the scenario sends {intents}")
        };
        problems.value(
            &["fault", number, "intent"],
            "no such message",
            message,
            "count = … under [intents] says how many there are",
        );
    }
}

/// The provider at which the fault acts.
pub(crate) fn provider(
    fault: &RawFault,
    number: &str,
    problems: &mut Problems<'_, '_>,
) -> Option<u8> {
    let (key, provider) = match (fault.at_provider, &fault.provider) {
        (Some(_), Some(NumberOrFault::Number(_))) => {
            problems.key(
                &["fault", number, "at-provider"],
                "said twice",
                "`provider` already says at which provider",
                "keep one of them",
            );
            return None;
        }
        (Some(at), _) => ("at-provider", at),
        (None, Some(NumberOrFault::Number(at))) => ("provider", *at),
        _ => return None,
    };
    if !(1..=2).contains(&provider) {
        problems.value(
            &["fault", number, key],
            "1 or 2",
            "there are two providers at most: 1 and 2",
            "",
        );
    }
    Some(provider)
}

/// Checks that a fault on lookups is one that a lookup can have.
pub(crate) fn request(
    fault: &RawFault,
    number: &str,
    action: &Action,
    problems: &mut Problems<'_, '_>,
) {
    if fault.request == RequestKind::Lookup
        && !matches!(
            action,
            Action::Toxic(_) | Action::Provider(_) | Action::Client(_) | Action::Database(_)
        )
    {
        problems.value(
            &["fault", number, "request"],
            "not for this kind",
            "this fault has nothing to do with a lookup",
            "remove `request`",
        );
    }
}

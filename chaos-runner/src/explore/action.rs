//! The fault that each letter stands for.
//!
//! Owns [`Letter::action`] and what it needs to know of the client.

use std::{collections::BTreeMap, time::Duration};

use stub_provider::{
    duration::Span,
    fault::{
        AtStage, Delay, Ending, Garble, Garbling, Hang, Part, ProviderFault, RateLimit, Redirect,
        Respond, Stage, Truncate,
    },
};

use super::letter::Letter;
use crate::fault::{
    Action, ClientFault, ClientFaultAt, ClientPause, ClientProcess, ClientStage, Stream, Toxic,
    ToxicKind,
};

/// What a rate limit asks a client to wait: the least that whole seconds can say.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// How many bytes of a head or a body go out before it is cut.
const CUT: u32 = 12;

/// What letters need to know of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// How long it waits for an answer, where it says so.
    pub read_timeout: Option<Duration>,
}

impl Letter {
    /// How long it keeps a message from going on, at least.
    #[must_use]
    pub fn wait(self, timing: Timing) -> Duration {
        match self {
            Self::HangBefore
            | Self::HangAfter
            | Self::LateAccept
            | Self::LateAnswer
            | Self::ToxicTimeout => timing.read_timeout.unwrap_or_default(),
            other => other.action(timing).longest_wait(),
        }
    }

    /// The fault that it stands for.
    #[must_use]
    pub fn action(self, timing: Timing) -> Action {
        let provider = Action::Provider;
        let respond = |stage, status| Respond {
            stage,
            status,
            code: None,
            body: None,
            headers: BTreeMap::new(),
            retry_after: None,
            retry_after_date: None,
            stored: false,
        };
        let answered = |stage, status| provider(ProviderFault::Respond(respond(stage, status)));
        let cut = |stage, part| {
            provider(ProviderFault::Truncate(Truncate {
                stage,
                part,
                after: CUT,
                ending: Ending::Close,
            }))
        };
        let (before, after) = (Stage::BeforeAccept, Stage::AfterAccept);
        let at = |stage| AtStage { stage };
        // Half as long again: surely too late, and no longer than it must be.
        let too_late = Span(timing.read_timeout.unwrap_or_default() * 3 / 2);
        let garbled = |stage, how| provider(ProviderFault::Garble(Garble { stage, how }));
        let late = |stage| {
            provider(ProviderFault::Delay(Delay {
                stage,
                lasts: too_late,
            }))
        };
        let killed = |stage| {
            Action::Client(ClientFault::Kill(ClientFaultAt {
                stage,
                process: ClientProcess::Sender,
                restart_after: Span::default(),
            }))
        };
        match self {
            Self::Unavailable => answered(before, 503),
            Self::RateLimited => provider(ProviderFault::RateLimit(RateLimit {
                retry_after: Some(Span(RETRY_AFTER)),
                ..RateLimit::default()
            })),
            Self::RateLimitedDate => provider(ProviderFault::RateLimit(RateLimit {
                retry_after_date: Some(Span(RETRY_AFTER)),
                ..RateLimit::default()
            })),
            Self::Permanent => answered(before, 400),
            Self::Redirect => provider(ProviderFault::Redirect(Redirect { status: 307 })),
            Self::InFlight => answered(before, 409),
            Self::ResetBefore => provider(ProviderFault::Reset(at(before))),
            Self::HalfPromise => cut(before, Part::Head),
            Self::ErrorAfter => answered(after, 500),
            Self::ErrorStored => provider(ProviderFault::Respond(Respond {
                stored: true,
                ..respond(after, 500)
            })),
            Self::HangAfter => provider(ProviderFault::Hang(Hang { stage: after })),
            Self::CloseAfter => provider(ProviderFault::Close(at(after))),
            Self::BodyCut => cut(after, Part::Body),
            Self::ErrorBefore => answered(before, 500),
            Self::HangBefore => provider(ProviderFault::Hang(Hang { stage: before })),
            Self::CloseBefore => provider(ProviderFault::Close(at(before))),
            Self::LateAccept => late(before),
            Self::FalseSuccess => garbled(before, Garbling::BadJson),
            Self::ResetAfter => provider(ProviderFault::Reset(at(after))),
            Self::HeadCut => cut(after, Part::Head),
            Self::BadJson => garbled(after, Garbling::BadJson),
            Self::NotHttp => garbled(after, Garbling::NotHttp),
            Self::UnavailableAfter => answered(after, 503),
            Self::LateAnswer => late(after),
            Self::ToxicTimeout => toxic(ToxicKind::Timeout, "timeout", 0),
            Self::ToxicReset => toxic(ToxicKind::ResetPeer, "timeout", 0),
            Self::ToxicLimit => toxic(ToxicKind::LimitData, "bytes", CUT.into()),
            Self::KillBefore => killed(ClientStage::BeforeAccept),
            Self::KillAfter => killed(ClientStage::AfterAccept),
            Self::KillAnswered => killed(ClientStage::Answered),
            Self::PauseAfter => Action::Client(ClientFault::Pause(ClientPause {
                stage: ClientStage::AfterAccept,
                process: ClientProcess::Sender,
                lasts: too_late,
            })),
        }
    }
}

fn toxic(kind: ToxicKind, attribute: &str, value: u64) -> Action {
    Action::Toxic(Toxic {
        kind,
        stream: Stream::Downstream,
        toxicity: 1.0,
        attributes: BTreeMap::from([(attribute.to_owned(), value)]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_letters_stand_for_one_fault() {
        let timing = Timing {
            read_timeout: Some(Duration::from_millis(300)),
        };
        for (nth, letter) in Letter::ALL.iter().enumerate() {
            for other in &Letter::ALL[..nth] {
                assert_ne!(
                    letter.action(timing),
                    other.action(timing),
                    "{letter} {other}"
                );
            }
        }
    }
}

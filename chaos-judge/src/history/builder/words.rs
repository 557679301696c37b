//! What goes wrong and what is promised, in a word each.

use std::collections::BTreeMap;

use stub_provider::{
    duration::Span,
    fault::{
        AtStage, Delay, Garble, Garbling, Hang, Memory, Part, ProviderFault, Respond, Stage,
        Truncate,
    },
};

use crate::{
    fault::{
        Action, ClientFault, ClientFaultAt, ClientProcess, ClientStage, Stream, Toxic, ToxicKind,
    },
    policy::Backoff,
};

/// Answers with a status.
#[must_use]
pub fn respond(stage: Stage, status: u16) -> Action {
    Action::Provider(ProviderFault::Respond(Respond {
        stage,
        status,
        code: None,
        body: None,
        headers: BTreeMap::new(),
        retry_after: None,
        retry_after_date: None,
        stored: true,
    }))
}

/// Never answers.
#[must_use]
pub fn hang(stage: Stage) -> Action {
    Action::Provider(ProviderFault::Hang(Hang { stage }))
}

/// Resets the connection.
#[must_use]
pub fn reset(stage: Stage) -> Action {
    Action::Provider(ProviderFault::Reset(AtStage { stage }))
}

/// Closes the connection.
#[must_use]
pub fn close(stage: Stage) -> Action {
    Action::Provider(ProviderFault::Close(AtStage { stage }))
}

/// Answers `millis` later.
#[must_use]
pub fn delay(millis: u64) -> Action {
    Action::Provider(ProviderFault::Delay(Delay {
        stage: Stage::BeforeAccept,
        lasts: Span::from_millis(millis),
    }))
}

/// Ends the answer after five bytes of a part.
#[must_use]
pub fn truncate(stage: Stage, part: Part) -> Action {
    Action::Provider(ProviderFault::Truncate(Truncate {
        stage,
        part,
        after: 5,
        ending: stub_provider::fault::Ending::Close,
    }))
}

/// Sends an answer that cannot be understood.
#[must_use]
pub fn garble(stage: Stage, how: Garbling) -> Action {
    Action::Provider(ProviderFault::Garble(Garble { stage, how }))
}

/// The provider crashes once it has accepted, and is back after 50 ms.
#[must_use]
pub fn crash(memory: Memory) -> Action {
    Action::Provider(ProviderFault::Crash(stub_provider::fault::Crash {
        stage: Stage::AfterAccept,
        memory,
        lasts: Span::from_millis(50),
    }))
}

/// A toxic on the way down.
#[must_use]
pub fn toxic(kind: ToxicKind) -> Action {
    Action::Toxic(Toxic {
        kind,
        stream: Stream::Downstream,
        toxicity: 1.0,
        attributes: BTreeMap::new(),
    })
}

/// The client's process is killed once the provider has accepted.
#[must_use]
pub fn kill() -> Action {
    Action::Client(ClientFault::Kill(ClientFaultAt {
        stage: ClientStage::AfterAccept,
        process: ClientProcess::Sender,
        restart_after: Span::default(),
    }))
}

/// A promise of jitter, with base and cap in milliseconds.
#[must_use]
pub fn backoff(base: u64, cap: u64) -> Backoff {
    Backoff {
        base: Span::from_millis(base),
        cap: Span::from_millis(cap),
        jitter: true,
    }
}

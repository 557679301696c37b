//! What was observed, in order: the only thing that checks and reports read.
//!
//! Owns the [`History`] of one scenario's run and its format on disk. Writing it is the run's.

#[cfg(any(test, feature = "tale"))]
#[expect(
    clippy::missing_panics_doc,
    reason = "a tale that makes no sense fails its test"
)]
pub mod builder;
mod observed;
pub mod read;
pub mod reply;
pub mod retry;
pub mod view;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use stub_provider::{
    event::End,
    fault::{MessageStatus, RequestKind, Stage},
};

use crate::{
    intent::{Intent, Outcome},
    plan::{Expect, PlannedFault},
    policy::Policy,
};

/// The version of the format; a reader refuses a higher one.
pub const FORMAT: u32 = 1;

/// Everything that was observed in one run of one scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// The version of this format, [`FORMAT`].
    pub format: u32,
    /// The version of the tool that wrote it.
    pub tool: String,
    /// The scenario, as the plan names it.
    pub scenario: String,
    /// Its title.
    pub title: String,
    /// Its file, where it has one.
    pub file: Option<String>,
    /// The words to select it by: a check that needs many samples asks them whether the scenario
    /// is about it.
    #[serde(default)]
    pub tags: Vec<String>,
    /// The seed.
    pub seed: u64,
    /// The engine that put the network faults in place: `embedded`, or the real server's name.
    pub engine: String,
    /// What is known of the client.
    pub client: ClientFacts,
    /// What is known of the provider's API.
    pub provider: ProviderFacts,
    /// What was to be sent.
    pub intents: Vec<Intent>,
    /// Whether each intent was submitted only when the one before was settled.
    pub one_by_one: bool,
    /// What was to go wrong.
    pub faults: Vec<PlannedFault>,
    /// What was to come out.
    pub expect: Expect,
    /// What was seen, in ascending `seq`.
    pub events: Vec<Event>,
}

/// What is known of the client before it runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientFacts {
    /// Its name.
    pub name: String,
    /// What it promises; an absent promise is not checked.
    pub policy: Policy,
    /// How many workers ran at once; 0 for a client without workers.
    pub workers: u32,
    /// Whether an outcome of its own is asked for (else the exit code is all there is).
    pub tells_outcome: bool,
    /// Whether it tells how many attempts it counted itself.
    pub tells_attempts: bool,
}

/// What is known of the provider's API.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderFacts {
    /// The profile's name.
    pub profile: String,
    /// Whether the API has an idempotency key at all.
    pub has_key: bool,
    /// How long a key is remembered, in microseconds, as the client was told.
    pub retention_us: u64,
}

/// One observed fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Position in the order of observation, from 1.
    pub seq: u64,
    /// Microseconds since the lab was opened, monotonic.
    pub at_us: u64,
    /// What was seen.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// A request as a history keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Header names in lower case, with values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Payload,
}

/// An answer as a history keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Payload,
}

/// Bytes, written as text where they are UTF-8 and as numbers where not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Payload {
    /// Text.
    Text(String),
    /// Anything else.
    Bytes(Vec<u8>),
}

impl Payload {
    /// Keeps `bytes` in the form that is readable.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        std::str::from_utf8(bytes).map_or_else(
            |_| Self::Bytes(bytes.to_vec()),
            |text| Self::Text(text.to_owned()),
        )
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

/// A process of the client.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Process {
    /// The setup command.
    Setup,
    /// The submit command of an intent, by number.
    Submit(usize),
    /// A worker, by number from 1.
    Worker(u32),
}

/// Which submission of an intent it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Submission {
    /// The first.
    First,
    /// Again, by a submit fault.
    Again,
    /// Again with other words.
    Conflicting,
}

/// Each kind of fact. An attempt's number is unique over both providers of a lab.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    /// An intent was handed to the client (its submit form began).
    Submitted {
        /// Which intent.
        intent: usize,
        /// Which submission of it.
        submission: Submission,
        /// When the message becomes useless, in microseconds on the scale of `at_us`.
        expires_at_us: Option<u64>,
    },
    /// The submit form ended.
    SubmitEnded {
        /// Which intent.
        intent: usize,
        /// Which submission of it.
        submission: Submission,
        /// The exit code; `None`: by a signal, or not a command.
        exit: Option<i32>,
        /// The HTTP status, for the `http` form.
        status: Option<u16>,
        /// Whether the client took the intent on.
        accepted: bool,
    },
    /// A process of the client was started.
    ProcessStarted {
        /// Which.
        process: Process,
        /// How often it has been started, from 1: above 1 it is a restart.
        nth: u32,
    },
    /// A process of the client is gone.
    ProcessEnded {
        /// Which.
        process: Process,
        /// Its exit code; `None`: by a signal.
        exit: Option<i32>,
    },
    /// The harness did something to a process.
    ProcessSignalled {
        /// Which.
        process: Process,
        /// `kill`, `terminate`, `pause`, `continue`.
        signal: String,
        /// The fault that wanted it; `None`: the end of the run.
        fault: Option<u32>,
    },
    /// A connection was opened at the provider.
    ConnectionOpened {
        /// Which provider, 1 or 2.
        provider: u8,
        /// Its number at that provider.
        connection: u64,
    },
    /// A connection is over.
    ConnectionClosed {
        /// Which provider.
        provider: u8,
        /// Its number there.
        connection: u64,
        /// How.
        end: End,
    },
    /// A request that was never read whole.
    Unread {
        /// Which provider.
        provider: u8,
        /// On which connection.
        connection: u64,
        /// How much came and why it ended.
        reason: String,
    },
    /// A request reached the provider whole.
    Attempt {
        /// Its number.
        attempt: u64,
        /// Which provider.
        provider: u8,
        /// On which connection.
        connection: u64,
        /// Which request of that connection, from 1: above 1 the connection was reused.
        nth_on_connection: u32,
        /// Submit or lookup.
        kind: RequestKind,
        /// Which intent it is for; `None`: a stray.
        intent: Option<usize>,
        /// Which attempt (or lookup) of that intent, from 1.
        ordinal: u32,
        /// The customer whose credential it bears.
        customer: String,
        /// The idempotency key.
        key: Option<String>,
        /// The recipient.
        to: Option<String>,
        /// The words.
        text: Option<String>,
        /// The request itself.
        request: Request,
    },
    /// The attempt was stopped at a stage.
    Held {
        /// Which attempt.
        attempt: u64,
        /// Where.
        stage: Stage,
    },
    /// The attempt was let go.
    Released {
        /// Which attempt.
        attempt: u64,
        /// Where.
        stage: Stage,
    },
    /// A fault was put in place, and read back where it can be.
    FaultApplied {
        /// Which fault.
        fault: u32,
        /// At which attempt.
        attempt: Option<u64>,
    },
    /// A fault acted.
    FaultFired {
        /// Which fault.
        fault: u32,
        /// On which attempt.
        attempt: Option<u64>,
        /// For which intent.
        intent: Option<usize>,
    },
    /// A fault was taken away.
    FaultHealed {
        /// Which fault.
        fault: u32,
    },
    /// The provider accepted: the phone buzzes.
    Delivered {
        /// By which attempt.
        attempt: u64,
        /// The message's id at the provider.
        message: String,
    },
    /// A stored answer is returned; nothing is delivered.
    Replayed {
        /// Which attempt.
        attempt: u64,
        /// The attempt whose answer it is.
        of: u64,
    },
    /// An answer was handed to the socket.
    Answering {
        /// Which attempt.
        attempt: u64,
        /// The answer.
        answer: Answer,
    },
    /// An attempt is over.
    Ended {
        /// Which attempt.
        attempt: u64,
        /// How, as the provider's socket saw it.
        end: End,
    },
    /// A receipt was sent to the client.
    Receipt {
        /// The message.
        message: String,
        /// The event's id.
        event_id: String,
        /// What it reports.
        status: MessageStatus,
        /// Which try, from 1.
        attempt: u32,
        /// The HTTP status that answered it; `None`: nobody knows.
        answered: Option<u16>,
    },
    /// The provider is gone.
    ProviderCrashed {
        /// Which.
        provider: u8,
    },
    /// The provider is back.
    ProviderRestarted {
        /// Which.
        provider: u8,
    },
    /// What the client believes of an intent changed.
    Believed {
        /// Which intent.
        intent: usize,
        /// What it believes.
        outcome: Outcome,
        /// How many attempts it counted itself.
        attempts: Option<u32>,
    },
    /// At the end, the client knows nothing of an intent: no row, no line, no exit code.
    Forgotten {
        /// Which intent.
        intent: usize,
    },
    /// Nothing more is due: no attempt in flight, no hold, every outcome final.
    Settled,
    /// The time limit was reached first; what was not done is in the other events.
    TimedOut {
        /// The limit in microseconds.
        limit_us: u64,
    },
    /// The client was ready to run and had no processor.
    Starved {
        /// For how long since this was last looked at, in microseconds.
        for_us: u64,
    },
    /// A word of the harness on something that it could not do.
    Remark {
        /// The word.
        text: String,
    },
}

impl History {
    /// The number of deliveries for each intent that was sent to the provider.
    #[must_use]
    pub fn deliveries_by_intent(&self) -> BTreeMap<usize, u32> {
        let mut intent_of = BTreeMap::new();
        let mut count: BTreeMap<usize, u32> = self.intents.iter().map(|i| (i.number, 0)).collect();
        for event in &self.events {
            match &event.kind {
                EventKind::Attempt {
                    attempt,
                    intent: Some(intent),
                    ..
                } => {
                    intent_of.insert(*attempt, *intent);
                }
                EventKind::Delivered { attempt, .. } => {
                    if let Some(intent) = intent_of.get(attempt) {
                        *count.entry(*intent).or_default() += 1;
                    }
                }
                _ => {}
            }
        }
        count
    }
}

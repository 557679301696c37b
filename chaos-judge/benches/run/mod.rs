//! The history of a run of any size. Every fourth message is refused once and accepted at the
//! second attempt, every fourth is accepted, not answered and replayed, the others go well at once.

use std::collections::BTreeMap;

use chaos_judge::{
    fault::Action,
    history::{
        Answer, ClientFacts, Event, EventKind, FORMAT, History, Payload, ProviderFacts, Request,
        Submission,
    },
    intent::{Intent, Outcome},
    plan::{Expect, Place, PlannedFault},
    policy::{Backoff, Policy},
};
use stub_provider::{
    attempts::Attempts,
    duration::Span,
    event::End,
    fault::{ProviderFault, RequestKind, Respond, Stage},
};

const TO: &str = "+12025550142";

/// The history of a run of so many messages.
pub fn history(messages: usize) -> History {
    let mut run = Run {
        events: Vec::new(),
        now_us: 0,
        attempt: 0,
    };
    let intents: Vec<Intent> = (1..=messages).map(intent).collect();
    for intent in &intents {
        run.send(intent);
    }
    run.push(EventKind::Settled);
    History {
        format: FORMAT,
        tool: "0.1.0".into(),
        scenario: "run".into(),
        title: "A run of any size".into(),
        file: None,
        tags: Vec::new(),
        seed: 1,
        engine: "embedded".into(),
        client: client(),
        provider: ProviderFacts {
            profile: "v1".into(),
            has_key: true,
            retention_us: 86_400_000_000,
        },
        intents,
        one_by_one: false,
        faults: vec![refusal()],
        expect: Expect::default(),
        events: run.events,
    }
}

fn intent(number: usize) -> Intent {
    let code = format!("{}", 100_000 + number);
    Intent {
        number,
        id: format!("intent-{number}"),
        customer: "default".into(),
        to: TO.into(),
        body: format!("Your code is {code}"),
        code,
        expires_after: None,
        key: None,
    }
}

fn client() -> ClientFacts {
    ClientFacts {
        name: "a-client".into(),
        policy: Policy {
            max_attempts: Some(5),
            backoff: Some(Backoff {
                base: Span::from_millis(50),
                cap: Span::from_millis(200),
                jitter: true,
            }),
            ..Policy::default()
        },
        workers: 1,
        tells_outcome: true,
        tells_attempts: true,
    }
}

/// The fault that refuses first attempts.
fn refusal() -> PlannedFault {
    PlannedFault {
        id: 1,
        line: 0,
        text: "attempt = 1, provider.respond = { status = 503 }".into(),
        intent: None,
        provider: None,
        request: RequestKind::Submit,
        place: Place::Attempts(Attempts::only(1)),
        action: Action::Provider(ProviderFault::Respond(Respond {
            stage: Stage::BeforeAccept,
            status: 503,
            code: None,
            body: None,
            headers: BTreeMap::new(),
            retry_after: None,
            retry_after_date: None,
            stored: false,
        })),
    }
}

/// The events of a run in the making.
struct Run {
    events: Vec<Event>,
    now_us: u64,
    attempt: u64,
}

impl Run {
    fn push(&mut self, kind: EventKind) {
        self.now_us += 100;
        self.events.push(Event {
            seq: self.events.len() as u64 + 1,
            at_us: self.now_us,
            kind,
        });
    }

    /// Everything that happens for one message.
    fn send(&mut self, intent: &Intent) {
        let number = intent.number;
        self.push(EventKind::Submitted {
            intent: number,
            submission: Submission::First,
            expires_at_us: None,
        });
        self.push(EventKind::SubmitEnded {
            intent: number,
            submission: Submission::First,
            exit: Some(0),
            status: None,
            accepted: true,
        });
        let attempts = match number % 4 {
            0 => self.refused_then_accepted(intent),
            1 => self.unanswered_then_replayed(intent),
            _ => self.accepted(intent, 1),
        };
        self.push(EventKind::Believed {
            intent: number,
            outcome: Outcome::Sent,
            attempts: Some(attempts),
        });
    }

    fn refused_then_accepted(&mut self, intent: &Intent) -> u32 {
        self.ask(intent, 1);
        self.push(EventKind::FaultFired {
            fault: 1,
            attempt: Some(self.attempt),
            intent: Some(intent.number),
        });
        self.answer(503);
        self.wait(intent);
        self.accepted(intent, 2)
    }

    fn unanswered_then_replayed(&mut self, intent: &Intent) -> u32 {
        self.ask(intent, 1);
        self.deliver();
        self.end(End::ClientClosed);
        self.wait(intent);
        let of = self.attempt;
        self.ask(intent, 2);
        let attempt = self.attempt;
        self.push(EventKind::Replayed { attempt, of });
        self.answer(201);
        2
    }

    fn accepted(&mut self, intent: &Intent, ordinal: u32) -> u32 {
        self.ask(intent, ordinal);
        self.deliver();
        self.answer(201);
        ordinal
    }

    /// A request on a connection of its own.
    fn ask(&mut self, intent: &Intent, ordinal: u32) {
        self.attempt += 1;
        let (attempt, connection) = (self.attempt, self.attempt);
        let key = format!("key-{}", intent.number);
        let body = format!(r#"{{"to":"{TO}","body":"{}"}}"#, intent.body);
        self.push(EventKind::ConnectionOpened {
            provider: 1,
            connection,
        });
        self.push(EventKind::Attempt {
            attempt,
            provider: 1,
            connection,
            nth_on_connection: 1,
            kind: RequestKind::Submit,
            intent: Some(intent.number),
            ordinal,
            customer: intent.customer.clone(),
            key: Some(key.clone()),
            to: Some(TO.into()),
            text: Some(intent.body.clone()),
            request: Request {
                method: "POST".into(),
                target: "/v1/messages".into(),
                headers: vec![("idempotency-key".into(), key)],
                body: Payload::Text(body),
            },
        });
    }

    fn deliver(&mut self) {
        let attempt = self.attempt;
        self.push(EventKind::Delivered {
            attempt,
            message: format!("msg_{attempt}"),
        });
    }

    fn answer(&mut self, status: u16) {
        self.push(EventKind::Answering {
            attempt: self.attempt,
            answer: Answer {
                status,
                headers: Vec::new(),
                body: Payload::Text("{}".into()),
            },
        });
        self.end(End::Answered);
    }

    fn end(&mut self, end: End) {
        let attempt = self.attempt;
        self.push(EventKind::Ended { attempt, end });
    }

    /// A wait before a retry, spread over what the client promises.
    fn wait(&mut self, intent: &Intent) {
        self.now_us += intent.number as u64 * 7_919 % 50_000;
    }
}

//! Histories for tests, told in a few words: [`submit`](Tale::submit), [`ask`](Tale::ask),
//! [`deliver`](Tale::deliver), [`answer`](Tale::answer), [`believe`](Tale::believe), and the
//! few words for what goes wrong in between.

mod alike;
mod words;

use stub_provider::{
    attempts::Attempts,
    event::End,
    fault::{RequestKind, Stage},
};

pub use alike::*;
pub use words::*;

use super::{
    Answer, ClientFacts, Event, EventKind, FORMAT, History, Payload, Process, ProviderFacts,
    Request, Submission,
};
use crate::{
    fault::Action,
    intent::{Intent, Outcome},
    plan::{Expect, Place, PlannedFault},
    policy::Policy,
};

/// A history in the making. Times are in milliseconds; every word takes one.
#[derive(Clone, Debug)]
#[must_use = "a word tells nothing by itself"]
pub struct Tale {
    /// What has been told so far.
    pub history: History,
    now_us: u64,
    last: u64,
    connection: u64,
    nth: u32,
    provider: u8,
    customer: Option<String>,
    body: Option<String>,
}

/// A tale of `count` intents, each with a recipient of its own.
pub fn tale(name: &str, count: usize) -> Tale {
    let intents = (1..=count)
        .map(|number| Intent {
            number,
            id: format!("intent-{number}"),
            customer: "default".into(),
            to: format!("+1202555{:04}", 100 + number),
            body: format!("Your code is {}", 481_000 + number),
            code: format!("{}", 481_000 + number),
            expires_after: None,
            key: None,
        })
        .collect();
    let history = History {
        format: FORMAT,
        tool: "0.1.0".into(),
        scenario: name.into(),
        title: format!("The tale of {name}"),
        file: Some(format!("scenarios/{name}.toml")),
        tags: Vec::new(),
        seed: 7,
        engine: "embedded".into(),
        client: ClientFacts {
            name: "a-client".into(),
            policy: Policy {
                max_attempts: Some(5),
                ..Policy::default()
            },
            workers: 1,
            tells_outcome: true,
            tells_attempts: true,
        },
        provider: ProviderFacts {
            profile: "v1".into(),
            has_key: true,
            retention_us: 86_400_000_000,
        },
        intents,
        one_by_one: false,
        faults: Vec::new(),
        expect: Expect::default(),
        events: Vec::new(),
    };
    let mut tale = Tale {
        history,
        now_us: 0,
        last: 0,
        connection: 0,
        nth: 1,
        provider: 1,
        customer: None,
        body: None,
    };
    for number in 1..=count {
        tale = tale.submit(number, Submission::First, true);
    }
    tale
}

impl Tale {
    fn push(mut self, kind: EventKind) -> Self {
        self.now_us += 1_000;
        self.history.events.push(Event {
            seq: self.history.events.len() as u64 + 1,
            at_us: self.now_us,
            kind,
        });
        self
    }

    /// Lets time pass.
    pub fn wait(mut self, millis: u64) -> Self {
        self.now_us += millis * 1_000;
        self
    }

    /// Lets time pass in which the client has no processor.
    pub fn starve(self, millis: u64) -> Self {
        let for_us = millis * 1_000;
        self.wait(millis).push(EventKind::Starved { for_us })
    }

    /// The client closes the connection of the last request.
    pub fn hang_up(self) -> Self {
        let (provider, connection) = (self.provider, self.connection);
        self.push(EventKind::ConnectionClosed {
            provider,
            connection,
            end: End::ClientClosed,
        })
    }

    /// Hands an intent to the client, which says yes or no.
    pub fn submit(self, intent: usize, submission: Submission, accepted: bool) -> Self {
        let expires = self.history.intents[intent - 1]
            .expires_after
            .map(|after| self.now_us + u64::try_from(after.as_micros()).expect("a short time"));
        self.push(EventKind::Submitted {
            intent,
            submission,
            expires_at_us: expires,
        })
        .push(EventKind::SubmitEnded {
            intent,
            submission,
            exit: Some(i32::from(!accepted)),
            status: None,
            accepted,
        })
    }

    /// A submit request reaches the provider on a new connection.
    pub fn ask(mut self, intent: usize, key: Option<&str>) -> Self {
        self.connection += 1;
        self.nth = 1;
        let connection = self.connection;
        let provider = self.provider;
        self.push(EventKind::ConnectionOpened {
            provider,
            connection,
        })
        .request(Some(intent), key)
    }

    /// Opens a connection on which nothing is asked yet; its number is the next.
    pub fn connect(mut self) -> Self {
        self.connection += 1;
        let (provider, connection) = (self.provider, self.connection);
        self.push(EventKind::ConnectionOpened {
            provider,
            connection,
        })
    }

    /// The first request of a connection that has long been open.
    pub fn ask_on(mut self, connection: u64, intent: usize, key: Option<&str>) -> Self {
        let newest = std::mem::replace(&mut self.connection, connection);
        self.nth = 1;
        let mut told = self.request(Some(intent), key);
        told.connection = newest;
        told
    }

    /// The same on the connection of the request before.
    pub fn ask_again_there(mut self, intent: usize, key: Option<&str>) -> Self {
        self.nth += 1;
        self.request(Some(intent), key)
    }

    /// A request that belongs to no intent.
    pub fn stray(mut self) -> Self {
        self.connection += 1;
        self.nth = 1;
        self.request(None, Some("k-stray"))
    }

    fn request(mut self, intent: Option<usize>, key: Option<&str>) -> Self {
        self.last += 1;
        let of = intent.map(|n| self.history.intents[n - 1].clone());
        let to = of.as_ref().map_or("+12025550199", |i| &i.to).to_owned();
        let text = of.as_ref().map_or("hello", |i| &i.body).to_owned();
        let body = self
            .body
            .take()
            .unwrap_or_else(|| format!(r#"{{"to":"{to}","body":"{text}"}}"#));
        let ordinal = 1 + u32::try_from(
            self.history
                .events
                .iter()
                .filter(|e| matches!(&e.kind, EventKind::Attempt { intent: i, .. } if *i == intent))
                .count(),
        )
        .expect("a few attempts");
        let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        if let Some(key) = key {
            headers.push(("idempotency-key".into(), key.into()));
        }
        let kind = EventKind::Attempt {
            attempt: self.last,
            provider: self.provider,
            connection: self.connection,
            nth_on_connection: self.nth,
            kind: RequestKind::Submit,
            intent,
            ordinal,
            customer: self
                .customer
                .clone()
                .unwrap_or_else(|| of.map_or_else(|| "default".to_owned(), |i| i.customer)),
            key: key.map(str::to_owned),
            to: Some(to),
            text: Some(text),
            request: Request {
                method: "POST".into(),
                target: "/v1/messages".into(),
                headers,
                body: Payload::Text(body),
            },
        };
        self.push(kind)
    }

    /// The next requests go to this provider.
    pub fn at_provider(mut self, provider: u8) -> Self {
        self.provider = provider;
        self
    }

    /// The next requests bear this customer's credential.
    pub fn under_credential_of(mut self, customer: &str) -> Self {
        self.customer = Some(customer.into());
        self
    }

    /// The next request has this body.
    pub fn with_body(mut self, body: &str) -> Self {
        self.body = Some(body.into());
        self
    }

    /// The words that follow are about this attempt.
    pub fn of(mut self, attempt: u64) -> Self {
        self.last = attempt;
        self
    }

    /// The phone buzzes.
    pub fn deliver(self) -> Self {
        let attempt = self.last;
        self.push(EventKind::Delivered {
            attempt,
            message: format!("msg_{attempt}"),
        })
    }

    /// A stored answer is returned.
    pub fn replay(self, of: u64) -> Self {
        let attempt = self.last;
        self.push(EventKind::Replayed { attempt, of })
    }

    /// The answer leaves whole.
    pub fn answer(self, status: u16) -> Self {
        self.answer_with(status, &[])
    }

    /// The answer leaves whole, with these headers.
    pub fn answer_with(self, status: u16, headers: &[(&str, &str)]) -> Self {
        self.answering(status, headers).end(End::Answered)
    }

    /// The answer is handed to the socket; how it ends is still open.
    pub fn answering(self, status: u16, headers: &[(&str, &str)]) -> Self {
        let attempt = self.last;
        self.push(EventKind::Answering {
            attempt,
            answer: Answer {
                status,
                headers: headers
                    .iter()
                    .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
                    .collect(),
                body: Payload::Text("{}".into()),
            },
        })
    }

    /// The attempt is over.
    pub fn end(self, end: End) -> Self {
        let attempt = self.last;
        self.push(EventKind::Ended { attempt, end })
    }

    /// Accepted, and answered 201: what should happen.
    pub fn accept(self) -> Self {
        self.deliver().answer(201)
    }

    /// Declares a fault at attempt `k`.
    pub fn declare(mut self, k: u32, action: Action) -> Self {
        let id = u32::try_from(self.history.faults.len()).expect("a few faults") + 1;
        self.history.faults.push(PlannedFault {
            id,
            line: 10 + id as usize,
            text: format!("fault {id}"),
            intent: None,
            provider: None,
            request: RequestKind::Submit,
            place: Place::Attempts(Attempts::only(k)),
            action,
        });
        self
    }

    /// The fault acts on the last attempt.
    pub fn fire(self, fault: u32) -> Self {
        let attempt = self.last;
        let intent = self.history.events.iter().find_map(|e| match &e.kind {
            EventKind::Attempt {
                attempt: a, intent, ..
            } if *a == attempt => *intent,
            _ => None,
        });
        self.push(EventKind::FaultFired {
            fault,
            attempt: (attempt > 0).then_some(attempt),
            intent,
        })
    }

    /// Declares a fault at the last attempt's place and lets it act there.
    pub fn suffer(self, action: Action) -> Self {
        let ordinal = self
            .history
            .events
            .iter()
            .find_map(|e| match &e.kind {
                EventKind::Attempt {
                    attempt, ordinal, ..
                } if *attempt == self.last => Some(*ordinal),
                _ => None,
            })
            .unwrap_or(1);
        let tale = self.declare(ordinal, action);
        let id = u32::try_from(tale.history.faults.len()).expect("a few faults");
        tale.fire(id)
    }

    /// Refused with `status` before acceptance.
    pub fn refuse(self, status: u16) -> Self {
        self.suffer(respond(Stage::BeforeAccept, status))
            .answer(status)
    }

    /// The client gives up waiting: accepted or not, no answer.
    pub fn hang(self) -> Self {
        self.suffer(hang(Stage::AfterAccept))
            .wait(300)
            .end(End::ClientClosed)
    }

    /// The sending process is killed and started again.
    pub fn kill(self) -> Self {
        let tale = self.suffer(kill());
        let fault = u32::try_from(tale.history.faults.len()).expect("a few faults");
        tale.push(EventKind::ProcessSignalled {
            process: Process::Worker(1),
            signal: "kill".into(),
            fault: Some(fault),
        })
        .push(EventKind::ProcessEnded {
            process: Process::Worker(1),
            exit: None,
        })
        .push(EventKind::ProcessStarted {
            process: Process::Worker(1),
            nth: 2,
        })
    }

    /// What the client believes now; its own count is that of the wire.
    pub fn believe(self, intent: usize, outcome: Outcome) -> Self {
        let count = self
            .history
            .events
            .iter()
            .filter(
                |e| matches!(&e.kind, EventKind::Attempt { intent: Some(i), .. } if *i == intent),
            )
            .count();
        self.believe_counting(intent, outcome, u32::try_from(count).expect("a few"))
    }

    /// What the client believes now, with its own count.
    pub fn believe_counting(self, intent: usize, outcome: Outcome, count: u32) -> Self {
        self.push(EventKind::Believed {
            intent,
            outcome,
            attempts: Some(count),
        })
    }

    /// Any other event.
    pub fn event(self, kind: EventKind) -> Self {
        self.push(kind)
    }

    /// Any other change of what is known before the run.
    pub fn given(mut self, change: impl FnOnce(&mut History)) -> Self {
        change(&mut self.history);
        self
    }

    /// Nothing more is due.
    #[must_use]
    pub fn settle(self) -> History {
        self.push(EventKind::Settled).history
    }

    /// Every intent is believed to be sent, and nothing more is due.
    #[must_use]
    pub fn all_sent(self) -> History {
        let count = self.history.intents.len();
        (1..=count)
            .fold(self, |tale, n| tale.believe(n, Outcome::Sent))
            .settle()
    }

    /// The time limit is reached.
    #[must_use]
    pub fn time_out(self) -> History {
        self.push(EventKind::TimedOut {
            limit_us: 60_000_000,
        })
        .history
    }
}

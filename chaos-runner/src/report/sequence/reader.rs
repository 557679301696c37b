//! From an event to a row, in words.

use std::collections::HashMap;

use stub_provider::{event::End, fault::RequestKind};

use super::{Drawn, Lifeline, Row, mishap};
use crate::{
    fault::Action,
    history::{
        Event, EventKind, Process, Submission,
        reply::{Reply, reply},
        view::{AttemptView, View},
    },
    intent::Outcome,
    report::words::visible,
};

/// Whom an event is about.
pub(super) enum About {
    Attempt(u64),
    Intent(usize),
    All,
}

/// Turns events into rows.
pub(super) struct Reader<'v, 'h> {
    view: &'v View<'h>,
    /// The attempt that made each message.
    accepted: HashMap<&'h str, u64>,
}

impl<'v, 'h> Reader<'v, 'h> {
    pub(super) fn new(view: &'v View<'h>) -> Self {
        let made = |a: &AttemptView<'h>| a.delivered.map(|(_, m)| (m, a.id));
        Self {
            view,
            accepted: view.attempts.iter().filter_map(made).collect(),
        }
    }

    pub(super) fn row(&self, event: &Event) -> Option<(About, Row)> {
        let (about, drawn) = self.read(&event.kind)?;
        let row = Row {
            seq: event.seq,
            at_us: event.at_us,
            drawn,
        };
        Some((about, row))
    }

    fn read(&self, kind: &EventKind) -> Option<(About, Drawn)> {
        match kind {
            EventKind::Delivered { attempt, .. }
            | EventKind::Replayed { attempt, .. }
            | EventKind::Attempt { attempt, .. }
            | EventKind::Answering { attempt, .. }
            | EventKind::Ended { attempt, .. } => {
                Some((About::Attempt(*attempt), self.on_the_wire(kind)?))
            }
            EventKind::FaultFired {
                fault,
                attempt,
                intent,
            } => {
                let about = match (attempt, intent) {
                    (Some(attempt), _) => About::Attempt(*attempt),
                    (None, Some(intent)) => About::Intent(*intent),
                    (None, None) => About::All,
                };
                let (at, text) = match self.view.fault(*fault) {
                    Some(f) => (acts_at(&f.action), mishap::words(&f.action, &f.text)),
                    None => (Lifeline::Provider, format!("fault {fault}")),
                };
                Some((about, note(at, format!("⚡ {text}"))))
            }
            EventKind::Receipt {
                message, status, ..
            } => {
                let attempt = self.accepted.get(message.as_str())?;
                let drawn = Drawn::Arrow {
                    from: Lifeline::Provider,
                    to: Lifeline::Client,
                    label: format!("receipt: {}", status.as_str()),
                    lost: false,
                };
                Some((About::Attempt(*attempt), drawn))
            }
            EventKind::ProviderCrashed { provider } => Some((
                About::All,
                note(Lifeline::Provider, format!("provider {provider} is gone")),
            )),
            EventKind::ProviderRestarted { provider } => Some((
                About::All,
                note(Lifeline::Provider, format!("provider {provider} is back")),
            )),
            other => {
                let (about, text) = at_the_client(other)?;
                Some((about, note(Lifeline::Client, text)))
            }
        }
    }

    fn on_the_wire(&self, kind: &EventKind) -> Option<Drawn> {
        let view = self.view;
        match kind {
            EventKind::Attempt {
                attempt, kind, key, ..
            } => {
                let found = view.attempt(*attempt)?;
                let key = key
                    .as_deref()
                    .map_or_else(|| "no key".to_owned(), |k| format!("key {}", visible(k)));
                let second = if found.provider > 1 {
                    " to provider 2,"
                } else {
                    ""
                };
                Some(Drawn::Arrow {
                    from: Lifeline::Client,
                    to: Lifeline::Provider,
                    label: match kind {
                        RequestKind::Submit => format!("#{attempt}{second} {key}"),
                        RequestKind::Lookup => format!("#{attempt}{second} lookup"),
                    },
                    lost: false,
                })
            }
            EventKind::Delivered { .. } => Some(Drawn::Arrow {
                from: Lifeline::Provider,
                to: Lifeline::Phone,
                label: "buzz".into(),
                lost: false,
            }),
            EventKind::Replayed { of, .. } => {
                Some(note(Lifeline::Provider, format!("answer of #{of}")))
            }
            EventKind::Answering { attempt, answer } => {
                let found = view.attempt(*attempt)?;
                let taken = reply(view, found) != Reply::Ambiguous;
                let on_the_network = view
                    .actions_on(found)
                    .any(|action| matches!(action, Action::Toxic(_)));
                Some(Drawn::Arrow {
                    from: Lifeline::Provider,
                    to: if !taken && on_the_network {
                        Lifeline::Proxy
                    } else {
                        Lifeline::Client
                    },
                    label: format!("{} to #{attempt}", answer.status),
                    lost: !taken,
                })
            }
            EventKind::Ended { attempt, end } => {
                let label = ended(*end)?;
                let by_client = matches!(end, End::ClientClosed | End::ClientReset);
                let (from, to) = if by_client {
                    (Lifeline::Client, Lifeline::Provider)
                } else {
                    (Lifeline::Provider, Lifeline::Client)
                };
                Some(Drawn::Arrow {
                    from,
                    to,
                    label: format!("{label} (#{attempt})"),
                    lost: !by_client,
                })
            }
            _ => None,
        }
    }
}

/// How an attempt ended, in words; `None` where the answer's own row says it.
fn ended(end: End) -> Option<&'static str> {
    Some(match end {
        End::Answered => return None,
        End::Truncated => "cut short",
        End::Reset | End::ClientReset => "RST",
        End::Closed => "FIN, no answer",
        End::Crashed => "gone",
        End::Shutdown => "shut down",
        End::ClientClosed => "hangs up",
    })
}

/// What is noted at the client's line.
fn at_the_client(kind: &EventKind) -> Option<(About, String)> {
    Some(match kind {
        EventKind::Submitted {
            intent,
            submission,
            expires_at_us,
        } => {
            let text = match submission {
                Submission::First => "submitted",
                Submission::Again => "submitted again",
                Submission::Conflicting => "submitted again, with other words",
            };
            let until = expires_at_us
                .map(|at_us| format!(", good until {} ms", at_us / 1_000))
                .unwrap_or_default();
            (About::Intent(*intent), format!("{text}{until}"))
        }
        EventKind::SubmitEnded {
            intent,
            accepted: false,
            ..
        } => (About::Intent(*intent), "not taken on".to_owned()),
        EventKind::ProcessSignalled {
            process,
            signal,
            fault: Some(_),
        } => (works_on(process), format!("{}: {signal}", named(process))),
        EventKind::ProcessStarted { process, nth } if *nth > 1 => (
            works_on(process),
            format!("{} started again", named(process)),
        ),
        EventKind::Believed {
            intent,
            outcome,
            attempts,
        } => (About::Intent(*intent), believes(*outcome, *attempts)),
        EventKind::Forgotten { intent } => {
            (About::Intent(*intent), "has no record of it".to_owned())
        }
        EventKind::TimedOut { .. } => (About::All, "the time limit is reached".to_owned()),
        _ => return None,
    })
}

fn note(at: Lifeline, text: String) -> Drawn {
    Drawn::Note { at, text }
}

/// At whose line a fault is noted.
fn acts_at(action: &Action) -> Lifeline {
    match action {
        // The provider's as well: to the right of it there is no room for a sentence.
        Action::Toxic(_)
        | Action::Down(_)
        | Action::Blackhole(_)
        | Action::Provider(_)
        | Action::Receipt(_) => Lifeline::Proxy,
        Action::Client(_) | Action::Database(_) | Action::Submit(_) => Lifeline::Client,
    }
}

/// Whom a process of the client works for.
fn works_on(process: &Process) -> About {
    match process {
        Process::Submit(intent) => About::Intent(*intent),
        Process::Setup | Process::Worker(_) => About::All,
    }
}

fn named(process: &Process) -> String {
    match process {
        Process::Setup => "setup".into(),
        Process::Submit(intent) => format!("submit command of intent {intent}"),
        Process::Worker(n) => format!("worker {n}"),
    }
}

fn believes(outcome: Outcome, attempts: Option<u32>) -> String {
    match attempts {
        Some(1) => format!("believes: {outcome}, after 1 attempt"),
        Some(n) => format!("believes: {outcome}, after {n} attempts"),
        None => format!("believes: {outcome}"),
    }
}

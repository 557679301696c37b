//! A sequence diagram in text: what passed between client, proxy, provider and phone for one
//! intent, with the events that prove a finding marked.

use std::fmt::Write as _;

use stub_provider::{event::End, fault::RequestKind};

use super::words::cut;
use crate::{
    diagnosis::Finding,
    fault::Action,
    history::{Event, EventKind, Process, Submission, reply::Reply, reply::reply, view::View},
    intent::Outcome,
};

const CLIENT: usize = 14;
const PROXY: usize = 34;
const PROVIDER: usize = 56;
const PHONE: usize = 74;
const END: usize = 79;
/// More lines than this hide what matters.
const MOST: usize = 44;

/// One line of the diagram.
#[derive(Clone, Debug)]
struct Row {
    seq: u64,
    at_us: u64,
    drawn: Drawn,
}

#[derive(Clone, Debug)]
enum Drawn {
    /// From column to column, with a label on the way; `lost`: it does not arrive.
    Arrow {
        from: usize,
        to: usize,
        label: String,
        lost: bool,
    },
    /// A word at a column.
    Note { at: usize, text: String },
}

/// The diagram for the first intent of `finding`; for a finding of none, of the first cited
/// request's.
#[must_use]
pub fn diagram(view: &View<'_>, finding: &Finding) -> String {
    let intent = finding.intents.first().copied().or_else(|| {
        finding
            .attempts
            .first()
            .and_then(|id| view.attempt(*id))
            .and_then(|a| a.intent)
    });
    // Two intents that collide are shown together.
    let shown: Vec<u64> = view
        .attempts
        .iter()
        .filter(|a| a.intent == intent || finding.attempts.contains(&a.id))
        .map(|a| a.id)
        .collect();
    let mut rows: Vec<Row> = view
        .history
        .events
        .iter()
        .filter_map(|event| {
            row(view, event, intent, &shown).map(|drawn| Row {
                seq: event.seq,
                at_us: event.at_us,
                drawn,
            })
        })
        .collect();
    let left_out = shorten(&mut rows, &finding.evidence);
    let mut text = header();
    for row in rows {
        let mark = if finding.evidence.contains(&row.seq) {
            '►'
        } else {
            ' '
        };
        let _ = writeln!(text, "{}", line(&row, mark));
    }
    if left_out > 0 {
        let _ = writeln!(text, "{:>12}  … {left_out} more events", "");
    }
    let _ = writeln!(text, "{:>12}  ► proves it", "");
    text
}

fn header() -> String {
    let mut line = vec![' '; END];
    for (column, name) in [
        (CLIENT, "client"),
        (PROXY, "proxy"),
        (PROVIDER, "provider"),
        (PHONE, "phone"),
    ] {
        let from = column.saturating_sub(name.len() / 2);
        for (at, c) in name.chars().enumerate() {
            if let Some(cell) = line.get_mut(from + at) {
                *cell = c;
            }
        }
    }
    let mut text: String = line.into_iter().collect();
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn line(row: &Row, mark: char) -> String {
    let mut cells = vec![' '; END];
    for column in [CLIENT, PROXY, PROVIDER, PHONE] {
        cells[column] = '│';
    }
    let mut put = |from: usize, text: &str| {
        for (at, c) in text.chars().enumerate() {
            if let Some(cell) = cells.get_mut(from + at) {
                *cell = c;
            }
        }
    };
    match &row.drawn {
        Drawn::Arrow {
            from,
            to,
            label,
            lost,
        } => {
            let (low, high) = (from.min(to) + 1, from.max(to) - 1);
            put(low, &"─".repeat(high - low + 1));
            let head = if *lost {
                '✗'
            } else if to > from {
                '▶'
            } else {
                '◀'
            };
            put(if to > from { high } else { low }, &head.to_string());
            let room = high.saturating_sub(low + 4);
            put(low + 2, &format!(" {} ", cut(label, room)));
        }
        Drawn::Note { at, text } => {
            let room = END - at - 2;
            put(at + 2, &cut(text, room));
        }
    }
    let mut drawn: String = cells.into_iter().skip(CLIENT).collect();
    drawn.truncate(drawn.trim_end().len());
    #[expect(clippy::cast_precision_loss, reason = "a time for people")]
    let millis = row.at_us as f64 / 1_000.0;
    format!("{millis:>8.1} ms {mark} {drawn}")
}

/// Keeps the lines around the proofs. Gives back how many were left out.
fn shorten(rows: &mut Vec<Row>, evidence: &[u64]) -> usize {
    if rows.len() <= MOST {
        return 0;
    }
    let before = rows.len();
    let near = |row: &Row| {
        evidence
            .iter()
            .any(|seq| row.seq + 12 >= *seq && row.seq <= seq + 8)
    };
    let mut kept: Vec<Row> = rows.iter().filter(|r| near(r)).cloned().collect();
    kept.truncate(MOST);
    *rows = kept;
    before - rows.len()
}

fn row(view: &View<'_>, event: &Event, intent: Option<usize>, shown: &[u64]) -> Option<Drawn> {
    match &event.kind {
        EventKind::Delivered { attempt, .. }
        | EventKind::Replayed { attempt, .. }
        | EventKind::Attempt { attempt, .. }
        | EventKind::Answering { attempt, .. }
        | EventKind::Ended { attempt, .. }
            if shown.contains(attempt) =>
        {
            on_the_wire(view, &event.kind)
        }
        EventKind::FaultFired {
            fault,
            attempt,
            intent: of,
        } if attempt.map_or(of.is_none() || *of == intent, |a| shown.contains(&a)) => {
            let (at, text) = match view.fault(*fault) {
                Some(f) => (column(&f.action), what(&f.text).to_owned()),
                None => (PROVIDER, format!("fault {fault}")),
            };
            Some(note(at, format!("⚡ {text}")))
        }
        EventKind::Submitted {
            intent: of,
            submission,
            ..
        } if Some(*of) == intent => Some(note(
            CLIENT,
            match submission {
                Submission::First => "submitted",
                Submission::Again => "submitted again",
                Submission::Conflicting => "submitted again, with other words",
            }
            .to_owned(),
        )),
        EventKind::SubmitEnded {
            intent: of,
            accepted: false,
            ..
        } if Some(*of) == intent => Some(note(CLIENT, "not taken on".to_owned())),
        EventKind::ProcessSignalled {
            process,
            signal,
            fault: Some(_),
        } => Some(note(CLIENT, format!("{}: {signal}", named(process)))),
        EventKind::ProcessStarted { process, nth } if *nth > 1 => {
            Some(note(CLIENT, format!("{} started again", named(process))))
        }
        EventKind::ProviderCrashed { provider } => {
            Some(note(PROVIDER, format!("provider {provider} is gone")))
        }
        EventKind::ProviderRestarted { provider } => {
            Some(note(PROVIDER, format!("provider {provider} is back")))
        }
        EventKind::Receipt {
            message, status, ..
        } if view
            .attempts
            .iter()
            .any(|a| shown.contains(&a.id) && a.delivered.is_some_and(|(_, m)| m == message)) =>
        {
            Some(Drawn::Arrow {
                from: PROVIDER,
                to: CLIENT,
                label: format!("receipt: {}", status.as_str()),
                lost: false,
            })
        }
        EventKind::Believed {
            intent: of,
            outcome,
            attempts,
        } if Some(*of) == intent => Some(note(CLIENT, believes(*outcome, *attempts))),
        EventKind::Forgotten { intent: of } if Some(*of) == intent => {
            Some(note(CLIENT, "has no record of it".to_owned()))
        }
        EventKind::TimedOut { .. } => Some(note(CLIENT, "the time limit is reached".to_owned())),
        _ => None,
    }
}

fn on_the_wire(view: &View<'_>, kind: &EventKind) -> Option<Drawn> {
    match kind {
        EventKind::Attempt {
            attempt, kind, key, ..
        } => {
            let found = view.attempt(*attempt)?;
            let key = key
                .as_deref()
                .map_or_else(|| "no key".to_owned(), |k| format!("key {k}"));
            let second = if found.provider > 1 {
                ", provider 2"
            } else {
                ""
            };
            Some(Drawn::Arrow {
                from: CLIENT,
                to: PROVIDER,
                label: match kind {
                    RequestKind::Submit => format!("#{attempt} {key}{second}"),
                    RequestKind::Lookup => format!("#{attempt} lookup{second}"),
                },
                lost: false,
            })
        }
        EventKind::Delivered { .. } => Some(Drawn::Arrow {
            from: PROVIDER,
            to: PHONE,
            label: "buzz".into(),
            lost: false,
        }),
        EventKind::Replayed { of, .. } => Some(note(PROVIDER, format!("answer of #{of}"))),
        EventKind::Answering { attempt, answer } => {
            let found = view.attempt(*attempt)?;
            let taken = reply(view, found) != Reply::Ambiguous;
            let on_the_network = view
                .actions_on(found)
                .any(|action| matches!(action, Action::Toxic(_)));
            Some(Drawn::Arrow {
                from: PROVIDER,
                to: if !taken && on_the_network {
                    PROXY
                } else {
                    CLIENT
                },
                label: format!("{} to #{attempt}", answer.status),
                lost: !taken,
            })
        }
        EventKind::Ended { attempt, end } => {
            let label = match end {
                End::Answered => return None,
                End::Truncated => "cut short",
                End::Reset | End::ClientReset => "RST",
                End::Closed => "FIN, no answer",
                End::Crashed => "gone",
                End::Shutdown => "shut down",
                End::ClientClosed => "hangs up",
            };
            let by_client = matches!(end, End::ClientClosed | End::ClientReset);
            let (from, to) = if by_client {
                (CLIENT, PROVIDER)
            } else {
                (PROVIDER, CLIENT)
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

fn note(at: usize, text: String) -> Drawn {
    Drawn::Note { at, text }
}

/// A fault's text without its place, which the diagram shows.
fn what(text: &str) -> &str {
    [
        "toxic.",
        "connect.",
        "provider.",
        "receipt.",
        "client.",
        "database.",
        "submit.",
    ]
    .iter()
    .filter_map(|domain| text.find(domain))
    .min()
    .map_or(text, |at| &text[at..])
}

/// At whose line a fault is noted.
fn column(action: &Action) -> usize {
    match action {
        // The provider's as well: to the right of it there is no room for a sentence.
        Action::Toxic(_)
        | Action::Down(_)
        | Action::Blackhole(_)
        | Action::Provider(_)
        | Action::Receipt(_) => PROXY,
        Action::Client(_) | Action::Database(_) | Action::Submit(_) => CLIENT,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        diagnosis::{Judged, diagnose},
        history::builder::{tale, toxic},
    };

    #[test]
    fn a_double_send_is_drawn_with_its_proofs_marked_in_eighty_columns() {
        let history = tale("timeout-after-accept", 1)
            .ask(1, Some("a"))
            .refuse(503)
            .ask(1, Some("b"))
            .deliver()
            .suffer(toxic(crate::fault::ToxicKind::Timeout))
            .answer(201)
            .wait(300)
            .ask(1, Some("c"))
            .accept()
            .all_sent();
        let judged = [Judged::new(&history)];
        let findings = diagnose(&judged);
        let drawn = diagram(&judged[0].view, &findings[0]);
        assert!(drawn.lines().all(|l| l.chars().count() <= 80), "{drawn}");
        insta::assert_snapshot!(drawn);
    }

    #[test]
    fn a_long_history_is_shortened_around_its_proofs() {
        let mut t = tale("long", 1);
        for k in 0..60 {
            t = t.ask(1, Some(&format!("k{k}"))).refuse(503);
        }
        let history = t.settle();
        let judged = [Judged::new(&history)];
        let findings = diagnose(&judged);
        let drawn = diagram(&judged[0].view, &findings[0]);
        assert!(drawn.lines().count() <= MOST + 3, "{drawn}");
        assert!(drawn.contains("more events") && drawn.contains('►'));
    }
}

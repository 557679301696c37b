//! One scenario's history as the page opens it: what it needs to draw all intents at once in one
//! chunk, and intents and events in chunks of a few hundred.

use std::{collections::HashMap, io};

use serde::Serialize;
use serde_json::{Value, json};

use super::chunk::Chunks;
use crate::{
    checks::asked_us,
    diagnosis::Finding,
    history::{
        History,
        retry::{Cause, retries},
        view::View,
    },
    intent::Intent,
    report::sequence::{Drawn, Row, Rows, Sequence},
};

/// How many intents are in one chunk.
const INTENTS: usize = 250;
/// How many events are in one chunk.
const EVENTS: usize = 500;

/// What is known of all intents, a column for each thing.
#[derive(Debug, Default, Serialize)]
struct Columns<'h> {
    number: Vec<usize>,
    to: Vec<&'h str>,
    code: Vec<&'h str>,
    id: Vec<&'h str>,
    /// What the client believes at the end; `None`: it knows nothing of it.
    outcome: Vec<Option<&'static str>>,
    /// How many requests the client counted itself.
    counted: Vec<Option<u32>>,
    /// When each of its requests arrived.
    arrivals: Vec<Vec<u64>>,
    /// When its phone buzzed.
    buzzes: Vec<Vec<u64>>,
    /// When it was submitted, and when the last thing happened to it.
    from_us: Vec<u64>,
    to_us: Vec<u64>,
}

/// Where the events about each request stand.
#[derive(Debug, Default, Serialize)]
struct Requests {
    id: Vec<u64>,
    arrived: Vec<u64>,
    /// 0: it was not answered.
    answered: Vec<u64>,
}

/// One intent, opened.
#[derive(Debug, Serialize)]
struct Opened<'h> {
    #[serde(flatten)]
    intent: &'h Intent,
    rows: Vec<Value>,
}

/// Adds the chunks of a history, and gives back the number of the one that leads to the others.
pub(super) fn add(
    history: &History,
    findings: &[Finding],
    chunks: &mut Chunks,
) -> io::Result<usize> {
    let view = View::new(history);
    let mut rows = Rows::of(&view);
    let columns = columns(&view, &rows);
    let mut intent_chunks = Vec::new();
    for (nth, some) in history.intents.chunks(INTENTS).enumerate() {
        let opened: Vec<Opened<'_>> = some
            .iter()
            .map(|intent| Opened {
                intent,
                rows: rows
                    .by_intent
                    .remove(&intent.number)
                    .iter()
                    .flatten()
                    .map(row)
                    .collect(),
            })
            .collect();
        intent_chunks.push((nth * INTENTS, chunks.add(&opened)?));
    }
    let mut event_chunks = Vec::new();
    for some in history.events.chunks(EVENTS) {
        let first = some.first().map_or(0, |event| event.seq);
        event_chunks.push((first, chunks.add(&some)?));
    }
    let findings: Vec<Value> = findings
        .iter()
        .map(|finding| {
            json!({
                "sequence": sequence(&Sequence::of(&view, finding)),
                "intents": finding.intents,
            })
        })
        .collect();
    chunks.add(&json!({
        "end_us": view.end_us,
        "columns": columns,
        "requests": requests(&view),
        "common": rows.common.iter().map(row).collect::<Vec<_>>(),
        "strays": rows.strays.iter().map(row).collect::<Vec<_>>(),
        "findings": findings,
        "waits": waits(&view),
        "intent_chunks": intent_chunks,
        "event_chunks": event_chunks,
        "events_each": EVENTS,
    }))
}

/// A diagram's rows, and which of them prove the finding.
pub(super) fn sequence(sequence: &Sequence) -> Value {
    json!({
        "rows": sequence.rows.iter().map(row).collect::<Vec<_>>(),
        "proofs": sequence.proofs,
        "left_out": sequence.left_out,
    })
}

/// A row: its event, its time and its words; then one line for a note, or two for an arrow and
/// whether it is lost. There are many of them, so they have no names.
fn row(row: &Row) -> Value {
    match &row.drawn {
        Drawn::Note { at, text } => json!([row.seq, row.at_us, text, *at as u8]),
        Drawn::Arrow {
            from,
            to,
            label,
            lost,
        } => json!([row.seq, row.at_us, label, *from as u8, *to as u8, lost]),
    }
}

fn columns<'h>(view: &View<'h>, rows: &Rows) -> Columns<'h> {
    let mut columns = Columns::default();
    let mut times: HashMap<usize, (Vec<u64>, Vec<u64>)> = HashMap::new();
    for attempt in &view.attempts {
        let Some(intent) = attempt.intent else {
            continue;
        };
        let (arrivals, buzzes) = times.entry(intent).or_default();
        arrivals.push(attempt.arrived.at_us);
        buzzes.extend(attempt.delivered.map(|(mark, _)| mark.at_us));
    }
    for intent in view.intents() {
        let (arrivals, buzzes) = times.remove(&intent.number).unwrap_or_default();
        let belief = view.belief(intent.number);
        let of_it = rows.by_intent.get(&intent.number);
        columns.number.push(intent.number);
        columns.to.push(&intent.to);
        columns.code.push(&intent.code);
        columns.id.push(&intent.id);
        columns.outcome.push(
            belief
                .and_then(|b| b.outcome)
                .map(crate::intent::Outcome::as_str),
        );
        columns.counted.push(view.own_count(intent.number));
        columns.arrivals.push(arrivals);
        columns.buzzes.push(buzzes);
        columns
            .from_us
            .push(of_it.and_then(|r| r.first()).map_or(0, |r| r.at_us));
        columns
            .to_us
            .push(of_it.and_then(|r| r.last()).map_or(0, |r| r.at_us));
    }
    columns
}

fn requests(view: &View<'_>) -> Requests {
    let mut requests = Requests::default();
    for attempt in &view.attempts {
        requests.id.push(attempt.id);
        requests.arrived.push(attempt.arrived.seq);
        requests
            .answered
            .push(attempt.answer.map_or(0, |(mark, _)| mark.seq));
    }
    requests
}

/// How long the client waited before each retry, and what it promises; `None` where it promises
/// nothing about that. A wait: which retry of its intent, how long, how long the answer asked for,
/// of what sort, the intent, and the request's event.
fn waits(view: &View<'_>) -> Option<Value> {
    let backoff = view.history.client.policy.backoff.as_ref()?;
    let mut all = Vec::new();
    for intent in view.intents() {
        for (nth, retry) in retries(view, intent.number).iter().enumerate() {
            let asked = retry.from.answer.and_then(|(_, answer)| asked_us(answer));
            let own = matches!(
                retry.cause,
                Cause::Refusal | Cause::LateRefusal | Cause::ServerError
            ) && !retry.resend;
            let sort = match (own, asked) {
                (true, None) => "own",
                (true, Some(_)) => "asked",
                (false, _) => "other",
            };
            all.push(json!([
                nth + 1,
                retry.gap_us(),
                asked,
                sort,
                intent.number,
                retry.to.arrived.seq
            ]));
        }
    }
    Some(json!({
        "base_us": micros(backoff.base.0),
        "cap_us": micros(backoff.cap.0),
        "jitter": backoff.jitter,
        "all": all,
    }))
}

fn micros(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

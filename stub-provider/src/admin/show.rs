//! What the records look like as JSON.
//!
//! Owns the shapes under `/admin` that are read. Numbers and words of messages stand in them; logs
//! never hold either.

use std::{collections::HashMap, sync::Arc, time::Duration};

use hyper::StatusCode;
use serde_json::{Map, Value, json};

use crate::{
    accept::out_of_service,
    core::Core,
    duration::Span,
    event::{Event, EventKind},
    fault::FaultRule,
    passcode::passcode,
    place::form_fields,
    record::{Attempt, Delivery},
    reply::Reply,
    rules::written,
    segments::Segments,
    store::Refused,
};

/// The header by which a client tells its messages from others', such as a run's id.
pub(super) const TAG: &str = "x-stub-tag";

/// Between two looks at what other replicas have accepted.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

pub(super) fn json(value: &Value) -> Reply {
    Reply::value(StatusCode::OK, value)
}

/// What was read, or that it cannot be.
pub(super) fn or_nothing(read: Result<Value, Refused>) -> Reply {
    match read {
        Ok(value) => json(&value),
        Err(Refused) => out_of_service(),
    }
}

pub(super) fn time(core: &Core, at: Duration) -> String {
    core.clock.timestamp(at).to_string()
}

pub(super) fn message(core: &Core, delivery: &Delivery) -> Value {
    let by = &delivery.by;
    let reading = by.reading();
    let text = reading.text.unwrap_or_default();
    json!({
        "id": core.naming.name(delivery.id),
        "to": reading.to,
        "body": reading.text,
        "customer": reading.customer,
        "sender": by.request.said().sender,
        "idempotency_key": reading.key,
        "code": passcode(text),
        "segments": Segments::of(text),
        "tag": by.request.header(TAG),
        "attempt": by.id,
        "status": core.status(delivery),
        "at": time(core, delivery.at()),
    })
}

/// Every delivery, by key.
pub(super) async fn delivered(core: &Core) -> Result<Value, Refused> {
    let deliveries = core.deliveries().await?;
    // A key that several customers chose stands once for each of them.
    let mut customer_of: HashMap<&str, &str> = HashMap::new();
    let mut shared: HashMap<&str, bool> = HashMap::new();
    for delivery in &deliveries {
        let reading = delivery.by.reading();
        if let Some(key) = reading.key {
            let first = *customer_of.entry(key).or_insert(reading.customer);
            *shared.entry(key).or_default() |= first != reading.customer;
        }
    }
    let mut by_key = Map::new();
    for delivery in &deliveries {
        let reading = delivery.by.reading();
        let entry = match reading.key {
            Some(key) if shared.get(key) == Some(&true) => format!("{}/{key}", reading.customer),
            Some(key) => key.to_owned(),
            None => format!("~{}", core.naming.name(delivery.id)),
        };
        let list = by_key.entry(entry).or_insert_with(|| json!([]));
        if let Value::Array(list) = list {
            list.push(message(core, delivery));
        }
    }
    Ok(Value::Object(by_key))
}

pub(super) fn attempt(core: &Core, attempt: &Attempt) -> Value {
    let reading = attempt.reading();
    json!({
        "attempt": attempt.id,
        "at": time(core, attempt.at()),
        "connection": attempt.connection,
        "nth_on_connection": attempt.nth_on_connection,
        "method": attempt.request.method(),
        "target": attempt.request.target(),
        "headers": attempt.request.headers(),
        "body": String::from_utf8_lossy(attempt.request.body()),
        "request": reading.kind,
        "customer": reading.customer,
        "idempotency_key": reading.key,
        "to": reading.to,
        "intent": reading.intent,
        "ordinal": reading.ordinal,
        "reached": attempt.reached().word(),
        "status": attempt.status(),
        "message": attempt.message().map(|id| core.naming.name(id)),
        "end": attempt.end(),
    })
}

/// Every attempt, in the order of arrival.
pub(super) async fn attempts(core: &Core) -> Result<Value, Refused> {
    let list = core.attempts().await?;
    Ok(list.iter().map(|one| attempt(core, one)).collect())
}

/// The messages that match the query; with `wait`, as soon as there is one.
pub(super) async fn messages(core: &Arc<Core>, query: &str) -> Reply {
    let mut wait = Duration::ZERO;
    let mut to = None;
    let mut key = None;
    let mut tag = None;
    for (name, value) in form_fields(query.as_bytes()) {
        match name.as_str() {
            "wait" => match value.parse::<Span>() {
                Ok(span) => wait = span.0.min(Duration::from_mins(1)),
                Err(message) => return super::bad(&message),
            },
            // A plus that nobody encoded arrives as a space.
            "to" => to = Some(value.replacen(' ', "+", 1)),
            "idempotency_key" => key = Some(value),
            "tag" => tag = Some(value),
            other => {
                return super::bad(&format!(
                    "`{other}` is not known here: wait, to, idempotency_key, tag"
                ));
            }
        }
    }
    let matching = |deliveries: &[Delivery]| -> Vec<Value> {
        let asked = deliveries.iter().filter(|delivery| {
            let reading = delivery.by.reading();
            (to.is_none() || reading.to == to.as_deref())
                && (key.is_none() || reading.key == key.as_deref())
                && (tag.is_none() || delivery.by.request.header(TAG) == tag)
        });
        asked.map(|delivery| message(core, delivery)).collect()
    };
    let until = tokio::time::Instant::now() + wait;
    let found = loop {
        let changed = core.records.deliveries_changed().notified();
        tokio::pin!(changed);
        changed.as_mut().enable();
        let Ok(deliveries) = core.deliveries().await else {
            return out_of_service();
        };
        let found = matching(&deliveries);
        if !found.is_empty() {
            break found;
        }
        tokio::select! {
            biased;
            () = changed => {}
            () = tokio::time::sleep_until(until) => break found,
            () = core.stopping.cancelled() => break found,
            // Another replica's deliveries wake nobody here.
            () = tokio::time::sleep(LOOK_AGAIN), if core.store.is_shared() => {}
        }
    };
    json(&Value::Array(found))
}

/// Every fault in force.
pub(super) fn faults(core: &Core) -> Value {
    let shown = |rule: &Arc<FaultRule>| written(rule, core.rules.is_once(rule.id));
    core.rules.list().iter().map(shown).collect()
}

/// An event, for a reader outside the process.
pub(super) fn event(core: &Core, event: &Event) -> Value {
    let (kind, mut data) = match &event.kind {
        EventKind::ConnectionOpened { connection, peer } => (
            "connection-opened",
            json!({ "connection": connection, "peer": peer }),
        ),
        EventKind::ConnectionClosed { connection, end } => (
            "connection-closed",
            json!({ "connection": connection, "end": end }),
        ),
        EventKind::Arrived {
            attempt,
            connection,
            nth_on_connection,
            request,
            reading,
        } => (
            "arrived",
            json!({
                "attempt": attempt, "connection": connection,
                "nth_on_connection": nth_on_connection,
                "method": request.method, "target": request.target, "headers": request.headers,
                "body": String::from_utf8_lossy(&request.body), "reading": reading.as_ref(),
            }),
        ),
        EventKind::Unread { connection, reason } => (
            "unread",
            json!({ "connection": connection, "reason": reason }),
        ),
        EventKind::Held { attempt, stage } => {
            ("held", json!({ "attempt": attempt, "stage": stage }))
        }
        EventKind::FaultFired { attempt, fault } => {
            ("fault-fired", json!({ "attempt": attempt, "fault": fault }))
        }
        EventKind::Delivered { attempt, message } => (
            "delivered",
            json!({ "attempt": attempt, "message": message }),
        ),
        EventKind::Replayed { attempt, of } => {
            ("replayed", json!({ "attempt": attempt, "of": of }))
        }
        EventKind::Answering { attempt, answer } => (
            "answering",
            json!({
                "attempt": attempt, "status": answer.status, "headers": answer.headers,
                "body": String::from_utf8_lossy(&answer.body),
            }),
        ),
        EventKind::Ended { attempt, end } => ("ended", json!({ "attempt": attempt, "end": end })),
        EventKind::ReceiptSent {
            message,
            event_id,
            status,
            attempt,
            answered,
        } => (
            "receipt-sent",
            json!({
                "message": message, "event_id": event_id, "status": status,
                "attempt": attempt, "answered": answered,
            }),
        ),
        EventKind::Crashed => ("crashed", json!({})),
        EventKind::Restarted => ("restarted", json!({})),
    };
    if let Value::Object(fields) = &mut data {
        fields.shift_insert(0, "event".into(), kind.into());
        fields.shift_insert(1, "at".into(), time(core, core.clock.at(event.at)).into());
    }
    data
}

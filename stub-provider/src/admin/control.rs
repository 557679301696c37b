//! What can be set from outside: faults, the clock, the callback, a fresh start.
//!
//! Owns reading those requests and what is wrong with them.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use hyper::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{bad, show};
use crate::{
    accept::out_of_service,
    core::Core,
    duration::Span,
    inbound::Inbound,
    place::form_fields,
    reply::Reply,
    rules::{WrittenRule, written},
    store::{Store, Unkept},
};

/// Ids of faults that are set from outside, far from those that a watcher in the process chooses.
static NEXT_FAULT: AtomicU32 = AtomicU32::new(1_000_000);

pub(super) async fn post(core: &Arc<Core>, path: &str, body: &[u8]) -> Reply {
    match path {
        "/admin/faults" => add_fault(core, body),
        "/admin/clock" => advance(core, body).await,
        "/admin/callback" => match read::<CallbackBody>(body) {
            Ok(set) => set_callback(core, Some(&set.url)),
            Err(reply) => reply,
        },
        "/admin/inbound" => inbound(core, body).await,
        _ => bad("nothing can be set here"),
    }
}

fn read<'de, T: Deserialize<'de>>(body: &'de [u8]) -> Result<T, Reply> {
    serde_json::from_slice(body).map_err(|error| bad(&error.to_string()))
}

fn add_fault(core: &Core, body: &[u8]) -> Reply {
    let rule = read::<WrittenRule>(body).and_then(|rule| {
        let id = NEXT_FAULT.fetch_add(1, Ordering::Relaxed);
        let once = rule.once;
        let rule = rule.into_rule(id).map_err(|message| bad(&message))?;
        Ok((rule, once))
    });
    match rule {
        Ok((rule, once)) => {
            let shown = written(&rule, once);
            core.add_fault(rule, once);
            Reply::value(StatusCode::CREATED, &shown)
        }
        Err(reply) => reply,
    }
}

pub(super) fn remove_faults(core: &Core, query: &str) -> Reply {
    let mut id = None;
    for (name, value) in form_fields(query.as_bytes()) {
        match (name.as_str(), value.parse()) {
            ("id", Ok(number)) => id = Some(number),
            _ => return bad("write ?id=NUMBER for one fault, or nothing for all"),
        }
    }
    show::json(&json!({ "removed": core.remove_faults(id) }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClockBody {
    advance: Span,
}

pub(super) async fn clock(core: &Core) -> Reply {
    if let Store::Shared(shared) = &core.store
        && shared.read_clock(&core.clock).await.is_err()
    {
        return out_of_service();
    }
    let now = core.clock.timestamp(core.clock.now());
    show::json(&json!({ "now": now.to_string() }))
}

async fn advance(core: &Core, body: &[u8]) -> Reply {
    match read::<ClockBody>(body) {
        Ok(set) => match core.store.advance(&core.clock, set.advance.0).await {
            Ok(()) => clock(core).await,
            Err(unkept) => failed(unkept, "whether the time is kept"),
        },
        Err(reply) => reply,
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallbackBody {
    url: String,
}

pub(super) fn callback(core: &Core) -> Reply {
    let url = core.webhooks.callback().map(|uri| uri.to_string());
    show::json(&json!({ "url": url }))
}

pub(super) fn set_callback(core: &Core, url: Option<&str>) -> Reply {
    match core.webhooks.set_callback(url) {
        Ok(()) => callback(core),
        Err(error) => bad(&error.to_string()),
    }
}

fn failed(unkept: Unkept, what: &str) -> Reply {
    if matches!(unkept, Unkept::Refused) {
        return out_of_service();
    }
    Reply::problem(
        StatusCode::INTERNAL_SERVER_ERROR,
        None,
        &format!("the store has failed: {what}, nobody knows"),
    )
}

/// A phone sends a message.
async fn inbound(core: &Arc<Core>, body: &[u8]) -> Reply {
    match read::<Inbound>(body) {
        Ok(message) if message.from.trim().is_empty() => bad("`from` is the phone that writes"),
        Ok(message) => {
            if let Err(unkept) = core.store.heard(&message, core.clock.now()).await {
                return failed(unkept, "whether the message is kept");
            }
            let keyword = core.hear(&message);
            let shown = json!({
                "from": message.from,
                "to": message.to,
                "customer": message.customer,
                "keyword": keyword,
            });
            Reply::value(StatusCode::CREATED, &shown)
        }
        Err(reply) => reply,
    }
}

/// Forgets keys, attempts, deliveries, faults, holds, who has opted out, and what was used of
/// quotas. The clock and the callback stay.
pub(super) async fn reset(core: &Core) -> Reply {
    core.remove_faults(None);
    core.lift_holds();
    core.ledger.clear();
    core.keyless.clear();
    core.accepted.forget();
    core.tries.forget();
    core.opt_outs.forget();
    core.duplicates.forget();
    if let Some(quotas) = &core.quotas {
        quotas.forget();
    }
    core.records.clear();
    match core.store.cleared(core.records.next_numbers()).await {
        Ok(()) => show::json(&Value::Object(serde_json::Map::new())),
        Err(unkept) => failed(unkept, "whether all is forgotten there"),
    }
}

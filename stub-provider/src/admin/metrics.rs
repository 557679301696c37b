//! `/metrics`, in Prometheus's text format.
//!
//! Owns names and help of what is counted.

use std::{fmt::Write, sync::atomic::Ordering};

use hyper::StatusCode;

use crate::{accept::out_of_service, core::Core, reply::Reply, store::Refused};

pub(super) async fn reply(core: &Core) -> Reply {
    match core.counts().await {
        Ok(counts) => Reply::text(StatusCode::OK, text(core, counts)),
        Err(Refused) => out_of_service(),
    }
}

fn text(core: &Core, (attempts, deliveries): (usize, usize)) -> String {
    let counters = &core.counters;
    let load = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    let rows = [
        (
            "connections_total",
            "counter",
            "Connections accepted.",
            load(&counters.connections),
        ),
        (
            "connections_open",
            "gauge",
            "Connections open now.",
            load(&counters.open_connections),
        ),
        ("attempts", "gauge", "Requests on record.", attempts as u64),
        (
            "attempts_ended_total",
            "counter",
            "Requests that are over.",
            load(&counters.ended),
        ),
        (
            "deliveries",
            "gauge",
            "Deliveries on record.",
            deliveries as u64,
        ),
        (
            "replays_total",
            "counter",
            "Stored answers returned.",
            load(&counters.replays),
        ),
        (
            "faults_total",
            "counter",
            "Faults that acted on a request.",
            load(&counters.faults),
        ),
        (
            "unread_total",
            "counter",
            "Requests that were never read whole.",
            load(&counters.unread),
        ),
    ];
    let mut text = String::new();
    for (name, kind, help, value) in rows {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "# HELP stub_provider_{name} {help}\n# TYPE stub_provider_{name} {kind}\nstub_provider_{name} {value}\n"
        );
    }
    text
}

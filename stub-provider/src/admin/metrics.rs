//! `/metrics`, in Prometheus's text format.
//!
//! Owns names and help of what is counted, and the form (the text-based format, version 0.0.4).

use std::fmt::Write;

use hyper::{StatusCode, header};

use crate::{
    accept::out_of_service,
    core::Core,
    quota::Limit,
    reply::Reply,
    store::Refused,
    tally::{CLASSES, LEAVINGS, STAGES, UnreadWhy},
};

/// The media type of the format.
const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A page under way.
struct Page(String);

/// One metric of a page, under which its samples stand.
struct Metric<'a> {
    page: &'a mut String,
    name: &'static str,
}

impl Page {
    fn metric(&mut self, name: &'static str, kind: &str, help: &str) -> Metric<'_> {
        // Writing to a string cannot fail.
        let _ = write!(
            self.0,
            "# HELP stub_provider_{name} {help}\n# TYPE stub_provider_{name} {kind}\n"
        );
        Metric {
            page: &mut self.0,
            name,
        }
    }

    fn counter(&mut self, name: &'static str, help: &str) -> Metric<'_> {
        self.metric(name, "counter", help)
    }

    fn gauge(&mut self, name: &'static str, help: &str) -> Metric<'_> {
        self.metric(name, "gauge", help)
    }
}

impl Metric<'_> {
    fn is(&mut self, labels: &[(&str, &str)], value: u64) -> &mut Self {
        self.page.push_str("stub_provider_");
        self.page.push_str(self.name);
        for (nth, (name, value)) in labels.iter().enumerate() {
            self.page.push(if nth == 0 { '{' } else { ',' });
            let escaped = value
                .replace('\\', "\\\\")
                .replace('"', "\\\"")
                .replace('\n', "\\n");
            let _ = write!(self.page, "{name}=\"{escaped}\"");
        }
        if !labels.is_empty() {
            self.page.push('}');
        }
        let _ = writeln!(self.page, " {value}");
        self
    }
}

pub(super) async fn reply(core: &Core) -> Reply {
    match core.counts().await {
        Ok(counts) => {
            Reply::text(StatusCode::OK, text(core, counts)).with(header::CONTENT_TYPE, CONTENT_TYPE)
        }
        Err(Refused) => out_of_service(),
    }
}

fn text(core: &Core, on_record: (usize, usize)) -> String {
    let mut page = Page(String::with_capacity(8 * 1024));
    connections(core, &mut page);
    writes(core, &mut page);
    records(core, on_record, &mut page);
    webhooks(core, &mut page);
    page.0
}

fn connections(core: &Core, page: &mut Page) {
    let tally = &core.tally;
    page.counter("connections_total", "Connections accepted.")
        .is(&[], tally.connections.get());
    page.gauge("connections_open", "Connections open now.")
        .is(&[], tally.open_connections.get());
    let mut unread = page.counter(
        "unread_total",
        "Requests that were never read whole, so that nobody knows what they asked for.",
    );
    for (why, word) in UnreadWhy::ALL {
        unread.is(&[("reason", word)], tally.unread[why as usize].get());
    }
    page.counter(
        "lookups_total",
        "Requests that asked what became of a message.",
    )
    .is(&[], tally.lookups.get());
}

/// Requests that ask for a message to be sent.
fn writes(core: &Core, page: &mut Page) {
    let tally = &core.tally;
    let endpoint = format!("POST {}", core.profile.submit_path());
    let at = ("endpoint", endpoint.as_str());
    for (name, help, count) in [
        (
            "attempts_total",
            "Write requests that were read whole.",
            &tally.attempts,
        ),
        (
            "accepted_total",
            "Messages accepted, each delivered once.",
            &tally.accepted,
        ),
        (
            "replays_total",
            "Stored answers returned in place of a second delivery.",
            &tally.replays,
        ),
        (
            "mismatches_total",
            "Requests refused since their key was used with another payload.",
            &tally.mismatches,
        ),
        (
            "keyless_total",
            "Write requests without an idempotency key: a retry of one can deliver twice.",
            &tally.keyless,
        ),
    ] {
        page.counter(name, help).is(&[at], count.get());
    }
    page.counter(
        "duplicate_deliveries_total",
        "Deliveries after another one for the same intent where intents are known, or else under \
         the same customer and key at any time, or else, without a key, of the same customer, \
         recipient and words within the retention.",
    )
    .is(&[at], core.duplicates.count());
    let mut answers = page.counter("answers_total", "Answers to write requests, by class.");
    for (class, count) in CLASSES.iter().zip(&tally.answers) {
        answers.is(&[at, ("class", class)], count.get());
    }
    let mut left = page.counter(
        "disconnects_total",
        "Write requests whose client left before the answer was out, by how far they had come. A \
         client's own timeout and a broken link look the same from here.",
    );
    for (stage, counts) in STAGES.iter().zip(&tally.left) {
        for ((_, how), count) in LEAVINGS.iter().zip(counts) {
            left.is(&[at, ("stage", stage), ("end", how)], count.get());
        }
    }
    let mut limited = page.counter("limited_total", "Write requests turned away by a quota.");
    for limit in Limit::ALL {
        let count = core.quotas.as_ref();
        limited.is(
            &[at, ("limit", limit.name())],
            count.map_or(0, |quotas| quotas.turned_away(limit)),
        );
    }
}

fn records(core: &Core, (attempts, deliveries): (usize, usize), page: &mut Page) {
    page.gauge("attempts_on_record", "Requests on record.")
        .is(&[], attempts as u64);
    page.counter("attempts_ended_total", "Requests that are over.")
        .is(&[], core.tally.ended.get());
    page.gauge("deliveries_on_record", "Deliveries on record.")
        .is(&[], deliveries as u64);
    page.counter(
        "attempts_dropped_total",
        "Requests that are not on record any more, since there are more than --keep.",
    )
    .is(&[], core.drops.attempts.get());
    page.counter(
        "keys_dropped_early_total",
        "Keys that were dropped before their retention was over, since there were more requests \
         than --keep: a retry under one of them is accepted as a new message.",
    )
    .is(&[], core.drops.early.get());
    page.counter(
        "faults_total",
        "Faults that acted on a request or a receipt.",
    )
    .is(&[], core.tally.faults.get());
    page.counter("inbound_total", "Messages from phones.")
        .is(&[], core.opt_outs.count());
}

fn webhooks(core: &Core, page: &mut Page) {
    let counts = &core.webhooks.counts;
    let mut tries = page.counter(
        "webhook_tries_total",
        "Tries to hand over a receipt or an inbound message. After a timeout or a failure nobody \
         knows whether it arrived.",
    );
    for (result, count) in [
        ("acknowledged", &counts.acknowledged),
        ("refused", &counts.refused),
        ("timeout", &counts.timed_out),
        ("failed", &counts.failed),
    ] {
        tries.is(&[("result", result)], count.get());
    }
    page.gauge(
        "webhooks_unacknowledged",
        "Receipts and inbound messages that were sent and are not acknowledged yet.",
    )
    .is(&[], counts.unacknowledged.get());
    page.counter(
        "webhooks_given_up_total",
        "Messages that nothing is reported of, since too much waits to be acknowledged.",
    )
    .is(&[], counts.given_up.get());
}

//! The inbox page, and what it asks for.
//!
//! Owns the page's files, which are compiled in, with the headers that keep foreign script out;
//! one message with everything that is known of it; and the stream of messages as they come.

use std::{fmt::Write as _, sync::Arc, time::Duration};

use bytes::Bytes;
use hyper::{
    HeaderMap, StatusCode,
    header::{self, HeaderName},
};
use serde_json::{Value, json};
use tokio::sync::mpsc::{self, Receiver, Sender};

use super::{bad, show};
use crate::{
    accept::out_of_service,
    core::Core,
    message::MessageId,
    place::form_fields,
    profile::Draft,
    record::{Attempt, Delivery},
    reply::Reply,
    store::Refused,
};

/// Path, media type, content.
const FILES: &[(&str, &str, &str)] = &[
    (
        "/",
        "text/html; charset=utf-8",
        include_str!("inbox/page.html"),
    ),
    (
        "/inbox/style.css",
        "text/css; charset=utf-8",
        include_str!("inbox/style.css"),
    ),
    ("/inbox/app.js", SCRIPT, include_str!("inbox/app.js")),
    ("/inbox/dom.js", SCRIPT, include_str!("inbox/dom.js")),
    ("/inbox/state.js", SCRIPT, include_str!("inbox/state.js")),
    ("/inbox/phones.js", SCRIPT, include_str!("inbox/phones.js")),
    ("/inbox/thread.js", SCRIPT, include_str!("inbox/thread.js")),
    (
        "/inbox/message.js",
        SCRIPT,
        include_str!("inbox/message.js"),
    ),
    ("/inbox/faults.js", SCRIPT, include_str!("inbox/faults.js")),
];
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Nothing but the page's own files runs, and nobody frames it (Content Security Policy Level 3).
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// How many messages go into one event at most.
const BATCH: usize = 1000;
/// Between two events at least, so that a thousand messages a second are ten events.
const PAUSE: Duration = Duration::from_millis(100);
/// Between two looks at what wakes nobody: faults that have gone, and other replicas' messages.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// Whether a path is one of the page's files.
pub(super) fn is_file(path: &str) -> bool {
    FILES.iter().any(|(known, ..)| *known == path)
}

/// One of the page's files.
pub(super) fn file(path: &str) -> Reply {
    let Some((_, media, content)) = FILES.iter().find(|(known, ..)| *known == path) else {
        return Reply::problem(StatusCode::NOT_FOUND, None, "there is no such file");
    };
    Reply::text(StatusCode::OK, *content)
        .with(header::CONTENT_TYPE, media)
        .with(header::CONTENT_SECURITY_POLICY, POLICY)
        .with(header::X_CONTENT_TYPE_OPTIONS, "nosniff")
        .with(header::REFERRER_POLICY, "no-referrer")
        .with(header::CACHE_CONTROL, "no-cache")
        .with(OPENER, "same-origin")
}

const OPENER: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

/// Whether whoever asks for `/` would rather have a page than plain words.
pub(super) fn is_browser(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|v| v.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/html"))
}

/// One message: every attempt for it, what its key is bound to, and its receipts.
pub(super) async fn message(core: &Core, query: &str) -> Reply {
    let mut fields = form_fields(query.as_bytes());
    let id = match (fields.next(), fields.next()) {
        (Some((name, id)), None) if name == "id" => core.naming.parse(&id),
        _ => return bad("write ?id= and the id of a message"),
    };
    let found = match id {
        Some(id) => everything(core, id).await,
        None => Ok(None),
    };
    match found {
        Ok(Some(found)) => show::json(&found),
        Ok(None) => Reply::problem(StatusCode::NOT_FOUND, None, "no such message is on record"),
        Err(Refused) => out_of_service(),
    }
}

async fn everything(core: &Core, id: MessageId) -> Result<Option<Value>, Refused> {
    let deliveries = core.deliveries_from(id.0).await?;
    let Some(delivery) = deliveries.iter().find(|delivery| delivery.id == id) else {
        return Ok(None);
    };
    let attempts = core.attempts().await?;
    let attempts: Vec<Value> = attempts
        .iter()
        .filter(|attempt| belongs(attempt, delivery))
        .map(|attempt| {
            let mut shown = show::attempt(core, attempt);
            shown["fingerprint"] = core.bound_to(attempt).map(|f| f.hex()).into();
            shown
        })
        .collect();
    let receipts: Vec<Value> = core
        .tries
        .of(id)
        .into_iter()
        .map(|tried| {
            let mut shown = json!(tried);
            shown["at"] = show::time(core, tried.at).into();
            shown
        })
        .collect();
    Ok(Some(json!({
        "message": show::message(core, delivery),
        "attempts": attempts,
        "receipts": receipts,
    })))
}

/// Whether an attempt is for the same message, as far as the wire tells: the same key, or without
/// one the same words to the same phone.
fn belongs(attempt: &Attempt, delivery: &Delivery) -> bool {
    let (one, other) = (attempt.reading(), delivery.by.reading());
    let same = if other.key.is_some() {
        one.key == other.key
    } else {
        one.key.is_none() && one.to == other.to && one.text == other.text
    };
    same && one.customer == other.customer
}

/// The stream of messages, from the one after the last that the page has seen, without end.
pub(super) fn live(core: &Arc<Core>, headers: &HeaderMap) -> Receiver<Bytes> {
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let mut place = Place::start(core);
    let known = last.and_then(Place::parse);
    // Of another record nothing is known any more.
    let anew = match known.filter(|known| known.same_record(&place)) {
        Some(known) => {
            place = known;
            false
        }
        None => true,
    };
    let (sender, receiver) = mpsc::channel(4);
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let about = json!({
        "name": core.profile.name(),
        "title": core.profile.title(),
        "curl": curl(core, host.unwrap_or("localhost:9090")),
    });
    let stream = Stream {
        core: core.clone(),
        sender,
        place,
        faults: None,
    };
    core.tasks.spawn(async move {
        // An error says that nobody reads any more.
        let _ = stream.run(&about, anew).await;
    });
    receiver
}

/// The command that sends a message to this provider.
fn curl(core: &Core, host: &str) -> String {
    let profile = &core.profile;
    let key = profile.sample_key(1);
    let composed = profile.compose(&Draft {
        to: "+12025550142",
        text: "Your code is 471142",
        from: "+12025550100",
        key: Some(&key),
        customer: "acme",
    });
    let mut command = format!(
        "curl -i {}",
        quoted(&format!("http://{host}{}", composed.target))
    );
    for (name, value) in &composed.headers {
        let header = quoted(&format!("{name}: {value}"));
        let _ = write!(command, " \\\n  -H {header}");
    }
    let body = String::from_utf8_lossy(&composed.body);
    command + &format!(" \\\n  -d {}", quoted(&body))
}

/// One word of a shell's command line (POSIX, XCU 2.2.2).
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// How far a page has read: of which process's record, and the number of the next message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    process: u32,
    cleared: u32,
    next: u64,
}

impl Place {
    fn start(core: &Core) -> Self {
        Self {
            process: std::process::id(),
            cleared: core.records.times_cleared(),
            next: 0,
        }
    }

    fn parse(id: &str) -> Option<Self> {
        let mut parts = id.splitn(3, '.');
        Some(Self {
            process: parts.next()?.parse().ok()?,
            cleared: parts.next()?.parse().ok()?,
            next: parts.next()?.parse().ok()?,
        })
    }

    fn id(&self) -> String {
        format!("{}.{}.{}", self.process, self.cleared, self.next)
    }

    fn same_record(&self, other: &Self) -> bool {
        (self.process, self.cleared) == (other.process, other.cleared)
    }
}

/// Nobody reads any more, or the provider stops.
struct Over;

struct Stream {
    core: Arc<Core>,
    sender: Sender<Bytes>,
    place: Place,
    /// The faults in force, as they were last told.
    faults: Option<Value>,
}

impl Stream {
    async fn run(mut self, about: &Value, mut anew: bool) -> Result<(), Over> {
        let core = self.core.clone();
        self.tell("provider", about).await?;
        loop {
            let changed = core.records.deliveries_changed().notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if !self.place.same_record(&Place::start(&core)) {
                self.place = Place::start(&core);
                anew = true;
            }
            if std::mem::take(&mut anew) {
                self.tell("cleared", &json!({})).await?;
            }
            // Where the store does not answer, the next look does.
            let fresh = core
                .deliveries_from(self.place.next)
                .await
                .unwrap_or_default();
            for batch in fresh.chunks(BATCH) {
                self.place.next = batch.last().map_or(self.place.next, |d| d.id.0 + 1);
                let shown = batch.iter().map(|d| show::message(&core, d)).collect();
                self.tell("messages", &shown).await?;
            }
            let faults = show::faults(&core);
            if self.faults.as_ref() != Some(&faults) {
                self.tell("faults", &faults).await?;
                self.faults = Some(faults);
            }
            let resting = async {
                tokio::time::sleep(PAUSE).await;
                tokio::select! {
                    () = changed => {}
                    () = tokio::time::sleep(LOOK_AGAIN) => {}
                }
            };
            tokio::select! {
                () = resting => {}
                () = self.sender.closed() => return Err(Over),
                () = core.stopping.cancelled() => return Err(Over),
            }
        }
    }

    async fn tell(&self, what: &str, data: &Value) -> Result<(), Over> {
        let id = self.place.id();
        let text = format!("id: {id}\nevent: {what}\ndata: {data}\n\n");
        self.sender.send(text.into()).await.map_err(|_| Over)
    }
}

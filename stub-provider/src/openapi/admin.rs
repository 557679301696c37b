//! The admin API in `OpenAPI`.
//!
//! Owns what its routes take and answer. The shape of a fault is generated from the types that
//! read it.

use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::{Paths, answer, reference};
use crate::rules::WrittenRule;

const JSON: &str = "application/json";
const PROBLEM: &str = "application/problem+json";
const CLOSED: &str = "Another machine asks, or another site's page.";

fn duration(says: &str) -> Value {
    json!({ "type": "string", "description": says, "examples": ["300ms", "2s", "24h"] })
}

fn nullable(kind: &str) -> Value {
    json!({ "type": [kind, "null"] })
}

/// A schema of an object that has all of these members.
fn object(members: &Value) -> Value {
    let required: Vec<String> = members
        .as_object()
        .map(|members| members.keys().cloned().collect())
        .unwrap_or_default();
    json!({ "type": "object", "properties": members, "required": required })
}

fn list(items: &Value) -> Value {
    json!({ "type": "array", "items": items })
}

/// One route under `/admin`.
struct Route<'a> {
    method: &'a str,
    path: &'a str,
    does: &'a str,
    /// The status of a success, and its schema.
    good: (u16, Value),
    /// Whether what is asked can be wrong.
    can_be_wrong: bool,
    takes: Option<Value>,
    query: Vec<(&'a str, Value)>,
    /// Whether what is asked for can be unknown.
    unknown: bool,
}

impl Route<'_> {
    fn add(self, paths: &mut Paths) {
        let problem = reference("Problem");
        let (status, schema) = self.good;
        let mut answers = Map::new();
        answers.insert(status.to_string(), answer("Done.", JSON, &schema));
        if self.can_be_wrong {
            answers.insert("400".into(), answer("What is wrong.", PROBLEM, &problem));
        }
        if self.unknown {
            answers.insert(
                "404".into(),
                answer("It is not on record.", PROBLEM, &problem),
            );
        }
        let closed = answer(CLOSED, PROBLEM, &problem);
        answers.insert("403".into(), closed);
        let mut operation = json!({
            "tags": ["admin"],
            "summary": self.does,
            "operationId": format!("{}{}", self.method, self.path.replace('/', "-")),
            "responses": answers,
        });
        if let Some(schema) = self.takes {
            operation["requestBody"] =
                json!({ "required": true, "content": { JSON: { "schema": schema } } });
        }
        if !self.query.is_empty() {
            let query = self.query.into_iter();
            operation["parameters"] = query
                .map(|(name, schema)| json!({ "name": name, "in": "query", "schema": schema }))
                .collect();
        }
        paths.add(self.method, self.path, operation);
    }
}

/// Adds the routes and the schemas that they use.
pub(super) fn describe(paths: &mut Paths, schemas: &mut Map<String, Value>) {
    schemas.insert("Problem".into(), problem());
    schemas.insert("Message".into(), message());
    schemas.insert("Attempt".into(), attempt());
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = SchemaGenerator::new(settings);
    let fault = generator.subschema_for::<WrittenRule>();
    schemas.extend(generator.take_definitions(true));
    read(paths);
    set(paths, &fault.to_value());
    own_pages(paths);
}

fn get<'a>(path: &'a str, does: &'a str, schema: Value) -> Route<'a> {
    Route {
        method: "get",
        path,
        does,
        good: (200, schema),
        can_be_wrong: false,
        takes: None,
        query: Vec::new(),
        unknown: false,
    }
}

fn read(paths: &mut Paths) {
    let messages = list(&reference("Message"));
    let by_key = json!({ "type": "object", "additionalProperties": messages });
    get("/admin/delivered", "Deliveries by key.", by_key).add(paths);
    let attempts = list(&reference("Attempt"));
    get("/admin/attempts", "Every request.", attempts).add(paths);
    Route {
        can_be_wrong: true,
        query: vec![
            (
                "wait",
                duration("How long to wait for the first; a minute at most."),
            ),
            ("to", json!({ "type": "string" })),
            ("idempotency_key", json!({ "type": "string" })),
            ("tag", json!({ "type": "string" })),
        ],
        ..get("/admin/messages", "The messages that match.", messages)
    }
    .add(paths);
    let mut one = Route {
        can_be_wrong: true,
        query: vec![("id", json!({ "type": "string" }))],
        ..get(
            "/admin/message",
            "One message, with its attempts and receipts.",
            everything(),
        )
    };
    one.unknown = true;
    one.add(paths);
    let any = json!({ "type": "object" });
    get(
        "/admin/store",
        "Where it is kept, and what was recovered.",
        any,
    )
    .add(paths);
    for (path, says) in [
        ("/admin/events", "Everything as it happens, from now on."),
        (
            "/admin/inbox",
            "Messages as they come, all that there are first.",
        ),
    ] {
        let events = json!({
            "tags": ["admin"],
            "summary": says,
            "operationId": format!("get{}", path.replace('/', "-")),
            "responses": {
                "200": answer("Events, without end.", "text/event-stream", &json!({})),
                "403": answer(CLOSED, PROBLEM, &reference("Problem")),
            },
        });
        paths.add("get", path, events);
    }
}

fn set(paths: &mut Paths, fault: &Value) {
    let set = |method, path, does, good, takes| Route {
        method,
        path,
        does,
        good,
        can_be_wrong: true,
        takes,
        query: Vec::new(),
        unknown: false,
    };
    let clock = object(&json!({ "now": { "type": "string", "format": "date-time" } }));
    let callback = object(&json!({ "url": nullable("string") }));
    let any = json!({ "type": "object" });

    get("/admin/faults", "The faults in force.", list(&any)).add(paths);
    set(
        "post",
        "/admin/faults",
        "Puts a fault in force.",
        (201, any.clone()),
        Some(fault.clone()),
    )
    .add(paths);
    let removed = object(&json!({ "removed": { "type": "integer" } }));
    let mut remove = set(
        "delete",
        "/admin/faults",
        "Lifts faults.",
        (200, removed),
        None,
    );
    remove.query = vec![("id", json!({ "type": "integer", "minimum": 0 }))];
    remove.add(paths);

    get("/admin/clock", "The provider's time.", clock.clone()).add(paths);
    let advance = closed(
        &json!({ "advance": duration("How far, forward.") }),
        &["advance"],
    );
    set(
        "post",
        "/admin/clock",
        "Advances the clock.",
        (200, clock),
        Some(advance),
    )
    .add(paths);

    get("/admin/callback", "Where webhooks go.", callback.clone()).add(paths);
    let url = closed(&json!({ "url": { "type": "string" } }), &["url"]);
    set(
        "post",
        "/admin/callback",
        "From now on webhooks go there.",
        (200, callback.clone()),
        Some(url),
    )
    .add(paths);
    Route {
        method: "delete",
        ..get(
            "/admin/callback",
            "From now on webhooks go nowhere.",
            callback,
        )
    }
    .add(paths);

    let phone = closed(
        &json!({
            "from": { "type": "string", "description": "The phone." },
            "to": { "type": ["string", "null"], "description": "The sender that it answers; absent: all." },
            "body": { "type": "string" },
            "customer": { "type": ["string", "null"], "description": "Absent: any." },
        }),
        &["from", "body"],
    );
    let heard = object(&json!({
        "from": { "type": "string" },
        "to": nullable("string"),
        "customer": nullable("string"),
        "keyword": { "enum": ["stop", "start", "help", null] },
    }));
    set(
        "post",
        "/admin/inbound",
        "A phone sends a message; STOP is heeded.",
        (201, heard),
        Some(phone),
    )
    .add(paths);

    Route {
        method: "post",
        ..get("/admin/reset", "Forgets everything; numbers go on.", any)
    }
    .add(paths);
}

/// A schema of an object that has these members and no others.
fn closed(members: &Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": members,
        "required": required,
        "additionalProperties": false,
    })
}

fn own_pages(paths: &mut Paths) {
    for (path, says, media) in [
        ("/", "What is here.", "text/plain"),
        ("/metrics", "Prometheus's text format.", "text/plain"),
        ("/healthz", "A sign of life.", JSON),
        ("/openapi.json", "This document.", JSON),
    ] {
        let schema = if media == JSON {
            json!({ "type": "object" })
        } else {
            json!({ "type": "string" })
        };
        let operation = json!({
            "tags": ["admin"],
            "summary": says,
            "operationId": format!("get{}", path.replace(['/', '.'], "-")),
            "responses": { "200": answer(says, media, &schema) },
        });
        let mut operation = operation;
        if path == "/" {
            // A browser gets the inbox.
            operation["responses"]["200"]["content"]["text/html"] = json!({ "schema": schema });
        }
        paths.add("get", path, operation);
    }
}

fn problem() -> Value {
    json!({
        "type": "object",
        "properties": {
            "status": { "type": "integer" },
            "title": { "type": "string" },
            "message": { "type": "string" },
            "code": { "type": ["integer", "string"] },
        },
        "required": ["status", "title", "message"],
    })
}

fn message() -> Value {
    object(&json!({
        "id": { "type": "string" },
        "to": nullable("string"),
        "body": nullable("string"),
        "customer": { "type": "string" },
        "sender": nullable("string"),
        "idempotency_key": nullable("string"),
        "code": nullable("string"),
        "segments": object(&json!({
            "encoding": { "enum": ["GSM-7", "UCS-2"] },
            "units": { "type": "integer" },
            "count": { "type": "integer" },
        })),
        "tag": nullable("string"),
        "attempt": { "type": "integer" },
        "status": {
            "enum": ["accepted", "queued", "sent", "delivered", "undelivered", "expired"],
        },
        "at": { "type": "string", "format": "date-time" },
    }))
}

/// A message with its attempts and receipts.
fn everything() -> Value {
    let receipt = object(&json!({
        "event_id": { "type": "string" },
        "status": { "type": "string" },
        "attempt": { "type": "integer" },
        "answered": nullable("integer"),
        "at": { "type": "string", "format": "date-time" },
    }));
    object(&json!({
        "message": reference("Message"),
        "attempts": list(&reference("Attempt")),
        "receipts": list(&receipt),
    }))
}

fn attempt() -> Value {
    object(&json!({
        "attempt": { "type": "integer" },
        "at": { "type": "string", "format": "date-time" },
        "connection": { "type": "integer" },
        "nth_on_connection": { "type": "integer" },
        "method": { "type": "string" },
        "target": { "type": "string" },
        "headers": list(&list(&json!({ "type": "string" }))),
        "body": { "type": "string" },
        "request": { "enum": ["submit", "lookup"] },
        "customer": { "type": "string" },
        "idempotency_key": nullable("string"),
        "to": nullable("string"),
        "intent": nullable("integer"),
        "ordinal": { "type": "integer" },
        "reached": { "enum": ["arrived", "accepted", "replayed", "answering"] },
        "status": nullable("integer"),
        "message": nullable("string"),
        "end": nullable("string"),
    }))
}

//! `/openapi.json`: the API in use and the admin API, described in `OpenAPI` 3.1.
//!
//! Owns the document as a whole. It is made from what the provider runs on: the profile's data,
//! and the types that the admin API reads.

use serde_json::{Map, Value, json};

use crate::core::Core;

mod admin;
mod api;
mod shape;

/// The operations of each path.
#[derive(Default)]
struct Paths(Map<String, Value>);

impl Paths {
    fn add(&mut self, method: &str, path: &str, operation: Value) {
        let entry = self.0.entry(path).or_insert_with(|| json!({}));
        entry[method] = operation;
    }
}

/// The document.
pub(crate) fn document(core: &Core) -> Value {
    let profile = &core.profile;
    let mut paths = Paths::default();
    let mut schemas = Map::new();
    api::describe(core, &mut paths);
    admin::describe(&mut paths, &mut schemas);
    let security = api::security(profile);
    let scheme = security.as_object().and_then(|all| all.keys().next());
    if let Some(scheme) = scheme {
        // A credential is optional where the profile says so.
        let mut ways = vec![json!({ scheme: [] })];
        if !profile.authentication.required {
            ways.push(json!({}));
        }
        for operation in paths.0.values_mut().filter_map(Value::as_object_mut) {
            for of_api in operation.values_mut().filter(|o| o["tags"][0] == "api") {
                of_api["security"] = ways.clone().into();
            }
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": format!("stub-provider: {}", profile.name()),
            "summary": profile.title(),
            "version": env!("CARGO_PKG_VERSION"),
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "tags": [
            { "name": "api", "description": "What clients under test use." },
            { "name": "admin", "description": "What their tests use; open to this machine only." },
        ],
        "paths": paths.0,
        "components": {
            "schemas": schemas,
            "securitySchemes": security,
        },
    })
}

/// An answer: what it says, in which media type, in which shape.
fn answer(says: &str, media: &str, schema: &Value) -> Value {
    json!({ "description": says, "content": { media: { "schema": schema } } })
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

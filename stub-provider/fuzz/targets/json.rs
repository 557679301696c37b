//! The reader of JSON bodies: it agrees with a parser that reads the whole body, and the readers
//! of faults never fail.

#![no_main]

use hyper::HeaderMap;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use stub_provider::{
    fault::{ProviderFault, ReceiptFault},
    place::{self, Content, Place},
};

/// What stands there, by reading everything.
fn walk(body: &Value, path: &[&str]) -> Option<String> {
    let mut at = body;
    for (depth, step) in path.iter().enumerate() {
        at = match at {
            Value::Array(items) if depth > 0 => items.get(step.parse::<usize>().ok()?)?,
            other => other.get(step)?,
        };
    }
    match at {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fuzz_target!(|data: &[u8]| {
    let paths: [&[&str]; 4] = [&["to"], &["a", "b"], &["a", "0", "c"], &["d"]];
    let places = paths.map(|path| Place::Json(path.iter().map(|s| (*s).to_owned()).collect()));
    let [one, two, three, four] = &places;
    let content = Content {
        headers: &HeaderMap::new(),
        query: "",
        body: data,
        element: 0,
    };
    let found = place::read([one, two, three, four], &content);
    if let Ok(body @ Value::Object(_)) = serde_json::from_slice::<Value>(data) {
        assert_eq!(found, paths.map(|path| walk(&body, path)));
    }
    let _ = serde_json::from_slice::<ProviderFault>(data);
    let _ = serde_json::from_slice::<ReceiptFault>(data);
});

//! The JSON schema of what an answer looks like.
//!
//! Owns reading a schema off samples: what answers look like is data of the profile, and a sample
//! of each is at hand.

use serde_json::{Map, Value, json};

/// A schema that each of the samples has.
pub(super) fn of(samples: &[Value]) -> Value {
    let mut shapes: Vec<Value> = Vec::new();
    for sample in samples {
        let shape = of_one(sample);
        if !shapes.contains(&shape) {
            shapes.push(shape);
        }
    }
    match shapes.len() {
        0 => json!({}),
        1 => shapes.remove(0),
        _ => json!({ "anyOf": shapes }),
    }
}

fn of_one(sample: &Value) -> Value {
    match sample {
        Value::Null => json!({ "type": "null" }),
        Value::Bool(_) => json!({ "type": "boolean" }),
        Value::Number(number) if number.is_f64() => json!({ "type": "number" }),
        Value::Number(_) => json!({ "type": "integer" }),
        Value::String(_) => json!({ "type": "string" }),
        Value::Array(items) => json!({ "type": "array", "items": of(items) }),
        Value::Object(members) => {
            let properties: Map<String, Value> = members
                .iter()
                .map(|(name, value)| (name.clone(), of_one(value)))
                .collect();
            let required: Vec<&String> = members.keys().collect();
            json!({ "type": "object", "properties": properties, "required": required })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_read_off_samples() {
        let samples = [
            json!({ "a": 1 }),
            json!({ "a": 2 }),
            json!({ "a": "x", "b": [] }),
        ];
        assert_eq!(
            of(&samples),
            json!({ "anyOf": [
                {
                    "type": "object",
                    "properties": { "a": { "type": "integer" } },
                    "required": ["a"],
                },
                {
                    "type": "object",
                    "properties": {
                        "a": { "type": "string" },
                        "b": { "type": "array", "items": {} },
                    },
                    "required": ["a", "b"],
                },
            ] })
        );
    }
}

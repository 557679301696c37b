//! What two bodies have in common that say the same in other words.
//!
//! Owns the canonical form of a JSON document (members in order, no white space, one way to write
//! each number, as RFC 8785 has it) and of a form (fields in order). A profile that binds a key to
//! the content, not to the bytes, compares these.

use std::fmt::Write as _;

use serde_json::Value;

use crate::{place::form_fields, template::push_form};

/// The canonical form of a JSON document; `None` where the text is none.
#[must_use]
pub fn json(text: &[u8]) -> Option<Vec<u8>> {
    let value: Value = serde_json::from_slice(text).ok()?;
    Some(of_value(&value))
}

/// The canonical form of a JSON value.
#[must_use]
pub fn of_value(value: &Value) -> Vec<u8> {
    let mut out = String::new();
    write(&mut out, value);
    out.into_bytes()
}

fn write(out: &mut String, value: &Value) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            out.push('{');
            for (at, (name, value)) in members.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                scalar(out, &Value::from(name.as_str()));
                out.push(':');
                write(out, value);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(out, item);
            }
            out.push(']');
        }
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) => match whole(float) {
                Some(whole) => scalar(out, &Value::from(whole)),
                None => scalar(out, value),
            },
            None => scalar(out, value),
        },
        other => scalar(out, other),
    }
}

fn scalar(out: &mut String, value: &Value) {
    // Writing to a String cannot fail.
    let _ = write!(out, "{value}");
}

/// The whole number that a float is, where a float can hold it exactly.
fn whole(float: f64) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a whole number below 2^53 is an i64"
    )]
    (float.fract() == 0.0 && float.abs() < EXACT).then_some(float as i64)
}

/// The canonical form of a form-encoded body: the fields sorted by name, those of one name in
/// their order.
#[must_use]
pub fn form(text: &[u8]) -> Vec<u8> {
    let mut fields: Vec<_> = form_fields(text).collect();
    fields.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut out = String::with_capacity(text.len());
    for (name, value) in fields {
        push_form(&mut out, &name);
        out.push('=');
        push_form(&mut out, &value);
        out.push('&');
    }
    out.into_bytes()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-3..3i64).prop_map(Value::from),
            (-3..3i32).prop_map(|n| Value::from(f64::from(n) / 2.0)),
            any::<i32>().prop_map(|n| Value::from(f64::from(n) / 4.0)),
            "[ab\"\\\\]{0,2}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::vec(("[ab]{1,2}", inner), 0..3)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    /// Whether two documents say the same: the order of members is nothing, 1 is 1.0.
    fn same(a: &Value, b: &Value) -> bool {
        match (a, b) {
            (Value::Object(a), Value::Object(b)) => {
                a.len() == b.len()
                    && a.iter()
                        .all(|(name, value)| b.get(name).is_some_and(|other| same(value, other)))
            }
            (Value::Array(a), Value::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
            }
            (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
            (a, b) => a == b,
        }
    }

    /// The same document with its members the other way round, and much white space.
    fn turned(value: &Value) -> Value {
        match value {
            Value::Object(members) => members
                .iter()
                .rev()
                .map(|(name, value)| (name.clone(), turned(value)))
                .collect(),
            Value::Array(items) => items.iter().map(turned).collect(),
            other => other.clone(),
        }
    }

    proptest! {
        #[test]
        fn canonical_forms_are_equal_exactly_when_the_values_are(a in values(), b in values()) {
            prop_assert_eq!(of_value(&a) == of_value(&b), same(&a, &b), "{} {}", a, b);
        }

        #[test]
        fn neither_order_nor_white_space_counts(value in values()) {
            let other = format!("{:#}", turned(&value));
            prop_assert_eq!(json(other.as_bytes()), Some(of_value(&value)));
        }

        #[test]
        fn a_canonical_form_is_the_document_still(value in values()) {
            let again: Value = serde_json::from_slice(&of_value(&value)).expect("JSON");
            prop_assert!(same(&again, &value), "{} {}", again, value);
        }

        #[test]
        fn no_body_makes_them_fail(body: Vec<u8>) {
            let _ = json(&body);
            let _ = form(&body);
        }

        #[test]
        fn forms_are_equal_exactly_when_the_fields_are(
            a in prop::collection::vec(("[ab &=+%é]{0,2}", "[ab &=+%é]{0,2}"), 0..4),
            b in prop::collection::vec(("[ab &=+%é]{0,2}", "[ab &=+%é]{0,2}"), 0..4),
        ) {
            let encode = |fields: &[(String, String)]| {
                let mut out = String::new();
                for (name, value) in fields {
                    push_form(&mut out, name);
                    out.push('=');
                    push_form(&mut out, value);
                    out.push('&');
                }
                out.into_bytes()
            };
            let sorted = |fields: &[(String, String)]| {
                let mut fields = fields.to_vec();
                fields.sort_by(|(a, _), (b, _)| a.cmp(b));
                fields
            };
            prop_assert_eq!(form(&encode(&a)) == form(&encode(&b)), sorted(&a) == sorted(&b));
        }
    }

    #[test]
    fn one_is_one_however_it_is_written() {
        for text in ["1", "1.0", "1e0", " 1 "] {
            assert_eq!(json(text.as_bytes()).as_deref(), Some(&b"1"[..]), "{text}");
        }
        assert_eq!(json(b"-0.0").as_deref(), Some(&b"0"[..]));
        assert_ne!(of_value(&json!("1")), of_value(&json!(1)));
        assert_eq!(json(b"{"), None);
    }
}

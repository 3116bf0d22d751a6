//! Checks that a JSON document has the expected values.
//!
//! [`super::BodyCheck::judge`] parses a body and calls this module for each expected value.

use super::BodyFault;
use paceline_job::ExpectedValue;
use serde_json::Value;

/// The maximum number of characters of a value in a message.
const SHOWN_MOST: usize = 60;

/// Checks that a document has an expected value.
pub(super) fn judge(expected: &ExpectedValue, document: &Value) -> Result<(), BodyFault> {
    let found = document.pointer(&expected.pointer);
    if found.is_some_and(|found| is_same(found, &expected.value)) {
        return Ok(());
    }
    Err(BodyFault::Value {
        pointer: expected.pointer.clone(),
        expected: shown(&expected.value),
        found: found.map(shown),
    })
}

/// Whether two values are equal. Numbers are compared by value, not by notation: 1 equals 1.0.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.is_f64() != other.is_f64() && one.as_f64() == other.as_f64()
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, one)| other.get(key).is_some_and(|other| is_same(one, other)))
        }
        _ => one == other,
    }
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN_MOST) {
        Some((cut, _)) => format!("{}...", &text[..cut]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn pointers_as_in_rfc_6901() {
        // RFC 6901 §5.
        let document = json!({
            "foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8
        });
        for (pointer, value) in [
            ("/foo", json!(["bar", "baz"])),
            ("/foo/0", json!("bar")),
            ("/", json!(0)),
            ("/a~1b", json!(1)),
            ("/c%d", json!(2)),
            ("/e^f", json!(3)),
            ("/g|h", json!(4)),
            ("/i\\j", json!(5)),
            ("/k\"l", json!(6)),
            ("/ ", json!(7)),
            ("/m~0n", json!(8)),
            ("", document.clone()),
        ] {
            assert_eq!(judge(&ExpectedValue::new(pointer, value).unwrap(), &document), Ok(()), "{pointer}");
        }
        for pointer in ["/foo/2", "/foo/00", "/none", "/foo/bar"] {
            let expected = ExpectedValue::new(pointer, json!("bar")).unwrap();
            assert!(judge(&expected, &document).is_err(), "{pointer}");
        }
    }

    #[test]
    fn numbers_are_equal_by_value() {
        for (one, other, equal) in [
            (json!(1), json!(1.0), true),
            (json!([1, { "a": 2.0 }]), json!([1.0, { "a": 2 }]), true),
            (json!(1), json!("1"), false),
            (json!(1), json!(1.5), false),
            (json!(u64::MAX), json!(u64::MAX - 1), false),
            (json!({ "a": 1 }), json!({ "a": 1, "b": 1 }), false),
            (json!([1]), json!([1, 2]), false),
        ] {
            assert_eq!(is_same(&one, &other), equal, "{one} {other}");
            assert_eq!(is_same(&other, &one), equal, "{other} {one}");
        }
    }
}

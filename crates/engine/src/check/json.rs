//! A place in a JSON document and what must stand there.
//!
//! The binary makes these from `--expect-json` and request files. [`super::BodyCheck::judge`] parses a body and asks
//! each of them about it; the only text parsed here is what a person wrote. What no pointer leads to may be anything.

use super::BodyFault;
use serde_json::Value;

/// Characters of a value that a message shows.
const SHOWN_MOST: usize = 60;

/// At this pointer stands this value.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonCheck {
    pointer: String,
    value: Value,
}

/// What is wrong with a pointer, or with the text that has it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PointerError {
    /// No equals sign.
    #[error("{0:?} has no \"=\"; write POINTER=VALUE, such as /message=hello or /items/0/id=5")]
    NoValue(String),
    /// It does not begin with a slash (RFC 6901 §3).
    #[error("pointer {0:?} does not begin with \"/\"; write {nearest:?}", nearest = format!("/{}", .0))]
    NoSlash(String),
    /// A tilde that escapes nothing (RFC 6901 §3).
    #[error("pointer {0:?}: \"~\" is written ~0, and a \"/\" in a name ~1")]
    Tilde(String),
}

impl JsonCheck {
    /// Expects `value` at `pointer` (RFC 6901); the empty pointer is the whole document.
    ///
    /// # Errors
    /// [`PointerError`] when it is no pointer.
    pub fn new(pointer: &str, value: Value) -> Result<Self, PointerError> {
        if !pointer.is_empty() && !pointer.starts_with('/') {
            return Err(PointerError::NoSlash(pointer.into()));
        }
        if pointer.split('~').skip(1).any(|after| !after.starts_with(['0', '1'])) {
            return Err(PointerError::Tilde(pointer.into()));
        }
        Ok(Self { pointer: pointer.into(), value })
    }

    /// Reads `POINTER=VALUE`, cut at the first equals sign. The value is JSON, or where it is none a string.
    ///
    /// # Errors
    /// [`PointerError`] when there is no equals sign, or no pointer before it.
    pub fn parse(text: &str) -> Result<Self, PointerError> {
        let (pointer, value) = text.split_once('=').ok_or_else(|| PointerError::NoValue(text.into()))?;
        Self::new(pointer, serde_json::from_str(value).unwrap_or_else(|_| value.into()))
    }

    /// Where it looks.
    pub fn pointer(&self) -> &str {
        &self.pointer
    }

    /// What must stand there.
    pub fn value(&self) -> &Value {
        &self.value
    }

    pub(super) fn judge(&self, document: &Value) -> Result<(), BodyFault> {
        let found = document.pointer(&self.pointer);
        if found.is_some_and(|found| is_same(found, &self.value)) {
            return Ok(());
        }
        Err(BodyFault::Value {
            pointer: self.pointer.clone(),
            expected: shown(&self.value),
            found: found.map(shown),
        })
    }
}

/// Whether two values are equal. Numbers are by what they are, not by how they are written: 1 is 1.0.
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
    fn a_value_is_json_or_a_string() {
        for (text, pointer, value) in [
            ("/a=1", "/a", json!(1)),
            ("/a=one", "/a", json!("one")),
            ("/a=\"1\"", "/a", json!("1")),
            ("/a=", "/a", json!("")),
            ("/a=b=c", "/a", json!("b=c")),
            ("/a={\"b\": [null]}", "/a", json!({ "b": [null] })),
            ("=true", "", json!(true)),
        ] {
            let check = JsonCheck::parse(text).unwrap();
            assert_eq!((check.pointer(), check.value()), (pointer, &value), "{text}");
        }
    }

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
            assert_eq!(JsonCheck::new(pointer, value).unwrap().judge(&document), Ok(()), "{pointer}");
        }
        for pointer in ["/foo/2", "/foo/00", "/none", "/foo/bar"] {
            assert!(JsonCheck::new(pointer, json!("bar")).unwrap().judge(&document).is_err(), "{pointer}");
        }
    }

    #[test]
    fn what_is_no_pointer_is_told() {
        let told = |text| JsonCheck::parse(text).unwrap_err().to_string();
        assert_eq!(told("a=1"), "pointer \"a\" does not begin with \"/\"; write \"/a\"");
        assert_eq!(told("/a~2=1"), "pointer \"/a~2\": \"~\" is written ~0, and a \"/\" in a name ~1");
        assert_eq!(told("/a~=1"), "pointer \"/a~\": \"~\" is written ~0, and a \"/\" in a name ~1");
        assert!(told("/a").starts_with("\"/a\" has no \"=\"; write POINTER=VALUE"));
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

//! Reads one number or text of a JSON document, at a pointer (RFC 6901), without building the document.

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// What is read from a number or a text. Other values (objects, arrays, `true`, `null`) are never read.
pub trait JsonScalar: Sized {
    /// From a number without a fraction or an exponent; none if it is not wanted.
    fn from_integer(number: i128) -> Option<Self>;

    /// From any other number; none if it is not wanted.
    fn from_float(number: f64) -> Option<Self>;

    /// From a text; none if it is not wanted.
    fn from_text(text: &str) -> Option<Self>;
}

impl JsonScalar for f64 {
    fn from_integer(number: i128) -> Option<Self> {
        Some(number as f64)
    }

    fn from_float(number: f64) -> Option<Self> {
        Some(number)
    }

    fn from_text(_: &str) -> Option<Self> {
        None
    }
}

/// The place of a value in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonPlace {
    /// The names and indices on the way to it, unescaped.
    path: Arc<[String]>,
}

impl JsonPlace {
    /// The value at a pointer, which is empty or begins with a slash.
    pub fn at(pointer: &str) -> Self {
        let parts = pointer.split('/').skip(1);
        Self { path: parts.map(|part| part.replace("~1", "/").replace("~0", "~")).collect() }
    }

    /// The value; none if the text is not JSON, or has no such value there.
    pub fn read<T: JsonScalar>(&self, text: &[u8]) -> Option<T> {
        let mut document = serde_json::Deserializer::from_slice(text);
        let value = Place::<T>::new(&self.path).deserialize(&mut document).ok()?;
        document.end().ok()?;
        value
    }
}

/// Whether a text is JSON.
pub fn is_json(text: &[u8]) -> bool {
    // A value that is ignored is not checked for UTF-8.
    std::str::from_utf8(text).is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok())
}

/// A value of which a scalar at a path is read.
struct Place<'p, T> {
    path: &'p [String],
    scalar: PhantomData<T>,
}

impl<'p, T> Place<'p, T> {
    fn new(path: &'p [String]) -> Self {
        Self { path, scalar: PhantomData }
    }
}

impl<'de, T: JsonScalar> DeserializeSeed<'de> for Place<'_, T> {
    type Value = Option<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: JsonScalar> Visitor<'de> for Place<'_, T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        Ok(if self.path.is_empty() { T::from_integer(number.into()) } else { None })
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        Ok(if self.path.is_empty() { T::from_integer(number.into()) } else { None })
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        Ok(if self.path.is_empty() { T::from_float(number) } else { None })
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(if self.path.is_empty() { T::from_text(text) } else { None })
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(is_next) = map.next_key_seed(Name(self.path.first()))? {
            match self.path {
                [_, rest @ ..] if is_next => found = map.next_value_seed(Place::<T>::new(rest))?,
                _ => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        let (mut found, mut left) = (None, self.path.first().and_then(|index| place_of(index)));
        loop {
            if left == Some(0)
                && let [_, rest @ ..] = self.path
            {
                match elements.next_element_seed(Place::<T>::new(rest))? {
                    Some(value) => found = value,
                    None => return Ok(found),
                }
            } else if elements.next_element::<IgnoredAny>()?.is_none() {
                return Ok(found);
            }
            left = left.and_then(|left| left.checked_sub(1));
        }
    }
}

/// An index of an array: digits without a leading zero.
fn place_of(index: &str) -> Option<usize> {
    let is_plain = index == "0" || !index.starts_with('0') && index.bytes().all(|byte| byte.is_ascii_digit());
    index.parse().ok().filter(|_| is_plain)
}

/// Compares a name of an object.
struct Name<'p>(Option<&'p String>);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<bool, E> {
        Ok(self.0.is_some_and(|wanted| wanted == name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_that_which_a_parsed_document_has() {
        let texts = [
            r#"{"usage": {"completion_tokens": 7, "other": [1, 2]}, "x": null}"#,
            r#"{"a": [{"n": 1}, {"n": -2.5}, true, "s"], "a/b": 3, "m~n": 4, "": 5, "\u0061b": 6}"#,
            r#"[0, [1, [2]], 3]"#,
            "12",
            r#"{"a": {"n": 1}, "a": {"n": 2}}"#,
        ];
        let pointers = [
            "",
            "/usage/completion_tokens",
            "/usage/other/1",
            "/usage/other/01",
            "/usage",
            "/x",
            "/a/0/n",
            "/a/1/n",
            "/a/2",
            "/a/3",
            "/a~1b",
            "/m~0n",
            "/",
            "/ab",
            "/1/1/0",
            "/2",
            "/3",
            "/-1",
            "/a/n",
        ];
        let mut found = 0;
        for text in texts {
            let document: serde_json::Value = serde_json::from_str(text).unwrap();
            for pointer in pointers {
                let expected = document.pointer(pointer).and_then(serde_json::Value::as_f64);
                found += usize::from(expected.is_some());
                assert_eq!(
                    JsonPlace::at(pointer).read::<f64>(text.as_bytes()),
                    expected,
                    "{pointer} in {text}"
                );
            }
        }
        assert!(found >= 12, "{found}");
    }

    #[test]
    fn text_that_is_not_json_has_no_number() {
        for text in ["", "[DONE]", "{\"a\": 1", "{\"a\": 1} x", "\u{e9}"] {
            assert_eq!(JsonPlace::at("/a").read::<f64>(text.as_bytes()), None, "{text}");
            assert!(!is_json(text.as_bytes()), "{text}");
        }
        assert_eq!(JsonPlace::at("/a").read::<f64>(b"{\"a\": 1}\xff"), None);
        assert!(is_json(b" {\"a\": [1e3]}\r") && !is_json(b"\"\xff\""));
    }
}

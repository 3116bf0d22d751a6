//! Whole texts that may be printed or written to a file as they are.

use crate::format::is_unsafe;
use crate::text::{Escaped, TerminalText};
use std::fmt;
use std::ops::Deref;

/// One JSON document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JsonText(String);

impl JsonText {
    /// The document with every unsafe character outside ASCII as visible text: a reader of its values gets the
    /// letters `\u{202e}` instead of a character that changes the direction of what follows. For values that are shown
    /// to people as they are.
    pub fn visible(document: String) -> String {
        if !document.chars().any(|letter| !letter.is_ascii() && is_unsafe(letter)) {
            return document;
        }
        let mut safe = String::with_capacity(document.len() + document.len() / 8);
        for letter in document.chars() {
            match letter {
                letter if !letter.is_ascii() && is_unsafe(letter) => {
                    // A backslash is written as two in a JSON string.
                    safe.push_str(&format!("\\\\u{{{:x}}}", u32::from(letter)));
                }
                letter => safe.push(letter),
            }
        }
        safe
    }

    /// Takes a document as a serializer wrote it. Characters outside ASCII occur only in strings, where `\u` and four
    /// digits mean the same (RFC 8259 §7): reading it gives equal values. A newline is added.
    pub fn of_document(document: &str) -> Self {
        let mut safe = String::with_capacity(document.len() + 1);
        for letter in document.trim_end().chars() {
            match letter {
                '\n' => safe.push('\n'),
                letter if is_unsafe(letter) => {
                    let units = letter.encode_utf16(&mut [0; 2]).to_vec();
                    safe.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
                }
                letter => safe.push(letter),
            }
        }
        safe.push('\n');
        Self(safe)
    }
}

/// A whole text of some format, escaped for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printable(String);

impl Printable {
    /// Text that this program generates from its own tables: manual pages, completions, pages whose data is packed.
    /// Text from outside is escaped before it gets here; a style test lists the files that may call this.
    pub fn generated(text: String) -> Self {
        Self(text)
    }
}

impl<E> From<Escaped<E>> for Printable {
    fn from(text: Escaped<E>) -> Self {
        Self(text.into_string())
    }
}

/// Lines for a terminal.
impl From<&str> for Printable {
    fn from(text: &str) -> Self {
        TerminalText::lines(text).into()
    }
}

/// Lines for a terminal.
impl From<&String> for Printable {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl From<JsonText> for Printable {
    fn from(text: JsonText) -> Self {
        Self(text.0)
    }
}

impl Deref for Printable {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Printable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsafe_characters_become_visible_in_values() {
        assert_eq!(JsonText::visible("[\"a\u{202e}b\"]".to_owned()), "[\"a\\\\u{202e}b\"]");
        assert_eq!(JsonText::visible("[\"é\"]\n".to_owned()), "[\"é\"]\n");
    }

    #[test]
    fn escaping_does_not_change_a_json_value() {
        let safe = JsonText::of_document("{\n  \"name\": \"a\u{9b}b\u{202e}\u{e0041}é\"\n}");
        assert_eq!(safe.0, "{\n  \"name\": \"a\\u009bb\\u202e\\udb40\\udc41é\"\n}\n");
    }
}

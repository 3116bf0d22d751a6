//! The id of a round or a sitting, checked before it becomes part of a path or of a socket name.
//!
//! Ids come from stores, and a store may come from another person: an id such as `../../home` must never reach the file
//! system.

use std::fmt;

/// Longest id. Ids of this program have 24 characters.
const MAX_BYTES: usize = 64;

/// An id that is safe as one component of a path: ASCII letters, digits, `-`, `_` and `.`; it begins with a letter or a
/// digit and has at most 64 characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(String);

/// A text that is not a valid id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid id {0:?}: expected a letter or digit, then letters, digits, `-`, `_` and `.`, at most \
     {MAX_BYTES} characters"
)]
pub struct InvalidId(String);

impl Id {
    /// Checks `text`.
    ///
    /// # Errors
    /// [`InvalidId`] when it has another form.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        let is_valid = text.len() <= MAX_BYTES
            && text.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
            && text.bytes().all(is_allowed);
        if is_valid {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidId(text.chars().take(MAX_BYTES).collect()))
        }
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_one_component_of_a_path() {
        for valid in ["20261121-010639-9f3a61c4", "a", "Round_7.b", &"x".repeat(64)] {
            assert_eq!(Id::parse(valid).unwrap().as_str(), valid);
        }
        for invalid in
            ["", ".", "..", ".x", "-x", "a/b", "../a", "/etc", "a b", "a\n", "ä", "a\0", &"x".repeat(65)]
        {
            assert!(Id::parse(invalid).is_err(), "{invalid:?}");
        }
    }
}

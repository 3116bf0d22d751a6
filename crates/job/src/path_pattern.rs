//! Patterns of paths, which group the requests of a log that is replayed.

use std::str::FromStr;

/// A pattern of paths, such as `/c/{id}` or `/static/*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPattern {
    text: String,
    segments: Vec<PatternSegment>,
    /// Whether any further segments may follow.
    is_prefix: bool,
}

/// A part of a path between slashes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PatternSegment {
    /// This text.
    Text(String),
    /// Text that begins and ends like this, with at least one character between.
    Between(String, String),
}

/// A text that is no pattern of paths.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a pattern of paths: begin it with a slash, with at most one {{}} between slashes and * only as the last part, such as /c/{{id}}/*"
)]
pub struct PathPatternError(String);

impl PathPattern {
    /// The pattern of every path.
    pub const ANY: &'static str = "/*";

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether a path, with or without a query, is one of the pattern.
    pub fn matches(&self, target: &str) -> bool {
        let path = target.split(['?', '#']).next().unwrap_or(target);
        let mut parts = path.split('/');
        let is_start =
            self.segments.iter().all(|segment| parts.next().is_some_and(|part| segment.matches(part)));
        is_start && parts.next().is_some() == self.is_prefix
    }
}

impl PatternSegment {
    fn parse(text: &str) -> Option<Self> {
        let is_text = |text: &str| !text.contains(['{', '}', '*', '?', '#']);
        match text.split_once('{') {
            None => is_text(text).then(|| PatternSegment::Text(text.to_owned())),
            Some((before, rest)) => {
                let (_, after) = rest.split_once('}').filter(|(name, _)| is_text(name))?;
                (is_text(before) && is_text(after))
                    .then(|| PatternSegment::Between(before.to_owned(), after.to_owned()))
            }
        }
    }

    fn matches(&self, part: &str) -> bool {
        match self {
            PatternSegment::Text(text) => part == text,
            PatternSegment::Between(before, after) => {
                let rest =
                    part.strip_prefix(before.as_str()).and_then(|rest| rest.strip_suffix(after.as_str()));
                rest.is_some_and(|rest| !rest.is_empty())
            }
        }
    }
}

impl FromStr for PathPattern {
    type Err = PathPatternError;

    fn from_str(text: &str) -> Result<Self, PathPatternError> {
        let (start, is_prefix) = text.strip_suffix("/*").map_or((text, false), |start| (start, true));
        let segments: Option<Vec<_>> = start.split('/').map(PatternSegment::parse).collect();
        let segments = segments.filter(|_| text.starts_with('/'));
        segments
            .map(|segments| Self { text: text.to_owned(), segments, is_prefix })
            .ok_or_else(|| PathPatternError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_patterns() {
        let matches = |pattern: &str, path| pattern.parse::<PathPattern>().unwrap().matches(path);
        for (pattern, path) in [
            ("/c/{id}", "/c/17"),
            ("/c/{id}", "/c/17?page=2/3"),
            ("/c/{}", "/c/%C3%A9"),
            ("/c/{id}/{part}.json", "/c/1/a.b.json"),
            ("/c/{id}/*", "/c/1/2/3"),
            ("/c/*", "/c/"),
            ("/", "/?q"),
            (PathPattern::ANY, "/"),
            (PathPattern::ANY, "/a/b"),
        ] {
            assert!(matches(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [
            ("/c/{id}", "/c/"),
            ("/c/{id}", "/c/1/2"),
            ("/c/{id}", "/c/1/"),
            ("/c/{id}", "/d/1"),
            ("/c/{id}.json", "/c/.json"),
            ("/c/{id}/*", "/c/1"),
            ("/c/a{id}a", "/c/a"),
            ("/", "/a"),
            ("/c", "/"),
        ] {
            assert!(!matches(pattern, path), "{pattern} {path}");
        }
        for text in ["", "*", "c/{id}", "/{a", "/a}", "/{a}{b}/", "/*/a", "/a*", "/a?b", "/{a{b}}"] {
            assert!(text.parse::<PathPattern>().is_err(), "{text}");
        }
    }
}

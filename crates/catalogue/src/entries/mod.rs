//! Entries of other boards as manifests: the folder of a framework stays as it is, and a manifest of a container points
//! to it.
//!
//! Pure functions from the board's own description to the text of `server.toml`; what cannot be measured here is
//! skipped with its reason. `paceline lab import` reads and writes the files.

mod httparena;
mod manifest_text;
mod techempower;

pub use httparena::read as read_httparena;
pub use techempower::read as read_techempower;

use std::path::Path;

/// The description and surroundings of an entry.
#[derive(Clone, Copy)]
pub struct EntryFolder<'a> {
    /// Its folder, absolute.
    pub folder: &'a Path,
    /// The text of its description.
    pub text: &'a str,
    /// Whether it has a file of this name.
    pub has_file: &'a dyn Fn(&str) -> bool,
}

/// What was read from one folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entries {
    /// A server for each test.
    pub servers: Vec<ImportedServer>,
    /// The tests that were skipped.
    pub skipped: Vec<SkippedTest>,
}

/// A test as a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedServer {
    /// The server's id: the name of its folder.
    pub id: String,
    /// The language.
    pub language: String,
    /// The text of `server.toml`.
    pub manifest: String,
    /// What of the test has no workload here.
    pub left_out: Vec<String>,
}

/// A test that is not imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedTest {
    /// Its name on the board.
    pub test: String,
    /// The id that its server would have, unless its description cannot be read.
    pub id: Option<String>,
    /// The language, if it is known.
    pub language: String,
    /// The reason, the same words for the same reason.
    pub why: String,
}

/// A name as a part of an id: lower-case letters, digits and single hyphens.
fn id_part(name: &str) -> String {
    let mut part = String::new();
    for c in name.to_lowercase().chars() {
        match c {
            '#' => part.push_str("sharp"),
            '+' => part.push('p'),
            c if c.is_ascii_alphanumeric() => part.push(c),
            _ if part.ends_with('-') || part.is_empty() => {}
            _ => part.push('-'),
        }
    }
    part.trim_end_matches('-').to_owned()
}

/// The id of a server: `<language>-<name>`.
fn id_of(language: &str, name: &str) -> String {
    let (language, name) = (id_part(language).replace('-', ""), id_part(name));
    match (language.is_empty(), name.is_empty()) {
        (true, true) => "other-entry".to_owned(),
        (true, false) => format!("other-{name}"),
        (false, true) => format!("{language}-entry"),
        (false, false) => format!("{language}-{name}"),
    }
}

#[cfg(test)]
mod tests;

//! Reads one TOML file into a type and reports every error with file, line and the nearest valid key.
//!
//! For manifests, workloads and plans. The valid keys come from `deny_unknown_fields` of the types.

use crate::CatalogueError;
use crate::error::MAX_ERRORS;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use toml::de::DeTable;

/// Most bytes parsed again to find further errors of a file. The largest file of the repository (30 kB) can be parsed
/// for each of [`MAX_ERRORS`] errors; parsing 4 MiB of keys takes up to a second.
const MAX_PARSED_AGAIN_BYTES: usize = 4 << 20;

/// A file's text with its name, for error messages.
pub(crate) struct Document {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    /// The offsets of its line feeds, so that the line of an error is found without reading the text again.
    line_feeds: Vec<usize>,
}

impl Document {
    /// Reads the file at `path`.
    pub(crate) fn read(path: &Path) -> Result<Self, CatalogueError> {
        let text =
            paceline_files::read_text(path, paceline_files::MAX_TEXT_BYTES).map_err(|source| match source
                .kind()
            {
                std::io::ErrorKind::InvalidData => CatalogueError::Document {
                    path: path.into(),
                    line: None,
                    problem: "not UTF-8 text".into(),
                },
                _ => CatalogueError::File { action: "read", path: path.into(), source },
            })?;
        Ok(Self::of_text(path, text))
    }

    /// Text that is not in a file, or no longer is: a stored plan.
    pub(crate) fn from_text(path: &Path, text: &str) -> Self {
        Self::of_text(path, text.into())
    }

    fn of_text(path: &Path, text: String) -> Self {
        let line_feeds = text.match_indices('\n').map(|(at, _)| at).collect();
        Self { path: path.into(), text, line_feeds }
    }

    /// The document as a `T`.
    ///
    /// The parser stops at the first error. To report all of them, the line with a wrong key or value is blanked and
    /// the rest parsed again. Keys that are missing only because their line was blanked or misspelt are not reported.
    /// In a large file only the first errors are found.
    pub(crate) fn parse<T: DeserializeOwned>(&self) -> Result<T, CatalogueError> {
        let mut text = self.text.clone();
        let mut found = Vec::new();
        let mut errors = Vec::new();
        loop {
            let error = match toml::from_str::<T>(&text) {
                Ok(parsed) if errors.is_empty() => return Ok(parsed),
                Ok(_) => break,
                Err(error) => error,
            };
            let start = error.span().map(|span| span.start);
            let message = error.message();
            let missing = message.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
            if missing.is_some_and(|key| found.iter().any(|found| found == key)) {
                break;
            }
            found.extend(suggested_key(message));
            errors.push(self.complain(start, with_nearest(message)));
            match start.filter(|_| missing.is_none()).and_then(|start| blank_line(&mut text, start)) {
                Some(_) if is_enough(errors.len(), text.len()) => {
                    errors.sort_by_key(CatalogueError::line);
                    errors.push(
                        self.complain(
                            None,
                            "correct these errors first: the rest of the file was not checked",
                        ),
                    );
                    return Err(CatalogueError::Several(errors, 0));
                }
                Some(line) => found.extend(line.split('=').next().map(|key| key.trim().to_owned())),
                None => break,
            }
        }
        errors.sort_by_key(CatalogueError::line);
        CatalogueError::of_all(errors)
            .map_or_else(|| toml::from_str(&text).map_err(|error| self.complain(None, error.message())), Err)
    }

    /// The line, from 1, of the byte at `offset`.
    pub(crate) fn line(&self, offset: usize) -> usize {
        self.line_feeds.partition_point(|at| *at < offset) + 1
    }

    /// The byte offset of a key of the `nth` table of an array.
    pub(crate) fn place_in(&self, array: &str, nth: usize, key: &str) -> Option<usize> {
        let document = DeTable::parse(&self.text).ok()?;
        let tables = document.get_ref().iter().find(|(name, _)| name.get_ref() == array)?.1;
        let table = tables.get_ref().as_array()?.get(nth)?.get_ref().as_table()?;
        Some(table.iter().find(|(name, _)| name.get_ref() == key)?.0.span().start)
    }

    /// The byte offset of a key of the document's top table.
    pub(crate) fn place_of(&self, key: &str) -> Option<usize> {
        let document = DeTable::parse(&self.text).ok()?;
        Some(document.get_ref().iter().find(|(name, _)| name.get_ref() == key)?.0.span().start)
    }

    /// An error at `offset` bytes into the document.
    pub(crate) fn complain(&self, offset: Option<usize>, problem: impl Into<String>) -> CatalogueError {
        let line = offset.map(|offset| self.line(offset));
        CatalogueError::Document { path: self.path.clone(), line, problem: problem.into() }
    }
}

/// Whether no more errors are searched for in a text of this size.
fn is_enough(errors: usize, bytes: usize) -> bool {
    errors >= MAX_ERRORS || errors * bytes > MAX_PARSED_AGAIN_BYTES
}

/// Replaces the assignment on the line at an offset by blanks, so that the offsets of all others stay the same. Returns
/// the line; `None` where there is no assignment on one line.
fn blank_line(text: &mut String, offset: usize) -> Option<String> {
    let begin = text.get(..offset)?.rfind('\n').map_or(0, |at| at + 1);
    let end = text.get(offset..)?.find('\n').map_or(text.len(), |at| offset + at);
    let line = text.get(begin..end)?.to_owned();
    let is_whole = toml::from_str::<toml::Table>(&line).is_ok_and(|table| table.len() == 1);
    if !is_whole || !line.contains('=') {
        return None;
    }
    text.replace_range(begin..end, &" ".repeat(end - begin));
    Some(line)
}

/// The key that the unknown one was most likely meant to be.
fn suggested_key(message: &str) -> Option<String> {
    let mut quoted = message.strip_prefix("unknown field `")?.split('`').step_by(2);
    nearest(quoted.next()?, quoted).map(str::to_owned)
}

/// Rewords serde's "unknown field `x`, expected one of `a`, `b`", with the nearest of the list. Serde gives the list
/// only in its message; a message of another form is passed on unchanged.
fn with_nearest(message: &str) -> String {
    let what = match message.split(" `").next() {
        Some("unknown field") => "key",
        Some("unknown variant") => "value",
        _ => return with_plain_types(message),
    };
    let mut quoted = message.split('`').skip(1).step_by(2);
    let Some(wrong) = quoted.next() else { return message.into() };
    let right: Vec<&str> = quoted.collect();
    match nearest(wrong, right.iter().copied()) {
        Some(nearest) => format!("unknown {what} `{wrong}`; did you mean `{nearest}`?"),
        None => format!("unknown {what} `{wrong}`; valid here: {}", right.join(", ")),
    }
}

/// A text as a value of TOML.
pub fn toml_text(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// Rewords serde's "invalid type: string "three", expected u32" in the terms of a TOML file. A type that is not listed
/// here is passed on unchanged.
fn with_plain_types(message: &str) -> String {
    let message = message.trim_end();
    let said = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "));
    let Some((given, wanted)) = said.and_then(|said| said.split_once(", expected ")) else {
        return message.replace("missing field", "missing key");
    };
    let wanted = match wanted {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number of 0 or more",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a string" => "text in quotes",
        "a boolean" => "true or false",
        "a sequence" => "a list in brackets",
        "a map" => "a table",
        other => other.strip_prefix("struct ").map_or(other, |_| "a table"),
    };
    let given = match given.split_once(' ') {
        Some(("string", text)) => format!("the text {text}"),
        Some(("integer" | "boolean", value)) => value.to_owned(),
        Some(("floating", value)) => value.trim_start_matches("point ").to_owned(),
        _ => given.replace("sequence", "a list").replace("map", "a table"),
    };
    format!("expected {wanted}, found {given}")
}

/// The candidate closest to `word`, if one is close enough: at most a third of the letters and one more may differ, and
/// at most half of them (Damerau-Levenshtein, so that two swapped letters count once).
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    let allowed = ((length / 3).max(1) + 1).min((length / 2).max(1));
    let distance =
        |candidate: &str| strsim::damerau_levenshtein(&word.to_lowercase(), &candidate.to_lowercase());
    // The comparison needs time and memory for each pair of letters; a word may be megabytes long.
    let is_near = |candidate: &&str| candidate.chars().count().abs_diff(length) <= allowed;
    candidates
        .into_iter()
        .filter(is_near)
        .map(|candidate| (distance(candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its keys are of interest")]
    struct TestDocument {
        name: String,
        about: Option<u32>,
    }

    fn complaint(text: &str) -> String {
        Document::from_text(Path::new("a/b.toml"), text)
            .parse::<TestDocument>()
            .expect_err("it is wrong")
            .to_string()
    }

    #[test]
    fn an_unknown_key_is_reported_with_its_line_and_the_nearest_valid_key() {
        assert_eq!(
            complaint("name = 'x'\n\nabuot = 3\n"),
            "a/b.toml:3: unknown key `abuot`; did you mean `about`?"
        );
        assert_eq!(
            complaint("name = 'x'\ncolour = 3\n"),
            "a/b.toml:2: unknown key `colour`; valid here: name, about"
        );
    }

    #[test]
    fn a_wrong_type_and_a_missing_key_are_reported_with_their_position() {
        let wrong = complaint("name = 'x'\nabout = 'no'\n");
        assert_eq!(wrong, "a/b.toml:2: expected a whole number of 0 or more, found the text \"no\"");
        let missing = complaint("about = 1\n");
        assert!(missing.ends_with("missing key `name`"), "{missing}");
        let broken = complaint("name = 'x'\nabout = = 1\n");
        assert!(broken.starts_with("a/b.toml:2: "), "{broken}");
    }

    #[test]
    fn all_errors_are_reported_at_once() {
        let all = complaint("nmae = 'x'\nabout = 'no'\ncolour = 3\n");
        let lines: Vec<&str> = all.lines().collect();
        // A misspelt key is not reported as missing, too.
        assert_eq!(lines.len(), 3, "{all}");
        assert_eq!(lines[0], "a/b.toml:1: unknown key `nmae`; did you mean `name`?");
        assert!(lines[1].starts_with("a/b.toml:2: expected a whole number"), "{all}");
        assert!(lines[2].starts_with("a/b.toml:3: unknown key `colour`"), "{all}");
        let missing = complaint("colour = 3\n");
        assert!(missing.lines().any(|line| line.ends_with("missing key `name`")), "{missing}");
        // A key whose line was blanked because of its value is not reported as missing.
        let one = complaint("name = 3\n");
        assert_eq!(one.lines().count(), 1, "{one}");
        // A table cannot be blanked: errors after it are reported once it is fixed.
        assert!(complaint("[other]\nname = 1\n").contains("other"));
    }

    #[test]
    fn a_file_full_of_errors_is_not_parsed_for_each() {
        let keys = |count: usize| (0..count).map(|key| format!("key{key} = 1\n")).collect::<String>();
        let more = "correct these errors first: the rest of the file was not checked";
        let few = complaint(&keys(30));
        assert_eq!(few.lines().count(), MAX_ERRORS + 1, "{few}");
        assert!(few.ends_with(more), "{few}");
        // 1.5 MB: parsed three times.
        let many = complaint(&keys(110_000));
        assert!((2..6).contains(&many.lines().count()) && many.ends_with(more), "{many}");
        // One error at the end of a large file has no others to mention.
        let one = complaint(&format!("name = 'x'\n{}about = = 1", "# comment\n".repeat(400_000)));
        assert_eq!(one.lines().count(), 1, "{one}");
    }

    #[test]
    fn types_are_named_in_plain_words() {
        for (said, plain) in [
            ("invalid type: string \"a\", expected f64", "expected a number, found the text \"a\""),
            ("invalid type: integer `1`, expected a sequence", "expected a list in brackets, found `1`"),
            ("invalid type: floating point `1.5`, expected i64", "expected a whole number, found `1.5`"),
            ("invalid value: integer `-1`, expected u32", "expected a whole number of 0 or more, found `-1`"),
            ("invalid type: map, expected a string", "expected text in quotes, found a table"),
            ("missing field `name`", "missing key `name`"),
        ] {
            assert_eq!(with_plain_types(said), plain);
        }
    }

    #[test]
    fn a_key_of_very_different_length_is_not_compared() {
        // That would take 96 GB here.
        let (long, short) = ("k".repeat(200_000), "x".repeat(60_000));
        assert_eq!(nearest(&long, [short.as_str()]), None);
    }

    #[test]
    fn suggests_the_nearest_word() {
        let workloads = ["hello", "byte", "page", "tetra"];
        assert_eq!(nearest("helo", workloads), Some("hello"));
        assert_eq!(nearest("paeg", workloads), Some("page"));
        assert_eq!(nearest("Tetra", workloads), Some("tetra"));
    }

    #[test]
    fn suggests_nothing_for_an_unrelated_word() {
        assert_eq!(nearest("database", ["hello", "byte"]), None);
        assert_eq!(nearest("x", []), None);
        assert_eq!(nearest("foo", ["pool", "load"]), None);
    }
}

//! The formats of results: their names in `--format`, and the extensions of files that have them.
//!
//! A command says which of them it has. A `match` over a format names those that the command does not have, so that a
//! new format is a decision of every command.

use crate::exit::{Complaint, json, print, say};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde::Serialize;
use std::path::Path;

/// A format of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Text,
    Json,
    Markdown,
    Csv,
    Html,
    Svg,
    Hgrm,
    Junit,
}

impl Format {
    const ALL: [Self; 8] =
        [Self::Text, Self::Json, Self::Markdown, Self::Csv, Self::Html, Self::Svg, Self::Hgrm, Self::Junit];

    /// Text for people, or one document for programs.
    pub const PRINTED: &[Self] = &[Self::Text, Self::Json];

    /// The format's name, the extension of its files, and what it is for.
    const fn row(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Text => ("text", "txt", "For people"),
            Self::Json => ("json", "json", "Everything, for programs"),
            Self::Markdown => ("markdown", "md", "Tables for a document or a pull request"),
            Self::Csv => ("csv", "csv", "A line of keys, then lines of figures"),
            Self::Html => ("html", "html", "Pages with charts, in one file that needs no server"),
            Self::Svg => ("svg", "svg", "A chart"),
            Self::Hgrm => ("hgrm", "hgrm", "The percentile distribution, for HdrHistogram's tools"),
            Self::Junit => ("junit", "xml", "JUnit XML, for CI"),
        }
    }

    /// The format of a file by its extension, which may be the format's name, if it is one of `formats`.
    pub fn of_path(path: &Path, formats: &[Self]) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        let is_it = |name: &str| name.eq_ignore_ascii_case(extension);
        formats.iter().copied().find(|format| is_it(format.row().1) || is_it(format.row().0))
    }

    /// The parser of `--format` for a command that has these formats. The extension is another name.
    pub fn among(formats: &'static [Self]) -> impl TypedValueParser<Value = Self> {
        let rows = formats.iter().map(|format| format.row());
        let values = rows.map(|(name, extension, about)| {
            let value = PossibleValue::new(name).help(about);
            if extension == name { value } else { value.alias(extension) }
        });
        PossibleValuesParser::new(values).try_map(|name| {
            let is_it = |format: &Self| name == format.row().0 || name == format.row().1;
            Self::ALL.into_iter().find(is_it).ok_or("unknown format")
        })
    }

    /// `.txt, .json, .html`: the extensions of formats.
    pub fn extensions(formats: &[Self]) -> String {
        formats.iter().map(|format| format!(".{}", format.row().1)).collect::<Vec<_>>().join(", ")
    }

    /// The error of a result that does not have this format.
    pub fn unavailable(self) -> anyhow::Error {
        Complaint::usage(format!("this result cannot be shown as {}", self.row().0)).into()
    }
}

/// The flag `--format` of a command whose result is text for people or one JSON document for programs.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct PrintFormatFlag {
    /// Text, or JSON for programs
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "text",
        value_parser = Format::among(Format::PRINTED)
    )]
    format: Format,
}

impl PrintFormatFlag {
    /// Text for people.
    pub fn text() -> Self {
        Self { format: Format::Text }
    }

    /// Whether programs read the result.
    pub fn is_json(self) -> bool {
        self.format == Format::Json
    }

    /// Prints a line of the result as it is found. With JSON it is progress and goes to standard error.
    pub fn print_line(self, line: &str) -> anyhow::Result<()> {
        if self.is_json() {
            say(line.trim_end_matches('\n'));
            return Ok(());
        }
        print(line)
    }

    /// Prints the document, if programs asked for it.
    pub fn print_document(self, document: &impl Serialize) -> anyhow::Result<()> {
        if self.is_json() { print(json(document)?) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_flags_have_the_formats_of_one_table() {
        let formats: &'static [Format] = &[Format::Text, Format::Markdown];
        assert_eq!(Format::of_path(Path::new("a.MD"), formats), Some(Format::Markdown));
        assert_eq!(Format::of_path(Path::new("a.html"), formats), None);
        assert_eq!(Format::of_path(Path::new("a"), formats), None);
        let command = clap::Command::new("c").arg(clap::Arg::new("f").value_parser(Format::among(formats)));
        for (name, format) in [("md", Some(Format::Markdown)), ("text", Some(Format::Text)), ("csv", None)] {
            let found = command.clone().try_get_matches_from(["c", name]).ok();
            assert_eq!(found.and_then(|found| found.get_one("f").copied()), format, "{name}");
        }
    }

    #[test]
    fn every_format_has_a_name_and_an_extension_of_its_own() {
        for (index, format) in Format::ALL.iter().enumerate() {
            let (name, extension, _) = format.row();
            for other in &Format::ALL[..index] {
                assert!(other.row().0 != name && other.row().1 != extension, "{name}");
            }
        }
    }
}

//! The output formats of a report: one file for each, except JSON, which is the report itself.
//!
//! `text`, `markdown` and `csv` are the formats; the other modules are shared by the formats for people. No figure is
//! computed here. The text of a single run is not a report: see `run_text`.

mod columns;
mod csv;
pub(crate) mod layout;
mod markdown;
mod notes;
pub(crate) mod number;
pub(crate) mod resolution;
pub(crate) mod sentences;
mod sheet;
mod text;

pub use text::Options;

use crate::Report;
use paceline_escape::{JsonText, Printable};

/// The output format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Tables for a terminal.
    Text,
    /// Tables for a page.
    Markdown,
    /// One line for each row, every figure in full precision.
    Csv,
    /// One document with everything.
    Json,
}

impl Report {
    /// The report as text in the given format, ending in a newline.
    pub fn render(&self, format: Format, options: Options) -> Printable {
        match format {
            Format::Text => text::render(self, options),
            Format::Markdown => markdown::render(self),
            Format::Csv => csv::render(self),
            Format::Json => json(self),
        }
    }
}

/// The unchanged report as one JSON document. Nothing is rounded; its schema is [`crate::schema`], published in
/// `docs/schema/report.schema.json`.
fn json(report: &Report) -> Printable {
    // Serialization cannot fail: every key is text, and a number that is not finite becomes null.
    JsonText::of_document(&serde_json::to_string_pretty(report).unwrap_or_default()).into()
}

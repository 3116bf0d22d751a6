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
pub(crate) mod sheet;
pub(crate) mod sheets;
mod text;

pub use text::Options;

use crate::Report;
use paceline_escape::{JsonText, Printable};

impl Report {
    /// Tables for a terminal, ending in a newline.
    pub fn text(&self, options: Options) -> Printable {
        text::render(self, options)
    }

    /// Tables for a page.
    pub fn markdown(&self) -> Printable {
        markdown::render(self)
    }

    /// One line for each row, every figure in full precision.
    pub fn csv(&self) -> Printable {
        csv::render(self)
    }

    /// The unchanged report as one JSON document. Nothing is rounded; its schema is [`crate::schema`], published in
    /// `docs/schema/report.schema.json`.
    pub fn json(&self) -> Printable {
        // Serialization cannot fail: every key is text, and a number that is not finite becomes null.
        JsonText::of_document(&serde_json::to_string_pretty(self).unwrap_or_default()).into()
    }
}

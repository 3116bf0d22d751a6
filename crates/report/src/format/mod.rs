//! The formats a report comes in: one small file for each, behind one trait.
//!
//! Called by [`Report::render`]. `text`, `markdown`, `csv` and `json` are the formats; the other modules are what those
//! for people share. No figure is computed here. The text of a single run is no report: `run_text` makes it.

mod columns;
mod csv;
mod json;
mod layout;
mod markdown;
pub(crate) mod number;
mod sheet;
mod text;
pub(crate) mod words;

use crate::Report;
use paceline_escape::Printable;

/// What a report is rendered as.
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

/// How text is laid out; the other formats ignore it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Columns of the terminal. Tables leave columns out until they fit.
    pub width: usize,
    /// Whether to colour.
    pub colour: bool,
    /// Whether with start-up, limits, versions and the explanation of every column; without them a report is for one
    /// screen.
    pub full: bool,
}

/// A format: a report in, text out, ending in a newline.
pub(crate) trait Formatter {
    /// The report as text.
    fn render(&self, report: &Report, options: Options) -> Printable;
}

impl Format {
    pub(crate) fn formatter(self) -> &'static dyn Formatter {
        match self {
            Format::Text => &text::Text,
            Format::Markdown => &markdown::Markdown,
            Format::Csv => &csv::Csv,
            Format::Json => &json::Json,
        }
    }
}

//! The output formats of a report: one file for each, behind one trait.
//!
//! Called by [`Report::render`]. `text`, `markdown`, `csv` and `json` are the formats; the other modules are shared by
//! the formats for people. No figure is computed here. The text of a single run is not a report: see `run_text`.

mod columns;
mod csv;
mod json;
pub(crate) mod layout;
mod markdown;
pub(crate) mod number;
mod sheet;
mod text;
pub(crate) mod words;

use crate::Report;
use paceline_escape::Printable;

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

/// Layout options of text; the other formats ignore them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Columns of the terminal. Tables leave out columns until they fit.
    pub width: usize,
    /// Whether to use colours.
    pub colour: bool,
    /// Whether to include start-up, limits, versions and the explanation of every column; without them a report fits
    /// one screen.
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

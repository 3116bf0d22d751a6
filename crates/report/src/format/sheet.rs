//! A sheet: a part of a report besides its ranked tables, as rows of texts under heads. The format defines its layout.

use super::number;
use crate::Figure;
use schemars::JsonSchema;
use serde::Serialize;

/// Rows of texts under heads, with notes on them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Sheet {
    /// Its subject.
    pub title: String,
    /// How to read it, in one or two sentences.
    pub lead: String,
    /// The heading of each column.
    pub heads: Vec<String>,
    /// Number of leading columns that hold words, aligned left.
    pub words: usize,
    /// The cells.
    pub rows: Vec<Vec<String>>,
    /// The notes below it, one sentence each.
    pub lines: Vec<String>,
}

/// A figure and its interval as the text of a cell, in units of `scale`; empty if there is none.
pub(super) fn shown(figure: Option<&Figure>, scale: f64) -> String {
    let Some(figure) = figure else { return String::new() };
    number::with_interval(figure, scale).join(" ").trim_end().to_owned()
}

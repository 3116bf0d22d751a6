//! The formats a report comes in: one small file for each, behind one function.

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
    /// Columns of the terminal.
    pub width: usize,
    /// Whether to colour.
    pub colour: bool,
}

//! Turns kept records into tables: for a terminal, Markdown, CSV and JSON.
//!
//! Called by the binary after a round and by `paceline report`. Pure: records in, text out; no clock, no file, no
//! terminal is looked at. Every launch is one observation, and nothing is pooled across launches.

mod format;
mod report;

pub use format::{Format, Options};
pub use report::Report;

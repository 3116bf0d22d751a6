//! Integration tests of the report crate: stored records in, every format out.
//!
//! `BLESS=1 cargo test -p paceline-report` rewrites the golden files; read the difference afterwards.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod balanced;
mod built;
mod charts;
mod formats;
mod grouping;
mod round_metrics;
mod run_text;
mod twins;

//! The report crate from outside: stored records in, every format out.
//!
//! `BLESS=1 cargo test -p paceline-report` rewrites the golden files; the difference is then to be read.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod balanced;
mod built;
mod charts;
mod formats;
mod grouping;
mod run_text;
mod twins;

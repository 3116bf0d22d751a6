//! The record seen from outside: its published schemas, compared with the files under `docs/`.
//!
//! `schemas.rs` has the test; what is judged of a record is tested in the judge crate.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod schemas;

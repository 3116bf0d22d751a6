//! Integration tests of the published schemas, compared with the files under `docs/schema/`.
//!
//! Verdicts on records are tested in the judge crate.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod schemas;

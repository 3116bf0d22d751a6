//! The record seen from outside: its published schemas and the guide to its verdicts.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod schemas;
mod verdicts;

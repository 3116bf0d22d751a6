//! The record seen from outside: its published schemas and the guide to its verdicts.
//!
//! Both are held against files under `docs/`. When a verdict is given and when a gate fails is held beside the code, in
//! `src/verdict` and `src/gate`.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod schemas;
mod verdicts;

//! The lab as its callers see it: one binary of tests.
//!
//! What needs a shepherd but no server under test is here, and what is written in this repository. Launches and whole
//! rounds are among the binary's tests (`crates/paceline/tests/it/lab`), since its own shepherd is that binary.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test, in a test's own functions too")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

mod database;
mod repository;
mod shepherd;
mod shepherd_door;
mod workshop;

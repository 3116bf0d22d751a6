//! Tests of the lab through its interface, in one binary.
//!
//! They cover what needs a shepherd but no server under test, and the data files of this repository. Launches and whole
//! rounds are in the binary's tests (`crates/paceline/tests/it/lab`), since the shepherd is that binary.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test, in a test's own functions too")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

mod database;
mod image_root;
mod provision;
mod repository;
mod shepherd;
mod shepherd_door;

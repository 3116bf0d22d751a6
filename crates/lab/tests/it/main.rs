//! The lab as its callers see it: one binary of tests.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test, in a test's own functions too")]

mod repository;
mod shepherd_door;
mod workshop;

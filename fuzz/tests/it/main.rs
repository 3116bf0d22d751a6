//! Runs every fuzz target briefly, without libFuzzer: on its seeds and on fixed mutations of them.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test, in a test's own functions too")]

mod mutator;
mod smoke;

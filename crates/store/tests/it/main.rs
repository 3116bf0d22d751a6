//! The store from outside: what is put comes back, whatever happens around it.
//!
//! Every test has a file in a folder of its own. What a round puts in, and what a report takes out, is held by the
//! binary's tests (`lab/rounds.rs`, `lab/reports.rs`).

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod any_trial;
mod damage;
mod opening;
mod postgres;
mod processes;
mod rounds;
mod trials;

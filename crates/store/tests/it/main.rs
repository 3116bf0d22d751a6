//! The public interface of the store: what is put is returned, also after damage, full disks and concurrent writes.
//!
//! Every test has a file in a separate folder. The binary's tests (`lab/rounds.rs`, `lab/reports.rs`) cover what a
//! round puts in and what a report reads.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod any_trial;
mod damage;
mod opening;
mod postgres;
mod processes;
mod rounds;
mod trials;

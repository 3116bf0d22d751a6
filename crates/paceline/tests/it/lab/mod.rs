//! The lab with real processes: launches, rounds, and that nothing survives either.
//!
//! Here and not in the lab's own crate, because the shepherd is this binary. Servers are small scripts in a tree of
//! the test's own.

mod balanced;
mod beside;
mod broken;
mod carrying_on;
mod databases;
mod dummy;
mod forged;
mod launches;
mod own_capacity;
mod reports;
mod rest;
mod rounds;
mod survivors;
mod tree;
mod tuning;
mod users;
mod witness;

pub use tree::as_own_user;

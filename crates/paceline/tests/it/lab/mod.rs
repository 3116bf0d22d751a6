//! Tests the lab with real processes: launches, rounds, and that no process survives either.
//!
//! They are here and not in the lab crate, because the shepherd is this binary. Servers are small scripts in a
//! temporary tree.

mod balanced;
mod broken;
mod concurrent_rounds;
mod containers;
mod databases;
mod dummy;
mod fixed_addresses;
mod forged;
mod idle_wait;
mod launches;
mod mixes;
mod own_capacity;
mod protocols;
mod reports;
mod resumed_rounds;
mod rounds;
mod survivors;
mod tree;
mod tried;
mod tuning;
mod users;
mod witness;

pub use rounds::SHORT;
pub use tree::{GOOD, Tree, as_own_user};

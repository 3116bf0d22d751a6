//! Two revisions of a repository as servers: checks them out, builds each once, and starts them like servers of the
//! lab.
//!
//! `repository.rs` asks git, `checkout.rs` keeps the builds, `command_launch.rs` starts a command.

mod checkout;
mod command_launch;
mod repository;

pub use checkout::{BuildOrder, Checkout, Checkouts};
pub use command_launch::CommandLaunch;
pub use repository::{Repository, Revision};

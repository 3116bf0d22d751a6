//! One run by several generators: they share one schedule, begin at the same moment, and produce one record.
//!
//! [`Coordinator`] starts a loader on each [`paceline_host::Place`], compares its clock with this machine's, starts all
//! of them together, and adds up their results. [`serve`] is the loader: it carries out its share of a job with the
//! crate `run`. The two exchange lines of JSON over the loader's standard streams ([`message`]), so that a pipe, ssh
//! and srun work in the same way. This crate does not print.

mod coordinator;
mod error;
mod loader;
mod merge;
mod message;
mod overlap;

pub use coordinator::{Coordinator, LoaderProgram, LoaderProgress};
pub use error::LoadersError;
pub use loader::serve;
pub use merge::Merge;
pub use overlap::{LoaderPart, Overlap};

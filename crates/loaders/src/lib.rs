//! One run by several generators: they share one schedule, begin at one moment, and their results are one record.
//!
//! [`Coordinator`] starts a loader on each [`paceline_host::Place`], compares its clock with this machine's, has all begin
//! together, and adds up what they measured. [`serve`] is the loader: it carries out its share of a job with the crate
//! `run`. The two speak lines of JSON over the loader's standard streams ([`message`]), so that a pipe, ssh and srun are
//! the same to them. Nothing here prints.

mod coordinator;
mod error;
mod loader;
mod merge;
mod message;
mod overlap;

pub use coordinator::{Coordinator, Progress};
pub use error::LoadersError;
pub use loader::serve;
pub use merge::{Merge, Part};
pub use overlap::Overlap;

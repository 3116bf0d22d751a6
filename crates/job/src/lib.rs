//! What a run is asked to do: one description, which flags fill, the engine reads and records contain.
//!
//! [`Job`] is plain data with serde. [`Job::check`] validates it once and returns everything that is wrong with it.
//! Nothing here opens a file, resolves a name or looks at the machine: that is done by whoever carries the job out.

mod check;
mod job;
mod load;
mod shape;
mod time;

pub use check::{JobError, JobProblem};
pub use job::{Bound, Job, PaceChoice, PaceKind, Protocol, Timestamps};
pub use load::{Arrivals, Distribution, LoadModel, Think};
pub use shape::{Segment, Shape, Trace};
pub use time::{Nanos, Rate};

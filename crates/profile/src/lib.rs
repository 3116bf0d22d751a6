//! Samples the functions of running processes with `perf`, and adds the samples up; or counts their system calls.
//!
//! [`Recording::start`] starts `perf record`, [`Recording::finish`] ends it and reads its samples; `script.rs` reads the
//! output of `perf script`, and `stacks.rs` adds up stacks. Why this and not the crate `inferno`: its licence (CDDL) is
//! not among those of deny.toml, and its folded stacks have no modules. Only time on a CPU is sampled: waiting is not.
//! [`SystemCallTrace`] counts with `perf trace` (`trace_summary.rs` reads it). Both run perf by `perf.rs`.

mod error;
mod java;
mod maps;
mod perf;
mod recording;
mod script;
mod stack_method;
mod stacks;
mod trace;
mod trace_summary;

pub use error::{PerfCommand, PerfLimit, ProfileError};
pub use perf::perf_version;
pub use recording::{FREQUENCY_HZ, Recording};
pub use script::fuzz_perf_script;
pub use trace::{SystemCallCounts, SystemCallTrace, fuzz_perf_trace};

//! The profile of a run's server: where its CPU time went, by function.
//!
//! The crate `profile` samples the server with `perf`, in a window after the measured one. Text, page and flame graph are
//! made from this.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where the CPU time of the server went, in a window of the same load after the measured one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Profile {
    /// The profiler and its version.
    pub tool: String,
    /// What triggered the samples: `cycles`, or `cpu-clock` on a machine without hardware counters.
    pub event: String,
    /// Samples per second of CPU time.
    pub frequency_hz: u32,
    /// Length of the profiled window, in seconds.
    pub window_s: f64,
    /// Valid responses per second in the profiled window: beside the rate of the run, the cost of profiling.
    pub achieved_per_s: f64,
    /// Number of samples.
    pub samples: u64,
    /// Share of the samples in the kernel, 0 to 1; none if only the code of the processes may be sampled.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub kernel_share: Option<f64>,
    /// Share of the samples whose function has a name, 0 to 1.
    pub named_share: f64,
    /// The functions with the most samples of their own, the first ten.
    pub functions: Vec<ProfiledFunction>,
    /// The tree of calls in depth-first order; calls with too few samples to be drawn are left out.
    pub calls: Vec<ProfiledCall>,
}

/// A function of a profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfiledFunction {
    /// Its name; `[unknown]` for all code of a module without names.
    pub name: String,
    /// The program, library or part of the kernel that it is in.
    pub module: String,
    /// Where it runs.
    pub code: CodeKind,
    /// Share of the samples in the function itself, 0 to 1.
    pub own_share: f64,
    /// Share of the samples in it or in a function that it called, 0 to 1.
    pub total_share: f64,
}

/// A call in the tree of calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProfiledCall {
    /// Number of callers above it: 0 for a thread's name.
    pub depth: u32,
    /// The function, or the name of the threads.
    pub name: String,
    /// Where it runs.
    pub code: CodeKind,
    /// Samples in it or in a function that it called.
    pub samples: u64,
}

/// Where code runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CodeKind {
    /// In the server's processes.
    #[default]
    User,
    /// In the kernel.
    Kernel,
    /// Not a function: all threads of one name.
    Thread,
}

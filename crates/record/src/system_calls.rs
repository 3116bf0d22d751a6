//! The system calls of a run's server, for each request.
//!
//! The crate `profile` counts them with `perf trace`, in a window after the measured one (`--syscalls`). Text and page of
//! a run show them, and `paceline why` reads causes from them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The system calls of the server, in a window of the same load after the measured one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SystemCalls {
    /// The tracer and its version.
    pub tool: String,
    /// Length of the traced window, in seconds.
    pub window_s: f64,
    /// Valid responses per second in the traced window: beside the rate of the run, the cost of tracing.
    pub achieved_per_s: f64,
    /// Valid responses while calls were counted: the divisor of all numbers per request.
    pub requests: u64,
    /// Events that perf lost, because it could not keep up. Above 0, the numbers of calls are lower bounds.
    pub lost_events: u64,
    /// Threads and processes that the server started meanwhile, whose calls are not counted. Above 0, the numbers of
    /// calls are lower bounds.
    pub threads_started: u64,
    /// System calls of all kinds per request.
    pub calls_per_request: f64,
    /// The kinds with the most calls, at most twenty, the most frequent first.
    pub calls: Vec<SystemCall>,
}

/// One kind of system call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SystemCall {
    /// Its name, as perf prints it.
    pub name: String,
    /// Calls per request.
    pub calls_per_request: f64,
    /// Calls that returned an error, per request. `EAGAIN` of a socket without data is one.
    pub errors_per_request: f64,
    /// Mean time from the start of a call to its end, in nanoseconds. It includes waiting: that of `epoll_wait` is mostly
    /// the time until something happens.
    pub time_ns_mean: f64,
}

impl SystemCalls {
    /// Whether the numbers of calls are lower bounds.
    pub fn is_lower_bound(&self) -> bool {
        self.lost_events > 0 || self.threads_started > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_were_not_seen_make_a_lower_bound() {
        let calls = |lost_events, threads_started| SystemCalls {
            lost_events,
            threads_started,
            ..SystemCalls::default()
        };
        assert!(!calls(0, 0).is_lower_bound());
        assert!(calls(1, 0).is_lower_bound() && calls(0, 1).is_lower_bound());
    }
}

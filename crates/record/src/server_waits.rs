//! Where the threads of a run's server waited, and what they sent to other services for each request.
//!
//! The binary fills it in, from the window in which `--profile` samples the server. `paceline why` reads causes from it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the server waited for, in a window of the same load after the measured one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerWaits {
    /// How often all threads were looked at.
    pub looks: u32,
    /// Valid responses per second in that window.
    pub achieved_per_s: f64,
    /// The waits of threads, most threads first. Threads that wait for a request are left out.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub waits: Vec<ThreadWait>,
    /// What the server sent to other services over TCP, most messages first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub calls: Vec<ServiceCalls>,
    /// Event loops that waited for a timer; none if none was seen.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub loop_timers: Option<LoopTimers>,
}

impl ServerWaits {
    /// How long a request waits there on average, in nanoseconds, by Little's law: the threads that wait at any moment,
    /// divided by the rate. Only if a thread serves one request at a time.
    pub fn ns_per_request(&self, wait: &ThreadWait) -> f64 {
        paceline_stats::ratio(wait.threads * 1e9, self.achieved_per_s)
    }
}

/// Threads that waited for one thing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadWait {
    /// What kind of thing.
    pub kind: WaitKind,
    /// Which: the path of a file, the address of a service; empty for a lock and a timer.
    pub on: String,
    /// Number of threads, on average over all looks.
    pub threads: f64,
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    /// A lock, or a signal of another thread (futex). Idle threads of a pool are among them.
    Lock,
    /// A time: a sleep.
    Timer,
    /// A file: its disk, or a lock on it.
    File,
    /// A name server.
    NameLookup,
    /// An answer of another service.
    Service,
}

/// What the server sent to another service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceCalls {
    /// Its address and port.
    pub address: String,
    /// Segments with data that were sent to it for each valid response: as many messages, if these are small.
    pub messages_per_request: f64,
}

/// Threads that waited for events of any kind, at most until a timer was due: event loops with something to do within a
/// second. What the events are is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoopTimers {
    /// Number of threads, on average over all looks.
    pub threads: f64,
    /// Mean time from the start of such a wait until its timer was due, in nanoseconds. The kernel counts milliseconds.
    pub due_ns_mean: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_threads_and_the_rate_give_the_wait_of_a_request() {
        let wait = ThreadWait { kind: WaitKind::Timer, on: String::new(), threads: 40.0 };
        let waits = ServerWaits { achieved_per_s: 1_000.0, ..ServerWaits::default() };
        assert_eq!(waits.ns_per_request(&wait), 40e6);
        assert_eq!(ServerWaits::default().ns_per_request(&wait), 0.0);
    }
}

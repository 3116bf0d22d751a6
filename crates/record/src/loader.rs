//! The loaders of a run that several generators shared: where each was, what it cost, and how far its clock was off.
//!
//! Filled in by the crate `loaders`, judged by the verdicts on a run. What a loader measured is its block in
//! [`crate::Run::by_generator`], at the same place in the list; that of a lost one is empty.

use crate::{Connections, Generator, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of several generators of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Loader {
    /// The machine it ran on: `local`, or the name it was reached by.
    pub host: String,
    /// Requests of the window that the schedule gave to it; open loop.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub share: Option<u64>,
    /// Why it has no result. Its share of the load was not sent, or not counted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lost: Option<String>,
    /// Its monotonic clock less the coordinator's, before the run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clock_before: Option<ClockOffset>,
    /// Its monotonic clock less the coordinator's, after the run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clock_after: Option<ClockOffset>,
    /// How long after the agreed moment its warm-up began; none where it began then.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub late_ns: Option<u64>,
    /// Requests of its window that are not counted: they ended while not all loaders had their window.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub left_out: Option<u64>,
    /// Its window on the coordinator's clock, from the start of the run, before it was cut.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub window: Option<Span>,
    /// Connections of this loader.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub connections: Option<Connections>,
    /// What this loader cost: CPU time and memory.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub generator: Option<Generator>,
    /// What its network interface moved over the window, where the target is not on the same machine.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub network: Option<NetworkUse>,
}

/// Bounds of the difference between two clocks. Each round trip bounds it; these are the tightest of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockOffset {
    /// The offset is at least this, in nanoseconds.
    pub low_ns: i64,
    /// The offset is at most this, in nanoseconds.
    pub high_ns: i64,
    /// Round trips that were measured for it.
    pub round_trips: u32,
}

impl ClockOffset {
    /// The middle of the bounds.
    pub fn middle_ns(&self) -> i64 {
        ((i128::from(self.low_ns) + i128::from(self.high_ns)) / 2) as i64
    }
}

/// What a network interface moved over the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkUse {
    /// Name of the network interface.
    pub interface: String,
    /// Bytes that left by it, per second.
    pub sent_bytes_per_s: f64,
    /// Bytes that came in by it, per second.
    pub received_bytes_per_s: f64,
    /// Its speed in bytes per second, where the system or a queueing discipline states one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub speed_bytes_per_s: Option<f64>,
}

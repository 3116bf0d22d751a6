//! The loaders of a run that several generators shared: their machines, CPU and memory use, and clock offsets.
//!
//! Filled in by the crate `loaders`, judged by the verdicts on a run. The measurements of a loader are its block in
//! [`crate::Run::by_generator`], at the same place in the list; the block of a lost loader is empty.

use crate::{Connections, Generator, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of several generators of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Loader {
    /// The machine it ran on: `local`, or the name used to connect to it.
    pub host: String,
    /// Requests of the window that the schedule assigned to it; open loop.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub share: Option<u64>,
    /// Why it has no result. Its share of the load was not sent, or not counted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lost: Option<String>,
    /// Its monotonic clock minus the coordinator's, before the run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clock_before: Option<ClockOffset>,
    /// Its monotonic clock minus the coordinator's, after the run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clock_after: Option<ClockOffset>,
    /// Delay of its warm-up after the agreed time; none if it began then.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub late_ns: Option<u64>,
    /// Requests of its window that are not counted: they ended outside the part of the window common to all loaders.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub left_out: Option<u64>,
    /// Its window on the coordinator's clock, from the start of the run, before cutting.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub window: Option<Span>,
    /// Connections of this loader.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub connections: Option<Connections>,
    /// CPU time and memory of this loader.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub generator: Option<Generator>,
    /// The traffic of its network interface over the window, if the target is not on the same machine.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub network: Option<NetworkUse>,
}

impl Loader {
    /// The host of a loader on the coordinator's machine.
    pub const LOCAL: &str = "local";
}

/// Bounds of the difference between two clocks. Each round trip gives bounds; these are the tightest of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockOffset {
    /// The offset is at least this, in nanoseconds.
    pub low_ns: i64,
    /// The offset is at most this, in nanoseconds.
    pub high_ns: i64,
    /// Number of round trips measured.
    pub round_trips: u32,
}

impl ClockOffset {
    /// The middle of the bounds.
    pub fn middle_ns(&self) -> i64 {
        ((i128::from(self.low_ns) + i128::from(self.high_ns)) / 2) as i64
    }
}

/// The traffic of a network interface over the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkUse {
    /// Name of the network interface.
    pub interface: String,
    /// Bytes sent through it, per second.
    pub sent_bytes_per_s: f64,
    /// Bytes received through it, per second.
    pub received_bytes_per_s: f64,
    /// Speed of its device in bytes per second, in each direction. In records without `sent_limit_bytes_per_s`, a
    /// token bucket's rate may be here.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub speed_bytes_per_s: Option<f64>,
    /// Limit of what it sends, in bytes per second: the rate of a token bucket (`tc tbf`). It does not limit what is
    /// received.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sent_limit_bytes_per_s: Option<f64>,
}

/// One direction of a network interface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkDirection {
    /// `sent` or `received`.
    pub name: &'static str,
    /// Bytes per second over the window.
    pub bytes_per_s: f64,
    /// The limit of this direction, in bytes per second.
    pub limit_bytes_per_s: f64,
}

impl NetworkUse {
    /// The directions with a known limit: sending has the lower one of device and token bucket, receiving the device's.
    pub fn limited_directions(&self) -> impl Iterator<Item = LinkDirection> {
        let known = |limit: Option<f64>| limit.filter(|limit| *limit > 0.0);
        let (device, bucket) = (known(self.speed_bytes_per_s), known(self.sent_limit_bytes_per_s));
        let sent_limit = device.into_iter().chain(bucket).reduce(f64::min);
        let sent = sent_limit.map(|limit| ("sent", self.sent_bytes_per_s, limit));
        let received = device.map(|limit| ("received", self.received_bytes_per_s, limit));
        let direction =
            |(name, bytes_per_s, limit_bytes_per_s)| LinkDirection { name, bytes_per_s, limit_bytes_per_s };
        sent.into_iter().chain(received).map(direction)
    }
}

//! Gates: what a run must keep to, judged from its record alone (`--slo`, `--max-errors`).
//!
//! A gate fails closed. It fails not only when a figure is beyond its limit, but whenever the figure does not show that
//! the limit was kept: the run is invalid or was stopped, the load was not delivered, the requests were too few, the
//! figure is a lower bound. Every request that failed is a miss: it counts as one beyond any limit. How a gate is written
//! on the command line is the binary's business.

mod judge;
#[cfg(test)]
mod tests;

pub use judge::judge;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Requests that must lie beyond a percentile before it counts as known: p99 takes 1,000 requests, p99.9 10,000.
pub const SAMPLES_BEYOND: f64 = 10.0;
/// Requests before a mean or a maximum counts as known.
pub const SAMPLES_LEAST: u64 = 10;

/// One thing that a run must keep to.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// As it was written.
    pub expression: String,
    /// What is demanded.
    pub demand: Demand,
}

/// What a gate demands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Demand {
    /// A statistic of a time is below the limit, or at it where `or_equal`.
    Time {
        /// Which time.
        of: TimeOf,
        /// Which figure of its distribution.
        statistic: Statistic,
        /// The limit, in nanoseconds.
        limit_ns: u64,
        /// Whether the limit itself is kept.
        or_equal: bool,
    },
    /// At least this share of what was scheduled was answered well inside the window, 0 to 1.
    AchievedShare(f64),
    /// At least so many valid responses a second.
    AchievedPerS(f64),
    /// At most this share of what was scheduled did not end well, 0 to 1.
    ErrorShare(f64),
    /// At most so many requests did not end well.
    ErrorCount(u64),
}

/// The times that a gate can demand something of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeOf {
    /// Response time; open loop.
    Response,
    /// Service time.
    Service,
    /// Connect time, over every connection of the run.
    Connect,
    /// Time of TLS handshakes, over every connection of the run.
    Handshake,
    /// First byte.
    FirstByte,
    /// Generator lag; open loop.
    Lag,
}

/// A figure of a distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statistic {
    /// A percentile, 0 to 100.
    Percentile(f64),
    /// The highest.
    Max,
    /// The arithmetic mean.
    Mean,
}

/// How a gate came out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateOutcome {
    /// As it was written.
    pub gate: String,
    /// Whether the run showed that it keeps to it.
    pub passed: bool,
    /// Why not; empty where it passed.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub reasons: Vec<GateReason>,
    /// The figures it rests on, units in the keys.
    pub evidence: BTreeMap<String, serde_json::Value>,
}

/// Why a gate did not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateReason {
    /// The figure is beyond the limit.
    BeyondLimit,
    /// So many requests failed that there is no such figure: they are misses.
    Failures,
    /// The figure is a lower bound: answers that never came are in it at the time waited for them.
    LowerBound,
    /// Too few requests for the figure.
    TooFewSamples,
    /// There is no such figure in this run.
    NotMeasured,
    /// The load was not the one asked for.
    NotDelivered,
    /// The run is invalid: see its verdicts.
    Invalid,
    /// The run was stopped before its end.
    Stopped,
}

impl TimeOf {
    /// Its name in an expression.
    pub fn name(self) -> &'static str {
        match self {
            TimeOf::Response => "response",
            TimeOf::Service => "service",
            TimeOf::Connect => "connect",
            TimeOf::Handshake => "handshake",
            TimeOf::FirstByte => "first_byte",
            TimeOf::Lag => "lag",
        }
    }

    /// Its key in a block.
    pub(crate) fn key(self) -> &'static str {
        match self {
            TimeOf::Response => "response_time_ns",
            TimeOf::Service => "service_time_ns",
            TimeOf::Connect => "connect_time_ns",
            TimeOf::Handshake => "handshake_time_ns",
            TimeOf::FirstByte => "first_byte_ns",
            TimeOf::Lag => "generator_lag_ns",
        }
    }

    /// Whether only a schedule makes it: a closed loop has no such time.
    pub fn needs_open_loop(self) -> bool {
        matches!(self, TimeOf::Response | TimeOf::Lag)
    }
}

impl Statistic {
    /// Its name at the end of a key: `p99_9`, `max`, `mean`.
    pub(crate) fn key(self) -> String {
        match self {
            Statistic::Percentile(percentile) => format!("p{percentile}").replace('.', "_"),
            Statistic::Max => "max".to_owned(),
            Statistic::Mean => "mean".to_owned(),
        }
    }

    /// How many requests it takes.
    pub fn samples_needed(self) -> u64 {
        match self {
            // A quotient such as 10 / 0.01 may come out a hair above the whole number it means.
            Statistic::Percentile(percentile) => {
                (SAMPLES_BEYOND / (1.0 - percentile / 100.0) * (1.0 - 1e-9)).ceil() as u64
            }
            Statistic::Max | Statistic::Mean => SAMPLES_LEAST,
        }
    }
}

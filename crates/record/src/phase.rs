//! The phases of a run, its intervals and segments, and the check that random arrivals were random.
//!
//! Parts of a run. The change of the offered rate is described by [`paceline_job::Shape`].

use crate::Block;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The phases of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Phases {
    /// Connections are made, a capped number at a time.
    pub connect: Span,
    /// Load without a cohort: caches, compilers and congestion windows settle.
    pub warmup: Span,
    /// The window: what is measured.
    pub window: Span,
    /// No new requests fall due; due requests are still sent and awaited.
    pub drain: Span,
}

/// A stretch of time, in nanoseconds from the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Span {
    /// Start, in nanoseconds.
    pub start_ns: u64,
    /// End, in nanoseconds.
    pub end_ns: u64,
}

/// The name of a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// See [`Phases::connect`].
    #[default]
    Connect,
    /// See [`Phases::warmup`].
    Warmup,
    /// See [`Phases::window`].
    Window,
    /// See [`Phases::drain`].
    Drain,
    /// The run is over.
    End,
}

/// The requests that ended in an interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// The cohort: requests due in the warm-up or in the window.
    pub phase: Phase,
    /// Start of the interval, in nanoseconds from the start of the run.
    pub start_ns: u64,
    /// The mean number of connections open in it, if their number changes as planned.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub connections: Option<f64>,
    /// The requests of that cohort that ended in it.
    pub block: Block,
}

impl Interval {
    /// An interval of a run whose number of connections does not change.
    pub fn new(phase: Phase, start_ns: u64, block: Block) -> Self {
        Self { phase, start_ns, connections: None, block }
    }
}

/// A part of the window with its own load: a step, or a tenth of a ramp. Its block contains the requests that fell due
/// in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Segment {
    /// Start, in nanoseconds from the start of the run.
    pub start_ns: u64,
    /// End, in nanoseconds from the start of the run.
    pub end_ns: u64,
    /// The mean offered rate of the segment, per second; 0 in a closed loop, which has no schedule.
    pub offered_per_s: f64,
    /// The mean number of connections planned for the segment, if that changes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub connections: Option<f64>,
    /// Valid responses completed in it, whenever they fell due: the achieved rate of the segment counts them.
    pub completed_in_segment: u64,
    /// The requests that fell due in it, wherever they completed.
    #[serde(flatten)]
    pub block: Block,
}

impl Segment {
    /// Its length in seconds.
    pub fn length_s(&self) -> f64 {
        self.end_ns.saturating_sub(self.start_ns) as f64 / 1e9
    }

    /// Valid responses completed in it, per second; 0 if it has no length.
    pub fn achieved_per_s(&self) -> f64 {
        let length_s = self.length_s();
        if length_s > 0.0 { self.completed_in_segment as f64 / length_s } else { 0.0 }
    }
}

/// The check that the actual sends of random arrivals were random: the Anderson-Darling test of a sample of their gaps
/// against the requested distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArrivalCheck {
    /// Number of tested gaps between sends.
    pub gaps: u64,
    /// The Anderson-Darling statistic of the test, A².
    pub anderson_darling: f64,
    /// The probability of a statistic at least this large if the sends follow the requested distribution.
    pub p_value: f64,
}

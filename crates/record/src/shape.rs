//! The shape of the load beside its rate: how it changes, the segments that are reported apart, and how users think.
//!
//! Parts of a run, and with them the check that random arrivals were random. The binary translates them from the
//! engine's settings and outcome (`segments.rs`, `life.rs`); verdicts look in them for where the target fell behind.
//! When requests are due is the engine's own `shape.rs`, under the same words.

use crate::Block;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the offered rate changes over the window. A rate that does not change has no shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Shape {
    /// Evenly, from the beginning of the window to its end.
    Ramp {
        /// Requests per second at the beginning.
        from_per_s: f64,
        /// Requests per second at the end.
        to_per_s: f64,
    },
    /// At once, from one rate to the next.
    Steps {
        /// Requests per second, step after step.
        rates_per_s: Vec<f64>,
        /// How long each step lasts, in seconds.
        step_s: f64,
    },
    /// Every send had its moment, told by a file.
    Trace {
        /// Sends in the file.
        sends: u64,
    },
}

/// A part of the window in which the load was what it was nowhere else: a step, or a tenth of a ramp. Its block holds
/// the requests that fell due in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Segment {
    /// When it began, in nanoseconds from the start of the run.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// The mean rate offered in it, per second.
    pub offered_per_s: f64,
    /// Valid responses completed in it, whenever they fell due: what the achieved rate of the segment is made of.
    pub completed_in_segment: u64,
    /// The requests that fell due in it, wherever they completed.
    #[serde(flatten)]
    pub block: Block,
}

impl Segment {
    /// How long it lasted, in seconds.
    pub fn length_s(&self) -> f64 {
        self.end_ns.saturating_sub(self.start_ns) as f64 / 1e9
    }

    /// Valid responses completed in it, per second; 0 where it had no length.
    pub fn achieved_per_s(&self) -> f64 {
        let length_s = self.length_s();
        if length_s > 0.0 { self.completed_in_segment as f64 / length_s } else { 0.0 }
    }
}

/// How long users thought between an answer and their next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Think {
    /// On average.
    pub mean_ns: u64,
    /// How it varied.
    pub distribution: Distribution,
}

/// How a time varies around its mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Not at all.
    Constant,
    /// As the waiting time for what happens at random.
    Exponential,
}

/// Whether the actual sends of random arrivals were random: the Anderson-Darling test of a sample of their gaps against
/// the exponential distribution with the mean that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArrivalCheck {
    /// Gaps tested.
    pub gaps: u64,
    /// The test's statistic, A².
    pub anderson_darling: f64,
    /// The probability of as much or more if the sends were what was asked for.
    pub p_value: f64,
}

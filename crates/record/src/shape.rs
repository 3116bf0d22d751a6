//! Segments of the window that are reported apart, and the check that random arrivals were random.
//!
//! Parts of a run. How the offered rate changes is described by [`paceline_job::Shape`].

use crate::Block;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A part of the window in which the load was what it was nowhere else: a step, or a tenth of a ramp. Its block holds
/// the requests that fell due in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Segment {
    /// When it began, in nanoseconds from the start of the run.
    pub start_ns: u64,
    /// When it ended, in nanoseconds from the start of the run.
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

/// Whether the actual sends of random arrivals were random: the Anderson-Darling test of a sample of their gaps against
/// the exponential distribution with the mean that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArrivalCheck {
    /// How many gaps between sends were tested.
    pub gaps: u64,
    /// The Anderson-Darling statistic of the test, A².
    pub anderson_darling: f64,
    /// The probability of as much or more if the sends were what was asked for.
    pub p_value: f64,
}

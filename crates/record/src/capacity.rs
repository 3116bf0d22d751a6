//! A search for the capacity of a server as a load of a plan: its settings and its result.
//!
//! The keys of [`FoundCapacity`] are those of `paceline capacity --format json`, from which the lab reads it.

use crate::Limit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The settings of a capacity search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityLoad {
    /// The objective: `response.p99<10ms,errors<0.1%`.
    pub objective: String,
    /// Length of the window that confirms the long-run rate, in seconds.
    pub confirm_s: f64,
    /// Maximum number of windows of the search.
    pub windows_most: u32,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundCapacity {
    /// Length of the windows, in seconds: the capacity depends on it.
    pub window_s: f64,
    /// The rate of the closed loop before the search.
    pub closed_loop_per_s: f64,
    /// The capacity: the rate at which half of the windows meet the objective. None if no window did, or if stalls
    /// decide.
    pub half_pass_per_s: Option<f64>,
    /// The 95 % interval of the capacity.
    pub interval_per_s: Option<RateRange>,
    /// Whether the interval is as narrow as requested.
    pub is_precise: bool,
    /// From the lowest rate that missed to the highest that passed (0 if none did), if windows far below the capacity
    /// missed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stalls_decide: Option<RateRange>,
    /// The highest rate whose long window met the objective.
    pub long_run_per_s: Option<f64>,
    /// What limited the server.
    pub limit: Limit,
    /// Why the search ended early.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ended_early: Option<String>,
    /// Every window of the search, in order.
    pub windows: Vec<SearchedRate>,
}

/// Two rates per second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateRange {
    /// Lower end of the range, per second.
    pub low: f64,
    /// Upper end of the range, per second.
    pub high: f64,
}

/// A rate that was offered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchedRate {
    /// The offered rate, per second.
    pub offered_per_s: f64,
    /// The achieved rate, per second.
    pub achieved_per_s: f64,
    /// Whether the window met the objective: `pass`, `miss` or `void`.
    pub outcome: String,
}

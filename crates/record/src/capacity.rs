//! A search for the capacity of a server as a load of a plan: how it was asked for and what it found.
//!
//! The keys of [`FoundCapacity`] are those of `paceline capacity --format json`, from which the lab reads it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a capacity is searched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityLoad {
    /// What must be met: `response.p99<10ms,errors<0.1%`.
    pub objective: String,
    /// Length of the window that confirms the long-run rate, in seconds.
    pub confirm_s: f64,
    /// Windows of the search at most.
    pub windows_most: u32,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundCapacity {
    /// Length of the windows, in seconds: the capacity depends on it.
    pub window_s: f64,
    /// The rate of the closed loop before the search.
    pub closed_loop_per_s: f64,
    /// The capacity: the rate at which half of the windows meet the objective. None if no window did, or if stalls decide.
    pub half_pass_per_s: Option<f64>,
    /// The 95 % interval of the capacity.
    pub interval_per_s: Option<RateRange>,
    /// Whether the interval is as narrow as was asked for.
    pub is_precise: bool,
    /// From the lowest rate that missed to the highest that passed (0 where none did), where windows far below the capacity
    /// missed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stalls_decide: Option<RateRange>,
    /// The highest rate whose long window met the objective.
    pub long_run_per_s: Option<f64>,
    /// What kept the server from doing more.
    pub limit: CapacityLimit,
    /// Why the search ended before its plan was carried out.
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

/// The kind of limit that is the load generator's: the server can do more.
pub const LIMIT_GENERATOR: &str = "generator";

/// What kept a server from doing more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityLimit {
    /// `server_cpu`, `generator`, `waiting` and others.
    pub kind: String,
    /// The figures that show the limit, in words.
    pub evidence: String,
}

/// A rate that was tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchedRate {
    /// The offered rate, per second.
    pub offered_per_s: f64,
    /// The achieved rate, per second.
    pub achieved_per_s: f64,
    /// Whether the window met the objective: `pass`, `miss` or `void`.
    pub outcome: String,
}

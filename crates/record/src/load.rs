//! The load of a trial as it was asked for, and what makes it the twin of another.
//!
//! Written by the lab when a trial begins, so that a failed trial says what it was to be, too. What a run really did
//! is in the run.

use crate::{Arrivals, CapacityLoad, DatabaseLoad, FaultKind, LoopKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The load asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Load {
    /// The plan's name for it.
    pub name: String,
    /// Closed or open.
    pub kind: LoopKind,
    /// Number of connections of the load generator.
    pub connections: u32,
    /// Requests outstanding on a connection at most.
    pub depth: u32,
    /// Offered rate in requests per second; open loop.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rate_per_s: Option<f64>,
    /// Spacing of arrivals, open loop.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub arrivals: Option<Arrivals>,
    /// Length of the window, in seconds; none where the number of requests bounds it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub duration_s: Option<f64>,
    /// Number of requests, where that bounds the run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub requests: Option<u64>,
    /// Length of the warm-up, in seconds.
    pub warmup_s: f64,
    /// The version of HTTP that is spoken where it is not 1.1: `1.0`, with keep-alive asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub http: Option<String>,
    /// Whether every connection is closed after one response.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub no_keep_alive: bool,
    /// After how many responses a connection is closed and made anew.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub requests_per_connection: Option<u64>,
    /// What it is beside another load of the plan; none for a load that stands for itself.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub variant: Option<Variant>,
    /// What the plan asks at full size, where this is a part of it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub scaled: Option<Scaled>,
    /// The instances and the balancer of the launch, where it has a balancer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub balanced: Option<BalancedLoad>,
    /// The database of the launch, where it has one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub database: Option<DatabaseLoad>,
    /// What the offered rate is a share of, where it is one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub share: Option<RateShare>,
    /// How the capacity is searched, where the load is a search.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub capacity: Option<CapacityLoad>,
}

/// An offered rate as a share of what the server reached under another load of the same launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateShare {
    /// The share: 0.5 is 50 %.
    pub share: f64,
    /// The name of the other load: closed, or a capacity search.
    pub of: String,
    /// What 100 % was in this trial, per second: the achieved rate of the closed loop, or the capacity found.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub full_per_s: Option<f64>,
    /// The trial that found it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub full_trial: Option<String>,
}

/// A load that differs from another of the same plan in one thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Variant {
    /// The name of the other load.
    pub of: String,
    /// The one thing in which it differs.
    pub kind: VariantKind,
}

/// In what a load differs from its twin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VariantKind {
    /// The first load on a launch, without warm-up; the other comes after it on the same launch.
    FirstRun,
    /// HTTP/1.0 with keep-alive asked for.
    Http10,
    /// Every connection closed after one response.
    Close,
    /// One request outstanding on a connection instead of several.
    Unpipelined,
    /// Through the balancer; the other goes to one instance of the same launch.
    Balanced,
}

impl VariantKind {
    /// What is added to the other load's name.
    pub fn suffix(self) -> &'static str {
        match self {
            VariantKind::FirstRun => "first",
            VariantKind::Http10 => "http10",
            VariantKind::Close => "close",
            VariantKind::Unpipelined => "unpipelined",
            VariantKind::Balanced => "balanced",
        }
    }
}

/// What a plan asks at full size of a load that was scaled down.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scaled {
    /// The one factor on connections, rate and number of requests, below 1.
    pub factor: f64,
    /// Number of connections at full size.
    pub connections: u32,
    /// Offered rate at full size.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rate_per_s: Option<f64>,
    /// Number of requests at full size.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub requests: Option<u64>,
}

/// The instances and the balancer of a launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BalancedLoad {
    /// Name of the folder of the balancer.
    pub balancer: String,
    /// How it chooses an instance.
    pub policy: String,
    /// How many instances of the server there are.
    pub instances: u32,
    /// Whether requests go through the balancer or to one instance directly.
    pub route: Route,
    /// What is broken on purpose in the middle of the window.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fault: Option<FaultKind>,
}

/// Where the requests of a launch with a balancer go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Route {
    /// To the first instance, the others and the balancer being idle.
    Direct,
    /// To the balancer.
    Balanced,
}

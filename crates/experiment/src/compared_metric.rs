//! The figures that comparisons and gates compare, and where they are in a result.

use crate::load::LoadResult;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A figure that can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComparedMetric {
    /// The highest offered rate that meets an objective.
    CapacityPerS,
    /// Valid responses per second of a closed loop.
    RatePerS,
    /// CPU time of the server per request.
    ServerCpuNsPerRequest,
    /// Median response time; open loop.
    ResponseTimeNsP50,
    /// 99th percentile of the response time; open loop.
    ResponseTimeNsP99,
    /// Median service time; closed loop.
    ServiceTimeNsP50,
    /// 99th percentile of the service time; closed loop.
    ServiceTimeNsP99,
    /// Resident memory of the server.
    RssBytes,
    /// From the server's start to its first answer.
    StartNs,
}

impl ComparedMetric {
    /// All of them, in the order of a table.
    pub const ALL: [Self; 9] = [
        Self::CapacityPerS,
        Self::RatePerS,
        Self::ServerCpuNsPerRequest,
        Self::ResponseTimeNsP50,
        Self::ResponseTimeNsP99,
        Self::ServiceTimeNsP50,
        Self::ServiceTimeNsP99,
        Self::RssBytes,
        Self::StartNs,
    ];

    /// Its name on the command line and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::CapacityPerS => "capacity",
            Self::RatePerS => "rate",
            Self::ServerCpuNsPerRequest => "cpu",
            Self::ResponseTimeNsP50 => "response.p50",
            Self::ResponseTimeNsP99 => "response.p99",
            Self::ServiceTimeNsP50 => "service.p50",
            Self::ServiceTimeNsP99 => "service.p99",
            Self::RssBytes => "memory",
            Self::StartNs => "start-up",
        }
    }

    /// The metric of a name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.name() == name)
    }

    /// Whether more is better.
    pub fn higher_is_better(self) -> bool {
        matches!(self, Self::CapacityPerS | Self::RatePerS)
    }

    /// Its value in one observation; none where it was not measured or does not apply to this loop.
    pub fn value(self, result: &LoadResult) -> Option<f64> {
        let is_open = result.offered_per_s.is_some();
        let value = match self {
            Self::CapacityPerS => result.capacity_per_s,
            Self::RatePerS => (!is_open).then_some(result.achieved_per_s),
            Self::ServerCpuNsPerRequest => result.server_cpu_ns_per_request(),
            Self::ResponseTimeNsP50 => result.response_time_ns.map(|times| times.p50 as f64),
            Self::ResponseTimeNsP99 => result.response_time_ns.map(|times| times.p99 as f64),
            Self::ServiceTimeNsP50 => {
                result.service_time_ns.filter(|_| !is_open).map(|times| times.p50 as f64)
            }
            Self::ServiceTimeNsP99 => {
                result.service_time_ns.filter(|_| !is_open).map(|times| times.p99 as f64)
            }
            Self::RssBytes => result.server.map(|server| server.rss_bytes as f64),
            Self::StartNs => result.start_ns.map(|start_ns| start_ns as f64),
        };
        value.filter(|value| *value > 0.0 && value.is_finite())
    }
}

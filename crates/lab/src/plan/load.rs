//! One load of a plan: how many connections, as fast as they go or at a rate, how long.

use crate::duration;
use paceline_record::{Arrivals, LoopKind};
use std::time::Duration;

/// The warm-up where a load does not say; with `requests` there is none, as with the binary's `-n`.
const WARMUP: Duration = Duration::from_secs(1);

/// One load of a plan. With a rate it is an open loop, without one a closed loop.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanLoad {
    /// Its name in results, unique in the plan.
    pub name: String,
    /// Connections.
    pub connections: u32,
    /// Requests outstanding on a connection at most.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub depth: u32,
    /// Offered rate; its presence makes it an open loop.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rate_per_s: Option<f64>,
    /// Spacing of arrivals in an open loop, `constant` by default.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub arrivals: Option<Arrivals>,
    /// Length of the window, unless a number of requests bounds it.
    #[serde(skip_serializing_if = "Option::is_none", default, with = "duration")]
    pub duration: Option<Duration>,
    /// Number of requests, where that bounds it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub requests: Option<u64>,
    /// Length of the warm-up; see [`PlanLoad::warmup`].
    #[serde(skip_serializing_if = "Option::is_none", default, with = "duration")]
    pub warmup: Option<Duration>,
    /// The workloads it is for, of those the plan names; all where none are given.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub workloads: Vec<String>,
}

fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one(depth: &u32) -> bool {
    *depth == 1
}

impl PlanLoad {
    /// Closed, or open where there is a rate.
    pub fn kind(&self) -> LoopKind {
        if self.rate_per_s.is_some() { LoopKind::Open } else { LoopKind::Closed }
    }

    /// The length of the warm-up: as given, else 1 s, else none where `requests` bounds the run.
    pub fn warmup(&self) -> Duration {
        let default = if self.requests.is_some() { Duration::ZERO } else { WARMUP };
        self.warmup.unwrap_or(default)
    }

    /// What a trial's record says of it.
    pub fn record(&self) -> paceline_record::Load {
        paceline_record::Load {
            name: self.name.clone(),
            kind: self.kind(),
            connections: self.connections,
            depth: self.depth,
            rate_per_s: self.rate_per_s,
            arrivals: self.rate_per_s.map(|_| self.arrivals.unwrap_or(Arrivals::Constant)),
            duration_s: self.duration.map(|duration| duration.as_secs_f64()),
            requests: self.requests,
            warmup_s: self.warmup().as_secs_f64(),
        }
    }

    /// Warm-up and window together, where that is known beforehand; connecting and draining come on top.
    pub fn length(&self) -> Option<Duration> {
        self.duration.map(|duration| duration + self.warmup())
    }
}

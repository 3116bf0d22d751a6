//! One load of a plan as the file says it: keys are optional, and nothing is checked.
//!
//! `convert` checks it and makes a [`super::PlannedLoad`], which everything else uses.

use super::Pin;
use crate::duration;
use paceline_record::{Arrivals, FaultKind, VariantKind};
use paceline_stats::percent_of;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::time::Duration;

/// The highest share of its capacity that a server can be offered.
const MAX_SHARE: f64 = 10.0;

/// One load of a plan. With a rate it is an open loop, without one a closed loop.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// Or the offered rate as a share of the server's capacity, `50%`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rate: Option<Percent>,
    /// The load of the plan that found that capacity; by default a search, else a closed loop.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub of: Option<String>,
    /// `capacity` for a load that searches the highest rate that meets the objective.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub load: Option<LoadSearch>,
    /// The objective of such a search, as for `paceline capacity --slo`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub objective: Option<String>,
    /// Length of the window that confirms the result of a search.
    #[serde(skip_serializing_if = "Option::is_none", default, with = "duration")]
    pub confirm: Option<Duration>,
    /// Windows of a search at most.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub windows: Option<u32>,
    /// Spacing of arrivals in an open loop, `constant` by default.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub arrivals: Option<Arrivals>,
    /// Length of the window, unless a number of requests bounds it.
    #[serde(skip_serializing_if = "Option::is_none", default, with = "duration")]
    pub duration: Option<Duration>,
    /// Number of requests, instead of a length.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub requests: Option<u64>,
    /// The usual length of a run with a number of requests: used for the estimate of a round.
    #[serde(skip_serializing_if = "Option::is_none", default, with = "duration")]
    pub usual_length: Option<Duration>,
    /// Length of the warm-up: by default 1 s, or none with `requests`.
    #[serde(skip_serializing_if = "Option::is_none", default, with = "duration")]
    pub warmup: Option<Duration>,
    /// `1.0` for HTTP/1.0 with keep-alive requested, `2` or `3` with `depth` streams a connection; else `1.1`. Only
    /// for workloads of HTTP.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub http: Option<String>,
    /// Whether connections use TLS; HTTP/3 always does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tls: bool,
    /// Whether a connection is reused; `false` closes it after each response.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub keep_alive: bool,
    /// After how many responses a connection is closed and replaced.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub requests_per_connection: Option<u64>,
    /// The command line of another load generator that carries it out, as `paceline ab` and the like do: `ab -k
    /// -n{requests} -c{connections}`. The URL follows it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tool: Option<String>,
    /// Whether it is measured twice on a fresh launch: first without a warm-up, then again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub first_run: bool,
    /// The same load again with one thing changed: `http10`, `close`, `unpipelined`, or with a balancer `spread`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub twins: Vec<VariantKind>,
    /// Its workloads, a subset of the plan's; all by default.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub workloads: Vec<String>,
    /// Whether it is measured only with `--full`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub full: bool,
    /// How many instances of the server are behind a balancer, from 1. This and the next four keys default to the
    /// plan's.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub instances: Option<u32>,
    /// The balancer, a folder of `balancers/`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub balancer: Option<String>,
    /// How it chooses an instance, one of the balancer's own policies; `roundrobin` by default.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub policy: Option<String>,
    /// The fault to inject in the middle of the window.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fault: Option<FaultKind>,
    /// Where instances, balancer and database run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pin: Option<Pin>,
}

/// A search that a load does instead of offering a fixed rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadSearch {
    /// It searches the highest rate that meets an objective.
    Capacity,
}

/// A share of another rate, written `50%`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percent(pub f64);

impl<'de> Deserialize<'de> for Percent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let number = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        let share = number.map(|number| number / 100.0).filter(|share| *share > 0.0 && *share <= MAX_SHARE);
        share.map(Percent).ok_or_else(|| {
            D::Error::custom(format!(
                "`rate` is {text:?}: write a share of the server's capacity such as \"50%\", or `rate_per_s = 2000`"
            ))
        })
    }
}

impl Serialize for Percent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (rounded, exact) = (percent_of(self.0), self.0 * 100.0);
        // Reading it has to give the same share.
        let percent = if rounded / 100.0 == self.0 { rounded } else { exact };
        serializer.serialize_str(&format!("{percent}%"))
    }
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one(depth: &u32) -> bool {
    *depth == 1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_yes(keep_alive: &bool) -> bool {
    *keep_alive
}

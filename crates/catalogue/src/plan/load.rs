//! One load of a plan: connections, closed loop or rate, length, and twins.
//!
//! As written in the file. `expand` makes a load for each twin with the plan's scale applied.

use super::{Balance, Pin};
use crate::duration;
use paceline_record::{
    Arrivals, BalancedLoad, CapacityLoad, DatabaseLoad, FaultKind, LoopKind, RateShare, Scaled, Variant,
    VariantKind, WorkloadProtocol,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::time::Duration;

/// The default warm-up; with `requests` there is none, as with the binary's `-n`.
const WARMUP: Duration = Duration::from_secs(1);
/// The least time limit of a run with a number of requests, whatever its expected length.
const COUNTED_LIMIT: Duration = Duration::from_secs(600);
/// And this many times its expected length: a server may be slower than expected.
const COUNTED_TIMES: u32 = 3;

/// The default length of the confirming window.
const CONFIRM: Duration = Duration::from_secs(20);
/// Windows of a search at most, as in the command.
const MAX_WINDOWS: u32 = 40;
/// The expected number of windows of a search: those on a noisy machine (docs/capacity-and-comparing.md), where a round
/// has to fit its budget too. On a quiet machine it is 14.
const WINDOWS_USUAL: u32 = 30;
/// Long windows that a search may try.
const CONFIRM_TRIES: u32 = 4;
/// The expected number of long windows, a guess: a long window is more likely to contain a pause than a short one, and
/// then a lower rate is tried.
const CONFIRM_USUAL: u32 = 2;
/// The time of a trial beyond its warm-up and window, and of each run of a search: starting the generator, connecting,
/// draining, records.
pub const TRIAL_EXTRA_GUESS: Duration = Duration::from_millis(500);
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
    /// Length of the warm-up; see [`PlanLoad::warmup`].
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
    /// The same load again with one thing changed: `http10`, `close`, `unpipelined`.
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
    /// Which twin it is, set by `expand`.
    #[serde(skip)]
    pub variant: Option<Variant>,
    /// The values at full size, set by `expand`.
    #[serde(skip)]
    pub scaled: Option<Scaled>,
    /// Instances and balancer, if any, set by `expand`.
    #[serde(skip)]
    pub balanced: Option<BalancedLoad>,
    /// The database of its launch and the connections to it, if any, set by `expand`.
    #[serde(skip)]
    pub database: Option<DatabaseLoad>,
    /// The name of the load in the plan that it comes from, set by `expand`.
    #[serde(skip)]
    pub plan_name: String,
    /// What its rate is a share of, set by `expand`.
    #[serde(skip)]
    pub share: Option<RateShare>,
    /// Loads with the same group are measured on the same launch, set by `expand`.
    #[serde(skip)]
    pub group: LaunchGroup,
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
        serializer.serialize_str(&format!("{}%", self.0 * 100.0))
    }
}

/// Which loads share a launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchGroup {
    /// Equal for loads that may share one; empty for those of a plain launch.
    pub name: String,
    /// Whether each workload has a separate launch with its loads in order: a server's first run must be its first.
    pub is_ordered: bool,
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

impl PlanLoad {
    /// Whether its version of HTTP is this one: `1.0`, `1.1`, `2` or `3`.
    pub fn is_http(&self, version: &str) -> bool {
        self.http.as_deref() == Some(version)
    }

    /// Whether it names a version of HTTP that has several streams on a connection.
    pub fn has_streams(&self) -> bool {
        self.is_http("2") || self.is_http("3")
    }

    /// Whether its connections are encrypted.
    pub fn uses_tls(&self) -> bool {
        self.tls || self.is_http("3")
    }

    /// Closed, or open where there is a rate.
    pub fn kind(&self) -> LoopKind {
        let is_open = self.rate_per_s.is_some() || self.rate.is_some() || self.is_search();
        if is_open { LoopKind::Open } else { LoopKind::Closed }
    }

    /// The length of the warm-up: as given, else 1 s, else none for a run with `requests` or a first run.
    pub fn warmup(&self) -> Duration {
        let is_first = self.variant.as_ref().is_some_and(|variant| variant.kind == VariantKind::FirstRun);
        if is_first || self.tool.is_some() {
            return Duration::ZERO;
        }
        let default = if self.requests.is_some() { Duration::ZERO } else { WARMUP };
        self.warmup.unwrap_or(default)
    }

    /// The load's part of a trial's record.
    pub fn record(&self) -> paceline_record::Load {
        paceline_record::Load {
            name: self.name.clone(),
            kind: self.kind(),
            connections: self.connections,
            depth: self.depth,
            rate_per_s: self.rate_per_s,
            arrivals: (self.kind() == LoopKind::Open).then(|| self.arrivals.unwrap_or(Arrivals::Constant)),
            duration_s: self.duration.map(|duration| duration.as_secs_f64()),
            requests: self.requests,
            warmup_s: self.warmup().as_secs_f64(),
            http: self.http.clone().filter(|http| http != "1.1"),
            tls: self.uses_tls(),
            // Those of the workload: `Cell::load_record`.
            protocol: WorkloadProtocol::Http,
            stream: None,
            no_keep_alive: !self.keep_alive,
            requests_per_connection: self.requests_per_connection,
            tool: self.tool.clone(),
            variant: self.variant.clone(),
            scaled: self.scaled,
            balanced: self.balanced.clone(),
            database: self.database.clone(),
            share: self.share.clone(),
            capacity: self.capacity(),
        }
    }

    /// Warm-up and window together, if known beforehand; without connecting and draining.
    pub fn length(&self) -> Option<Duration> {
        self.duration.map(|duration| duration + self.warmup())
    }

    /// The expected length of a run, including its warm-up, as far as the plan tells: the window, the time of that many
    /// requests at the rate, or the usual length.
    pub fn usual(&self) -> Option<Duration> {
        let at_rate = || {
            let seconds = self.requests? as f64 / self.rate_per_s?;
            Some(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
        };
        let search = || self.search_lengths().map(|(usual, _)| usual);
        search().or_else(|| self.length()).or_else(at_rate).or(self.usual_length)
    }

    /// How long a run may take before it is treated as hanging; without connecting and draining.
    pub fn limit(&self) -> Duration {
        let counted = || {
            let usual = self.usual().unwrap_or_default().max(self.usual_length.unwrap_or_default());
            COUNTED_LIMIT.max(usual.saturating_mul(COUNTED_TIMES))
        };
        let search = self.search_lengths().map(|(_, longest)| longest);
        search.or_else(|| self.length()).unwrap_or_else(counted)
    }

    /// Whether it searches for a capacity.
    pub fn is_search(&self) -> bool {
        self.load == Some(LoadSearch::Capacity)
    }

    /// The search in a trial's record.
    fn capacity(&self) -> Option<CapacityLoad> {
        let objective = self.objective.clone().filter(|_| self.is_search())?;
        Some(CapacityLoad {
            objective,
            confirm_s: self.confirm().as_secs_f64(),
            windows_most: self.windows.unwrap_or(MAX_WINDOWS),
        })
    }

    fn confirm(&self) -> Duration {
        self.confirm.unwrap_or(CONFIRM)
    }

    /// The expected and the maximum length of its search: a closed loop, the windows, and the long windows. Each is a
    /// run with a warm-up; the extra time of the first is that of its trial, which is not included.
    fn search_lengths(&self) -> Option<(Duration, Duration)> {
        let window = self.duration.filter(|_| self.is_search())? + self.warmup();
        let confirm = Some(self.confirm()).filter(|confirm| !confirm.is_zero());
        let confirm = confirm.map_or(Duration::ZERO, |confirm| confirm + self.warmup() + TRIAL_EXTRA_GUESS);
        let most = self.windows.unwrap_or(MAX_WINDOWS);
        let windows = (window + TRIAL_EXTRA_GUESS).saturating_mul(WINDOWS_USUAL.min(most));
        let usual = window.saturating_add(windows).saturating_add(confirm.saturating_mul(CONFIRM_USUAL));
        // An objective may need longer windows than the plan says: up to a minute each.
        let longest = window.max(Duration::from_secs(60)).saturating_mul(most.saturating_add(1));
        Some((usual, longest.saturating_add(confirm.saturating_mul(CONFIRM_TRIES))))
    }

    /// Its own keys of instances and balancer.
    pub(super) fn balance(&self) -> Balance {
        Balance {
            instances: self.instances,
            balancer: self.balancer.clone(),
            policy: self.policy.clone(),
            fault: self.fault,
            pin: self.pin,
        }
    }
}

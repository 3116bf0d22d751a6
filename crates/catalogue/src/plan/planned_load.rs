//! One load as a round carries it out: checked, with every default filled in.
//!
//! `expand` makes it from a [`super::PlanLoad`], one for each twin and database, with the plan's scale applied.

use super::Pin;
use paceline_record::{
    Arrivals, BalancedLoad, CapacityLoad, DatabaseLoad, Load, LoopKind, RateShare, Scaled, Variant,
    VariantKind, WorkloadProtocol,
};
use std::time::Duration;

/// The least time limit of a run with a number of requests, whatever its expected length.
const COUNTED_LIMIT: Duration = Duration::from_secs(600);
/// And this many times its expected length: a server may be slower than expected.
const COUNTED_TIMES: u32 = 3;
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

/// One load of a round.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedLoad {
    /// Its name in results, unique in the plan.
    pub name: String,
    /// Connections.
    pub connections: u32,
    /// Requests outstanding on a connection at most.
    pub depth: u32,
    /// What is sent, and for how long.
    pub work: LoadWork,
    /// Length of the warm-up; zero for none.
    pub warmup: Duration,
    /// The version of HTTP, if the plan names one: only for workloads of HTTP, and 1.1 for those by default.
    pub http: Option<LoadHttp>,
    /// Whether connections are encrypted.
    pub tls: bool,
    /// Whether a connection is reused; `false` closes it after each response.
    pub keep_alive: bool,
    /// After how many responses a connection is closed and replaced, if it is.
    pub requests_per_connection: Option<u64>,
    /// The command line of another load generator that carries it out.
    pub tool: Option<String>,
    /// Its workloads, a subset of the plan's; empty for all.
    pub workloads: Vec<String>,
    /// Where instances, balancer and database run.
    pub pin: Pin,
    /// Which twin it is, if it is one.
    pub variant: Option<Variant>,
    /// The values at full size, if it is scaled.
    pub scaled: Option<Scaled>,
    /// Instances and balancer, if any.
    pub balanced: Option<BalancedLoad>,
    /// The database of its launch and the connections to it, if any.
    pub database: Option<DatabaseLoad>,
    /// Loads with the same group are measured on the same launch.
    pub group: LaunchGroup,
}

/// What a load sends, and for how long.
#[derive(Clone, Debug, PartialEq)]
pub enum LoadWork {
    /// One run.
    Fixed {
        /// When requests are sent.
        pace: LoadPace,
        /// When the window ends.
        end: LoadEnd,
    },
    /// A search for the highest rate that meets an objective: several runs.
    Search(CapacitySearch),
}

/// When the requests of a load are sent.
#[derive(Clone, Debug, PartialEq)]
pub enum LoadPace {
    /// A closed loop.
    Closed,
    /// An open loop.
    Rate {
        /// Offered, in requests per second.
        per_s: f64,
        /// Spacing of arrivals.
        arrivals: Arrivals,
    },
    /// An open loop at a share of the rate that another load finds.
    Share {
        /// The share, and of which load.
        share: RateShare,
        /// Spacing of arrivals.
        arrivals: Arrivals,
    },
}

/// When the window of a load ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadEnd {
    /// After this time.
    Duration(Duration),
    /// After a number of requests.
    Requests {
        /// How many.
        count: u64,
        /// The usual length of the run, if the plan says it: used for the estimate of a round.
        usual_length: Option<Duration>,
    },
}

/// A search for the highest rate that meets an objective, as `paceline capacity` does it.
#[derive(Clone, Debug, PartialEq)]
pub struct CapacitySearch {
    /// Length of each window.
    pub window: Duration,
    /// The objective, as for `--slo`.
    pub objective: String,
    /// Length of the window that confirms the result; zero for none.
    pub confirm: Duration,
    /// Windows at most.
    pub max_windows: u32,
    /// Spacing of arrivals.
    pub arrivals: Arrivals,
}

/// A version of HTTP that a load names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadHttp {
    /// HTTP/1.0 with keep-alive requested.
    Http10,
    /// HTTP/1.1.
    Http11,
    /// HTTP/2, with `depth` streams a connection.
    Http2,
    /// HTTP/3, likewise.
    Http3,
}

impl LoadHttp {
    /// All of them.
    pub(super) const ALL: [Self; 4] = [Self::Http10, Self::Http11, Self::Http2, Self::Http3];

    /// Its name in plans and records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http10 => "1.0",
            Self::Http11 => "1.1",
            Self::Http2 => "2",
            Self::Http3 => "3",
        }
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

impl LoadWork {
    /// Closed, or open where there is a rate.
    pub fn kind(&self) -> LoopKind {
        match self {
            Self::Fixed { pace: LoadPace::Closed, .. } => LoopKind::Closed,
            Self::Fixed { pace: LoadPace::Rate { .. } | LoadPace::Share { .. }, .. } | Self::Search(_) => {
                LoopKind::Open
            }
        }
    }

    /// The offered rate, if it is known before the round.
    pub(super) fn rate_per_s(&self) -> Option<f64> {
        match self {
            Self::Fixed { pace: LoadPace::Rate { per_s, .. }, .. } => Some(*per_s),
            Self::Fixed { .. } | Self::Search(_) => None,
        }
    }

    fn arrivals(&self) -> Option<Arrivals> {
        match self {
            Self::Fixed { pace: LoadPace::Closed, .. } => None,
            Self::Fixed {
                pace: LoadPace::Rate { arrivals, .. } | LoadPace::Share { arrivals, .. }, ..
            } => Some(*arrivals),
            Self::Search(search) => Some(search.arrivals),
        }
    }

    /// Length of a window, if it is bounded by time.
    fn duration(&self) -> Option<Duration> {
        match self {
            Self::Fixed { end: LoadEnd::Duration(duration), .. } => Some(*duration),
            Self::Fixed { end: LoadEnd::Requests { .. }, .. } => None,
            Self::Search(search) => Some(search.window),
        }
    }

    pub(super) fn requests(&self) -> Option<u64> {
        match self {
            Self::Fixed { end: LoadEnd::Requests { count, .. }, .. } => Some(*count),
            Self::Fixed { .. } | Self::Search(_) => None,
        }
    }
}

impl PlannedLoad {
    /// Whether its version of HTTP has several streams on a connection.
    pub fn has_streams(&self) -> bool {
        matches!(self.http, Some(LoadHttp::Http2 | LoadHttp::Http3))
    }

    /// Whether it searches for a capacity.
    pub fn is_search(&self) -> bool {
        matches!(self.work, LoadWork::Search(_))
    }

    /// What its rate is a share of, if it is one.
    pub fn share(&self) -> Option<&RateShare> {
        match &self.work {
            LoadWork::Fixed { pace: LoadPace::Share { share, .. }, .. } => Some(share),
            LoadWork::Fixed { .. } | LoadWork::Search(_) => None,
        }
    }

    /// Whether it is the first run of a server.
    pub fn is_first_run(&self) -> bool {
        self.variant.as_ref().is_some_and(|variant| variant.kind == VariantKind::FirstRun)
    }

    /// The load's part of a trial's record.
    pub fn record(&self) -> Load {
        Load {
            name: self.name.clone(),
            kind: self.work.kind(),
            connections: self.connections,
            depth: self.depth,
            rate_per_s: self.work.rate_per_s(),
            arrivals: self.work.arrivals(),
            duration_s: self.work.duration().map(|duration| duration.as_secs_f64()),
            requests: self.work.requests(),
            warmup_s: self.warmup.as_secs_f64(),
            http: self.http.filter(|http| *http != LoadHttp::Http11).map(|http| http.name().to_owned()),
            tls: self.tls,
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
            share: self.share().cloned(),
            capacity: match &self.work {
                LoadWork::Fixed { .. } => None,
                LoadWork::Search(search) => Some(CapacityLoad {
                    objective: search.objective.clone(),
                    confirm_s: search.confirm.as_secs_f64(),
                    windows_most: search.max_windows,
                }),
            },
        }
    }

    /// Warm-up and window together, if known beforehand; without connecting and draining.
    pub fn length(&self) -> Option<Duration> {
        self.work.duration().map(|duration| duration + self.warmup)
    }

    /// The expected length of a run, including its warm-up, as far as the plan tells: the window, the time of that many
    /// requests at the rate, or the usual length.
    pub fn usual(&self) -> Option<Duration> {
        match &self.work {
            LoadWork::Search(search) => Some(search.usual(self.warmup)),
            LoadWork::Fixed { end: LoadEnd::Duration(duration), .. } => Some(*duration + self.warmup),
            LoadWork::Fixed { pace: LoadPace::Rate { per_s, .. }, end: LoadEnd::Requests { count, .. } } => {
                Some(Duration::try_from_secs_f64(*count as f64 / per_s).unwrap_or(Duration::MAX))
            }
            LoadWork::Fixed { end: LoadEnd::Requests { usual_length, .. }, .. } => *usual_length,
        }
    }

    /// How long a run may take before it is treated as hanging; without connecting and draining.
    pub fn limit(&self) -> Duration {
        match &self.work {
            LoadWork::Search(search) => search.longest(self.warmup),
            LoadWork::Fixed { end: LoadEnd::Duration(duration), .. } => *duration + self.warmup,
            LoadWork::Fixed { end: LoadEnd::Requests { usual_length, .. }, .. } => {
                let usual = self.usual().unwrap_or_default().max(usual_length.unwrap_or_default());
                COUNTED_LIMIT.max(usual.saturating_mul(COUNTED_TIMES))
            }
        }
    }
}

/// The length of a search: a closed loop, the windows, and the long windows. Each is a run with a warm-up; the extra
/// time of the first is that of its trial, which is not included.
impl CapacitySearch {
    fn confirming(&self, warmup: Duration) -> Duration {
        if self.confirm.is_zero() { Duration::ZERO } else { self.confirm + warmup + TRIAL_EXTRA_GUESS }
    }

    /// The expected length.
    fn usual(&self, warmup: Duration) -> Duration {
        let window = self.window + warmup;
        let windows = (window + TRIAL_EXTRA_GUESS).saturating_mul(WINDOWS_USUAL.min(self.max_windows));
        let confirming = self.confirming(warmup).saturating_mul(CONFIRM_USUAL);
        window.saturating_add(windows).saturating_add(confirming)
    }

    /// The maximum length. An objective may need longer windows than the plan says: up to a minute each.
    fn longest(&self, warmup: Duration) -> Duration {
        let window = (self.window + warmup).max(Duration::from_secs(60));
        let windows = window.saturating_mul(self.max_windows.saturating_add(1));
        windows.saturating_add(self.confirming(warmup).saturating_mul(CONFIRM_TRIES))
    }
}

//! The figures of a row: each the median and the ends over its launches, one observation a launch.
//!
//! `row.rs` takes all of a row's; pairings, balanced tables and starts make single ones. Percentiles are read off each
//! launch's record and never computed from histograms put together. To how many digits a figure is shown is
//! `format/number.rs`'s.

use crate::launch::Launch;
use paceline_judge::SAMPLES_FOR_INTERVAL;
use paceline_record::{Block, LoopKind, Run, Times, Trial};
use paceline_stats::Spread;
use schemars::JsonSchema;
use serde::Serialize;

/// One figure over the launches that have it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Figure {
    /// The middle launch's, or the mean of the middle two.
    pub median: f64,
    /// The lowest launch's.
    pub min: f64,
    /// The highest launch's.
    pub max: f64,
    /// How many launches it was seen in.
    pub launches: usize,
}

impl Figure {
    /// The figure of some observations; none where there is none.
    pub fn of(observations: impl IntoIterator<Item = f64>) -> Option<Self> {
        let Spread { count, min, median, max } = Spread::of(observations)?;
        Some(Self { median, min, max, launches: count })
    }

    /// Whether two figures cannot be told apart: their ends overlap.
    pub fn overlaps(&self, other: &Figure) -> bool {
        self.min <= other.max && other.min <= self.max
    }

    /// Half the distance between the ends; none where one launch cannot tell.
    pub fn half_range(&self) -> Option<f64> {
        (self.launches > 1).then_some((self.max - self.min) / 2.0)
    }
}

/// A percentile of time over the launches, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Percentile {
    /// The percentile of each launch.
    #[serde(flatten)]
    pub figure: Figure,
    /// Whether it is a lower bound: in some launch it lies at or above the shortest wait for an answer never seen.
    pub at_least: bool,
    /// Whether every launch had answers enough for it: 3.7/(1 - p), from where on a 95 % interval of order
    /// statistics exists. Tables leave it out otherwise.
    pub enough: bool,
}

/// The figures of a row. What no launch measured is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Figures {
    /// Valid responses completed inside the window, per second of window.
    pub achieved_per_s: Option<Figure>,
    /// The same for each core the server was given.
    pub achieved_per_s_per_core: Option<Figure>,
    /// CPU time of the server's processes for each response, in microseconds.
    pub server_cpu_us_per_request: Option<Figure>,
    /// Median of the service time (closed loop) or the response time (open loop).
    pub time_ns_p50: Option<Percentile>,
    /// 99 % of those times were at or below it.
    pub time_ns_p99: Option<Percentile>,
    /// 99.9 % of those times were at or below it.
    pub time_ns_p99_9: Option<Percentile>,
    /// Highest resident memory of the server, summed over its processes.
    pub rss_bytes_peak: Option<Figure>,
    /// From the server's start to its first valid answer.
    pub first_answer_ms: Option<Figure>,
    /// Share of the window's requests that did not end well, 0 to 1.
    pub not_ok_share: Option<Figure>,
    /// Requests of all launches' windows.
    pub requests_scheduled: u64,
    /// Those of them that did not end well.
    pub requests_not_ok: u64,
    /// The same of each launch.
    pub requests_not_ok_per_launch: Option<Figure>,
    /// CPU time of the server as a share of its cores, 0 to 1.
    pub server_utilization: Option<Figure>,
    /// Busy time of the generator's busiest thread, 0 to 1.
    pub generator_utilization: Option<Figure>,
    /// Bytes received for each response that was read, head included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_received_per_response: Option<Figure>,
    /// Share of the responses after which the server left the connection open, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_alive_share: Option<Figure>,
    /// Cores that the server was given, where it was the same in every launch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_cores: Option<u32>,
}

impl Figures {
    /// The figures of the usable launches of a row.
    pub fn of(launches: &[&Launch<'_>], kind: LoopKind) -> Self {
        let counts = || launches.iter().map(|launch| launch.run.total.counts);
        let of_run = |get: &dyn Fn(&Launch<'_>) -> f64| Figure::of(launches.iter().map(|launch| get(launch)));
        let of_trial = |get: &dyn Fn(&Trial) -> Option<f64>| {
            Figure::of(launches.iter().filter_map(|launch| get(launch.trial)))
        };
        Self {
            achieved_per_s: of_run(&|launch| launch.run.rate_per_s.achieved),
            achieved_per_s_per_core: Figure::of(launches.iter().filter_map(|launch| per_core(launch))),
            server_cpu_us_per_request: of_trial(&|t| t.usage.as_ref().map(|u| u.cpu_ns_per_request / 1e3)),
            time_ns_p50: percentile(launches, kind, 0.5, |times| times.p50),
            time_ns_p99: percentile(launches, kind, 0.99, |times| times.p99),
            time_ns_p99_9: percentile(launches, kind, 0.999, |times| times.p99_9),
            rss_bytes_peak: of_trial(&|t| t.usage.as_ref().map(|u| u.rss_bytes_peak as f64)),
            first_answer_ms: of_trial(&|t| t.startup.as_ref().map(|s| s.first_answer_ns as f64 / 1e6)),
            not_ok_share: Figure::of(
                counts().filter(|c| c.scheduled > 0).map(|c| c.not_ok() as f64 / c.scheduled as f64),
            ),
            requests_scheduled: counts().map(|c| c.scheduled).sum(),
            requests_not_ok: counts().map(|c| c.not_ok()).sum(),
            requests_not_ok_per_launch: Figure::of(counts().map(|c| c.not_ok() as f64)),
            server_utilization: of_trial(&|t| t.usage.as_ref().map(|u| u.utilization)),
            generator_utilization: of_run(&|launch| launch.run.generator.utilization),
            bytes_received_per_response: Figure::of(
                launches.iter().filter_map(|l| bytes_per_response(l.run)),
            ),
            kept_alive_share: Figure::of(launches.iter().filter_map(|launch| kept_alive(launch.run))),
            server_cores: cores(launches),
        }
    }
}

/// Bytes of a response, head included; those of a broken one count among the others.
fn bytes_per_response(run: &Run) -> Option<f64> {
    let counts = &run.total.counts;
    let read = counts.ok + counts.bad_status + counts.bad_body;
    (read > 0 && run.total.bytes.received > 0).then(|| run.total.bytes.received as f64 / read as f64)
}

/// Of all responses, good and bad, those of the warm-up too, the share after which the server did not close. Nothing is
/// known of it where connections were used up on purpose.
fn kept_alive(run: &Run) -> Option<f64> {
    let counts = run.intervals.iter().map(|interval| interval.block.counts);
    let read = counts.flat_map(|counts| [counts.ok, counts.bad_status, counts.bad_body]);
    let answered = read.fold(0, u64::saturating_add);
    let kept = run.loop_.requests_per_connection.is_none() && !run.loop_.without_keep_alive;
    (answered > 0 && kept).then(|| (1.0 - run.connections.closed_by_server as f64 / answered as f64).max(0.0))
}

fn cores(launches: &[&Launch<'_>]) -> Option<u32> {
    let mut counts = launches.iter().map(|launch| launch.trial.server_cores().len() as u32);
    let first = counts.next()?;
    counts.all(|count| count == first).then_some(first)
}

/// Requests per second for each core the server was given; where the record names none, nothing is known.
fn per_core(launch: &Launch<'_>) -> Option<f64> {
    let cores = launch.trial.server_cores().len();
    (cores > 0).then(|| launch.run.rate_per_s.achieved / cores as f64)
}

/// The times a kind of loop is judged by: response times where there is a schedule, service times where there is none.
pub(crate) fn times_of(block: &Block, kind: LoopKind) -> Option<&Times> {
    match kind {
        LoopKind::Closed => block.service_time_ns.as_ref(),
        LoopKind::Open => block.response_time_ns.as_ref(),
    }
    .filter(|times| times.count > 0)
}

fn percentile(
    launches: &[&Launch<'_>],
    kind: LoopKind,
    p: f64,
    get: fn(&Times) -> u64,
) -> Option<Percentile> {
    let blocks = || launches.iter().map(|launch| &launch.run.total);
    let times = || blocks().filter_map(|block| Some((block, times_of(block, kind)?)));
    let figure = Figure::of(times().map(|(_, times)| get(times) as f64))?;
    let at_least = times()
        .any(|(block, times)| block.censored.is_some_and(|c| c.count > 0 && get(times) >= c.lowest_ns));
    let enough = times().all(|(_, times)| times.count as f64 >= SAMPLES_FOR_INTERVAL / (1.0 - p));
    Some(Percentile { figure, at_least, enough })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlap_is_shared_ground() {
        let figure = |min, max| Figure { median: (min + max) / 2.0, min, max, launches: 3 };
        assert!(figure(1.0, 3.0).overlaps(&figure(3.0, 4.0)));
        assert!(figure(1.0, 9.0).overlaps(&figure(3.0, 4.0)));
        assert!(!figure(1.0, 2.9).overlaps(&figure(3.0, 4.0)));
    }

    #[test]
    fn one_launch_has_no_range() {
        assert_eq!(Figure::of([5.0]).and_then(|figure| figure.half_range()), None);
        assert_eq!(Figure::of([5.0, 7.0]).and_then(|figure| figure.half_range()), Some(1.0));
    }
}

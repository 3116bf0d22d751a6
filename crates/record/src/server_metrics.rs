//! What a run's server reports of itself during the run: series of its metrics page, and pauses of its garbage collector.
//!
//! The crate `run` reads them (`--scrape`, `--gc-log`). Values are kept as the server reported them; rates are computed
//! here.

use crate::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Series that the server published, read once a second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerMetrics {
    /// Where they were read.
    pub url: String,
    /// Number of scrapes with values.
    pub scrapes: u32,
    /// Number of scrapes that failed.
    pub failed: u32,
    /// Why the first of them failed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub first_failure: Option<String>,
    /// Chosen series that were left out because there were too many.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub series_left_out: u32,
    /// When each sample was taken, from the start of the run, in nanoseconds; a long run keeps fewer.
    pub at_ns: Vec<u64>,
    /// The series that were read.
    pub series: Vec<MetricSeries>,
}

/// One series over a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricSeries {
    /// Its name with its labels, or its JSON pointer.
    pub name: String,
    /// How its values are read.
    pub kind: SeriesKind,
    /// A value for each time of the samples; null where the server gave none.
    pub values: Vec<Option<f64>>,
}

/// How the values of a series are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SeriesKind {
    /// The value at that time.
    #[default]
    Gauge,
    /// A count since the start of the server: its growth matters.
    Counter,
}

impl ServerMetrics {
    /// The points of a series, with times in nanoseconds: the values of a gauge, the growth of a counter per second. A
    /// counter that falls was reset.
    pub fn points(&self, series: &MetricSeries) -> Vec<(u64, f64)> {
        let known = self.at_ns.iter().zip(&series.values).filter_map(|(at, value)| Some((*at, (*value)?)));
        match series.kind {
            SeriesKind::Gauge => known.collect(),
            SeriesKind::Counter => {
                let known: Vec<(u64, f64)> = known.collect();
                let grown = |pair: &[(u64, f64)]| {
                    let [(from, before), (to, after)] = pair else { return None };
                    let over_s = to.saturating_sub(*from) as f64 / 1e9;
                    (after >= before && over_s > 0.0)
                        .then(|| (from.midpoint(*to), paceline_stats::ratio(after - before, over_s)))
                };
                known.windows(2).filter_map(grown).collect()
            }
        }
    }
}

/// Pauses of a garbage collector during a run, from its log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GcLog {
    /// The file of the log.
    pub path: String,
    /// The runtime whose lines were recognized; none without a pause.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub runtime: Option<GcRuntime>,
    /// Lines that were added during the run.
    pub lines: u64,
    /// Number of pauses in the window.
    pub window_pauses: u64,
    /// Their sum, in seconds.
    pub window_paused_s: f64,
    /// The longest of them, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub window_longest_ns: Option<u64>,
    /// The pauses of the run, the longest if there are very many, in order of time.
    pub pauses: Vec<GcPause>,
}

/// A runtime with a garbage collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GcRuntime {
    /// Unified logging (`-Xlog:gc`).
    Jvm,
    /// `GODEBUG=gctrace=1`.
    Go,
    /// `node --trace-gc`.
    Node,
}

/// A pause of a garbage collector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GcPause {
    /// When it was, from the start of the run, in nanoseconds: by the time in its line.
    pub at_ns: u64,
    /// How long all threads stood still, in nanoseconds.
    pub length_ns: u64,
}

impl GcLog {
    /// Pauses that a record keeps.
    pub const MAX_PAUSES: usize = 4_096;

    /// Sets the pauses of a run, and the figures of its window.
    #[must_use]
    pub fn with_pauses(self, mut pauses: Vec<GcPause>, window: Span) -> Self {
        let in_window = || {
            let window = window.start_ns..=window.end_ns;
            pauses.iter().filter(move |pause| window.contains(&pause.at_ns)).map(|pause| pause.length_ns)
        };
        let (count, sum, longest) = (in_window().count() as u64, in_window().sum::<u64>(), in_window().max());
        if pauses.len() > Self::MAX_PAUSES {
            pauses.sort_unstable_by_key(|pause| std::cmp::Reverse(pause.length_ns));
            pauses.truncate(Self::MAX_PAUSES);
        }
        pauses.sort_unstable_by_key(|pause| pause.at_ns);
        Self {
            window_pauses: count,
            window_paused_s: sum as f64 / 1e9,
            window_longest_ns: longest,
            pauses,
            ..self
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_become_rates_and_a_reset_is_left_out() {
        let series = |kind, values: &[Option<f64>]| MetricSeries {
            name: "x".to_owned(),
            kind,
            values: values.to_vec(),
        };
        let metrics = ServerMetrics {
            at_ns: [0, 1, 3, 4, 5].map(|s| s * 1_000_000_000).to_vec(),
            ..ServerMetrics::default()
        };
        let values = [Some(10.0), Some(12.0), None, Some(18.0), Some(1.0)];
        let gauge = metrics.points(&series(SeriesKind::Gauge, &values));
        assert_eq!(gauge.iter().map(|point| point.1).collect::<Vec<_>>(), [10.0, 12.0, 18.0, 1.0]);
        let counter = metrics.points(&series(SeriesKind::Counter, &values));
        assert_eq!(counter, [(500_000_000, 2.0), (2_500_000_000, 2.0)]);
    }

    #[test]
    fn only_the_pauses_of_the_window_count_and_the_longest_are_kept() {
        let pause = |at_ns, length_ns| GcPause { at_ns, length_ns };
        let window = Span { start_ns: 10, end_ns: 20 };
        let log = GcLog::default().with_pauses(vec![pause(15, 2), pause(9, 100), pause(20, 3)], window);
        assert_eq!((log.window_pauses, log.window_paused_s, log.window_longest_ns), (2, 5e-9, Some(3)));
        assert_eq!(log.pauses.iter().map(|pause| pause.at_ns).collect::<Vec<_>>(), [9, 15, 20]);
        let many = (0..5_000).map(|at| pause(at, at)).collect();
        let log = GcLog::default().with_pauses(many, Span { start_ns: 0, end_ns: 4_999 });
        assert_eq!((log.pauses.len(), log.pauses[0].at_ns, log.window_pauses), (4_096, 904, 5_000));
    }
}

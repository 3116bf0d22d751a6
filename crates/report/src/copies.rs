//! The noise of a table and its A/A check: a server and its copy.
//!
//! A copy is the same server with separate launches, so that every difference claimed between the two is false. The
//! copies do not define the noise floor: it comes from the variance of the whole table
//! ([`crate::Table::smallest_difference`]), and the copies check it. The compared metrics depend on the loop: the rate
//! is compared only in a closed loop.

use crate::rank::{RankedBy, fit, key_metric};
use crate::row::Row;
use paceline_judge::Metric;
use schemars::JsonSchema;
use serde::Serialize;

/// The difference for which a report states the launches that it needs.
pub(crate) const WISHED_DIFFERENCE: f64 = 0.05;

/// The noise of a metric over the launches of a table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MetricNoise {
    /// The key of the metric.
    pub metric: &'static str,
    /// The difference by which two rows chosen in advance must differ to be told apart, as a share: 0.03 is 3 %. A true
    /// difference of this size is found in about half of the cases.
    pub smallest_difference: f64,
    /// Launches of each row with which that difference would be 5 %; none above 10,000.
    pub launches_for_5_percent: Option<usize>,
    /// Launches of each row with which a true difference of 5 % is found in four of five cases; none above 10,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launches_to_find_5_percent: Option<usize>,
}

/// The noise of the metrics by which servers are compared, lowest first.
pub(crate) fn noise(rows: &[Row], by: RankedBy) -> Vec<MetricNoise> {
    let of = |metric: &&Metric| {
        let fit = fit(&rows.iter().collect::<Vec<_>>(), metric)?;
        Some(MetricNoise {
            metric: metric.key,
            smallest_difference: fit.smallest_ratio_difference(1)?,
            launches_for_5_percent: fit.launches_for_difference(WISHED_DIFFERENCE),
            launches_to_find_5_percent: fit.launches_to_find(WISHED_DIFFERENCE),
        })
    };
    let mut noise: Vec<MetricNoise> = compared_metrics(by).iter().filter_map(of).collect();
    noise.sort_by(|a, b| a.smallest_difference.total_cmp(&b.smallest_difference));
    noise
}

/// The metrics by which servers are compared. In an open loop the schedule sets the rate, in a search the search sets
/// the rate of its last window.
fn compared_metrics(by: RankedBy) -> &'static [&'static Metric] {
    let all: &[&Metric] = &[
        &Metric::ACHIEVED_PER_S,
        &Metric::SERVER_CPU,
        &Metric::TIME_P50,
        &Metric::TIME_P99,
        &Metric::RSS_PEAK,
    ];
    match by {
        RankedBy::RequestsPerS => all,
        RankedBy::ServerCpuPerRequest | RankedBy::ResponseTimeP99 => &all[1..],
        RankedBy::Capacity => &[&Metric::CAPACITY, &Metric::RSS_PEAK],
    }
}

/// One figure of a copy, compared with its original.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CopyCheck {
    /// Id of the server.
    pub server: String,
    /// The key of the metric.
    pub metric: &'static str,
    /// Whether it is the metric that the table is ordered by.
    pub is_deciding: bool,
    /// The copy's figure divided by the original's.
    pub ratio: f64,
    /// The ratio's 95 % interval.
    pub interval: [f64; 2],
    /// The difference in standard errors: over many rounds its spread is about 1.
    pub t: f64,
    /// Whether the interval excludes 1: the round claims a difference, falsely.
    pub is_claimed: bool,
}

/// Compares every copy in a table with its original. A copy without a pair of comparable launches has no check.
pub(crate) fn copy_checks(rows: &[Row], by: RankedBy) -> Vec<CopyCheck> {
    let place = |id: &str| rows.iter().position(|row| row.server.id == id && row.is_sound());
    let pairs: Vec<(usize, usize)> = rows
        .iter()
        .filter_map(|row| Some((place(&row.server.id)?, place(row.server.copy_of.as_deref()?)?)))
        .collect();
    let mut checks = Vec::new();
    for metric in compared_metrics(by).iter().filter(|_| !pairs.is_empty()) {
        let Some(fit) = fit(&rows.iter().collect::<Vec<_>>(), metric) else { continue };
        for (copy, original) in &pairs {
            let Some((ratio, t)) = fit.ratio(*copy, *original).zip(fit.t(*copy, *original)) else { continue };
            checks.push(CopyCheck {
                server: rows[*original].server.id.clone(),
                metric: metric.key,
                is_deciding: **metric == *key_metric(&rows[*original], by),
                ratio: ratio.ratio,
                interval: [ratio.interval.low, ratio.interval.high],
                t,
                is_claimed: ratio.interval.low > 1.0 || ratio.interval.high < 1.0,
            });
        }
    }
    checks
}

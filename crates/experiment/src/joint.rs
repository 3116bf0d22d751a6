//! All rows of a server at once: whether it differs over all of its workloads and loads together.
//!
//! A difference that each row alone leaves open may be proven by all of them. Rows may share launches, so they are not
//! independent: a launch has one value over all rows, the geometric mean of its figures, and the launches of the two
//! sides are compared with Welch's t test. With several servers the p values are corrected by Holm's method. Rows of
//! the two loops are compared apart in metrics that mean something else in the other loop, such as times.

use crate::compared_metric::{ComparedMetric, NOT_COMPARED};
use crate::metric_comparison::MetricComparison;
use paceline_judge::Metric;
use paceline_record::LoopKind;
use paceline_report::{RankedBy, Row, Standing, Table, means_over_rows};
use paceline_stats::{compare_launches, holm};
use std::collections::BTreeMap;

/// A server on both sides, compared by one metric over all rows that both have.
#[derive(Clone, Debug, PartialEq)]
pub struct JointComparison {
    /// The server's id on either side.
    pub servers: [String; 2],
    /// The loop of its rows, if the metric means something else in the other one.
    pub loop_kind: Option<LoopKind>,
    /// Rows that count on both sides.
    pub rows: usize,
    /// How many of them have more of it on the second side.
    pub higher: usize,
    /// The second side relative to the first, over all of these rows.
    pub comparison: MetricComparison,
}

/// A row of both sides, each with its table.
type RowPair<'a> = [(&'a Table, &'a Row); 2];

/// Whether a figure was decided by the load, not by the server: the rate of an open loop that kept up with its
/// schedule.
pub(crate) fn is_given(table: &Table, row: &Row, metric: &Metric) -> bool {
    let is_rate = *metric == Metric::ACHIEVED_PER_S || *metric == Metric::ACHIEVED_PER_CORE;
    is_rate && table.ranked_by == RankedBy::ServerCpuPerRequest && row.standing == Standing::Ranked
}

/// The loops whose rows are compared apart: a time is a service time in one and a response time in the other, and the
/// rate of an open loop is offered.
fn loops(metric: &'static Metric) -> &'static [Option<LoopKind>] {
    let [closed, open] =
        [LoopKind::Closed, LoopKind::Open].map(|kind| ComparedMetric::from_judged(metric, kind));
    if metric.is_percentile || closed != open {
        &[Some(LoopKind::Closed), Some(LoopKind::Open)]
    } else {
        &[None]
    }
}

/// Compares each server over all of its rows in every metric that two rows or more have. Of a server with rows on
/// several machines those of the machines with most rows count: machines are never pooled.
pub fn joint_comparisons(rows: &[RowPair<'_>], margin: f64) -> Vec<JointComparison> {
    let mut groups: BTreeMap<([&str; 2], [&str; 2]), Vec<&RowPair<'_>>> = BTreeMap::new();
    for pair in rows {
        let key = (pair.map(|(_, row)| &*row.server.id), pair.map(|(table, _)| &*table.machine));
        groups.entry(key).or_default().push(pair);
    }
    let mut servers: BTreeMap<[&str; 2], Vec<&RowPair<'_>>> = BTreeMap::new();
    for ((names, _), pairs) in groups {
        let most = servers.entry(names).or_default();
        if pairs.len() > most.len() {
            *most = pairs;
        }
    }
    let mut found = Vec::new();
    for metric in Metric::ALL.iter().filter(|metric| !NOT_COMPARED.contains(metric)) {
        let of_server = |(names, pairs): (&[&str; 2], &Vec<&RowPair<'_>>)| -> Vec<JointComparison> {
            loops(metric).iter().filter_map(|kind| joint(*names, pairs, metric, *kind, margin)).collect()
        };
        let mut family: Vec<JointComparison> = servers.iter().flat_map(of_server).collect();
        correct(&mut family);
        found.extend(family);
    }
    found
}

fn joint(
    servers: [&str; 2],
    pairs: &[&RowPair<'_>],
    metric: &'static Metric,
    loop_kind: Option<LoopKind>,
    margin: f64,
) -> Option<JointComparison> {
    let is_of_loop = |(table, _): &(&Table, &Row)| loop_kind.is_none_or(|kind| table.load.kind == kind);
    let counts = |(table, row): &(&Table, &Row)| {
        row.counts(metric) && !row.is_minimum(metric) && !is_given(table, row, metric)
    };
    let has = |(_, row): &(&Table, &Row)| row.figures.shown(metric).is_some_and(|value| value > 0.0);
    let counted: Vec<&RowPair<'_>> = pairs
        .iter()
        .copied()
        .filter(|pair| pair.iter().all(|side| is_of_loop(side) && counts(side) && has(side)))
        .collect();
    if counted.len() < 2 {
        return None;
    }
    let values = [0, 1].map(|side| launches(counted.iter().map(|pair| pair[side].1), metric));
    let [first, second] = [&*values[0], &*values[1]];
    let compared = ComparedMetric::from_judged(metric, counted.first()?[0].0.load.kind);
    let comparison = match compare_launches(second, first, margin) {
        Some(test) => MetricComparison::tested(compared, [first, second], test),
        None => MetricComparison::single(compared, [first, second])?,
    };
    let is_higher = |pair: &&&RowPair<'_>| pair[1].1.figures.shown(metric) > pair[0].1.figures.shown(metric);
    Some(JointComparison {
        servers: servers.map(str::to_owned),
        loop_kind,
        rows: counted.len(),
        higher: counted.iter().filter(is_higher).count(),
        comparison,
    })
}

/// The geometric mean over some rows of each launch that all of them have.
fn launches<'a>(rows: impl Iterator<Item = &'a Row>, metric: &Metric) -> Vec<f64> {
    let observed =
        |row: &Row| row.figures.get(metric).map(|figure| figure.observed.clone()).unwrap_or_default();
    let rows: Vec<_> = rows.map(observed).collect();
    means_over_rows(&rows).into_iter().map(|(_, mean)| mean).collect()
}

/// Corrects the p values of one metric over all servers, and over both loops where they are compared apart.
fn correct(family: &mut [JointComparison]) {
    let mut tested: Vec<&mut MetricComparison> = family
        .iter_mut()
        .map(|joint| &mut joint.comparison)
        .filter(|comparison| comparison.direction.is_tested())
        .collect();
    let corrected = holm(&tested.iter().map(|comparison| comparison.p_value).collect::<Vec<_>>());
    for (comparison, p_value) in tested.iter_mut().zip(corrected) {
        comparison.correct(p_value, 1);
    }
}

//! The order of a table's rows, and the possible ranks of each.
//!
//! Closed loop: by requests per second. Rows in which the generator was the limit come first, because they are
//! minimums; they are ordered by the server's CPU time per request, at a fixed rate if one was measured. Open loop: by
//! the server's CPU time per request, at a share of each server's capacity by the p99 response time. A search: by the
//! capacity found. A row has the set of ranks that its launches leave possible, for the whole table at once
//! (`paceline_stats::BlockFit`: server and block effects on the log scale, largest t statistic). A row that is not
//! sound has no rank; if it seems better than a ranked row, it widens that row's set.

use crate::figure::Figure;
use crate::row::{Row, Standing};
use paceline_judge::{Better, Metric};
use paceline_record::{Load, LoopKind};
use paceline_stats::{BlockFit, BlockRow, Draws};
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Ordering;

/// With fewer launches the noise of a row is unknown.
pub const LAUNCHES_LEAST: u32 = 2;
/// The seed for the draws of the largest t statistic: the same table always gives the same ranks.
const SEED: u64 = 1;

/// The criterion by which the rows of a table are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RankedBy {
    /// Requests per second, more is better: closed loop.
    RequestsPerS,
    /// The server's CPU per request at the offered rate, less is better: open loop.
    ServerCpuPerRequest,
    /// The capacity found, more is better: a search.
    Capacity,
    /// The p99 response time, less is better: an open loop at a share of each server's own capacity, where rates, and
    /// therefore the CPU per request, are not comparable.
    ResponseTimeP99,
}

impl RankedBy {
    /// The criterion for the rows of a load.
    pub fn of(load: &Load) -> Self {
        match load.kind {
            LoopKind::Closed => RankedBy::RequestsPerS,
            LoopKind::Open if load.capacity.is_some() => RankedBy::Capacity,
            LoopKind::Open if load.share.is_some() => RankedBy::ResponseTimeP99,
            LoopKind::Open => RankedBy::ServerCpuPerRequest,
        }
    }

    /// The metric of a row that measures the server.
    pub fn metric(self) -> &'static Metric {
        match self {
            RankedBy::RequestsPerS => &Metric::ACHIEVED_PER_S,
            RankedBy::ServerCpuPerRequest => &Metric::SERVER_CPU,
            RankedBy::Capacity => &Metric::CAPACITY,
            RankedBy::ResponseTimeP99 => &Metric::TIME_P99,
        }
    }
}

/// The draws for the ranks of the tables of a round.
pub fn draws() -> Draws {
    Draws::new(SEED)
}

/// Orders the rows and sets their ranks. Returns the typical difference from which this table distinguishes two rows,
/// as a share.
pub fn rank(rows: &mut [Row], by: RankedBy, draws: &Draws) -> Option<f64> {
    rows.sort_by(|a, b| {
        let group = |row: &Row| group(row, by);
        group(a).cmp(&group(b)).then_with(|| by_key(a, b, by)).then_with(|| a.server.id.cmp(&b.server.id))
    });
    let minimums = rows.iter().take_while(|row| group(row, by) == 0).count();
    let ranked = rows.iter().take_while(|row| group(row, by) <= 1).count();
    let of_minimums = rank_group(rows, 0..minimums, by, draws);
    let of_estimates = rank_group(rows, minimums..ranked, by, draws);
    join(rows, minimums, ranked);
    widen_by_unsound(rows, ranked, by);
    of_estimates.or(of_minimums)
}

/// Rows of a group are adjacent.
fn group(row: &Row, by: RankedBy) -> u8 {
    match row.standing {
        Standing::GeneratorBound if by == RankedBy::RequestsPerS && key(row, by).is_some() => 0,
        Standing::Ranked if key(row, by).is_some() => 1,
        Standing::Ranked | Standing::GeneratorBound => 2,
        Standing::Overloaded => 3,
        Standing::Invalid => 4,
        Standing::Failed => 5,
    }
}

/// The metric by which a row is ordered.
pub fn key_metric(row: &Row, by: RankedBy) -> &'static Metric {
    let has = |metric: &Metric| row.figures.get(metric).is_some();
    match (by, row.standing) {
        (RankedBy::RequestsPerS, Standing::GeneratorBound) if has(&Metric::SERVER_CPU_AT_REFERENCE) => {
            &Metric::SERVER_CPU_AT_REFERENCE
        }
        (RankedBy::RequestsPerS, Standing::GeneratorBound) if has(&Metric::SERVER_CPU) => &Metric::SERVER_CPU,
        (by, Standing::Ranked) => by.metric(),
        _ => &Metric::ACHIEVED_PER_S,
    }
}

fn key(row: &Row, by: RankedBy) -> Option<(&Figure, &'static Metric)> {
    let metric = key_metric(row, by);
    Some((row.figures.get(metric)?, metric))
}

fn by_key(a: &Row, b: &Row, by: RankedBy) -> Ordering {
    match (key(a, by), key(b, by)) {
        // A row without the CPU figure comes after the rows that have it, regardless of its own figure.
        (Some((_, a)), Some((_, b))) if a != b => {
            (a.better == Better::Higher).cmp(&(b.better == Better::Higher))
        }
        (Some((a, metric)), Some((b, _))) => match metric.better {
            Better::Lower => a.shown().total_cmp(&b.shown()),
            Better::Higher | Better::Neither => b.shown().total_cmp(&a.shown()),
        },
        (a, b) => b.is_some().cmp(&a.is_some()),
    }
}

/// A fit of one metric of some rows; launches of one repeat belong to one block.
pub(crate) fn fit(rows: &[Row], metric: &Metric) -> Option<BlockFit> {
    let observed =
        |row: &Row| row.figures.get(metric).map(|figure| figure.observed.clone()).unwrap_or_default();
    let observed: Vec<Vec<(u32, f64)>> = rows.iter().map(observed).collect();
    let blocks = observed.iter().flatten().map(|(repeat, _)| *repeat as usize + 1).max()?;
    let rows: Vec<BlockRow> = observed
        .iter()
        .zip(rows)
        .map(|(observed, row)| {
            let mut values = vec![None; blocks];
            for (repeat, value) in observed.iter().filter(|(_, value)| *value > 0.0) {
                values[*repeat as usize] = Some(*value);
            }
            BlockRow { values, is_steady: row.is_steady() }
        })
        .collect();
    BlockFit::of(&rows)
}

/// Ranks rows that are ordered by one metric, starting at the position of the first.
fn rank_group(rows: &mut [Row], range: std::ops::Range<usize>, by: RankedBy, draws: &Draws) -> Option<f64> {
    let before = rows.iter().take(range.start).filter(|row| row.rank.is_some()).count();
    let group = rows.get_mut(range)?;
    let metric = key_metric(group.first()?, by);
    let repeated = |row: &Row| {
        let figure = row.figures.get(metric);
        figure.is_some_and(|figure| figure.launches >= LAUNCHES_LEAST as usize)
    };
    let alike = group.iter().take_while(|row| key_metric(row, by) == metric).count();
    let group = group.get_mut(..alike)?;
    if group.iter().filter(|row| repeated(row)).count() == 1 {
        let only = group.iter_mut().find(|row| repeated(row))?;
        (only.rank, only.rank_worst) = (Some(before as u32 + 1), Some(before as u32 + 1));
        return None;
    }
    let ranking = fit(group, metric)?.rank(metric.better == Better::Higher, draws)?;
    for (row, set) in group.iter_mut().zip(&ranking.ranks) {
        row.rank = set.map(|set| (before + set.best) as u32);
        row.rank_worst = set.map(|set| (before + set.worst) as u32);
    }
    Some(ranking.smallest_difference)
}

/// Minimums come before estimates. If an estimate cannot be distinguished from a minimum, either may be ahead.
fn join(rows: &mut [Row], minimums: usize, ranked: usize) {
    let Some(fit) = rows.get(..ranked).and_then(|rows| fit(rows, &Metric::ACHIEVED_PER_S)) else { return };
    for estimate in minimums..ranked {
        for minimum in 0..minimums {
            let apart = fit.ratio(estimate, minimum).is_some_and(|ratio| ratio.interval.high < 1.0);
            if !apart {
                rows[estimate].rank = rows[estimate].rank.map(|rank| rank.saturating_sub(1).max(1));
                rows[minimum].rank_worst = rows[minimum].rank_worst.map(|rank| rank + 1);
            }
        }
    }
}

/// A row that is not sound and seems better than a ranked row may be ahead of it.
fn widen_by_unsound(rows: &mut [Row], ranked: usize, by: RankedBy) {
    let (ranked, others) = rows.split_at_mut(ranked);
    for row in ranked.iter_mut() {
        let better = |other: &&Row| match (key(row, by), key(other, by)) {
            (Some((_, a)), Some((_, b))) if a == b => by_key(other, row, by) == Ordering::Less,
            _ => false,
        };
        let ahead = others.iter().filter(|other| other.standing == Standing::Invalid).filter(better).count();
        row.rank_worst = row.rank_worst.map(|worst| worst + ahead as u32);
    }
}

#[cfg(test)]
#[path = "rank/tests.rs"]
mod tests;

//! The order of a table's rows, and the possible ranks of each.
//!
//! Closed loop: by requests per second. Rows in which the generator was the limit come first, because they are
//! minimums; they are ordered by the server's CPU time per request, at a fixed rate if one was measured. Rows that were
//! disturbed are minimums too, and are ordered by their rate. Open loop: by the server's CPU time per request, at a share
//! of each server's capacity by the p99 response time. A search: by the capacity found. A row has the set of ranks that
//! its launches leave possible, for the whole table at once (`paceline_stats::BlockFit`: server and block effects on the
//! log scale, largest t statistic). Pages take ranks and ties from here. A row that is invalid has no rank; if its rate
//! is better than that of a ranked row, it widens that row's set.

use crate::figure::Figure;
use crate::row::{Row, Standing};
use paceline_judge::{Better, Metric};
use paceline_record::{Load, LoopKind};
use paceline_stats::{BlockFit, BlockRow, CONFIDENCE, Draws};
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// With fewer launches the noise of a row is unknown.
pub const MIN_LAUNCHES: u32 = 2;
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
    pub fn from_load(load: &Load) -> Self {
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

/// What a table claims.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Claims {
    /// Pairs of rows, as places in the table, of which the first is ahead of the second with confidence.
    pub ahead: Vec<(usize, usize)>,
    /// The difference by which a typical pair of rows must differ to be told apart, as a share.
    pub smallest_difference: Option<f64>,
}

/// Orders the rows, sets their ranks, and returns the claims on which the ranks rest.
pub fn rank(rows: &mut [Row], by: RankedBy, draws: &Draws) -> Claims {
    rows.sort_by(|a, b| {
        let group = |row: &Row| group(row, by);
        group(a).cmp(&group(b)).then_with(|| by_key(a, b, by)).then_with(|| a.server.id.cmp(&b.server.id))
    });
    let claims = claims(rows, by, draws);
    set_ranks(rows, &claims.ahead, by);
    claims
}

/// Rows of a group are adjacent.
fn group(row: &Row, by: RankedBy) -> u8 {
    match row.standing {
        Standing::GeneratorBound if by == RankedBy::RequestsPerS && key(row, by).is_some() => 0,
        Standing::Ranked if key(row, by).is_some() => 1,
        Standing::Disturbed if by == RankedBy::RequestsPerS && key(row, by).is_some() => 1,
        Standing::Ranked | Standing::GeneratorBound | Standing::Disturbed => 2,
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
pub fn fit(rows: &[&Row], metric: &Metric) -> Option<BlockFit> {
    let observed =
        |row: &&Row| row.figures.get(metric).map(|figure| figure.observed.clone()).unwrap_or_default();
    fit_launches(rows.iter().map(|row| (observed(row), row.is_steady())))
}

/// A fit of the launches of some servers, each by its repeat, and of whether the server was steady. A launch without a
/// value above zero is left out.
pub fn fit_launches(rows: impl Iterator<Item = (Vec<(u32, f64)>, bool)>) -> Option<BlockFit> {
    let rows: Vec<(Vec<(u32, f64)>, bool)> = rows.collect();
    // Only repeats that occur have a block: a stored trial may have any number.
    let repeats: BTreeSet<u32> =
        rows.iter().flat_map(|(observed, _)| observed).map(|(repeat, _)| *repeat).collect();
    let of_row = |(observed, is_steady): &(Vec<(u32, f64)>, bool)| {
        let values: BTreeMap<u32, f64> = observed.iter().copied().filter(|(_, value)| *value > 0.0).collect();
        let values = repeats.iter().map(|repeat| values.get(repeat).copied()).collect();
        BlockRow { values, is_steady: *is_steady }
    };
    BlockFit::from_rows(&rows.iter().map(of_row).collect::<Vec<_>>())
}

/// Which rows are ahead of which: estimates by the table's criterion, rows that the generator limited by CPU time, and
/// minimums against estimates by rate. An estimate is never ahead of a minimum, which may be any higher rate. A table
/// with minimums has up to three rankings. They share the error by their numbers of pairs (Bonferroni, weighted): the 95 %
/// are those of the whole table, and few minimums hardly widen the ranks of many estimates.
fn claims(rows: &[Row], by: RankedBy, draws: &Draws) -> Claims {
    let places = |wanted: &dyn Fn(&Row) -> bool| -> Vec<usize> {
        let ordered = rows.iter().enumerate().filter(|(_, row)| group(row, by) <= 1 && wanted(row));
        ordered.map(|(place, _)| place).collect()
    };
    let estimates = places(&|row| row.standing == Standing::Ranked);
    let minimums = places(&|row| row.standing != Standing::Ranked);
    let mut limited = places(&|row| row.standing == Standing::GeneratorBound);
    let cpu = limited.first().map_or(by.metric(), |first| key_metric(&rows[*first], by));
    limited.retain(|place| key_metric(&rows[*place], by) == cpu);
    let among = |places: &[usize]| (places.len() * places.len().saturating_sub(1) / 2) as f64;
    let (pairs, limited_pairs) = (among(&estimates), among(&limited));
    let crossed_pairs = (minimums.len() * estimates.len()) as f64;
    let confidence = |of_these: f64| {
        let all = (pairs + limited_pairs + crossed_pairs).max(1.0);
        1.0 - (1.0 - CONFIDENCE) * of_these / all
    };
    let of_limited = order(rows, &limited, cpu, confidence(limited_pairs), draws).unwrap_or_default();
    let of_estimates = order(rows, &estimates, by.metric(), confidence(pairs), draws).unwrap_or_default();
    let both = [minimums.as_slice(), &estimates].concat();
    let of_minimums = places_fit(rows, &both, by.metric()).map(|fit| {
        let higher_is_better = by.metric().better == Better::Higher;
        fit.ahead_of_others(minimums.len(), confidence(crossed_pairs), higher_is_better, draws)
    });
    let of_minimums = known(rows, &both, by.metric(), of_minimums.unwrap_or_default());
    Claims {
        smallest_difference: of_estimates.smallest_difference.or(of_limited.smallest_difference),
        ahead: [of_estimates.ahead, of_limited.ahead, of_minimums].concat(),
    }
}

/// The claims about some rows by one metric that all hold with this confidence.
fn order(rows: &[Row], places: &[usize], metric: &Metric, confidence: f64, draws: &Draws) -> Option<Claims> {
    let higher_is_better = metric.better == Better::Higher;
    let ranking = places_fit(rows, places, metric)?.rank_with(confidence, higher_is_better, draws)?;
    let ahead = known(rows, places, metric, ranking.ahead);
    Some(Claims { ahead, smallest_difference: Some(ranking.smallest_difference) })
}

/// A fit of the rows at some places.
fn places_fit(rows: &[Row], places: &[usize], metric: &Metric) -> Option<BlockFit> {
    fit(&places.iter().map(|place| &rows[*place]).collect::<Vec<_>>(), metric)
}

/// The pairs of a fit of the rows at some places, as pairs of these places. A time that is only a minimum may be any
/// longer one: it is ahead of none.
fn known(rows: &[Row], places: &[usize], metric: &Metric, ahead: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    let placed = ahead.into_iter().map(|(first, second)| (places[first], places[second]));
    placed.filter(|(first, _)| !rows[*first].may_be_worse(metric)).collect()
}

/// The ranks that the claims leave to each row with at least two launches. Another row that may be ahead of it widens
/// its set: an invalid one with a better rate, and one with a single launch.
fn set_ranks(rows: &mut [Row], ahead: &[(usize, usize)], by: RankedBy) {
    let metric = by.metric();
    let is_ordered: Vec<bool> = rows.iter().map(|row| group(row, by) <= 1).collect();
    let has_rank = |(row, is_ordered): (&Row, &bool)| {
        let figure = row.figures.get(metric).filter(|_| *is_ordered);
        figure.is_some_and(|figure| figure.launches >= MIN_LAUNCHES as usize)
    };
    let has_rank: Vec<bool> = rows.iter().zip(&is_ordered).map(has_rank).collect();
    let count = has_rank.iter().filter(|has_rank| **has_rank).count() as u32;
    let mut sets = vec![(1, count); rows.len()];
    for (first, second) in ahead.iter().filter(|(first, second)| has_rank[*first] && has_rank[*second]) {
        sets[*first].1 -= 1;
        sets[*second].0 += 1;
    }
    let places = || 0..rows.len();
    let is_rival = |place: &usize| {
        let is_invalid = rows[*place].standing == Standing::Invalid && by == RankedBy::RequestsPerS;
        !has_rank[*place] && (is_invalid || is_ordered[*place])
    };
    let rivals: Vec<&Row> = places().filter(is_rival).map(|place| &rows[place]).collect();
    let may_be_ahead = |rival: &Row, row: &Row| {
        let (Some(rival_figure), Some(figure)) = (rival.figures.get(metric), row.figures.get(metric)) else {
            return false;
        };
        let (rate, other) = (rival_figure.shown(), figure.shown());
        rival.is_minimum(metric) || if metric.better == Better::Higher { rate > other } else { rate < other }
    };
    let rivals_of = |row: &Row| rivals.iter().filter(|rival| may_be_ahead(rival, row)).count() as u32;
    let widened: Vec<u32> = rows.iter().map(rivals_of).collect();
    for (place, row) in rows.iter_mut().enumerate().filter(|(place, _)| has_rank[*place]) {
        let (best, worst) = sets[place];
        (row.rank, row.rank_worst) = (Some(best), Some(worst + widened[place]));
    }
}

#[cfg(test)]
mod tests;

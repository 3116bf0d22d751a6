//! One score for each server over several tables: the geometric mean of its shares of each table's best figure.
//!
//! A launch has one score over all of the tables, and the launches of a server are its observations. Tables may share
//! launches (several loads against one start of the server), so their errors are not independent: treating each table
//! as a separate observation would give intervals that are too narrow. Intervals and ranks are computed as in a single
//! table. The geometric mean is the only mean whose order does not depend on the reference (Fleming and Wallace, "How
//! not to lie with statistics", *CACM*, 1986, doi 10.1145/5666.5673).

use crate::figure::{Figure, means_over_rows, set_intervals};
use crate::rank::{MIN_LAUNCHES, draws, fit_launches};
use crate::row::Row;
use crate::table::Table;
use paceline_judge::{Better, Metric};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The scores of the servers that every table has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct OverallScores {
    /// One for each server, best first.
    pub rows: Vec<OverallRow>,
    /// The servers that lack a valid figure in some of the tables.
    pub left_out: Vec<String>,
    /// The difference by which two scores must differ to be told apart, as a share; none where it is not known.
    pub smallest_difference: Option<f64>,
}

/// A server's score.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OverallRow {
    /// The server's id.
    pub server: String,
    /// The geometric mean of its shares of each table's best figure: 1 if it is the best of all.
    pub score: f64,
    /// The 95 % interval of the score between launches; none with one launch.
    pub interval: Option<[f64; 2]>,
    /// The first and the last rank that the launches leave possible; none with one launch.
    pub ranks: Option<[u32; 2]>,
    /// Launches that every table has.
    pub launches: u32,
    /// Whether it is a minimum, because a figure is one.
    pub at_least: bool,
}

/// A server's launches over all tables.
struct Scored {
    server: String,
    figure: Figure,
    is_steady: bool,
    at_least: bool,
}

/// The scores by one metric of the servers that have a valid figure in each of the tables.
pub fn overall_scores(tables: &[&Table], metric: &Metric) -> OverallScores {
    let best: Vec<Option<f64>> = tables.iter().map(|table| best(table, metric)).collect();
    let mut rows: BTreeMap<&str, Vec<Option<&Row>>> = BTreeMap::new();
    for (place, table) in tables.iter().enumerate() {
        for row in &table.rows {
            let of_server = rows.entry(&row.server.id).or_insert_with(|| vec![None; tables.len()]);
            of_server[place] = Some(row).filter(|row| has_score(row, metric));
        }
    }
    let (mut scored, mut left_out) = (Vec::new(), Vec::new());
    for (server, rows) in rows {
        let rows: Option<Vec<(&Row, f64)>> =
            rows.into_iter().zip(&best).map(|(row, best)| Some((row?, (*best)?))).collect();
        match rows.and_then(|rows| score(server, &rows, metric)) {
            Some(one) => scored.push(one),
            None => left_out.push(server.to_owned()),
        }
    }
    set_intervals(scored.iter_mut().map(|one| (&mut one.figure, one.is_steady)).collect());
    scored.sort_by(|a, b| b.figure.shown().total_cmp(&a.figure.shown()));
    let (ranks, smallest_difference) = ranks(&scored);
    let rows = scored.into_iter().zip(ranks).map(|(one, ranks)| OverallRow {
        score: one.figure.shown(),
        interval: one.figure.interval,
        launches: one.figure.launches as u32,
        ranks,
        at_least: one.at_least,
        server: one.server,
    });
    OverallScores { rows: rows.collect(), left_out, smallest_difference }
}

/// Whether a row's figure gives a share of the best. That of a time that is only a minimum would be a maximum.
fn has_score(row: &Row, metric: &Metric) -> bool {
    row.counts(metric) && !row.may_be_worse(metric)
}

/// The best figure of a table that answers the question.
fn best(table: &Table, metric: &Metric) -> Option<f64> {
    let counted = table.rows.iter().filter(|row| has_score(row, metric));
    let figures = counted.filter_map(|row| row.figures.shown(metric)).filter(|value| *value > 0.0);
    figures.reduce(if metric.better == Better::Higher { f64::max } else { f64::min })
}

/// The score of each launch that all of the rows have; none without one.
fn score(server: &str, rows: &[(&Row, f64)], metric: &Metric) -> Option<Scored> {
    let shares = |(row, best): &(&Row, f64)| {
        let observed = row.figures.get(metric)?.observed.iter().filter(|(_, value)| *value > 0.0);
        let share = |value: f64| if metric.better == Better::Higher { value / best } else { best / value };
        Some(observed.map(|(repeat, value)| (*repeat, share(*value))).collect())
    };
    let shares: Vec<Vec<(u32, f64)>> = rows.iter().map(shares).collect::<Option<_>>()?;
    Some(Scored {
        server: server.to_owned(),
        figure: Figure::by_repeat(means_over_rows(&shares))?,
        is_steady: rows.iter().all(|(row, _)| row.is_steady()),
        at_least: rows.iter().any(|(row, _)| row.is_minimum(metric)),
    })
}

/// The ranks of servers that are sorted by their score, and the smallest difference. A minimum is behind none with
/// confidence.
fn ranks(scored: &[Scored]) -> (Vec<Option<[u32; 2]>>, Option<f64>) {
    let launches = |one: &Scored| (one.figure.observed.clone(), one.is_steady);
    let ranking = fit_launches(scored.iter().map(launches)).and_then(|fit| fit.rank(true, &draws()));
    let is_repeated = |one: &Scored| one.figure.launches >= MIN_LAUNCHES as usize;
    let count = scored.iter().filter(|one| is_repeated(one)).count() as u32;
    let mut ranks: Vec<Option<[u32; 2]>> =
        scored.iter().map(|one| is_repeated(one).then_some([1, count])).collect();
    let Some(ranking) = ranking else { return (ranks, None) };
    let claims = ranking.ahead.iter().filter(|(first, second)| {
        is_repeated(&scored[*first]) && is_repeated(&scored[*second]) && !scored[*second].at_least
    });
    for (first, second) in claims {
        ranks[*first].iter_mut().for_each(|[_, worst]| *worst -= 1);
        ranks[*second].iter_mut().for_each(|[best, _]| *best += 1);
    }
    (ranks, Some(ranking.smallest_difference))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scored(server: &str, scores: &[f64]) -> Scored {
        let observed = scores.iter().zip(0..).map(|(score, repeat)| (repeat, *score)).collect();
        let figure = Figure::by_repeat(observed).unwrap_or_default();
        Scored { server: server.to_owned(), figure, is_steady: true, at_least: false }
    }

    #[test]
    fn a_minimum_is_behind_none() {
        let mut all = [scored("a", &[1.0, 0.99, 1.01, 1.0]), scored("b", &[0.2, 0.21, 0.2, 0.19])];
        assert_eq!(ranks(&all).0, [Some([1, 1]), Some([2, 2])]);
        all[1].at_least = true;
        assert_eq!(ranks(&all).0, [Some([1, 2]), Some([1, 2])]);
    }

    #[test]
    fn one_launch_has_no_rank() {
        let all = [scored("a", &[1.0]), scored("b", &[0.2])];
        assert_eq!(ranks(&all), (vec![None, None], None));
    }
}

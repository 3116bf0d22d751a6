//! Which rows of a table cannot be distinguished, by each metric.
//!
//! For the metric that orders the table, the ranks of the report decide, so that page and report agree. For any other,
//! all pairs are compared in one fit of the table, with Holm's correction: with 95 % confidence no pair is declared
//! different wrongly. A lower bound is distinguished only from figures that certainly are below it.

use super::metric::{FigurePage, judged};
use paceline_report::{Row, Standing};
use paceline_stats::{BlockFit, BlockRow, holm};

/// Pairs are distinguished below this p value.
const SIGNIFICANCE: f64 = 0.05;

/// Pairs of rows, as places in the table, the smaller first.
pub type Pairs = Vec<(u16, u16)>;

/// Pairs that cannot be distinguished, and the smallest difference that distinguishes two rows, as a share.
pub struct Ties {
    /// The pairs.
    pub pairs: Pairs,
    /// None where no row has two launches.
    pub smallest_difference: Option<f64>,
}

/// Whether a row's numbers answer the question, so that it is compared with others.
pub fn counts(standing: Standing) -> bool {
    matches!(standing, Standing::Ranked | Standing::GeneratorBound)
}

/// By the metric that the table is ordered by: two rows differ if their ranks allow only one order.
pub fn by_rank(rows: &[Row]) -> Pairs {
    let ranked: Vec<(u16, u32, u32)> = (0..)
        .zip(rows)
        .filter(|(_, row)| counts(row.standing))
        .filter_map(|(place, row)| Some((place, row.rank?, row.rank_worst?)))
        .collect();
    let mut pairs = unranked(rows);
    for (at, (place, _, worst)) in (1u32..).zip(&ranked) {
        for (other_at, (other, best, _)) in (1u32..).zip(&ranked).skip(at as usize) {
            let apart = at < *best && other_at > *worst;
            if !apart {
                pairs.push((*place, *other));
            }
        }
    }
    pairs
}

/// Valid rows without a rank are distinguished from no other row.
fn unranked(rows: &[Row]) -> Pairs {
    let all: Vec<(u16, &Row)> = (0..).zip(rows).filter(|(_, row)| counts(row.standing)).collect();
    pairs_of(&all, |(_, a), (_, b)| a.rank.is_none() || b.rank.is_none())
}

/// By any metric.
pub fn by_metric(id: &str, rows: &[Row], figures: &[Option<FigurePage>]) -> Ties {
    let all: Vec<(u16, &Row, &FigurePage)> = (0..)
        .zip(rows)
        .zip(figures)
        .filter(|((_, row), _)| counts(row.standing))
        .filter_map(|((place, row), figure)| Some((place, row, figure.as_ref()?)))
        .collect();
    let fit = fit(id, &all.iter().map(|(_, row, _)| *row).collect::<Vec<_>>());
    let p_values = apart(&fit, all.len());
    let mut p_values = p_values.into_iter();
    let pairs = pairs_of(&all, |(_, _, a), (_, _, b)| {
        let p_value = p_values.next().flatten();
        if a.at_least || b.at_least {
            a.launches < 2 || b.launches < 2 || !(exceeds(a, b) || exceeds(b, a))
        } else {
            p_value.is_none_or(|p_value| p_value >= SIGNIFICANCE)
        }
    });
    Ties { pairs, smallest_difference: fit.and_then(|fit| fit.smallest_ratio_difference()) }
}

/// The pairs for which `are_tied` is true; it is called once for each, in order.
fn pairs_of<T: TablePosition>(all: &[T], mut are_tied: impl FnMut(&T, &T) -> bool) -> Pairs {
    let mut pairs = Vec::new();
    for (index, one) in all.iter().enumerate() {
        for other in all.get(index + 1..).unwrap_or_default() {
            if are_tied(one, other) {
                pairs.push((one.place(), other.place()));
            }
        }
    }
    pairs
}

/// Something with a place in the table.
trait TablePosition {
    fn place(&self) -> u16;
}

impl TablePosition for (u16, &Row) {
    fn place(&self) -> u16 {
        self.0
    }
}

impl TablePosition for (u16, &Row, &FigurePage) {
    fn place(&self) -> u16 {
        self.0
    }
}

/// Whether a figure is certainly more than another, which is no minimum.
fn exceeds(a: &FigurePage, b: &FigurePage) -> bool {
    a.low > b.high && !b.at_least
}

/// The corrected p value of each pair, in the order of [`pairs_of`]; none for a pair that cannot be compared.
fn apart(fit: &Option<BlockFit>, rows: usize) -> Vec<Option<f64>> {
    let mut found = Vec::new();
    for first in 0..rows {
        for second in first + 1..rows {
            found.push(fit.as_ref().and_then(|fit| fit.p_value(first, second)));
        }
    }
    let mut corrected = holm(&found.iter().flatten().copied().collect::<Vec<_>>()).into_iter();
    found.into_iter().map(|p_value| p_value.and_then(|_| corrected.next())).collect()
}

/// Launches of one repeat are one block, which removes drift of the machine.
fn fit(id: &str, rows: &[&Row]) -> Option<BlockFit> {
    let metric = judged(id)?;
    let observed =
        |row: &&Row| row.figures.get(metric).map(|figure| figure.observed.clone()).unwrap_or_default();
    let observed: Vec<Vec<(u32, f64)>> = rows.iter().map(observed).collect();
    let blocks = observed.iter().flatten().map(|(repeat, _)| *repeat as usize + 1).max()?;
    let of_row = |(observed, row): (&Vec<(u32, f64)>, &&Row)| {
        let mut values = vec![None; blocks];
        for (repeat, value) in observed.iter().filter(|(_, value)| *value > 0.0) {
            if let Some(cell) = values.get_mut(*repeat as usize) {
                *cell = Some(*value);
            }
        }
        BlockRow { values, is_steady: row.is_steady() }
    };
    BlockFit::of(&observed.iter().zip(rows).map(of_row).collect::<Vec<_>>())
}

//! Which rows of a table are told apart by each metric, and the ranks that this leaves them.
//!
//! For the metric that orders the table, the claims and ranks of the report decide, so that page and report agree. For
//! any other, all pairs are compared in one fit of the table, with Holm's correction: with 95 % confidence no pair is
//! declared different wrongly. A minimum is told apart only from estimates that are below it, with the same correction.
//! A descriptive metric, of which neither more nor less is better, has pairs that are told apart, and no ranks.

use super::metric::FigurePage;
use paceline_judge::{Better, Metric};
use paceline_report::{Row, Table, fit};
use paceline_stats::{BlockFit, holm};

/// Pairs are told apart below this p value.
const SIGNIFICANCE: f64 = 0.05;

/// Pairs of rows, as places in the table, the smaller first.
pub type Pairs = Vec<(u16, u16)>;

/// The first and the last rank that a row may have.
pub type Ranks = [u32; 2];

/// What a table says by one metric.
pub struct Ties {
    /// Pairs of rows that are not told apart.
    pub pairs: Pairs,
    /// The ranks of each row; none for a row that is not compared.
    pub ranks: Vec<Option<Ranks>>,
    /// The difference by which two rows must differ to be ranked apart, as a share. None where no row has two launches,
    /// and for a descriptive metric.
    pub smallest_difference: Option<f64>,
    /// Whether some rows are told apart.
    pub is_apart: bool,
}

/// By the metric that the table is ordered by: as the report claims.
pub fn of_report(table: &Table) -> Ties {
    let metric = table.ranked_by.metric();
    let counted: Vec<usize> = places(table.rows.iter().map(|row| row.counts(metric)));
    let is_apart =
        |pair: (usize, usize)| table.ahead.contains(&pair) || table.ahead.contains(&(pair.1, pair.0));
    Ties {
        pairs: pairs_of(&counted).filter(|pair| !is_apart(*pair)).map(small).collect(),
        ranks: table.rows.iter().map(|row| Some([row.rank?, row.rank_worst?])).collect(),
        smallest_difference: table.smallest_difference,
        is_apart: !table.ahead.is_empty(),
    }
}

/// By any other metric, from the figures of the rows.
pub fn by_metric(metric: &'static Metric, rows: &[Row], figures: &[Option<FigurePage>]) -> Ties {
    let is_compared = |figure: &Option<FigurePage>| figure.as_ref().is_some_and(|figure| !figure.invalid);
    let counted: Vec<usize> = places(figures.iter().map(is_compared));
    let counted_rows: Vec<&Row> = counted.iter().map(|place| &rows[*place]).collect();
    let fit = fit(&counted_rows, metric);
    let mut differences = apart(&fit, counted.len()).into_iter();
    let mut pairs = Vec::new();
    let is_ranked = metric.better != Better::Neither;
    let is_repeated =
        |place: &&usize| is_ranked && figures[**place].as_ref().is_some_and(|figure| figure.launches > 1);
    let repeated = counted.iter().filter(is_repeated).count() as u32;
    let mut ranks: Vec<Option<Ranks>> = vec![None; rows.len()];
    counted.iter().filter(is_repeated).for_each(|place| ranks[*place] = Some([1, repeated]));
    let mut is_apart = false;
    for (first, second) in pairs_of(&counted) {
        let difference = differences.next().flatten();
        let (Some(a), Some(b)) = (&figures[first], &figures[second]) else { continue };
        let proven = difference.filter(|found| found.p_value < SIGNIFICANCE && found.holds_of(a, b));
        let Some(Difference { is_more, .. }) = proven else {
            pairs.push(small((first, second)));
            continue;
        };
        is_apart = true;
        let is_first_ahead = is_more == (metric.better == Better::Higher);
        let (ahead, behind) = if is_first_ahead { (first, second) } else { (second, first) };
        ranks[ahead].iter_mut().for_each(|[_, worst]| *worst -= 1);
        ranks[behind].iter_mut().for_each(|[best, _]| *best += 1);
    }
    let comparisons = counted.len() * counted.len().saturating_sub(1) / 2;
    let smallest_difference =
        fit.filter(|_| is_ranked).and_then(|fit| fit.smallest_ratio_difference(comparisons));
    Ties { pairs, ranks, smallest_difference, is_apart }
}

fn places(flags: impl Iterator<Item = bool>) -> Vec<usize> {
    flags.enumerate().filter(|(_, is_set)| *is_set).map(|(place, _)| place).collect()
}

fn small((first, second): (usize, usize)) -> (u16, u16) {
    (first as u16, second as u16)
}

/// Each pair of some places once, in order.
fn pairs_of(places: &[usize]) -> impl Iterator<Item = (usize, usize)> {
    let after = move |at: usize| places.get(at + 1..).unwrap_or_default();
    places.iter().enumerate().flat_map(move |(at, one)| after(at).iter().map(move |other| (*one, *other)))
}

/// How the first figure of a pair differs from the second.
struct Difference {
    p_value: f64,
    is_more: bool,
}

impl Difference {
    /// Whether it holds of the true figures: that of a minimum may be any more, so that the lower figure must be an
    /// estimate.
    fn holds_of(&self, first: &FigurePage, second: &FigurePage) -> bool {
        let lower = if self.is_more { second } else { first };
        !lower.at_least
    }
}

/// The differences with corrected p values, in the order of [`pairs_of`]; none for a pair that cannot be compared.
fn apart(fit: &Option<BlockFit>, rows: usize) -> Vec<Option<Difference>> {
    let mut found: Vec<Option<Difference>> = Vec::new();
    for first in 0..rows {
        for second in first + 1..rows {
            let difference = |fit: &BlockFit| {
                let (p_value, is_more) = (fit.p_value(first, second)?, fit.is_more(first, second)?);
                Some(Difference { p_value, is_more })
            };
            found.push(fit.as_ref().and_then(difference));
        }
    }
    let corrected = holm(&found.iter().flatten().map(|difference| difference.p_value).collect::<Vec<_>>());
    for (difference, p_value) in found.iter_mut().flatten().zip(corrected) {
        difference.p_value = p_value;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::metric;
    use paceline_report::{Figure, Figures, Standing, Subject};
    use paceline_stats::Random;
    use std::collections::BTreeMap;

    fn row(id: &str, memory: &[f64]) -> Row {
        let server = Subject {
            copy_of: None,
            id: id.to_owned(),
            name: String::new(),
            language: String::new(),
            framework: String::new(),
            versions: Vec::new(),
            framework_package: None,
            limits: Vec::new(),
        };
        let mut figures = Figures::default();
        figures.set(&Metric::RSS_PEAK, Figure::from_observations(memory.iter().copied()));
        Row {
            rank: None,
            rank_worst: None,
            standing: Standing::Ranked,
            server,
            launches_usable: memory.len() as u32,
            launches_planned: 5,
            figures,
            limit: None,
            verdicts: Vec::new(),
            severity: None,
            failures: Vec::new(),
            left_out: BTreeMap::new(),
        }
    }

    #[test]
    fn missing_launches_do_not_turn_a_claim_round() {
        // In each block that both have, `more` needs a tenth more. It lacks the blocks in which `less` needed twice as
        // much, so that its mean is lower.
        let rows = [row("more", &[110.1, 110.0, 109.9]), row("less", &[100.2, 99.9, 100.0, 200.2, 199.6])];
        let figures: Vec<_> = rows.iter().map(|row| metric::figure(Metric::RSS_PEAK.key, row)).collect();
        let ties = by_metric(&Metric::RSS_PEAK, &rows, &figures);
        assert_eq!(ties.ranks, [Some([2, 2]), Some([1, 1])]);
    }

    #[test]
    fn a_minimum_is_told_apart_only_from_an_estimate_below_it() {
        let rows = [row("more", &[900.0, 901.0, 902.0]), row("less", &[100.0, 100.3, 100.1])];
        let tied = |at_least: [bool; 2]| {
            let mut figures: Vec<_> =
                rows.iter().map(|row| metric::figure(Metric::RSS_PEAK.key, row)).collect();
            for (figure, at_least) in figures.iter_mut().zip(at_least) {
                figure.as_mut().unwrap().at_least = at_least;
            }
            by_metric(&Metric::RSS_PEAK, &rows, &figures).pairs
        };
        assert_eq!(tied([false, false]), []);
        assert_eq!(tied([true, false]), [], "the true figure is even more");
        assert_eq!(tied([false, true]), [(0, 1)], "the lower one may be any more");
        assert_eq!(tied([true, true]), [(0, 1)]);
    }

    #[test]
    fn equal_servers_are_rarely_told_apart_also_from_minimums() {
        let mut random = Random::new(12);
        let mut is_apart = || {
            let mut launches = || [(); 5].map(|()| 100.0 * (0.1 * random.normal()).exp());
            let rows: Vec<Row> = (0..30).map(|id| row(&id.to_string(), &launches())).collect();
            let mut figures: Vec<_> =
                rows.iter().map(|row| metric::figure(Metric::RSS_PEAK.key, row)).collect();
            figures[..15].iter_mut().flatten().for_each(|figure| figure.at_least = true);
            by_metric(&Metric::RSS_PEAK, &rows, &figures).is_apart
        };
        // Intervals of 95 % that do not overlap are no correction: of 225 pairs some would be told apart.
        let apart = (0..100).filter(|_| is_apart()).count();
        assert!(apart <= 8, "rows of {apart} of 100 tables are told apart");
    }
}

//! Ratios and ranks of the servers of one table, adjusted for the machine's drift.
//!
//! A round starts every server once in each block, so the logarithm of a figure is fitted as server + block + error.
//! Residual variances are moderated as in `launches.rs`; a ratio's interval has Satterthwaite's degrees of freedom.
//! Ranks are confidence sets that hold simultaneously for the whole table (Mogstad, Romano, Shaikh and Wilhelm,
//! "Inference for ranks", *Review of Economic Studies*, 2024, doi 10.1093/restud/rdad006): the critical value is a
//! quantile of the largest of all pairwise t statistics, simulated with a fixed seed. The simulation moderates its
//! variances too: the error of what servers share raises all t statistics of a table at once.

use crate::draws::{DRAWS, Draws};
use crate::launches::{
    CONFIDENCE, ConfidenceInterval, Prior, UPPER, Variance, launches_needed, launches_to_find, logarithms,
};
use crate::special::{t_quantile, t_two_sided};
use crate::spread::quantile;

/// A figure of one server in each block; `None` if that launch has no valid value.
#[derive(Clone, Debug)]
pub struct BlockRow {
    /// One value for each block, all above zero.
    pub values: Vec<Option<f64>>,
    /// Whether the server was in a steady state. An unsteady server is not used to estimate the noise of others.
    pub is_steady: bool,
}

/// A table fitted as server + block on the log scale.
#[derive(Clone, Debug)]
pub struct BlockFit {
    /// The adjusted mean logarithm of each server.
    effects: Vec<f64>,
    /// The residual variance of each server, moderated; none for a server with too few launches.
    variances: Vec<Option<Variance>>,
    /// The composition of each of these variances.
    mixtures: Vec<Mixture>,
    /// Launches of each server.
    launches: Vec<usize>,
    /// The upper left part of the inverse normal matrix: covariances of the effects, per unit of variance.
    inverse: Matrix,
}

/// The ratio of two servers' figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatioEstimate {
    /// The first divided by the second.
    pub ratio: f64,
    /// The 95 % interval.
    pub interval: ConfidenceInterval,
    /// The two-sided p value of "the two are equal".
    pub p_value: f64,
}

/// The possible ranks of a server; 1 is the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankSet {
    /// One more than the number of servers that are ahead of it with confidence.
    pub best: usize,
    /// The number of servers less those that are behind it with confidence.
    pub worst: usize,
}

impl RankSet {
    /// Whether the server may be the best of the table.
    pub fn may_be_best(&self) -> bool {
        self.best == 1
    }
}

/// The rank sets of a table. With 95 % confidence all of them hold simultaneously.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    /// The ranks of each server in the order given; none for a server that cannot be compared.
    pub ranks: Vec<Option<RankSet>>,
    /// Pairs of servers of which the first is ahead of the second with confidence, as places in the order given.
    pub ahead: Vec<(usize, usize)>,
    /// The critical value of the t statistic.
    pub critical_t: f64,
    /// The difference by which a typical pair of servers must differ to be told apart, as a share: 0.11 is 11 %. A true
    /// difference of this size is found in about half of the cases.
    pub smallest_difference: f64,
}

impl BlockFit {
    /// Fits a table. None if no server has a value, or if a value has no logarithm. If servers and blocks cannot be
    /// separated (two servers without a common block), block effects are left out.
    pub fn of(rows: &[BlockRow]) -> Option<Self> {
        let blocks = rows.iter().map(|row| row.values.len()).max()?;
        let mut cells = Vec::new();
        for (server, row) in rows.iter().enumerate() {
            for (block, value) in row.values.iter().enumerate() {
                if let Some(value) = value {
                    cells.push(LogObservation { server, block, log: logarithms(&[*value])?[0] });
                }
            }
        }
        if cells.is_empty() {
            return None;
        }
        let steady: Vec<bool> = rows.iter().map(|row| row.is_steady).collect();
        Self::solve(&cells, &steady, blocks).or_else(|| {
            let without_blocks: Vec<LogObservation> =
                cells.iter().map(|cell| LogObservation { block: 0, ..*cell }).collect();
            Self::solve(&without_blocks, &steady, 1)
        })
    }

    /// Least squares by the normal equations. None if they are singular.
    fn solve(cells: &[LogObservation], is_steady: &[bool], blocks: usize) -> Option<Self> {
        let servers = is_steady.len();
        let mut launches = vec![0; servers];
        cells.iter().for_each(|cell| launches[cell.server] += 1);
        let unknowns = Unknowns::of(cells, &launches, blocks);
        let mut normal = Matrix::zero(unknowns.count);
        let mut right = vec![0.0; unknowns.count];
        for cell in cells {
            for row in unknowns.of_cell(cell) {
                right[row] += cell.log;
                for column in unknowns.of_cell(cell) {
                    *normal.at_mut(row, column) += 1.0;
                }
            }
        }
        let inverse = normal.inverse()?;
        let solution: Vec<f64> = (0..unknowns.count)
            .map(|row| (0..unknowns.count).map(|column| inverse.at(row, column) * right[column]).sum())
            .collect();
        let own = residual_variances(cells, &launches, &unknowns, &solution, &inverse);
        let steady = own.iter().zip(is_steady).filter(|(_, is_steady)| **is_steady);
        let prior = Prior::estimate(&steady.filter_map(|(own, _)| *own).collect::<Vec<_>>());
        let prior_of = |is_steady: &bool| prior.filter(|_| *is_steady);
        let moderate = |(own, is_steady): (&Option<Variance>, &bool)| match prior_of(is_steady) {
            Some(prior) => own.map(|own| prior.moderate(own)),
            None => *own,
        };
        let mixture = |(own, is_steady): (&Option<Variance>, &bool)| {
            let own_df = own.map_or(0.0, |own| own.df);
            Mixture { own_df, of_prior: prior_of(is_steady).map_or(0.0, |prior| prior.weight(own_df)) }
        };
        let variances = own.iter().zip(is_steady).map(moderate).collect();
        let mixtures = own.iter().zip(is_steady).map(mixture).collect();
        let effects = (0..servers).map(|server| unknowns.server(server).map_or(f64::NAN, |at| solution[at]));
        let mut of_servers = Matrix::zero(servers);
        for row in 0..servers {
            for column in 0..servers {
                if let (Some(i), Some(j)) = (unknowns.server(row), unknowns.server(column)) {
                    *of_servers.at_mut(row, column) = inverse.at(i, j);
                }
            }
        }
        Some(Self { effects: effects.collect(), variances, mixtures, launches, inverse: of_servers })
    }

    /// Figure of server `first` divided by that of `second`. None if either has too few launches.
    pub fn ratio(&self, first: usize, second: usize) -> Option<RatioEstimate> {
        let difference = self.effects.get(first)? - self.effects.get(second)?;
        let error = self.error(first, second)?;
        let half_width = t_quantile(UPPER, error.df) * error.value.sqrt();
        let interval = ConfidenceInterval::around(difference, half_width).map(f64::exp);
        Some(RatioEstimate { ratio: difference.exp(), interval, p_value: self.p_value(first, second)? })
    }

    /// The two-sided p value of "the two are equal", without the interval: a fifth of the work of [`Self::ratio`].
    pub fn p_value(&self, first: usize, second: usize) -> Option<f64> {
        let difference = self.effects.get(first)? - self.effects.get(second)?;
        let error = self.error(first, second)?;
        Some(match error.value.sqrt() {
            0.0 => f64::from(difference == 0.0),
            deviation => t_two_sided(difference / deviation, error.df),
        })
    }

    /// The difference of two servers' logarithms in standard errors. None if either has too few launches, or if neither
    /// varies at all.
    pub fn t(&self, first: usize, second: usize) -> Option<f64> {
        let difference = self.effects.get(first)? - self.effects.get(second)?;
        let error = self.error(first, second)?.value.sqrt();
        (error > 0.0).then(|| difference / error)
    }

    /// The squared standard error of a difference, with its degrees of freedom (Satterthwaite 1946).
    fn error(&self, i: usize, j: usize) -> Option<Variance> {
        let (a, b) = ((*self.variances.get(i)?)?, (*self.variances.get(j)?)?);
        // With equal variances this is exact for any pattern of missing launches; in a full table it is 1 / k.
        let weight = (self.inverse.at(i, i) + self.inverse.at(j, j) - 2.0 * self.inverse.at(i, j)) / 2.0;
        let sum = a.value + b.value;
        let df = if sum > 0.0 {
            sum * sum / (a.value.powi(2) / a.df + b.value.powi(2) / b.df)
        } else {
            a.df + b.df
        };
        Some(Variance { value: sum * weight, df })
    }

    /// The median over all pairs of the half width of a ratio's interval, as a share: an observed difference below it
    /// may be noise, a true difference of this size is found in about half of the cases. The interval is that of one
    /// pair chosen in advance (95 %), or with `comparisons` above 1 of one among so many (Bonferroni). None if no pair can
    /// be compared.
    pub fn smallest_ratio_difference(&self, comparisons: usize) -> Option<f64> {
        let upper = 1.0 - (1.0 - UPPER) / comparisons.max(1) as f64;
        let half_width =
            |(i, j)| self.error(i, j).map(|error| t_quantile(upper, error.df) * error.value.sqrt());
        median(self.pairs().filter_map(half_width).collect()).map(f64::exp_m1)
    }

    /// The standard deviation of the difference of the logarithms of a typical pair's launches.
    fn pair_deviation(&self) -> Option<f64> {
        let variance = |server: usize| Some((*self.variances.get(server)?)?.value);
        let of_pair = |(i, j)| Some(variance(i)? + variance(j)?);
        median(self.pairs().filter_map(of_pair).collect()).map(f64::sqrt)
    }

    /// The number of launches of each server with which an observed difference of `share` (0.05 for 5 %) between a
    /// typical pair, chosen in advance, is claimed. None above 10,000, or if no pair can be compared.
    pub fn launches_for_difference(&self, share: f64) -> Option<usize> {
        launches_needed(self.pair_deviation()?, share)
    }

    /// The same for a true difference that is to be found in four of five cases: about twice as many.
    pub fn launches_to_find(&self, share: f64) -> Option<usize> {
        launches_to_find(self.pair_deviation()?, share)
    }

    /// Pairs of servers, each once.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let servers = self.effects.len();
        (0..servers).flat_map(move |i| (i + 1..servers).map(move |j| (i, j)))
    }

    /// Rank sets of all servers. None if fewer than two are comparable.
    pub fn rank(&self, higher_is_better: bool, draws: &Draws) -> Option<Ranking> {
        let comparable: Vec<usize> =
            (0..self.effects.len()).filter(|server| self.variances[*server].is_some()).collect();
        if comparable.len() < 2 {
            return None;
        }
        let critical_t = self.largest_t(&comparable, draws);
        let score =
            |server: usize| if higher_is_better { self.effects[server] } else { -self.effects[server] };
        let is_ahead = |i: usize, j: usize| {
            self.error(i, j).is_some_and(|error| score(i) - score(j) > critical_t * error.value.sqrt())
        };
        let mut ranks = vec![None; self.effects.len()];
        comparable
            .iter()
            .for_each(|server| ranks[*server] = Some(RankSet { best: 1, worst: comparable.len() }));
        let pairs = comparable.iter().flat_map(|i| comparable.iter().map(move |j| (*i, *j)));
        let ahead: Vec<(usize, usize)> = pairs.filter(|(i, j)| is_ahead(*i, *j)).collect();
        for (first, second) in &ahead {
            ranks[*first].iter_mut().for_each(|set| set.worst -= 1);
            ranks[*second].iter_mut().for_each(|set| set.best += 1);
        }
        let half_widths =
            self.pairs().filter_map(|(i, j)| self.error(i, j)).map(|error| critical_t * error.value.sqrt());
        let smallest_difference = median(half_widths.collect())?.exp_m1();
        Some(Ranking { ranks, ahead, critical_t, smallest_difference })
    }

    /// The 95 % point of the largest of all pairwise t statistics under the hypothesis that the servers are equal. In
    /// each draw every server has a mean and an own variance; the variances are then moderated as those of the table
    /// are, so that the error of what they share is in all of them at once.
    fn largest_t(&self, servers: &[usize], draws: &Draws) -> f64 {
        let mixtures: Vec<Mixture> = servers.iter().map(|server| self.mixtures[*server]).collect();
        let of_mean = |server: &usize| {
            let variance = self.variances[*server].map_or(0.0, |variance| variance.value);
            variance / self.launches[*server] as f64
        };
        let errors: Vec<f64> = servers.iter().map(of_mean).collect();
        let deviations: Vec<f64> = errors.iter().map(|error| error.sqrt()).collect();
        let df: Vec<f64> = mixtures.iter().map(|mixture| mixture.own_df).collect();
        let shared_df: f64 = mixtures.iter().map(Mixture::shared_df).sum();
        let mut drawn = vec![(0.0, 0.0); errors.len()];
        let mut largest = Vec::with_capacity(DRAWS);
        draws.for_each(&df, |draw| {
            let of_all = mixtures.iter().zip(draw).map(|(mixture, (_, own))| mixture.shared_df() * own);
            let shared = of_all.sum::<f64>() / shared_df.max(f64::MIN_POSITIVE);
            for (at, place) in drawn.iter_mut().enumerate() {
                let ((normal, own), Mixture { of_prior, .. }) = (draw[at], mixtures[at]);
                let ratio = of_prior * shared + (1.0 - of_prior) * own;
                *place = (normal * deviations[at], errors[at] * ratio);
            }
            largest.push(largest_squared_t(&drawn).sqrt());
        });
        quantile(&mut largest, CONFIDENCE)
    }
}

/// How a moderated variance is composed.
#[derive(Clone, Copy, Debug)]
struct Mixture {
    /// Degrees of freedom of the server's own variance.
    own_df: f64,
    /// The weight of the variance that the servers share, 0 to 1; the server's own has the rest.
    of_prior: f64,
}

impl Mixture {
    /// The degrees of freedom that the server contributes to the shared variance.
    fn shared_df(&self) -> f64 {
        if self.of_prior > 0.0 { self.own_df } else { 0.0 }
    }
}

/// The residual variance of each server. None for a server whose residuals are forced to zero.
fn residual_variances(
    cells: &[LogObservation],
    launches: &[usize],
    unknowns: &Unknowns,
    solution: &[f64],
    inverse: &Matrix,
) -> Vec<Option<Variance>> {
    let mut sums = vec![Variance { value: 0.0, df: 0.0 }; launches.len()];
    for cell in cells {
        let places = unknowns.of_cell(cell);
        let fitted: f64 = places.clone().map(|place| solution[place]).sum();
        let pairs = places.clone().flat_map(|row| places.clone().map(move |column| (row, column)));
        let leverage: f64 = pairs.map(|(row, column)| inverse.at(row, column)).sum();
        sums[cell.server].value += (cell.log - fitted).powi(2);
        // The expected squared residual is this share of the variance. In a full table of S servers and k blocks the
        // shares of a server add up to (k - 1)(S - 1) / S.
        sums[cell.server].df += 1.0 - leverage;
    }
    // Two servers in two blocks have half a degree of freedom each.
    let has_residual = |(sum, launches): (&Variance, &usize)| {
        (*launches > 1 && sum.df > 0.25).then(|| Variance { value: sum.value / sum.df, df: sum.df })
    };
    sums.iter().zip(launches).map(has_residual).collect()
}

/// The square of the largest t statistic between (mean, squared standard error) pairs.
fn largest_squared_t(drawn: &[(f64, f64)]) -> f64 {
    let mut largest: f64 = 0.0;
    for (i, a) in drawn.iter().enumerate() {
        for b in &drawn[i + 1..] {
            let error = a.1 + b.1;
            let squared = (a.0 - b.0).powi(2);
            // Rounding is monotone: a quotient above the largest implies this, so that few pairs need the division.
            if squared >= largest * error && error > 0.0 {
                largest = largest.max(squared / error);
            }
        }
    }
    largest
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    (!values.is_empty()).then(|| crate::quantile_of_sorted(&values, 0.5))
}

/// One observation.
#[derive(Clone, Copy)]
struct LogObservation {
    server: usize,
    block: usize,
    log: f64,
}

/// Positions of the effects in the normal equations: servers with launches, then all used blocks except the first.
struct Unknowns {
    servers: Vec<Option<usize>>,
    blocks: Vec<Option<usize>>,
    count: usize,
}

impl Unknowns {
    fn of(cells: &[LogObservation], launches: &[usize], blocks: usize) -> Self {
        let mut count = 0;
        let mut number = |is_used: bool| {
            is_used.then(|| {
                count += 1;
                count - 1
            })
        };
        let servers = launches.iter().map(|launches| number(*launches > 0)).collect();
        let first = cells.iter().map(|cell| cell.block).min();
        let is_free = |block| Some(block) != first && cells.iter().any(|cell| cell.block == block);
        let blocks = (0..blocks).map(|block| number(is_free(block))).collect();
        Self { servers, blocks, count }
    }

    fn server(&self, server: usize) -> Option<usize> {
        self.servers[server]
    }

    fn of_cell(&self, cell: &LogObservation) -> impl Iterator<Item = usize> + Clone {
        self.servers[cell.server].into_iter().chain(self.blocks[cell.block])
    }
}

/// A square matrix.
#[derive(Clone, Debug)]
struct Matrix {
    size: usize,
    cells: Vec<f64>,
}

impl Matrix {
    fn zero(size: usize) -> Self {
        Self { size, cells: vec![0.0; size * size] }
    }

    fn at(&self, row: usize, column: usize) -> f64 {
        self.cells[row * self.size + column]
    }

    fn at_mut(&mut self, row: usize, column: usize) -> &mut f64 {
        &mut self.cells[row * self.size + column]
    }

    /// The inverse of a symmetric positive definite matrix, by Gauss-Jordan elimination. None if it is singular.
    fn inverse(mut self) -> Option<Self> {
        let size = self.size;
        let mut result = Self::zero(size);
        (0..size).for_each(|i| *result.at_mut(i, i) = 1.0);
        for pivot in 0..size {
            let scale = self.at(pivot, pivot);
            if scale < 1e-9 {
                return None;
            }
            for column in 0..size {
                *self.at_mut(pivot, column) /= scale;
                *result.at_mut(pivot, column) /= scale;
            }
            for row in (0..size).filter(|row| *row != pivot) {
                let factor = self.at(row, pivot);
                if factor != 0.0 {
                    for column in 0..size {
                        *self.at_mut(row, column) -= factor * self.at(pivot, column);
                        *result.at_mut(row, column) -= factor * result.at(pivot, column);
                    }
                }
            }
        }
        Some(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn rows(table: &[&[f64]]) -> Vec<BlockRow> {
        let row = |values: &&[f64]| BlockRow {
            values: values.iter().map(|value| (*value > 0.0).then_some(*value)).collect(),
            is_steady: true,
        };
        table.iter().map(row).collect()
    }

    fn assert_ratio(ratio: RatioEstimate, expected: (f64, f64, f64)) {
        let found = [ratio.ratio, ratio.interval.low, ratio.interval.high];
        for (found, expected) in found.into_iter().zip([expected.0, expected.1, expected.2]) {
            assert!((found / expected - 1.0).abs() < 1e-8, "{ratio:?}, expected {expected}");
        }
    }

    #[test]
    fn two_servers_are_a_paired_t_test() {
        let fit = BlockFit::of(&rows(&[&[100.0, 130.0, 90.0, 110.0], &[95.0, 128.0, 84.0, 108.0]])).unwrap();
        let ratio = fit.ratio(0, 1).unwrap();
        // scipy.stats.ttest_rel(ln a, ln b): p, and exp of its confidence_interval().
        assert_ratio(ratio, (1.0392869705411885, 0.997163598655168, 1.0831897680514906));
        assert!((ratio.p_value - 0.059354491639545655).abs() < 1e-9, "{ratio:?}");
    }

    #[test]
    fn ratios_of_a_table_match_numpy() {
        // Least squares by numpy.linalg, leverages from the hat matrix, moderation and Satterthwaite as in the header;
        // one launch is missing from the second table.
        let table: [&[f64]; 5] = [
            &[100.0, 120.0, 95.0],
            &[90.0, 115.0, 88.0],
            &[210.0, 230.0, 190.0],
            &[50.0, 58.0, 49.0],
            &[75.0, 99.0, 71.0],
        ];
        let fit = BlockFit::of(&rows(&table)).unwrap();
        assert_ratio(fit.ratio(0, 1).unwrap(), (1.0776902236302408, 1.0073948660333911, 1.152890745494133));
        let mut with_hole = table;
        with_hole[1] = &[90.0, 0.0, 88.0];
        let fit = BlockFit::of(&rows(&with_hole)).unwrap();
        assert_ratio(fit.ratio(0, 1).unwrap(), (1.0969805532895294, 1.0133428557649822, 1.1875214074381266));
    }

    #[test]
    fn incomparable_servers_have_no_ratio_or_rank() {
        let fit = BlockFit::of(&rows(&[&[5.0], &[6.0]])).unwrap();
        assert_eq!((fit.ratio(0, 1), fit.rank(true, &Draws::new(1))), (None, None));
        assert_eq!(fit.ratio(0, 7), None);
        assert!(BlockFit::of(&[]).is_none() && BlockFit::of(&rows(&[&[0.0]])).is_none());
        let fit = BlockFit::of(&rows(&[&[5.0, 5.1], &[6.0, 6.2], &[0.0, 0.0]])).unwrap();
        let ranking = fit.rank(true, &Draws::new(1)).unwrap();
        assert!(ranking.ranks[2].is_none() && ranking.ranks[0].is_some());
    }

    #[test]
    fn the_largest_t_is_the_largest_of_all_quotients_to_the_last_bit() {
        let mut random = Random::new(6);
        for round in 0..400 {
            // Every fourth table has servers that do not vary, every third pairs that are equal up to rounding.
            let mut draw = |place: usize| {
                let scale = if round % 3 == 0 && place > 1 { 1e-16 } else { 1.0 };
                let variance = if round % 4 == 0 && place < 3 { 0.0 } else { random.variance_ratio(2.0) };
                (1.0 + scale * random.normal(), variance)
            };
            let drawn: Vec<(f64, f64)> = (0..12).map(&mut draw).collect();
            let pairs =
                drawn.iter().enumerate().flat_map(|(at, a)| drawn[at + 1..].iter().map(move |b| (a, b)));
            let quotients =
                pairs.filter(|(a, b)| a.1 + b.1 > 0.0).map(|(a, b)| (a.0 - b.0).powi(2) / (a.1 + b.1));
            assert_eq!(
                largest_squared_t(&drawn).to_bits(),
                quotients.fold(0.0, f64::max).to_bits(),
                "{round}"
            );
        }
    }

    #[test]
    fn servers_that_share_no_block_are_compared_without_blocks() {
        let fit = BlockFit::of(&rows(&[&[10.0, 11.0, 0.0, 0.0], &[0.0, 0.0, 20.0, 21.0]])).unwrap();
        assert!((fit.ratio(1, 0).unwrap().ratio - (420f64 / 110.0).sqrt()).abs() < 1e-9);
    }

    #[test]
    fn ranks_of_clear_differences_are_single() {
        let fit =
            BlockFit::of(&rows(&[&[10.0, 10.1, 9.9], &[20.0, 20.1, 20.2], &[40.0, 40.3, 39.9]])).unwrap();
        let ranks = |higher| {
            fit.rank(higher, &Draws::new(1)).unwrap().ranks.into_iter().flatten().collect::<Vec<_>>()
        };
        let single = |rank| RankSet { best: rank, worst: rank };
        assert_eq!(ranks(true), [single(3), single(2), single(1)]);
        assert_eq!(ranks(false), [single(1), single(2), single(3)]);
        assert_eq!(fit.rank(true, &Draws::new(5)), fit.rank(true, &Draws::new(5)));
    }

    /// A simulated table: ln value = effect + block + noise.
    fn table(random: &mut Random, effects: &[f64], blocks: usize, sd: f64, block_sd: f64) -> Vec<BlockRow> {
        let drift: Vec<f64> = (0..blocks).map(|_| block_sd * random.normal()).collect();
        let mut row = |effect: &f64| BlockRow {
            values: drift.iter().map(|block| Some((effect + block + sd * random.normal()).exp())).collect(),
            is_steady: true,
        };
        effects.iter().map(&mut row).collect()
    }

    #[test]
    fn ratios_cover_the_truth_whatever_the_blocks_do() {
        let mut random = Random::new(3);
        for block_sd in [0.0, 0.1, 0.3] {
            let covered = (0..600)
                .filter(|_| {
                    let rows = table(&mut random, &[0.0; 7], 3, 0.1, block_sd);
                    BlockFit::of(&rows).unwrap().ratio(0, 1).unwrap().interval.contains(1.0)
                })
                .count();
            assert!((555..=591).contains(&covered), "block sd {block_sd}: {covered} of 600");
        }
    }

    #[test]
    fn the_launches_for_a_difference_are_enough_for_it() {
        let mut random = Random::new(6);
        let few = BlockFit::of(&table(&mut random, &[0.0; 8], 5, 0.06, 0.1)).unwrap();
        assert!(few.smallest_ratio_difference(1).unwrap() > 0.05);
        assert!(few.smallest_ratio_difference(28) > few.smallest_ratio_difference(1));
        let launches = few.launches_for_difference(0.05).unwrap();
        // t (n - 1 degrees of freedom) * 0.06 * sqrt(2 / n) <= ln 1.05 from n = 15 on.
        assert!((10..=21).contains(&launches), "{launches}");
        let many = BlockFit::of(&table(&mut random, &[0.0; 8], launches, 0.06, 0.1)).unwrap();
        let smallest = many.smallest_ratio_difference(1).unwrap();
        assert!((0.03..=0.06).contains(&smallest), "{smallest} with {launches} launches");
        assert_eq!(few.launches_for_difference(0.0), None);
    }

    #[test]
    fn a_difference_of_the_half_width_is_found_in_half_of_the_cases_and_with_the_launches_to_find_it_in_four_of_five()
     {
        let mut random = Random::new(8);
        let found = |random: &mut Random, launches: usize| {
            let claims = (0..400).filter(|_| {
                let rows = table(random, &[1.1f64.ln(), 0.0], launches, 0.06, 0.1);
                BlockFit::of(&rows).unwrap().ratio(0, 1).unwrap().interval.low > 1.0
            });
            claims.count() as f64 / 400.0
        };
        let deviation = 0.06 * 2f64.sqrt();
        let (half, four_of_five) =
            (launches_needed(deviation, 0.1).unwrap(), launches_to_find(deviation, 0.1).unwrap());
        assert_eq!((half, four_of_five), (6, 9));
        let (half, four_of_five) = (found(&mut random, half), found(&mut random, four_of_five));
        assert!((0.4..0.68).contains(&half), "{half}");
        assert!((0.74..0.9).contains(&four_of_five), "{four_of_five}");
    }

    #[test]
    fn equal_servers_are_rarely_ordered() {
        let mut random = Random::new(4);
        for blocks in [3, 5] {
            let claims = (0..60)
                .filter(|_| {
                    let rows = table(&mut random, &[0.0; 8], blocks, 0.1, 0.1);
                    let ranking = BlockFit::of(&rows).unwrap().rank(true, &Draws::new(1)).unwrap();
                    ranking.ranks.into_iter().flatten().any(|rank| rank != RankSet { best: 1, worst: 8 })
                })
                .count();
            assert!(claims <= 7, "{blocks} blocks: {claims} of 60 tables of equal servers claim an order");
        }
    }

    #[test]
    fn rank_sets_hold_the_true_ranks() {
        let mut random = Random::new(5);
        let effects: Vec<f64> = (0..12).map(|i| f64::from(i) * 0.1).collect();
        let mut widths = 0;
        for _ in 0..30 {
            let rows = table(&mut random, &effects, 5, 0.06, 0.1);
            let ranking = BlockFit::of(&rows).unwrap().rank(true, &Draws::new(1)).unwrap();
            for (server, rank) in ranking.ranks.iter().flatten().enumerate() {
                let truth = effects.len() - server;
                assert!(rank.best <= truth && truth <= rank.worst, "{rank:?} for {truth}");
                widths += rank.worst - rank.best + 1;
            }
        }
        let mean_width = widths as f64 / (30.0 * 12.0);
        assert!(mean_width < 5.0, "sets of {mean_width} ranks say little");
    }
}

//! Ratios and ranks of the servers of one table, adjusted for the machine's drift.
//!
//! A round starts every server once in each block, so the logarithm of a figure is fitted as server + block + error.
//! Residual variances are moderated (`prior.rs`); a ratio's interval has Satterthwaite's degrees of freedom.
//! Ranks are confidence sets that hold simultaneously for the whole table (Mogstad, Romano, Shaikh and Wilhelm,
//! "Inference for ranks", *Review of Economic Studies*, 2024, doi 10.1093/restud/rdad006): the critical value is a
//! quantile of the largest of all pairwise t statistics, each as a part of what its pair needs by itself, simulated
//! with a fixed seed. The simulation moderates its variances too: the error of what servers share raises all t
//! statistics of a table at once.

use crate::draws::{DRAWS, Draws};
use crate::launches::{CONFIDENCE, ConfidenceInterval, UPPER, launches_needed, launches_to_find, logarithms};
use crate::prior::{Prior, moderated, priors};
use crate::special::{t_quantile, t_two_sided};
use crate::spread::{Variance, quantile};

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

/// The rank sets of a table. All of them hold simultaneously, with 95 % confidence if no other was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    /// The ranks of each server in the order given; none for a server that cannot be compared.
    pub ranks: Vec<Option<RankSet>>,
    /// Pairs of servers of which the first is ahead of the second with confidence, as places in the order given.
    pub ahead: Vec<(usize, usize)>,
    /// The difference by which a typical pair of servers must differ to be told apart, as a share: 0.11 is 11 %. A true
    /// difference of this size is found in about half of the cases.
    pub smallest_difference: f64,
}

impl BlockFit {
    /// Fits a table. None if no server has a value, or if a value has no logarithm. If servers and blocks cannot be
    /// separated (two servers without a common block), block effects are left out.
    pub fn from_rows(rows: &[BlockRow]) -> Option<Self> {
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
        let unknowns = Unknowns::from_observations(cells, &launches, blocks);
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
        let priors = priors(&own, is_steady);
        let variances = moderated(&own, &priors);
        let mixtures = (0..servers).map(|at| Mixture::of(own[at], variances[at], priors[at])).collect();
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

    /// Whether the figure of `first` is more than that of `second`, in the blocks that both have. Where launches are
    /// missing, their means may say the opposite, because the machine was faster in some blocks.
    pub fn is_more(&self, first: usize, second: usize) -> Option<bool> {
        Some(self.effects.get(first)? > self.effects.get(second)?)
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
        self.rank_with(CONFIDENCE, higher_is_better, draws)
    }

    /// The rank sets that all hold simultaneously with this probability, from 0 to 1. Above 0.9999 it is 0.9999: 10,000
    /// tables are simulated.
    pub fn rank_with(&self, confidence: f64, higher_is_better: bool, draws: &Draws) -> Option<Ranking> {
        let comparable = self.comparable();
        if comparable.len() < 2 {
            return None;
        }
        let places = |i: usize| (i + 1..comparable.len()).map(move |j| (i, j));
        let pairs = (0..comparable.len()).flat_map(places).collect();
        let pairs = self.claimed(&comparable, pairs, confidence, draws);
        let mut ahead = Vec::new();
        for (i, j, half_width) in &pairs {
            let lead = self.lead(*i, *j, higher_is_better);
            ahead.extend((lead > *half_width).then_some((*i, *j)));
            ahead.extend((-lead > *half_width).then_some((*j, *i)));
        }
        ahead.sort_unstable();
        let mut ranks = vec![None; self.effects.len()];
        comparable
            .iter()
            .for_each(|server| ranks[*server] = Some(RankSet { best: 1, worst: comparable.len() }));
        for (first, second) in &ahead {
            ranks[*first].iter_mut().for_each(|set| set.worst -= 1);
            ranks[*second].iter_mut().for_each(|set| set.best += 1);
        }
        let half_widths = pairs.iter().map(|(_, _, half_width)| *half_width);
        let smallest_difference = median(half_widths.collect())?.exp_m1();
        Some(Ranking { ranks, ahead, smallest_difference })
    }

    /// Which of the first servers, so many, are ahead of which others. All of these claims hold simultaneously with this
    /// probability; servers of one group are not compared.
    pub fn ahead_of_others(
        &self,
        first: usize,
        confidence: f64,
        higher_is_better: bool,
        draws: &Draws,
    ) -> Vec<(usize, usize)> {
        let comparable = self.comparable();
        let count = comparable.partition_point(|server| *server < first);
        if count == 0 || count == comparable.len() {
            return Vec::new();
        }
        let across = (0..count).flat_map(|i| (count..comparable.len()).map(move |j| (i, j)));
        let pairs = self.claimed(&comparable, across.collect(), confidence, draws);
        let is_ahead = |(i, j, half_width): (usize, usize, f64)| {
            (self.lead(i, j, higher_is_better) > half_width).then_some((i, j))
        };
        pairs.into_iter().filter_map(is_ahead).collect()
    }

    /// The servers whose noise is known.
    fn comparable(&self) -> Vec<usize> {
        (0..self.effects.len()).filter(|server| self.variances[*server].is_some()).collect()
    }

    /// By how much the logarithm of a server's figure is better than that of another.
    fn lead(&self, server: usize, other: usize, higher_is_better: bool) -> f64 {
        let lead = self.effects[server] - self.effects[other];
        if higher_is_better { lead } else { -lead }
    }

    /// How far the logarithms of pairs, given by their places in `servers`, must be apart so that all claims of an order
    /// hold simultaneously with this probability: each pair of servers, with that difference.
    ///
    /// The t statistic of each pair is divided by the value that the pair needs by itself among so many (Bonferroni), so
    /// that a pair whose noise is known badly does not set the bar of all (Beran, "Balanced simultaneous confidence
    /// sets", *Journal of the American Statistical Association* 83, 1988). The largest of these ratios is simulated for
    /// equal servers: in each draw every server has a mean and an own variance; the variances are then moderated as
    /// those of the table are, so that the error of what they share is in all of them at once.
    fn claimed(
        &self,
        servers: &[usize],
        pairs: Vec<(usize, usize)>,
        confidence: f64,
        draws: &Draws,
    ) -> Vec<(usize, usize, f64)> {
        let upper = 1.0 - (1.0 - confidence) / 2.0 / pairs.len().max(1) as f64;
        let errors = pairs.into_iter().filter_map(|(i, j)| Some((i, j, self.error(servers[i], servers[j])?)));
        let needed: Vec<(usize, usize, f64, f64)> =
            errors.map(|(i, j, error)| (i, j, t_quantile(upper, error.df), error.value.sqrt())).collect();
        // With the inverse squares of what each pair needs.
        let pairs: Vec<_> = needed.iter().map(|(i, j, needed_t, _)| (*i, *j, needed_t.powi(-2))).collect();
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
        let mut points = Vec::with_capacity(DRAWS);
        draws.for_each(&df, |draw| {
            let of_all = mixtures.iter().zip(draw).map(|(mixture, (_, own))| mixture.shared_df() * own);
            let shared = of_all.sum::<f64>() / shared_df.max(f64::MIN_POSITIVE);
            for (at, place) in drawn.iter_mut().enumerate() {
                let ((normal, own), Mixture { of_prior, .. }) = (draw[at], mixtures[at]);
                let ratio = of_prior * shared + (1.0 - of_prior) * own;
                *place = (normal * deviations[at], errors[at] * ratio);
            }
            points.push(largest_squared(&drawn, &pairs).sqrt());
        });
        let share = quantile(&mut points, confidence);
        let half_width = |(i, j, needed_t, error): (usize, usize, f64, f64)| {
            (servers[i], servers[j], share * needed_t * error)
        };
        needed.into_iter().map(half_width).collect()
    }
}

/// How a moderated variance is composed.
#[derive(Clone, Copy, Debug)]
struct Mixture {
    /// Degrees of freedom of the server's own part.
    own_df: f64,
    /// The weight of the variance that the servers share, 0 to 1; the server's own has the rest.
    of_prior: f64,
}

impl Mixture {
    /// What servers share is drawn once only where they do not differ beyond chance: elsewhere the moderated variances
    /// are less alike than that, and tables of many servers would claim an order too often.
    fn of(own: Option<Variance>, moderated: Option<Variance>, prior: Option<Prior>) -> Self {
        let df = |variance: Option<Variance>| variance.map_or(0.0, |variance| variance.df);
        match prior.filter(|prior| prior.pooled_df.is_some()) {
            Some(prior) => Self { own_df: df(own), of_prior: prior.weight(df(own)) },
            None => Self { own_df: df(moderated), of_prior: 0.0 },
        }
    }

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

/// The largest of the squared t statistics of pairs, each times the pair's factor, from (mean, squared standard error).
fn largest_squared(drawn: &[(f64, f64)], pairs: &[(usize, usize, f64)]) -> f64 {
    let mut largest: f64 = 0.0;
    for (i, j, factor) in pairs {
        let (a, b) = (drawn[*i], drawn[*j]);
        let error = a.1 + b.1;
        let squared = (a.0 - b.0).powi(2) * factor;
        // Rounding is monotone: a quotient above the largest implies this, so that few pairs need the division.
        if squared >= largest * error && error > 0.0 {
            largest = largest.max(squared / error);
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
    fn from_observations(cells: &[LogObservation], launches: &[usize], blocks: usize) -> Self {
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
mod tests;

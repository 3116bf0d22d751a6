//! Limits of a group sequential test for any error rate, and one-sided tests of a bound at its looks.
//!
//! The error is spent in proportion to t^1.5, where t is the share of the last look's observations (Lan and DeMets,
//! *Biometrika* 70(3), 1983). The limits come from the recursion of Armitage, McPherson and Rowe ("Repeated
//! significance tests on accumulating data", *JRSS A* 132, 1969): the density of a Brownian motion that has crossed no
//! earlier limit, by numerical integration. `sequential.rs` has the same limits for 5 % as a table; a gate with several
//! metrics shares its error among them and needs others.

use crate::sequential::{LOOK_PAIRS, MAX_PAIRS};
use crate::special::{normal_cdf, t_quantile};
use crate::spread::{Variance, mean};

/// Points of the grid of the integration: the levels then differ by less than 1 % from those of a finer grid.
const GRID: usize = 150;
/// Where the grid begins, in standard deviations: the mass below is 1e-15.
const GRID_LOW: f64 = -8.0;
/// The power of the spending function, as in `sequential.rs`.
const SPENDING_POWER: f64 = 1.5;

/// One-sided levels, one for each look, with its number of observations: a test that rejects at any look if its p value
/// is below that look's level has the error rate `error` over all looks together.
#[derive(Clone, Debug, PartialEq)]
pub struct LookLevels(Vec<(usize, f64)>);

impl LookLevels {
    /// The levels for a one-sided error rate, between 0 and 0.5, at the looks of [`crate::next_look`].
    pub fn from_error(error: f64) -> Self {
        Self::ending_at(error, MAX_PAIRS)
    }

    /// The levels if the last look is at `last` observations, because there will be no more: the earlier looks keep
    /// theirs, and the last one spends what is left of the error. No level is left if that is before the first look.
    /// Valid if the end does not depend on what was observed, as that of a budget of time (Lan and DeMets: a spending
    /// function needs neither the number nor the times of the looks in advance).
    pub fn ending_at(error: f64, last: usize) -> Self {
        let last = last.min(MAX_PAIRS);
        let earlier = LOOK_PAIRS.into_iter().filter(|pairs| *pairs < last);
        let looks: Vec<usize> = earlier.chain((last >= LOOK_PAIRS[0]).then_some(last)).collect();
        let mut levels = Vec::new();
        let mut density = Density { at: 0.0, points: vec![(0.0, 1.0)] };
        let mut spent = 0.0;
        for pairs in looks {
            let time = pairs as f64 / MAX_PAIRS as f64;
            let spend = if pairs == last { error } else { error * time.powf(SPENDING_POWER) };
            let limit = density.limit(time, spend - spent);
            levels.push((pairs, 1.0 - normal_cdf(limit / time.sqrt())));
            density = density.advance(time, limit);
            spent = spend;
        }
        Self(levels)
    }

    /// The level of the last look at or before `count` observations, with that look's number of observations.
    pub fn at(&self, count: usize) -> Option<(usize, f64)> {
        self.0.iter().copied().rev().find(|(pairs, _)| *pairs <= count)
    }
}

/// The sub-density of the process at a time, on the paths that have crossed no limit: points with their weights.
struct Density {
    at: f64,
    points: Vec<(f64, f64)>,
}

impl Density {
    /// The probability to be above `limit` at `time` without an earlier crossing.
    fn above(&self, time: f64, limit: f64) -> f64 {
        let deviation = (time - self.at).sqrt();
        self.points.iter().map(|(x, weight)| weight * normal_cdf((x - limit) / deviation)).sum()
    }

    /// The limit that is crossed at `time` with the probability `spend`, by bisection.
    fn limit(&self, time: f64, spend: f64) -> f64 {
        let (mut low, mut high) = (0.0, -GRID_LOW * time.sqrt());
        for _ in 0..40 {
            let middle = (low + high) / 2.0;
            if self.above(time, middle) > spend { low = middle } else { high = middle }
        }
        high
    }

    /// The sub-density at `time` below `limit`, by the midpoint rule.
    fn advance(&self, time: f64, limit: f64) -> Density {
        let low = GRID_LOW * time.sqrt();
        let step = (limit - low) / GRID as f64;
        let deviation = (time - self.at).sqrt();
        let weight = |x: f64| {
            let normal = |from: f64| (-((x - from) / deviation).powi(2) / 2.0).exp();
            let sum: f64 = self.points.iter().map(|(from, weight)| weight * normal(*from)).sum();
            sum * step / (deviation * (2.0 * std::f64::consts::PI).sqrt())
        };
        let place = |index: usize| low + (index as f64 + 0.5) * step;
        Density { at: time, points: (0..GRID).map(|index| (place(index), weight(place(index)))).collect() }
    }
}

/// What a look at observations says about a bound on their mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundDecision {
    /// The mean is proven to be above the bound.
    Above,
    /// The mean is proven to be below the bound.
    Below,
    /// Neither is proven.
    Open,
}

/// A mean against a bound at a look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundTest {
    /// Observations used: those of the last look.
    pub used: usize,
    /// Their mean.
    pub mean: f64,
    /// The standard deviation of one observation.
    pub deviation: f64,
    /// The mean is above this, with the error rate for `Above` over all looks.
    pub low: f64,
    /// The mean is below this, with the error rate for `Below` over all looks.
    pub high: f64,
    /// How far above the bound a true mean must lie to be proven above it at this look with 80 % probability.
    pub detectable: f64,
    /// The decision.
    pub decision: BoundDecision,
}

/// The quantile of the normal distribution at 80 %.
const NORMAL_80: f64 = 0.8416;

/// Tests whether the mean of normally distributed observations is above or below a bound, at the last look that they
/// reach: two one-sided t tests, each with separate levels. None before the first look.
pub fn test_bound(values: &[f64], bound: f64, above: &LookLevels, below: &LookLevels) -> Option<BoundTest> {
    let (used, level_above) = above.at(values.len())?;
    let (_, level_below) = below.at(values.len())?;
    let values = &values[..used];
    let variance = Variance::from_values(values)?;
    let error = (variance.value / used as f64).sqrt();
    let centre = mean(values);
    let reach = |level: f64| t_quantile(1.0 - level, variance.df) * error;
    let (low, high) = (centre - reach(level_above), centre + reach(level_below));
    let decision = if low > bound {
        BoundDecision::Above
    } else if high < bound {
        BoundDecision::Below
    } else {
        BoundDecision::Open
    };
    let detectable = reach(level_above) + NORMAL_80 * error;
    Some(BoundTest { used, mean: centre, deviation: variance.value.sqrt(), low, high, detectable, decision })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::sequential::next_look;

    #[test]
    fn levels_match_the_table_of_the_comparison() {
        // sequential.rs: two-sided limits for 5 %, and one-sided limits for 5 %.
        let halves = [0.00447, 0.00532, 0.00730, 0.00960, 0.01802, 0.03260].map(|level| level / 2.0);
        let whole = [0.00447, 0.00553, 0.00768, 0.01021, 0.01908, 0.03468];
        for (error, expected) in [(0.025, halves), (0.05, whole)] {
            let LookLevels(levels) = LookLevels::from_error(error);
            for ((_, level), expected) in levels.iter().zip(expected) {
                assert!((level / expected - 1.0).abs() < 0.01, "{error}: {levels:?}");
            }
        }
    }

    #[test]
    fn a_level_belongs_to_the_last_look() {
        let levels = LookLevels::from_error(0.01);
        assert_eq!(levels.at(3), None);
        assert_eq!(levels.at(5).map(|(used, _)| used), Some(4));
        assert_eq!(levels.at(99).map(|(used, _)| used), Some(20));
        assert!((levels.at(4).unwrap().1 - 0.01 * 0.2f64.powf(1.5)).abs() < 1e-6);
    }

    #[test]
    fn a_last_look_spends_the_rest_of_the_error() {
        let (planned, ended) = (LookLevels::from_error(0.05), LookLevels::ending_at(0.05, 13));
        for looked in [4, 9] {
            assert_eq!(ended.at(looked), planned.at(looked), "the earlier looks keep their levels");
        }
        let early = LookLevels::ending_at(0.05, 10).at(10).unwrap();
        assert!(early.0 == 10 && early.1 > planned.at(10).unwrap().1, "{early:?}");
        assert_eq!(LookLevels::ending_at(0.05, 4).at(4).map(|(used, _)| used), Some(4));
        assert_eq!(LookLevels::ending_at(0.05, 3).at(3), None, "before the first look");
        // Sums of normal observations without a mean cross any limit in 5 % of sequences.
        let limits = [4, 6, 8, 10, 13].map(|count| ended.at(count).unwrap());
        let mut random = Random::new(3);
        let mut crosses = || {
            let values: Vec<f64> = (0..13).map(|_| random.normal()).collect();
            limits.iter().any(|(count, level)| {
                let z = values[..*count].iter().sum::<f64>() / (*count as f64).sqrt();
                1.0 - normal_cdf(z) < *level
            })
        };
        let share = (0..20_000).filter(|_| crosses()).count() as f64 / 20_000.0;
        assert!((share - 0.05).abs() < 0.006, "{share}");
    }

    /// Shares of sequences that are ever judged above and below the bound.
    fn simulate(mean: f64, bound: f64, errors: [f64; 2], rounds: usize) -> (f64, f64) {
        let [above, below] = errors.map(LookLevels::from_error);
        let mut random = Random::new(7);
        let mut counts = [0usize; 2];
        for _ in 0..rounds {
            let values: Vec<f64> = (0..20).map(|_| mean + 0.1 * random.normal()).collect();
            let mut looked = 0;
            while let Some(look) = next_look(looked) {
                looked = look;
                match test_bound(&values[..look], bound, &above, &below).unwrap().decision {
                    BoundDecision::Above => counts[0] += 1,
                    BoundDecision::Below => counts[1] += 1,
                    BoundDecision::Open => continue,
                }
                break;
            }
        }
        (counts[0] as f64 / rounds as f64, counts[1] as f64 / rounds as f64)
    }

    #[test]
    fn error_rates_hold_at_the_bound_and_power_beyond_it() {
        let (above, below) = simulate(0.05, 0.05, [0.0125, 0.05], 4_000);
        assert!(above < 0.018 && below < 0.06, "{above}, {below}");
        let (above, below) = simulate(0.25, 0.05, [0.0125, 0.05], 400);
        assert!(above > 0.99 && below == 0.0, "{above}, {below}");
    }

    #[test]
    fn a_look_matches_scipy() {
        // Of 0.08, 0.12, 0.1, 0.14: mean 0.11, sem 0.0129099; scipy.stats.t.ppf(1 - 0.05 * 0.2 ** 1.5, 3) = 6.0773.
        let levels = LookLevels::from_error(0.05);
        let test = test_bound(&[0.08, 0.12, 0.1, 0.14], 0.02, &levels, &levels).unwrap();
        assert!((test.low - (0.11 - 6.0773 * 0.012_909_9)).abs() < 1e-3, "{test:?}");
        assert_eq!(test.decision, BoundDecision::Above);
        assert_eq!(test_bound(&[0.1; 4], 0.2, &levels, &levels).unwrap().decision, BoundDecision::Below);
    }
}

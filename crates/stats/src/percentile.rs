//! The confidence interval of a percentile within one run.
//!
//! Requests of a run are not independent: one queue delays many of them. Confidence intervals for independent samples
//! then cover the truth in 1 to 74 % of runs. Therefore the window is divided into ten slices. The numbers of
//! exceedances scatter more between slices than a binomial distribution would; the ratio is a dispersion factor, by
//! which the effective sample is smaller (overdispersion as in McCullagh and Nelder, *Generalized Linear Models*,
//! section 4.5). The interval's ends are order statistics whose ranks come from the beta distribution (Hahn and Meeker,
//! *Statistical Intervals*, section 5.2). The interval describes this run only; the variation between launches needs
//! several launches.

use crate::launches::{ConfidenceInterval, UPPER};
use crate::special::{beta_quantile, normal_quantile, t_quantile};
use crate::{HIGHEST, Histogram};

/// Slices of a window. More slices are worse if requests are correlated over long times.
pub const SLICES: usize = 10;
/// Effective samples above the percentile from which the interval has its nominal coverage.
const MIN_EXCEEDANCES: f64 = 10.0;

/// A percentile of one run and its precision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunPercentile {
    /// The value at the percentile, in the histogram's unit.
    pub value: u64,
    /// The ratio of the run's samples to the equivalent number of independent samples; at least 1.
    pub dispersion: f64,
    /// The 95 % interval, if the run is long enough for one.
    pub interval: Option<ConfidenceInterval>,
    /// The approximate number of requests that a run needs for an interval of this percentile.
    pub requests_needed: u64,
}

/// The percentile `p` (0.99 for p99) of a window that is given in intervals of equal length, in order. None without
/// samples, without ten intervals, or for a `p` that is not inside 0 to 1.
pub fn run_percentile(intervals: &[Histogram], p: f64) -> Option<RunPercentile> {
    if intervals.len() < SLICES || !(p > 0.0 && p < 1.0) {
        return None;
    }
    let mut total = Histogram::new();
    intervals.iter().for_each(|interval| total.merge(interval));
    let value = total.quantile(p)?;
    let dispersion = dispersion(intervals, &total, value);
    let interval = percentile_interval(&total, p, dispersion);
    let requests_needed = (MIN_EXCEEDANCES * dispersion / (1.0 - p)).ceil() as u64;
    Some(RunPercentile { value, dispersion, interval, requests_needed })
}

/// The 95 % interval of the percentile `p` of samples whose dispersion was estimated as in [`run_percentile`]. None if
/// there are too few samples for an interval.
pub fn percentile_interval(samples: &Histogram, p: f64, dispersion: f64) -> Option<ConfidenceInterval> {
    let n = samples.count() as f64 / dispersion;
    (n * (1.0 - p) >= MIN_EXCEEDANCES).then(|| {
        let slices_df = (SLICES - 1) as f64;
        let n_effective = n * (normal_quantile(UPPER) / t_quantile(UPPER, slices_df)).powi(2);
        let (below, above) = (p * n_effective, (1.0 - p) * n_effective);
        let at = |rank: f64| samples.quantile(rank).unwrap_or(HIGHEST) as f64;
        ConfidenceInterval {
            low: at(beta_quantile(below, above + 1.0, 1.0 - UPPER)),
            high: at(beta_quantile(below + 1.0, above, UPPER)),
        }
    })
}

/// The scatter between slices of the numbers of samples above `value`, relative to a binomial distribution.
fn dispersion(intervals: &[Histogram], total: &Histogram, value: u64) -> f64 {
    let n = total.count() as f64;
    // The observed share, not 1 - p: many samples may share the value at the percentile.
    let share = 1.0 - total.count_at_or_below(value) as f64 / n;
    if share <= 0.0 {
        return 1.0;
    }
    let squares: f64 = slices(intervals)
        .map(|slice| {
            let count: u64 = slice.iter().map(Histogram::count).sum();
            let at_or_below: u64 = slice.iter().map(|interval| interval.count_at_or_below(value)).sum();
            ((count - at_or_below) as f64 - share * count as f64).powi(2)
        })
        .sum();
    let slices = SLICES as f64;
    (slices / (slices - 1.0) * squares / (n * share * (1.0 - share))).max(1.0)
}

/// Ten groups of adjacent intervals, as equal in length as the number of intervals allows.
fn slices(intervals: &[Histogram]) -> impl Iterator<Item = &[Histogram]> {
    (0..SLICES).map(|i| &intervals[i * intervals.len() / SLICES..(i + 1) * intervals.len() / SLICES])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn cut(values: &[u64], pieces: usize) -> Vec<Histogram> {
        let slice = |i: usize| &values[i * values.len() / pieces..(i + 1) * values.len() / pieces];
        (0..pieces)
            .map(|i| {
                let mut histogram = Histogram::new();
                slice(i).iter().for_each(|value| histogram.record(*value));
                histogram
            })
            .collect()
    }

    /// Response times of an M/M/1 queue in nanoseconds, by Lindley's recursion, from an empty queue after a warm-up.
    fn queue(random: &mut Random, utilization: f64, requests: usize) -> Vec<u64> {
        let mut wait: f64 = 0.0;
        let mut values = Vec::with_capacity(requests);
        for i in 0..requests + 2_000 {
            let service = random.exponential() * utilization;
            if i >= 2_000 {
                values.push(((wait + service) * 1e6) as u64);
            }
            wait = (wait + service - random.exponential()).max(0.0);
        }
        values
    }

    #[test]
    fn ranks_of_independent_samples_match_scipy() {
        // All slices hold the same values: dispersion 1. n = 10,000, p = 0.9, n_eff = 10000 (1.95996/2.26216)^2 =
        // 7506.7; scipy.stats.beta.ppf(.025, .9 n_eff, .1 n_eff + 1) = 0.89299, beta.ppf(.975, .9 n_eff + 1, .1 n_eff)
        // = 0.90670.
        let values: Vec<u64> = (0..10).flat_map(|_| 1..=1_000).collect();
        let estimate = run_percentile(&cut(&values, 10), 0.9).unwrap();
        assert_eq!((estimate.value, estimate.dispersion), (900, 1.0));
        let interval = estimate.interval.unwrap();
        assert_eq!((interval.low, interval.high), (893.0, 907.0));
    }

    #[test]
    fn too_few_samples_say_how_many_are_needed() {
        let values: Vec<u64> = (0..10).flat_map(|_| 1..=90).collect();
        let estimate = run_percentile(&cut(&values, 10), 0.99).unwrap();
        assert_eq!((estimate.interval, estimate.requests_needed), (None, 1_000));
        assert_eq!(run_percentile(&cut(&values, 9), 0.99), None);
        assert_eq!(run_percentile(&cut(&[], 10), 0.99), None);
        assert_eq!(run_percentile(&cut(&values, 10), 1.0), None);
    }

    #[test]
    fn a_stall_in_one_slice_widens_the_interval() {
        let mut values: Vec<u64> = (0..10).flat_map(|_| 1..=1_000).collect();
        values[..900].fill(2_000);
        let estimate = run_percentile(&cut(&values, 30), 0.9).unwrap();
        assert!(estimate.dispersion > 100.0, "{estimate:?}");
        assert_eq!(estimate.interval, None);
    }

    #[test]
    fn equal_values_have_an_interval_of_zero_width() {
        let estimate = run_percentile(&cut(&[5; 1_000], 10), 0.5).unwrap();
        assert_eq!(estimate.interval, Some(ConfidenceInterval { low: 5.0, high: 5.0 }));
    }

    /// Shares of simulated runs with an interval, and of those whose interval holds the true percentile.
    fn coverage(utilization: f64, requests: usize, p: f64, runs: usize) -> (f64, f64) {
        // Response times of M/M/1 are exponential with mean s / (1 - utilization).
        let truth = -(1.0 - p).ln() * utilization / (1.0 - utilization) * 1e6;
        let mut random = Random::new(7);
        let found: Vec<bool> = (0..runs)
            .filter_map(|_| {
                let values = queue(&mut random, utilization, requests);
                run_percentile(&cut(&values, SLICES), p)?.interval.map(|interval| interval.contains(truth))
            })
            .collect();
        let covered = found.iter().filter(|covered| **covered).count();
        (found.len() as f64 / runs as f64, covered as f64 / found.len() as f64)
    }

    #[test]
    fn intervals_cover_the_percentile_of_a_queue() {
        for (utilization, requests, p) in [(0.5, 20_000, 0.99), (0.8, 20_000, 0.5), (0.5, 10_000, 0.5)] {
            let (given, covered) = coverage(utilization, requests, p, 200);
            assert!(given > 0.9, "utilization {utilization}, p {p}: only {given} of runs have an interval");
            assert!(covered > 0.89, "utilization {utilization}, p {p}: {covered}");
        }
    }
}

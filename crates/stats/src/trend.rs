//! Growth of a quantity over the window, and pauses in it.
//!
//! The verdicts on overload and outages use these functions and decide which growth matters.

use crate::launches::{ConfidenceInterval, UPPER};
use crate::special::t_quantile;
use crate::spread::{Variance, mean};

/// The slope of the least-squares line through (x, y) points: change of y per unit of x. None for fewer than two
/// distinct x.
pub fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let n = points.len() as f64;
    let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / n;
    let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / n;
    let spread = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum::<f64>();
    let together = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum::<f64>();
    (points.len() >= 2 && spread > 0.0).then(|| together / spread)
}

/// The growth of a quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// Mean growth per second.
    pub per_s: f64,
    /// Its 95 % interval. Growth is proven if it lies above zero.
    pub interval: ConfidenceInterval,
}

/// Growth of a backlog (requests outstanding) from its value at the ends of intervals, as (seconds, value) points with
/// equal distances. None for fewer than five points.
///
/// Growth is the mean of the increments. Increments of an overloaded queue are independent, so their t interval is
/// right there; those of a stable queue cancel out, so there it is too wide, which is the safe side. One pause is one
/// large increment and never a proof of growth. Compare Heidelberger and Welch, "Simulation run length control in the
/// presence of an initial transient", *Operations Research* 31(6), 1983.
pub fn growth(points: &[(f64, f64)]) -> Option<Growth> {
    if points.len() < 5 {
        return None;
    }
    let duration = points.last()?.0 - points.first()?.0;
    let seconds = duration / (points.len() - 1) as f64;
    if !(seconds > 0.0 && seconds.is_finite()) {
        return None;
    }
    let increments: Vec<f64> = points.windows(2).map(|pair| (pair[1].1 - pair[0].1) / seconds).collect();
    let variance = Variance::from_values(&increments)?;
    let error = (variance.value / increments.len() as f64).sqrt();
    let per_s = mean(&increments);
    Some(Growth {
        per_s,
        interval: ConfidenceInterval::around(per_s, t_quantile(UPPER, variance.df) * error),
    })
}

/// A pause: consecutive intervals with hardly any completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// The first such interval.
    pub first: usize,
    /// The number of consecutive intervals.
    pub intervals: usize,
}

/// Finds pauses in the completions of equally long intervals: below a tenth of the median, which itself must be at
/// least 10. In order. A pause that lasts for most of the window is not found, because then there is no median to
/// compare with.
pub fn pauses(completed: &[u64]) -> Vec<Pause> {
    let mut sorted = completed.to_vec();
    sorted.sort_unstable();
    let median = sorted.get(sorted.len() / 2).copied().unwrap_or(0);
    let mut found: Vec<Pause> = Vec::new();
    if median < 10 {
        return found;
    }
    for (at, count) in completed.iter().enumerate().filter(|(_, count)| **count * 10 < median) {
        debug_assert!(*count < median);
        match found.last_mut() {
            Some(pause) if pause.first + pause.intervals == at => pause.intervals += 1,
            _ => found.push(Pause { first: at, intervals: 1 }),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn slopes_match_numpy() {
        // numpy.polyfit([0, 1, 2, 3], [1, 3, 2, 5], 1)[0] = 1.1
        let points = [(0.0, 1.0), (1.0, 3.0), (2.0, 2.0), (3.0, 5.0)];
        assert!((slope(&points).unwrap() - 1.1).abs() < 1e-12);
        assert_eq!(slope(&[(1.0, 1.0)]), None);
        assert_eq!(slope(&[(1.0, 1.0), (1.0, 5.0)]), None);
        assert_eq!(slope(&[]), None);
    }

    /// Outstanding requests after each of ten seconds: Poisson arrivals (or even ones) of a rate, served at `served`.
    fn outstanding(random: &mut Random, offered: f64, served: f64, is_poisson: bool) -> Vec<(f64, f64)> {
        let mut backlog: f64 = 0.0;
        let mut points = vec![(0.0, 0.0)];
        for second in 1..=10 {
            for _ in 0..100 {
                let mean = offered / 100.0;
                let arrived = if is_poisson { mean + mean.sqrt() * random.normal() } else { mean };
                backlog = (backlog + arrived - served / 100.0).max(0.0);
            }
            points.push((f64::from(second), backlog));
        }
        points
    }

    #[test]
    fn overload_grows_and_a_stable_queue_does_not() {
        let mut random = Random::new(21);
        for (offered, served, poisson) in [(100.0, 50.0, true), (504.0, 500.0, false), (1_000.0, 900.0, true)]
        {
            let growth = growth(&outstanding(&mut random, offered, served, poisson)).unwrap();
            assert!(growth.interval.low > 0.0, "{offered}/s on {served}/s: {growth:?}");
            assert!((growth.per_s / (offered - served) - 1.0).abs() < 0.35, "{growth:?}");
        }
        let false_alarms = (0..300)
            .filter(|_| growth(&outstanding(&mut random, 950.0, 1_000.0, true)).unwrap().interval.low > 0.0)
            .count();
        assert!(false_alarms <= 9, "{false_alarms} of 300 stable queues are said to grow");
    }

    #[test]
    fn a_pause_is_not_growth_and_growth_is_not_a_pause() {
        // 1,000/s offered; the server pauses in the tenth second.
        let mut points: Vec<(f64, f64)> = (0..=10).map(|second| (f64::from(second), 0.0)).collect();
        points[10].1 = 1_000.0;
        assert!(growth(&points).unwrap().interval.low < 0.0);
        let completed = [1_000, 1_000, 1_000, 0, 50, 1_900, 1_000, 1_000, 99, 1_000];
        let expected = [Pause { first: 3, intervals: 2 }, Pause { first: 8, intervals: 1 }];
        assert_eq!(pauses(&completed), expected);
        assert_eq!(pauses(&[500; 10]), []);
        assert_eq!(pauses(&[9, 9, 0, 9]), [], "too few requests to tell");
        assert_eq!(pauses(&[]), []);
    }

    #[test]
    fn growth_matches_scipy() {
        // scipy.stats.t.interval(0.95, 4, loc=mean(diff), scale=sem(diff)) of the differences 2, 3, 1, 4, 2.
        let points = [(0.0, 0.0), (1.0, 2.0), (2.0, 5.0), (3.0, 6.0), (4.0, 10.0), (5.0, 12.0)];
        let growth = growth(&points).unwrap();
        assert!((growth.per_s - 2.4).abs() < 1e-12);
        assert!(
            (growth.interval.low - 0.9842852230177277).abs() < 1e-8
                && (growth.interval.high - 3.815714776982272).abs() < 1e-8
        );
    }
}

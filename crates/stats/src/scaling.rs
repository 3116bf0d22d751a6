//! The growth of a rate with connections, instances or cores: Gunther's Universal Scalability Law, and Little's law.
//!
//! X(n) = l n / (1 + s (n - 1) + k n (n - 1)), where l is the rate for n = 1, s the share that is serialized
//! (contention) and k the cost of keeping each pair consistent (coherency); N. J. Gunther, *Guerrilla Capacity
//! Planning*, 2007, chapter 4. Fitted by least squares on logarithms, since rates scatter by factors (Levenberg and
//! Marquardt).

use crate::launches::{ConfidenceInterval, UPPER};
use crate::random::Random;
use crate::special::t_quantile;

/// Draws for the interval of the peak.
const DRAWS: usize = 4_000;

/// The law fitted to measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scalability {
    /// The rate for n = 1 (l).
    pub rate_of_one: f64,
    /// Its 95 % interval.
    pub rate_of_one_interval: ConfidenceInterval,
    /// The contention (s), 0 or more.
    pub contention: f64,
    /// Its 95 % interval.
    pub contention_interval: ConfidenceInterval,
    /// The coherency (k), 0 or more.
    pub coherency: f64,
    /// Its 95 % interval.
    pub coherency_interval: ConfidenceInterval,
    /// The n at which the law peaks, sqrt((1 - s) / k). None if the rate only rises.
    pub peak_at: Option<f64>,
    /// The peak's 95 % interval; the upper end is infinite if the data do not show a peak.
    pub peak_interval: ConfidenceInterval,
}

impl Scalability {
    /// Fits the law to points (n, rate). None for fewer than four points, for points that are not positive, or if all
    /// have the same n.
    pub fn fit(points: &[(f64, f64)], seed: u64) -> Option<Self> {
        let is_usable = |(n, rate): &(f64, f64)| *n > 0.0 && *rate > 0.0 && n.is_finite() && rate.is_finite();
        let is_single = points.iter().all(|point| point.0 == points[0].0);
        if points.len() < 4 || !points.iter().all(is_usable) || is_single {
            return None;
        }
        let (best, covariance) = least_squares(points)?;
        let t = t_quantile(UPPER, (points.len() - 3) as f64);
        let interval = |i: usize| ConfidenceInterval::around(best[i], t * covariance[i][i].max(0.0).sqrt());
        let from_zero = |interval: ConfidenceInterval| interval.map(|end| end.max(0.0));
        let peak_at = peak(best[1], best[2]);
        Some(Self {
            rate_of_one: best[0].exp(),
            rate_of_one_interval: interval(0).map(f64::exp),
            contention: best[1],
            contention_interval: from_zero(interval(1)),
            coherency: best[2],
            coherency_interval: from_zero(interval(2)),
            peak_at: peak_at.is_finite().then_some(peak_at),
            peak_interval: peak_interval(best, covariance, (points.len() - 3) as f64, seed),
        })
    }

    /// The rate that the law gives for n.
    pub fn rate(&self, n: f64) -> f64 {
        ln_rate([self.rate_of_one.ln(), self.contention, self.coherency], n).exp()
    }
}

/// The n at which the law peaks; infinite without a peak.
fn peak(contention: f64, coherency: f64) -> f64 {
    if contention >= 1.0 {
        1.0
    } else if coherency <= 0.0 {
        f64::INFINITY
    } else {
        ((1.0 - contention) / coherency).sqrt().max(1.0)
    }
}

/// The interval of the peak: contention and coherency are drawn together from the fit's t distribution.
fn peak_interval(best: [f64; 3], covariance: [[f64; 3]; 3], df: f64, seed: u64) -> ConfidenceInterval {
    let mut random = Random::new(seed);
    let of_first = covariance[1][1].max(0.0).sqrt();
    let shared = if of_first > 0.0 { covariance[1][2] / of_first } else { 0.0 };
    let alone = (covariance[2][2] - shared * shared).max(0.0).sqrt();
    let mut peaks: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let (a, b, scale) = (random.normal(), random.normal(), random.variance_ratio(df).sqrt());
            peak((best[1] + of_first * a / scale).max(0.0), best[2] + (shared * a + alone * b) / scale)
        })
        .collect();
    peaks.sort_by(f64::total_cmp);
    // By rank, because interpolation with infinity is undefined.
    let at = |q: f64| peaks[((q * DRAWS as f64) as usize).min(DRAWS - 1)];
    ConfidenceInterval { low: at(1.0 - UPPER), high: at(UPPER) }
}

fn ln_rate([ln_one, contention, coherency]: [f64; 3], n: f64) -> f64 {
    ln_one + n.ln() - (1.0 + contention * (n - 1.0) + coherency * n * (n - 1.0)).max(1e-9).ln()
}

/// The best parameters (ln l, s, k) with their covariance.
fn least_squares(points: &[(f64, f64)]) -> Option<([f64; 3], [[f64; 3]; 3])> {
    let squares = |parameters: [f64; 3]| -> f64 {
        points.iter().map(|(n, rate)| (rate.ln() - ln_rate(parameters, *n)).powi(2)).sum()
    };
    let first = points.iter().map(|(n, rate)| (rate / n).ln()).fold(f64::NEG_INFINITY, f64::max);
    let mut best = [first, 0.01, 1e-5];
    let (mut least, mut damping) = (squares(best), 1e-3);
    for _ in 0..500 {
        let (normal, gradient) = normal_equations(points, best);
        let mut damped = normal;
        (0..3).for_each(|i| damped[i][i] *= 1.0 + damping);
        let inverse = invert(damped)?;
        let mut next = best;
        for i in 0..3 {
            next[i] += (0..3).map(|j| inverse[i][j] * gradient[j]).sum::<f64>();
        }
        (next[1], next[2]) = (next[1].max(0.0), next[2].max(0.0));
        let sum = squares(next);
        if sum <= least {
            let is_converged = least - sum <= 1e-15 * least && damping < 1e-6;
            (best, least, damping) = (next, sum, (damping / 10.0).max(1e-12));
            if is_converged {
                break;
            }
        } else if damping > 1e12 {
            break;
        } else {
            damping *= 10.0;
        }
    }
    let scale = least / (points.len() - 3) as f64;
    let covariance = invert(normal_equations(points, best).0)?.map(|row| row.map(|cell| cell * scale));
    Some((best, covariance))
}

/// J'J and J'r of the residuals on the log scale.
fn normal_equations(points: &[(f64, f64)], parameters: [f64; 3]) -> ([[f64; 3]; 3], [f64; 3]) {
    let (mut normal, mut gradient) = ([[0.0; 3]; 3], [0.0; 3]);
    for (n, rate) in points {
        let below = 1.0 + parameters[1] * (n - 1.0) + parameters[2] * n * (n - 1.0);
        let slopes = [1.0, -(n - 1.0) / below, -n * (n - 1.0) / below];
        let residual = rate.ln() - ln_rate(parameters, *n);
        for i in 0..3 {
            gradient[i] += slopes[i] * residual;
            (0..3).for_each(|j| normal[i][j] += slopes[i] * slopes[j]);
        }
    }
    (normal, gradient)
}

/// The inverse of a 3 by 3 matrix by cofactors. None if it is singular.
fn invert(m: [[f64; 3]; 3]) -> Option<[[f64; 3]; 3]> {
    let cofactor = |i: usize, j: usize| {
        let (a, b) = ((i + 1) % 3, (i + 2) % 3);
        let (c, d) = ((j + 1) % 3, (j + 2) % 3);
        m[a][c] * m[b][d] - m[a][d] * m[b][c]
    };
    let determinant: f64 = (0..3).map(|j| m[0][j] * cofactor(0, j)).sum();
    let is_regular = determinant.is_normal();
    is_regular.then(|| std::array::from_fn(|i| std::array::from_fn(|j| cofactor(j, i) / determinant)))
}

/// Mean number of outstanding requests by Little's law (Little, *Operations Research* 9(3), 1961): rate times mean
/// time. In a closed loop without think time it equals connections times depth; a difference means that something was
/// not counted.
pub fn little_outstanding(rate_per_s: f64, mean_time_s: f64) -> f64 {
    rate_per_s * mean_time_s
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SPEC SDM91 on a Sun SPARCcenter 2000: load and scripts per hour (Gunther 2007, table 4.1; R package `usl`).
    const SDM91: [(f64, f64); 7] = [
        (1.0, 64.9),
        (18.0, 995.9),
        (36.0, 1652.4),
        (72.0, 1853.2),
        (108.0, 1828.9),
        (144.0, 1775.0),
        (216.0, 1702.2),
    ];

    #[test]
    fn fit_of_published_data_matches_scipy() {
        // scipy.optimize.curve_fit on ln X with (ln l, s, k); intervals by scipy.stats.t.ppf(0.975, 4) times the
        // errors. (On X itself it gives R's published s = 0.0277 and k = 1.04e-4.)
        let fit = Scalability::fit(&SDM91, 1).unwrap();
        for (actual, expected) in [
            (fit.rate_of_one, 67.94232261416602),
            (fit.contention, 1.34524727e-2),
            (fit.coherency, 1.15110079e-4),
            (fit.peak_at.unwrap(), 92.57683519718518),
            (fit.contention_interval.high - fit.contention, 1.12229174e-2),
            (fit.coherency_interval.high - fit.coherency, 6.00293859e-5),
        ] {
            assert!((actual / expected - 1.0).abs() < 1e-4, "{actual}, expected {expected}: {fit:?}");
        }
        assert!(fit.peak_interval.low > 70.0 && fit.peak_interval.high < 150.0, "{fit:?}");
        assert!((fit.rate(72.0) / 1853.2 - 1.0).abs() < 0.1);
    }

    #[test]
    fn linear_growth_has_no_peak() {
        let points: Vec<(f64, f64)> =
            [1.0, 2.0, 4.0, 8.0, 16.0].iter().map(|n| (*n, 100.0 * n * (1.0 - 0.001 * (n % 3.0)))).collect();
        let fit = Scalability::fit(&points, 1).unwrap();
        assert!(fit.contention < 1e-3 && fit.peak_interval.high > 100.0, "{fit:?}");
    }

    #[test]
    fn points_that_determine_nothing_have_no_fit() {
        assert_eq!(Scalability::fit(&[(1.0, 5.0); 6], 1), None);
        assert_eq!(Scalability::fit(&SDM91[..3], 1), None);
        assert_eq!(Scalability::fit(&[(1.0, 0.0), (2.0, 1.0), (3.0, 1.0), (4.0, 1.0)], 1), None);
    }

    #[test]
    fn littles_law_gives_outstanding_requests() {
        assert!((little_outstanding(16_000.0, 0.004) - 64.0).abs() < 1e-9);
    }
}

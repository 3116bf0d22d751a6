//! Special functions and quantiles for the intervals and tests of this crate.
//!
//! `ln_gamma` and `erfc` come from `libm`. The incomplete beta function is implemented here because the small crates
//! stop after a fixed number of terms and are wrong for parameters in the millions, which the ranks of a percentile
//! have. Reference values in the tests: SciPy 1.17.1 (`scipy.special`, `scipy.stats`).

use libm::{erfc, lgamma};
use std::f64::consts::{PI, SQRT_2};

/// The derivative of ln gamma, for x > 0: recurrence up to 10, then the asymptotic series (Abramowitz and Stegun,
/// 6.3.5 and 6.3.18).
pub fn digamma(x: f64) -> f64 {
    let (mut x, mut result) = (x, 0.0);
    while x < 10.0 {
        result -= 1.0 / x;
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    result + x.ln() - 0.5 / x - y * (1.0 / 12.0 - y * (1.0 / 120.0 - y * (1.0 / 252.0 - y / 240.0)))
}

/// The second derivative of ln gamma, for x > 0 (Abramowitz and Stegun, 6.4.6 and 6.4.12).
pub fn trigamma(x: f64) -> f64 {
    let (mut x, mut result) = (x, 0.0);
    while x < 10.0 {
        result += 1.0 / (x * x);
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    result
        + 1.0 / x
        + y / 2.0
        + y / x * (1.0 / 6.0 - y * (1.0 / 30.0 - y * (1.0 / 42.0 - y * (1.0 / 30.0 - y * 5.0 / 66.0))))
}

/// The x > 0 with `trigamma(x) == y`, for y > 0: Newton's method on 1/trigamma, which is nearly linear (Smyth 2004,
/// appendix; limma's `trigammaInverse`).
pub fn trigamma_inverse(y: f64) -> f64 {
    if y > 1e7 {
        return 1.0 / y.sqrt();
    }
    if y < 1e-6 {
        return 1.0 / y;
    }
    let mut x = 0.5 + 1.0 / y;
    for _ in 0..50 {
        let here = trigamma(x);
        // The derivative of trigamma, by central difference: it affects only the speed of convergence.
        let step_width = 1e-4 * x;
        let slope = (trigamma(x + step_width) - trigamma(x - step_width)) / (2.0 * step_width);
        let step = here * (1.0 - here / y) / slope;
        x += step;
        if step.abs() < 1e-10 * x {
            break;
        }
    }
    x
}

/// The regularized incomplete beta function I_x(a, b), for a, b > 0: the continued fraction of Abramowitz and Stegun,
/// 26.5.8, by Lentz's method (Press and others, *Numerical Recipes*, section 6.4), with as many terms as needed.
pub fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    by_fraction(a, b, x, beta_front(a, b, ln_beta(a, b), x))
}

/// ln B(a, b).
fn ln_beta(a: f64, b: f64) -> f64 {
    lgamma(a) + lgamma(b) - lgamma(a + b)
}

/// x^a (1 - x)^b / B(a, b), for x between 0 and 1.
fn beta_front(a: f64, b: f64, ln_beta: f64, x: f64) -> f64 {
    (a * x.ln() + b * (-x).ln_1p() - ln_beta).exp()
}

/// I_x(a, b), given its front.
fn by_fraction(a: f64, b: f64, x: f64, front: f64) -> f64 {
    if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(a, b, x) / a
    } else {
        1.0 - front * beta_fraction(b, a, 1.0 - x) / b
    }
}

/// The continued fraction of the incomplete beta function.
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut result = d;
    // The number of terms grows with the square root of the larger parameter: 100,000 are enough for parameters of
    // 10^9.
    for m in 1..100_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away_from_zero(1.0 + even * d);
        c = away_from_zero(1.0 + even / c);
        result *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away_from_zero(1.0 + odd * d);
        c = away_from_zero(1.0 + odd / c);
        result *= d * c;
        if (d * c - 1.0).abs() < 1e-15 {
            break;
        }
    }
    result
}

/// The largest count of `n` independent events of probability `p` that is reached or exceeded with a probability above
/// 5 %: in at least 19 of 20 cases at most this many happen.
pub fn binomial_max(n: usize, p: f64) -> usize {
    let reached = |count: &usize| incomplete_beta(*count as f64, (n - count + 1) as f64, p);
    (1..=n).take_while(|count| reached(count) > 0.05).last().unwrap_or(0)
}

/// The probability that a sample of `drawn` items, without replacement, from `all` items of which `marked` are marked,
/// has `found` marked ones or more: the p value of Fisher's exact test, one-sided ("The Design of Experiments", 1935,
/// chapter 2).
pub fn hypergeometric_tail([all, marked]: [usize; 2], [drawn, found]: [usize; 2]) -> f64 {
    let (marked, drawn) = (marked.min(all), drawn.min(all));
    let ln_factorial = |count: usize| lgamma(count as f64 + 1.0);
    let ln_choose = |n: usize, k: usize| ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k);
    let probability = |count: usize| {
        (ln_choose(marked, count) + ln_choose(all - marked, drawn - count) - ln_choose(all, drawn)).exp()
    };
    // More marked items than these must be drawn if too few others are there.
    let least = (drawn + marked).saturating_sub(all);
    (found.max(least)..=drawn.min(marked)).map(probability).sum()
}

/// The quantile `p` of the beta distribution, by bisection to the last bit.
pub fn beta_quantile(a: f64, b: f64, p: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return middle;
        }
        if incomplete_beta(a, b, middle) < p { low = middle } else { high = middle }
    }
}

/// The standard normal distribution function.
pub fn normal_cdf(z: f64) -> f64 {
    0.5 * erfc(-z / SQRT_2)
}

/// The quantile `p` of the standard normal distribution: Acklam's rational approximation (relative error 1.2e-9),
/// then one step of Halley's method.
pub fn normal_quantile(p: f64) -> f64 {
    if !(p > 0.0 && p < 1.0) {
        return if p <= 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    if p > 0.5 {
        return -normal_quantile(1.0 - p);
    }
    let start = acklam(p);
    let error = normal_cdf(start) - p;
    let step = error * (2.0 * PI).sqrt() * (start * start / 2.0).exp();
    start - step / (1.0 + start * step / 2.0)
}

/// Peter Acklam's approximation for p in (0, 0.5], 2003.
pub(crate) fn acklam(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969683028665376e+01,
        2.209460984245205e+02,
        -2.759285104469687e+02,
        1.38357751867269e+02,
        -3.066479806614716e+01,
        2.506628277459239e+00,
    ];
    const B: [f64; 6] = [
        -5.447609879822406e+01,
        1.615858368580409e+02,
        -1.556989798598866e+02,
        6.680131188771972e+01,
        -1.328068155288572e+01,
        1.0,
    ];
    const C: [f64; 6] = [
        -7.784894002430293e-03,
        -3.223964580411365e-01,
        -2.400758277161838e+00,
        -2.549732539343734e+00,
        4.374664141464968e+00,
        2.938163982698783e+00,
    ];
    const D: [f64; 5] =
        [7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00, 3.754408661907416e+00, 1.0];
    let polynomial = |coefficients: &[f64], x: f64| {
        coefficients.iter().copied().reduce(|sum, c| sum * x + c).unwrap_or(0.0)
    };
    if p < 0.02425 {
        let q = (-2.0 * p.ln()).sqrt();
        return polynomial(&C, q) / polynomial(&D, q);
    }
    let q = p - 0.5;
    polynomial(&A, q * q) * q / polynomial(&B, q * q)
}

/// Degrees of freedom above which the normal distribution replaces Student's: they differ by less than 1e-7.
const NORMAL_DF: f64 = 1e8;

/// The quantile `p` of Student's t distribution with `df` degrees of freedom, which may be a fraction or infinite.
pub fn t_quantile(p: f64, df: f64) -> f64 {
    if df >= NORMAL_DF {
        return normal_quantile(p);
    }
    if p < 0.5 {
        return -t_quantile(1.0 - p, df);
    }
    let outside = 2.0 * (1.0 - p);
    t_by_newton(outside, df).unwrap_or_else(|| {
        let x = beta_quantile(df / 2.0, 0.5, outside);
        (df * (1.0 - x) / x).sqrt()
    })
}

/// Maximum steps of Newton's method: 3 to 6 are enough from both starting points.
const NEWTON_STEPS: usize = 20;

/// The t that |T| exceeds with the probability `outside`, by Newton's method on the logarithms of both: in the tail one
/// is nearly a linear function of the other. None if it does not converge, as near t = 0.
fn t_by_newton(outside: f64, df: f64) -> Option<f64> {
    let (a, b) = (df / 2.0, 0.5);
    let ln_beta = ln_beta(a, b);
    let mut t = if df < 10.0 {
        // The first term of the beta function's series at 0.
        let x = ((outside * a).ln() + ln_beta) / a;
        (df * (-x).exp_m1().max(f64::MIN_POSITIVE)).sqrt()
    } else {
        // Abramowitz and Stegun, 26.7.5.
        let z = normal_quantile(1.0 - outside / 2.0);
        let (first, second) = ((z.powi(3) + z) / 4.0, (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0);
        z + first / df + second / (df * df)
    };
    for _ in 0..NEWTON_STEPS {
        let x = df / (df + t * t);
        let front = beta_front(a, b, ln_beta, x);
        let probability = by_fraction(a, b, x, front);
        // The derivative of the probability by ln t is twice the front.
        let step = (probability / outside).ln() * probability / (2.0 * front);
        t *= step.exp();
        if !(t.is_finite() && t > 0.0) {
            return None;
        }
        // Each step doubles the number of correct digits.
        if step.abs() < 1e-8 {
            return Some(t);
        }
    }
    None
}

/// The probability that |T| is at least `t`, for Student's T with `df` degrees of freedom: the two-sided p value.
pub fn t_two_sided(t: f64, df: f64) -> f64 {
    if df >= NORMAL_DF {
        return erfc(t.abs() / SQRT_2);
    }
    incomplete_beta(df / 2.0, 0.5, df / (df + t * t))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_close(name: &str, actual: f64, expected: f64, relative: f64) {
        assert!(
            (actual - expected).abs() <= relative * expected.abs().max(1e-12),
            "{name}: {actual}, expected {expected}"
        );
    }

    #[test]
    fn digamma_and_trigamma_match_scipy() {
        for (x, expected) in [
            (0.1, -10.423754940411076),
            (0.5, -1.9635100260214235),
            (1.0, -0.5772156649015329),
            (2.5, 0.7031566406452432),
            (7.3, 1.917820335637986),
            (150.0, 5.007298257075679),
        ] {
            assert_close("digamma", digamma(x), expected, 1e-10);
        }
        for (x, expected) in [
            (0.1, 101.43329915079275),
            (0.5, 4.93480220054468),
            (1.0, 1.6449340668482266),
            (2.5, 0.4903577561002349),
            (7.3, 0.14679576813142703),
            (150.0, 0.006688938271165996),
        ] {
            assert_close("trigamma", trigamma(x), expected, 1e-10);
            assert_close("trigamma_inverse", trigamma_inverse(expected), x, 1e-8);
        }
    }

    #[test]
    fn incomplete_beta_matches_scipy() {
        for (a, b, x, expected) in [
            (0.5, 0.5, 0.3, 0.36901011956554536),
            (2.0, 3.0, 0.4, 0.5248),
            (10.0, 0.5, 0.9, 0.15164090963470994),
            (990.0, 10.5, 0.99, 0.5215798003838864),
            (99_000.0, 1_001.0, 0.9905, 0.949229084509029),
            (5e6, 50.0, 0.99999, 0.4811638036610323),
        ] {
            assert_close("incomplete_beta", incomplete_beta(a, b, x), expected, 1e-7);
        }
        for (a, b, p, expected) in [
            (2.0, 3.0, 0.025, 0.06758598648854294),
            (990.0, 11.0, 0.025, 0.9816867569448875),
            (991.0, 10.0, 0.975, 0.9951944893089507),
            (49.5, 1.5, 0.5, 0.9765011322475249),
            (99_000.0, 1_001.0, 0.975, 0.9905977493734949),
            (9_900.0, 101.0, 0.025, 0.9878504951139384),
            (1.0, 1.0, 0.3, 0.3),
        ] {
            assert_close("beta_quantile", beta_quantile(a, b, p), expected, 1e-10);
        }
    }

    #[test]
    fn normal_distribution_matches_scipy() {
        for (p, expected) in [
            (1e-10, -6.361340902404056),
            (0.001, -3.090232306167813),
            (0.025, -1.9599639845400545),
            (0.3, -0.5244005127080409),
            (0.9, 1.2815515655446004),
            (0.9999999, 5.199337582290661),
        ] {
            assert_close("normal_quantile", normal_quantile(p), expected, 1e-9);
            assert_close("normal_cdf", normal_cdf(expected), p, 1e-9);
        }
        assert!(normal_quantile(0.5).abs() < 1e-15);
        assert_eq!((normal_quantile(0.0), normal_quantile(1.0)), (f64::NEG_INFINITY, f64::INFINITY));
    }

    #[test]
    fn student_distribution_matches_scipy() {
        for (p, df, expected) in [
            (0.975, 1.0, 12.706204736174694),
            (0.975, 2.0, 4.302652729749462),
            (0.975, 2.5, 3.5746548420036817),
            (0.975, 9.0, 2.262157162798205),
            (0.9, 30.0, 1.3104150253913955),
            (0.025, 4.0, -2.7764451051977943),
            (0.99999, 3.0, 47.92772837600671),
            (0.975, 1e6, 1.959966356814107),
            (0.975, f64::INFINITY, 1.9599639845400545),
        ] {
            assert_close("t_quantile", t_quantile(p, df), expected, 1e-8);
        }
        for (t, df, expected) in [
            (0.5, 1.0, 0.7048327646991335),
            (2.0, 3.0, 0.13932596855884305),
            (4.3, 2.0, 0.05005715411709159),
            (2.2, 19.0, 0.04038110164617408),
            (10.0, 5.0, 0.00017094757574296363),
            (1.96, 1e7, 0.04999581802531423),
        ] {
            assert_close("t_two_sided", t_two_sided(t, df), expected, 1e-7);
        }
    }

    #[test]
    fn the_quantile_of_student_matches_bisection() {
        for df in [0.25, 0.5, 0.9, 1.0, 1.7, 2.0, 3.3, 6.0, 9.9, 10.0, 14.2, 40.0, 500.0, 1e5, 1e7] {
            for p in [0.5, 0.500_001, 0.6, 0.8, 0.9, 0.975, 0.99, 0.9975, 0.999_99, 1.0 - 1e-9] {
                let x = beta_quantile(df / 2.0, 0.5, 2.0 * (1.0 - p));
                let expected: f64 = (df * (1.0 - x) / x).sqrt();
                // 1 - x has lost digits with many degrees of freedom.
                let relative = 1e-9 + 1e-15 * df;
                assert_close(&format!("p {p}, df {df}"), t_quantile(p, df), expected, relative);
            }
        }
    }

    #[test]
    fn the_exact_test_of_fisher_matches_counting() {
        // Fisher's own example, the lady tasting tea: 17 and 1 of 70 choices. 1 of 495: 4 marked items in a draw of 4.
        for (population, sample, expected) in [
            ([8, 4], [4, 3], 17.0 / 70.0),
            ([8, 4], [4, 4], 1.0 / 70.0),
            ([12, 4], [4, 4], 1.0 / 495.0),
            ([5, 5], [2, 2], 1.0),
            ([60, 20], [20, 0], 1.0),
        ] {
            assert_close("hypergeometric_tail", hypergeometric_tail(population, sample), expected, 1e-9);
        }
        assert!(hypergeometric_tail([10, 3], [4, 4]) < 1e-12, "more than there are");
    }

    #[test]
    fn binomial_bounds_of_few_trials_are_small() {
        // R: 1 - pbinom(1, 10, .05) = 0.0861, 1 - pbinom(2, 10, .05) = 0.0115; 50: 0.1036 and 0.0378.
        assert_eq!((binomial_max(10, 0.05), binomial_max(50, 0.05), binomial_max(0, 0.05)), (2, 5, 0));
    }
}

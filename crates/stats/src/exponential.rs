//! The Anderson-Darling test for exponential gaps with a known mean, as Poisson arrivals have.
//!
//! The statistic is that of Anderson and Darling (1954) for a fully specified distribution. Its distribution is the
//! limit for large samples, computed by Marsaglia and Marsaglia, "Evaluating the Anderson-Darling Distribution",
//! *Journal of Statistical Software* 9(2), 2004 (`adinf`, accurate to 2e-6).

/// The result of the test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AndersonDarling {
    /// A²: how far the sample is from the distribution, weighted towards both ends.
    pub statistic: f64,
    /// The probability of a statistic at least this large if the gaps are exponential.
    pub p_value: f64,
}

/// Tests whether `gaps` are exponential with mean 1. For another mean, divide the gaps by it first. None for fewer than
/// 8 gaps, where the limit does not hold. Sorts the gaps.
pub fn exponential_test(gaps: &mut [f64]) -> Option<AndersonDarling> {
    if gaps.len() < 8 {
        return None;
    }
    gaps.sort_unstable_by(f64::total_cmp);
    let n = gaps.len() as f64;
    // ln F and ln (1 - F) of the exponential distribution. Two clock readings may be equal: such a gap is raised to
    // 1e-12.
    let ln_below = |gap: f64| (-(-gap.max(1e-12)).exp_m1()).ln();
    let ln_above = |gap: f64| -gap.max(1e-12);
    let sum: f64 = (0..gaps.len())
        .map(|i| (2 * i + 1) as f64 * (ln_below(gaps[i]) + ln_above(gaps[gaps.len() - 1 - i])))
        .sum();
    let statistic = -n - sum / n;
    Some(AndersonDarling { statistic, p_value: (1.0 - limit(statistic)).clamp(0.0, 1.0) })
}

/// The distribution function of A² in the limit of large samples.
fn limit(z: f64) -> f64 {
    if z <= 0.0 {
        0.0
    } else if z < 2.0 {
        let series =
            2.00012 + (0.247105 - (0.0649821 - (0.0347962 - (0.011672 - 0.00168691 * z) * z) * z) * z) * z;
        (-1.2337141 / z).exp() / z.sqrt() * series
    } else {
        let exponent =
            1.0776 - (2.30695 - (0.43424 - (0.082433 - (0.008056 - 0.0003146 * z) * z) * z) * z) * z;
        (-exponent.exp()).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn critical_values_match_published_ones() {
        // Upper points of A², all parameters known: Stephens, "EDF statistics for goodness of fit", JASA 69 (1974),
        // table 1; the first and the last from Lewis, Ann. Math. Stat. 32 (1961).
        for (z, probability) in [(1.248, 0.75), (1.933, 0.90), (2.492, 0.95), (3.070, 0.975), (3.857, 0.99)] {
            assert!((limit(z) - probability).abs() < 6e-4, "{z}: {}", limit(z));
        }
    }

    #[test]
    fn statistic_matches_its_definition() {
        // The mid-points of ten equal shares of probability: A² = -n - 1/n sum (2i-1)(ln u_i + ln(1-u_(n+1-i))), with
        // u_i = (2i-1)/20. By symmetry ln(1-u_(n+1-i)) = ln u_i.
        let uniform = |i: usize| (2 * i + 1) as f64 / 20.0;
        let expected =
            -10.0 - (0..10).map(|i| (2 * i + 1) as f64 * 2.0 * uniform(i).ln()).sum::<f64>() / 10.0;
        let mut gaps: Vec<f64> = (0..10).rev().map(|i| -(1.0 - uniform(i)).ln()).collect();
        let test = exponential_test(&mut gaps).unwrap();
        assert!((test.statistic - expected).abs() < 1e-12, "{test:?}, {expected}");
        assert!(test.p_value > 0.99);
    }

    #[test]
    fn rejects_even_gaps_and_wrong_rates() {
        // Exponential by the quantiles of a low-discrepancy sequence (van der Corput, base 2): nearly ideal.
        let corput = |i: u32| f64::from(i.reverse_bits()) / 4_294_967_296.0;
        let random = |scale: f64| (1..1_000).map(|i| -(1.0 - corput(i)).ln() * scale).collect::<Vec<_>>();
        let p = |mut gaps: Vec<f64>| exponential_test(&mut gaps).unwrap().p_value;
        assert!(p(random(1.0)) > 0.9);
        assert!(p(random(1.3)) < 1e-6);
        assert!(p(vec![1.0; 100]) < 1e-6);
        assert_eq!(exponential_test(&mut [1.0; 7]), None);
    }
}

//! Compares two servers pair by pair, with valid early stopping.
//!
//! A pair is the logarithm of the ratio of two adjacent launches. The paired t test is evaluated after 4, 6, 8, 10, 14
//! and 20 pairs (the looks). Its error is spent in proportion to t^1.5, up to 0.05 (Lan and DeMets, "Discrete
//! sequential boundaries for clinical trials", *Biometrika* 70(3), 1983), so that all looks together claim a difference
//! between equal servers in at most 5 % of comparisons. Testing after every pair with the usual limit would do so in 8
//! to 23 %. Equivalence is two one-sided tests (Schuirmann, *J. Pharmacokinetics and Biopharmaceutics* 15, 1987) at the
//! same looks.

use crate::launches::ConfidenceInterval;
use crate::special::{t_quantile, t_two_sided};
use crate::spread::{Variance, mean};

/// A point at which a comparison may end.
struct Look {
    pairs: usize,
    /// The two differ if the two-sided p value is below this.
    different: f64,
    /// A difference over the margin is excluded, on either side, if the one-sided p value is below this.
    equivalent: f64,
}

/// The looks. Limits from numerical integration of the boundary-crossing probabilities (Armitage, McPherson and Rowe
/// 1969) for spending 0.05 t^1.5 and, halved, 0.10 t^1.5.
const LOOKS: [Look; 6] = [
    Look { pairs: 4, different: 0.00447, equivalent: 0.00447 },
    Look { pairs: 6, different: 0.00532, equivalent: 0.00553 },
    Look { pairs: 8, different: 0.00730, equivalent: 0.00768 },
    Look { pairs: 10, different: 0.00960, equivalent: 0.01021 },
    Look { pairs: 14, different: 0.01802, equivalent: 0.01908 },
    Look { pairs: 20, different: 0.03260, equivalent: 0.03468 },
];

/// The numbers of pairs at the looks.
pub(crate) const LOOK_PAIRS: [usize; LOOKS.len()] = {
    let mut pairs = [0; LOOKS.len()];
    let mut at = 0;
    while at < LOOKS.len() {
        pairs[at] = LOOKS[at].pairs;
        at += 1;
    }
    pairs
};

/// Maximum number of pairs of a comparison.
pub const MAX_PAIRS: usize = LOOKS[LOOKS.len() - 1].pairs;

/// The number of pairs at the next look. None after the last.
pub fn next_look(pairs: usize) -> Option<usize> {
    LOOKS.iter().map(|look| look.pairs).find(|look| *look > pairs)
}

/// The decision of a comparison of two figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The first figure is higher.
    Higher,
    /// The first figure is lower.
    Lower,
    /// They differ by less than the margin.
    Equivalent,
    /// No decision is proven.
    Undecided {
        /// The approximate number of further pairs until a decision, with 80 % probability.
        more_pairs: usize,
    },
}

/// The state of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// The number of pairs used: those of the last look.
    pub pairs: usize,
    /// The first figure divided by the second.
    pub ratio: f64,
    /// The interval of the ratio that matches the decision: over all looks together it covers the truth with 95 %.
    pub interval: ConfidenceInterval,
    /// The two-sided p value of "equal", not corrected for the looks.
    pub p_value: f64,
    /// The decision at this look.
    pub decision: Decision,
}

/// Compares by pairs in the order of measurement: `ln(first / second)` each. Uses the pairs up to the last look and
/// ignores later ones. `margin` 0.05: a difference below 5 % does not matter. None before the first look.
///
/// Two figures with a proven difference that is provably below the margin are equivalent.
pub fn compare_pairs(log_ratios: &[f64], margin: f64) -> Option<Comparison> {
    let look = LOOKS.iter().rev().find(|look| look.pairs <= log_ratios.len())?;
    let used = &log_ratios[..look.pairs];
    let variance = Variance::from_values(used)?;
    let error = Variance { value: variance.value / used.len() as f64, df: variance.df };
    let mut comparison = decide(mean(used), error, used.len(), margin, look.different, look.equivalent);
    if let Decision::Undecided { more_pairs } = &mut comparison.decision {
        let beyond = MAX_PAIRS + 1 - used.len();
        let difference = mean(used).abs().max(margin.ln_1p());
        *more_pairs = pairs_to_look(difference, variance.value.sqrt(), used.len())
            .unwrap_or_else(|| beyond.max(*more_pairs));
    }
    Some(comparison)
}

/// The number of further pairs until the first look that finds this difference with 80 % probability, for pairs that
/// vary by `deviation`. A look's limit is stricter than 5 %, and t is wider for few pairs: both delay it. None if no
/// look does.
fn pairs_to_look(difference: f64, deviation: f64, pairs: usize) -> Option<usize> {
    let finds = |look: &&Look| {
        let count = look.pairs as f64;
        let limit = t_quantile(1.0 - look.different / 2.0, count - 1.0) + NORMAL_80;
        limit * deviation / count.sqrt() <= difference
    };
    let look = LOOKS.iter().filter(|look| look.pairs > pairs).find(finds)?;
    Some(look.pairs - pairs)
}

/// The quantile of the normal distribution at 80 %.
const NORMAL_80: f64 = 0.8416;

/// Compares two figures of a finished measurement, in which no early stopping was possible: the difference of their
/// logarithms with its squared standard error, from `launches` launches, at 5 %.
pub fn compare_difference(difference: f64, error: Variance, launches: usize, margin: f64) -> Comparison {
    decide(difference, error, launches, margin, 0.05, 0.05)
}

/// Compares two figures that were measured over independent launches, not in pairs: Welch's t on logarithms (*The
/// generalization of "Student's" problem*, Biometrika 34, 1947). The ratio is `figure` to `reference`. None with fewer
/// than two launches of each, or if a value is not above zero.
pub fn compare_launches(figure: &[f64], reference: &[f64], margin: f64) -> Option<Comparison> {
    let logs = [figure, reference].map(|values| values.iter().map(|value| value.ln()).collect::<Vec<f64>>());
    if !logs.iter().flatten().all(|log| log.is_finite()) {
        return None;
    }
    let [a, b] = logs.each_ref().map(|logs| {
        let variance = Variance::from_values(logs)?;
        Some(Variance { value: variance.value / logs.len() as f64, ..variance })
    });
    let (a, b) = (a?, b?);
    let value = a.value + b.value;
    let df = match value > 0.0 {
        true => value.powi(2) / (a.value.powi(2) / a.df + b.value.powi(2) / b.df),
        false => a.df + b.df,
    };
    let launches = figure.len().min(reference.len());
    Some(compare_difference(mean(&logs[0]) - mean(&logs[1]), Variance { value, df }, launches, margin))
}

fn decide(
    difference: f64,
    error: Variance,
    pairs: usize,
    margin: f64,
    different: f64,
    equivalent: f64,
) -> Comparison {
    let deviation = error.value.sqrt();
    let margin = margin.ln_1p();
    let p_of = |distance: f64| match deviation {
        0.0 => f64::from(distance == 0.0),
        deviation => t_two_sided(distance / deviation, error.df),
    };
    let p_value = p_of(difference);
    let room = margin - difference.abs();
    let decision = if room > 0.0 && p_of(room) / 2.0 < equivalent {
        Decision::Equivalent
    } else if p_value < different {
        if difference > 0.0 { Decision::Higher } else { Decision::Lower }
    } else {
        Decision::Undecided { more_pairs: more_pairs(difference, deviation, pairs, margin) }
    };
    let half_width = t_quantile(1.0 - different / 2.0, error.df) * deviation;
    let interval = ConfidenceInterval::around(difference, half_width).map(f64::exp);
    Comparison { pairs, ratio: difference.exp(), interval, p_value, decision }
}

/// The number of further pairs after which a difference of the margin, or the observed difference if that is larger, is
/// found with 80 % probability: n = (2.8 s / difference)^2, from 1.96 + 0.84 (Cohen, *Statistical Power Analysis*,
/// chapter 2).
fn more_pairs(difference: f64, deviation: f64, pairs: usize, margin: f64) -> usize {
    let of_one_pair = deviation * (pairs as f64).sqrt();
    let needed = (2.8 * of_one_pair / difference.abs().max(margin)).powi(2).ceil();
    // A cast of a large float saturates.
    (needed as usize).saturating_sub(pairs).max(1)
}

/// Holm's correction for several figures compared at once ("A simple sequentially rejective multiple test procedure",
/// *Scandinavian Journal of Statistics* 6, 1979): the adjusted p values in the order given.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut largest: f64 = 0.0;
    for (place, index) in order.iter().enumerate() {
        largest = largest.max(((p_values.len() - place) as f64 * p_values[*index]).min(1.0));
        adjusted[*index] = largest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn looks_follow_lan_and_demets_spending() {
        // At the first look no error has been spent: its limit is 0.05 (4/20)^1.5.
        assert!((LOOKS[0].different - 0.05 * 0.2f64.powf(1.5)).abs() < 1e-5);
        assert_eq!(
            (next_look(0), next_look(4), next_look(19), next_look(20)),
            (Some(4), Some(6), Some(20), None)
        );
        assert_eq!(compare_pairs(&[0.1; 3], 0.05), None);
    }

    #[test]
    fn the_next_look_is_only_promised_if_it_can_decide() {
        // Mean 0.2, standard deviation 0.19. scipy: (t.ppf(1 - .0073 / 2, 7) + .8416) * .19 / 8 ** .5 = 0.31 at the
        // look after 8 pairs, 0.25 after 10, 0.18 after 14.
        let scattered = [0.2 - 0.19, 0.2 + 0.19, 0.2 - 0.19, 0.2 + 0.19, 0.2 - 0.19, 0.2 + 0.19]
            .map(|value: f64| 0.2 + (value - 0.2) * (5.0f64 / 6.0).sqrt());
        let comparison = compare_pairs(&scattered, 0.05).unwrap();
        assert_eq!(comparison.decision, Decision::Undecided { more_pairs: 8 });
        let hopeless = scattered.map(|value| value * 0.1 + (value - 0.2) * 4.0);
        let Decision::Undecided { more_pairs } = compare_pairs(&hopeless, 0.05).unwrap().decision else {
            panic!()
        };
        assert!(more_pairs > MAX_PAIRS - 6, "{more_pairs}");
    }

    #[test]
    fn a_look_matches_scipy() {
        // scipy.stats.ttest_1samp([.1, .12, .09, .11, 9], 0) of the first four; the fifth is after the look.
        let comparison = compare_pairs(&[0.1, 0.12, 0.09, 0.11, 9.0], 0.05).unwrap();
        assert_eq!((comparison.pairs, comparison.decision), (4, Decision::Higher));
        assert!((comparison.p_value / 0.000_505_485_346 - 1.0).abs() < 1e-4, "{comparison:?}");
        // exp(mean ± scipy.stats.t.ppf(1 - .00447 / 2, 3) * sem)
        assert!((comparison.interval.low - 1.0565206415188215).abs() < 1e-6, "{comparison:?}");
    }

    #[test]
    fn equal_pairs_are_decided_without_dividing_by_zero() {
        assert_eq!(compare_pairs(&[0.0; 4], 0.05).unwrap().decision, Decision::Equivalent);
        assert_eq!(compare_pairs(&[-0.2; 4], 0.05).unwrap().decision, Decision::Lower);
    }

    #[test]
    fn holm_matches_r() {
        // p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm")
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (actual, expected) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((actual - expected).abs() < 1e-12, "{adjusted:?}");
        }
        assert!(holm(&[]).is_empty());
    }

    /// Shares of comparisons that find a difference, and equivalence, and their mean number of pairs.
    fn simulate(difference: f64, sd: f64, rounds: usize) -> (f64, f64, f64) {
        let mut random = Random::new(31);
        let (mut different, mut equivalent, mut pairs) = (0, 0, 0);
        for _ in 0..rounds {
            let all: Vec<f64> =
                (0..MAX_PAIRS).map(|_| f64::ln_1p(difference) + sd * random.normal()).collect();
            let mut looked = 0;
            while let Some(look) = next_look(looked) {
                looked = look;
                match compare_pairs(&all[..look], 0.05).unwrap().decision {
                    Decision::Higher | Decision::Lower => different += 1,
                    Decision::Equivalent => equivalent += 1,
                    Decision::Undecided { .. } => continue,
                }
                break;
            }
            pairs += looked;
        }
        let share = |count| count as f64 / rounds as f64;
        (share(different), share(equivalent), share(pairs))
    }

    #[test]
    fn false_alarm_rate_and_power_match_the_design() {
        for sd in [0.03, 0.06, 0.13] {
            let (different, _, _) = simulate(0.0, sd, 1_500);
            assert!(different <= 0.06, "sd {sd}: {different} false alarms");
        }
        let (different, _, pairs) = simulate(0.05, 0.03, 400);
        assert!(different > 0.95 && pairs < 10.0, "{different} after {pairs} pairs");
        let (different, _, _) = simulate(0.05, 0.06, 400);
        assert!((0.82..0.96).contains(&different), "{different}");
        let (_, equivalent, _) = simulate(0.0, 0.03, 400);
        assert!(equivalent > 0.95, "{equivalent}");
        // A difference equal to the margin is rarely called equivalent.
        let (_, equivalent, _) = simulate(0.05, 0.06, 1_500);
        assert!(equivalent <= 0.06, "{equivalent}");
    }

    #[test]
    fn launches_are_compared_by_welch() {
        // R 4.2: t.test(log(c(110, 112, 111)), log(c(100, 103, 98, 101)))
        let compared = compare_launches(&[110.0, 112.0, 111.0], &[100.0, 103.0, 98.0, 101.0], 0.05).unwrap();
        assert!((compared.ratio - 1.104_456).abs() < 1e-3, "{compared:?}");
        assert_eq!(compared.decision, Decision::Higher);
        assert!(compared.interval.contains(compared.ratio) && compared.interval.low > 1.05);
        let same = compare_launches(&[100.0, 101.0, 100.5], &[100.2, 100.8, 100.4], 0.05).unwrap();
        assert_eq!(same.decision, Decision::Equivalent);
        assert!(compare_launches(&[100.0], &[90.0, 91.0], 0.05).is_none());
        assert!(compare_launches(&[0.0, 1.0], &[90.0, 91.0], 0.05).is_none());
    }
}

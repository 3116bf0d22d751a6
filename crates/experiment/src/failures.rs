//! Compares the failed requests of two sides, before any other figure: a server that fails requests can be as fast as
//! it likes.
//!
//! Every request that did not end ok counts, those without a response included. An observation that cannot be used is
//! part of no other figure.

use crate::load::{LoadResult, unusable_because};
use paceline_record::Run;
use paceline_stats::{Variance, hypergeometric_tail, t_quantile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Failed shares that differ by less do not matter: a tenth of the share that makes a run invalid.
const SHARE_MARGIN: f64 = paceline_judge::MAX_NOT_OK_SHARE / 10.0;
/// The share of comparisons, one-sided, in which chance alone may be called a difference: 1 of 200, so that the false
/// alarms of a gate stay below 5 %.
const CHANCE_RATE: f64 = 0.005;

/// The outcomes of the requests of one observation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObservedOutcomes {
    /// Requests that were due.
    pub scheduled: u64,
    /// Requests that did not end ok.
    pub not_ok: u64,
    /// Those of them without a response: timed out, or never sent.
    #[serde(default)]
    pub censored: u64,
    /// The share of failed requests that the user accepts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub not_ok_share_allowed: Option<f64>,
    /// Why the observation cannot be used.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unusable_because: Option<String>,
}

impl ObservedOutcomes {
    pub(crate) fn from_result(result: &LoadResult) -> Self {
        Self {
            scheduled: result.scheduled,
            not_ok: result.scheduled.saturating_sub(result.ok),
            censored: result.censored,
            not_ok_share_allowed: result.not_ok_share_allowed,
            unusable_because: result.unusable_because(),
        }
    }

    /// The outcomes of a stored run.
    pub(crate) fn from_run(run: &Run) -> Self {
        let counts = &run.total.counts;
        Self {
            scheduled: counts.scheduled,
            not_ok: counts.scheduled.saturating_sub(counts.ok),
            censored: counts.censored(),
            not_ok_share_allowed: run.not_ok_share_allowed,
            unusable_because: unusable_because(&run.verdicts, &run.gates),
        }
    }
}

/// The failed requests of one side, over all of its observations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SideFailures {
    /// Observations with known outcomes.
    pub observations: usize,
    /// Those of them that cannot be used.
    pub unusable: usize,
    /// Why the first of these cannot be used.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unusable_because: Option<String>,
    /// Requests that were due.
    pub scheduled: u64,
    /// Requests that did not end ok.
    pub not_ok: u64,
    /// Those of them without a response.
    pub censored: u64,
    /// The failed share, 0 to 1; none if the outcomes are not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub share: Option<f64>,
    /// The share of failed requests that the user accepts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub share_allowed: Option<f64>,
}

impl SideFailures {
    pub(crate) fn from_outcomes(outcomes: &[ObservedOutcomes]) -> Self {
        let sum =
            |count: fn(&ObservedOutcomes) -> u64| outcomes.iter().map(count).fold(0, u64::saturating_add);
        let because: Vec<&String> =
            outcomes.iter().filter_map(|outcome| outcome.unusable_because.as_ref()).collect();
        let (scheduled, not_ok) = (sum(|one| one.scheduled), sum(|one| one.not_ok));
        let allowed = outcomes.iter().filter_map(|outcome| outcome.not_ok_share_allowed);
        Self {
            observations: outcomes.len(),
            unusable: because.len(),
            unusable_because: because.first().map(|because| (*because).clone()),
            scheduled,
            not_ok,
            censored: sum(|one| one.censored),
            share: (scheduled > 0).then(|| not_ok as f64 / scheduled as f64),
            share_allowed: allowed.reduce(f64::min),
        }
    }
}

/// How the failed share of the second side compares with that of the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureDirection {
    /// The outcomes of a side are not known: its file is from an earlier version.
    #[default]
    Unknown,
    /// The second side fails fewer requests.
    Fewer,
    /// They differ by less than the margin, or by no more than chance.
    Equivalent,
    /// The second side fails more requests, but no more than the user accepts.
    Accepted,
    /// The second side fails more requests.
    More,
}

/// The failed requests of both sides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FailureComparison {
    /// The first side.
    pub first: SideFailures,
    /// The second side.
    pub second: SideFailures,
    /// The decision.
    pub direction: FailureDirection,
}

impl FailureComparison {
    pub(crate) fn from_outcomes(first: &[ObservedOutcomes], second: &[ObservedOutcomes]) -> Self {
        let sides = [first, second].map(SideFailures::from_outcomes);
        let direction = match [sides[0].share, sides[1].share] {
            [Some(a), Some(b)] => {
                let is_accepted = sides[1].share_allowed.is_some_and(|most| b <= most);
                let is_clear = (a - b).abs() > SHARE_MARGIN && differs_beyond_chance(first, second, 1);
                match is_clear {
                    true if b < a => FailureDirection::Fewer,
                    true if is_accepted => FailureDirection::Accepted,
                    true => FailureDirection::More,
                    false => FailureDirection::Equivalent,
                }
            }
            _ => FailureDirection::Unknown,
        };
        let [first, second] = sides;
        Self { first, second, direction }
    }

    /// Whether both sides can be compared in other figures.
    pub fn is_usable(&self) -> bool {
        self.first.unusable + self.second.unusable == 0
    }

    /// Whether the second side fails by its failures alone.
    pub fn is_worse(&self) -> bool {
        !self.is_usable() || self.direction == FailureDirection::More
    }
}

/// Whether the failed shares of two sides differ by more than chance explains. `comparisons` are those of which any one
/// decides: the error rate is shared equally among them (Bonferroni).
pub(crate) fn differs_beyond_chance(
    first: &[ObservedOutcomes],
    second: &[ObservedOutcomes],
    comparisons: usize,
) -> bool {
    let [a, b] = [first, second].map(failed_share);
    let error = squared_error(first, second);
    let standard_errors = t_quantile(1.0 - CHANCE_RATE / comparisons.max(1) as f64, error.df);
    (a - b).abs() > standard_errors * error.value.sqrt()
}

/// Whether a larger share of the second side's launches is bad than chance explains, by Fisher's exact test, which holds
/// for few launches too. Each side is all of its launches and the bad ones; `comparisons` as above.
pub(crate) fn bad_beyond_chance(first: [usize; 2], second: [usize; 2], comparisons: usize) -> bool {
    let both = [first[0] + second[0], first[1] + second[1]];
    hypergeometric_tail(both, second) <= CHANCE_RATE / comparisons.max(1) as f64
}

/// Requests that were due in all observations of a side.
fn requests(side: &[ObservedOutcomes]) -> f64 {
    side.iter().map(|one| one.scheduled as f64).sum()
}

/// The failed share of a side, 0 to 1; 0 without requests.
fn failed_share(side: &[ObservedOutcomes]) -> f64 {
    side.iter().map(|one| one.not_ok as f64).sum::<f64>() / requests(side).max(1.0)
}

/// The squared standard error of the difference of two failed shares. Failures come in groups, so the binomial variance
/// is multiplied by the dispersion of the observations: Pearson's statistic per degree of freedom, at least 1
/// (McCullagh and Nelder, "Generalized Linear Models", 1989, section 4.5). A dispersion that was estimated has the
/// degrees of freedom of the observations: with four of each side, chance would exceed the normal distribution's limit
/// four times as often as intended.
fn squared_error(first: &[ObservedOutcomes], second: &[ObservedOutcomes]) -> Variance {
    let (n, m) = (requests(first), requests(second));
    let both = (failed_share(first) * n + failed_share(second) * m) / (n + m).max(1.0);
    let pearson = |side: &[ObservedOutcomes]| {
        let p = failed_share(side);
        let square = |one: &ObservedOutcomes| {
            let expected = one.scheduled as f64 * p;
            let variance = expected * (1.0 - p);
            if variance > 0.0 { (one.not_ok as f64 - expected).powi(2) / variance } else { 0.0 }
        };
        side.iter().map(square).sum::<f64>()
    };
    let freedom = (first.len() + second.len()).saturating_sub(2) as f64;
    let estimated = if freedom > 0.0 { (pearson(first) + pearson(second)) / freedom } else { 0.0 };
    let binomial = both * (1.0 - both) * (1.0 / n.max(1.0) + 1.0 / m.max(1.0));
    match estimated > 1.0 {
        true => Variance { value: estimated * binomial, df: freedom },
        false => Variance { value: binomial, df: f64::INFINITY },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(not_ok: &[u64]) -> Vec<ObservedOutcomes> {
        let one =
            |not_ok: &u64| ObservedOutcomes { scheduled: 10_000, not_ok: *not_ok, ..Default::default() };
        not_ok.iter().map(one).collect()
    }

    fn direction(first: &[u64], second: &[u64]) -> FailureDirection {
        FailureComparison::from_outcomes(&runs(first), &runs(second)).direction
    }

    #[test]
    fn failed_shares_differ_beyond_margin_and_chance() {
        assert_eq!(direction(&[0, 0, 0, 0], &[50, 45, 55, 50]), FailureDirection::More);
        assert_eq!(direction(&[50, 45, 55, 50], &[0, 0, 0, 0]), FailureDirection::Fewer);
        assert_eq!(direction(&[50, 45, 55, 50], &[52, 47, 53, 49]), FailureDirection::Equivalent, "chance");
        assert_eq!(direction(&[0, 0, 0, 0], &[9, 9, 9, 9]), FailureDirection::Equivalent, "below the margin");
        assert_eq!(direction(&[0, 90, 0, 0], &[90, 0, 60, 0]), FailureDirection::Equivalent, "in groups");
        assert_eq!(direction(&[0], &[]), FailureDirection::Unknown);
    }

    #[test]
    fn few_observations_that_scatter_do_not_prove_a_difference() {
        // The dispersion is 4.1, the difference 5.2 standard errors: by scipy.stats, norm.sf(5.2) is 1e-7, but
        // t.sf(5.2, 2) is 0.018. Twelve observations that scatter alike have 22 degrees of freedom.
        assert_eq!(direction(&[0, 0], &[40, 70]), FailureDirection::Equivalent);
        assert_eq!(direction(&[0; 12], &[40_u64, 70].repeat(6)), FailureDirection::More);
    }

    #[test]
    fn more_failures_than_accepted_are_worse() {
        let accepting = |share: f64| {
            let mut second = runs(&[50, 45, 55, 50]);
            second.iter_mut().for_each(|one| one.not_ok_share_allowed = Some(share));
            FailureComparison::from_outcomes(&runs(&[0, 0, 0, 0]), &second)
        };
        assert!(!accepting(0.01).is_worse() && accepting(0.001).is_worse());
        let mut unusable = runs(&[0]);
        unusable[0].unusable_because = Some("stopped".to_owned());
        assert!(FailureComparison::from_outcomes(&unusable, &runs(&[0])).is_worse(), "no baseline");
    }

    #[test]
    fn unchanged_servers_rarely_fail_more() {
        let mut random = paceline_stats::Random::new(5);
        let mut binomial = |p: f64| (0..1_000).filter(|_| random.uniform() < p).count() as u64;
        let mut side = |p: f64| -> Vec<ObservedOutcomes> {
            let one = |_| ObservedOutcomes { scheduled: 1_000, not_ok: binomial(p), ..Default::default() };
            (0..6).map(one).collect()
        };
        let is_more = |_: &i32| {
            let (first, second) = (side(0.005), side(0.005));
            FailureComparison::from_outcomes(&first, &second).direction == FailureDirection::More
        };
        let alarms = (0..400).filter(is_more).count();
        assert!(alarms <= 8, "{alarms} of 400");
    }
}

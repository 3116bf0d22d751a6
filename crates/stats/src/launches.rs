//! Intervals over launches: each launch gives one observation of a figure, and observations within a launch are not
//! pooled.
//!
//! The figure is the geometric mean over launches, because launches differ by factors. Its interval is Student's t on
//! logarithms with moderated variances (`prior.rs`).

use crate::prior::{moderated, priors};
use crate::special::t_quantile;
use crate::spread::{Variance, mean};

/// The probability with which an interval of this crate covers the truth.
pub const CONFIDENCE: f64 = 0.95;
/// The upper quantile of a two-sided interval of [`CONFIDENCE`].
pub(crate) const UPPER: f64 = 0.975;
/// The probability with which a true difference is found, where a number of launches is advised.
const POWER: f64 = 0.8;

/// A 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConfidenceInterval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl ConfidenceInterval {
    /// The interval `centre ± half_width`.
    pub fn around(centre: f64, half_width: f64) -> Self {
        Self { low: centre - half_width, high: centre + half_width }
    }

    /// Applies a rising function to both ends.
    pub fn map(self, f: impl Fn(f64) -> f64) -> Self {
        Self { low: f(self.low), high: f(self.high) }
    }

    /// Whether a value is inside, the ends included.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// The launches of one server: one value for each.
#[derive(Clone, Copy, Debug)]
pub struct ServerLaunches<'a> {
    /// The observed values, all above zero.
    pub values: &'a [f64],
    /// Whether the server was in a steady state. An unsteady server is not used to estimate the noise of others.
    pub is_steady: bool,
}

/// The figure of one server over its launches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaunchMean {
    /// Number of launches.
    pub launches: usize,
    /// The geometric mean.
    pub mean: f64,
    /// The variance of the logarithm between launches, moderated; none for one launch.
    pub log_variance: Option<Variance>,
    /// The 95 % interval of the geometric mean; none for one launch.
    pub interval: Option<ConfidenceInterval>,
}

/// The figures of the servers of one table, in the order given. None for a server without launches, or with a value
/// without a logarithm.
pub fn launch_means(rows: &[ServerLaunches]) -> Vec<Option<LaunchMean>> {
    let logs: Vec<Option<Vec<f64>>> = rows.iter().map(|row| logarithms(row.values)).collect();
    let own: Vec<Option<Variance>> =
        logs.iter().map(|logs| logs.as_deref().and_then(Variance::from_values)).collect();
    let is_steady: Vec<bool> = rows.iter().map(|row| row.is_steady).collect();
    let variances = moderated(&own, &priors(&own, &is_steady));
    let mean = |(logs, variance): (&Option<Vec<f64>>, _)| Some(launch_mean(logs.as_deref()?, variance));
    logs.iter().zip(variances).map(mean).collect()
}

fn launch_mean(logs: &[f64], log_variance: Option<Variance>) -> LaunchMean {
    let (centre, n) = (mean(logs), logs.len());
    let interval = log_variance.map(|variance| {
        let half_width = t_quantile(UPPER, variance.df) * (variance.value / n as f64).sqrt();
        ConfidenceInterval::around(centre, half_width).map(f64::exp)
    });
    LaunchMean { launches: n, mean: centre.exp(), log_variance, interval }
}

/// Natural logarithms; none if a value has none, or if there are no values.
pub(crate) fn logarithms(values: &[f64]) -> Option<Vec<f64>> {
    let are_positive = values.iter().all(|value| *value > 0.0 && value.is_finite());
    (!values.is_empty() && are_positive).then(|| values.iter().map(|value| value.ln()).collect())
}

/// The number of launches for an interval of ± `half_width` (0.05 for ±5 %), if the logarithm's standard deviation
/// between launches is `sd` and the servers do not share variances. None above 10,000.
pub fn launches_needed(sd: f64, half_width: f64) -> Option<usize> {
    fewest(|n| t_quantile(UPPER, (n - 1) as f64) * sd / (n as f64).sqrt() <= half_width.ln_1p())
}

/// The number of launches with which a true change by `difference` (0.05 for 5 %) is found with probability
/// [`POWER`]: the sum of the quantiles of both errors (Cochran and Cox, *Experimental Designs*, 1957, chapter 2). None
/// above 10,000.
pub fn launches_to_find(sd: f64, difference: f64) -> Option<usize> {
    let quantiles = |df: f64| t_quantile(UPPER, df) + t_quantile(POWER, df);
    fewest(|n| quantiles((n - 1) as f64) * sd / (n as f64).sqrt() <= difference.ln_1p())
}

/// The fewest launches, at least two, that are enough; none above 10,000.
fn fewest(is_enough: impl Fn(usize) -> bool) -> Option<usize> {
    const MAX_LAUNCHES: usize = 10_000;
    if !is_enough(MAX_LAUNCHES) {
        return None;
    }
    // The width falls with every launch: bisection.
    let (mut too_few, mut enough) = (1, MAX_LAUNCHES);
    while enough - too_few > 1 {
        let middle = (too_few + enough) / 2;
        if is_enough(middle) { enough = middle } else { too_few = middle }
    }
    Some(enough)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Five servers with four launches each, compared with Smyth's formulas in NumPy and SciPy.
    const TABLE: [[f64; 4]; 5] = [
        [100.0, 104.0, 98.0, 101.0],
        [210.0, 190.0, 205.0, 220.0],
        [50.0, 51.0, 49.5, 50.2],
        [80.0, 95.0, 70.0, 88.0],
        [300.0, 310.0, 305.0, 280.0],
    ];

    fn rows(table: &[[f64; 4]]) -> Vec<ServerLaunches<'_>> {
        table.iter().map(|values| ServerLaunches { values, is_steady: true }).collect()
    }

    #[test]
    fn moderated_intervals_match_numpy() {
        let means: Vec<LaunchMean> = launch_means(&rows(&TABLE)).into_iter().flatten().collect();
        let expected = [
            (100.72683714838034, 96.08543913405238, 105.59243745310272),
            (205.96212282299692, 190.88597736984093, 222.22897995050675),
            (50.1720994130954, 48.14133401415515, 52.288529411697986),
            (82.71772398558055, 71.52342948704221, 95.66406295708015),
            (298.5280917076552, 280.6793783114367, 317.5118246119577),
        ];
        for (row, (mean, low, high)) in means.iter().zip(expected) {
            let interval = row.interval.unwrap();
            for (actual, expected) in [(row.mean, mean), (interval.low, low), (interval.high, high)] {
                assert!((actual / expected - 1.0).abs() < 1e-9, "{row:?}, expected {expected}");
            }
        }
        assert_eq!(means.len(), 5);
    }

    #[test]
    fn three_servers_have_plain_t_intervals() {
        // scipy.stats.t.interval(0.95, 3, loc=mean(ln x), scale=sem(ln x)), then exp.
        let means = launch_means(&rows(&TABLE[..3]));
        let interval = means[0].unwrap().interval.unwrap();
        assert!((interval.low / 96.83916718223578 - 1.0).abs() < 1e-9, "{interval:?}");
        assert!((interval.high / 104.77058009827147 - 1.0).abs() < 1e-9, "{interval:?}");
    }

    #[test]
    fn an_unsteady_server_does_not_affect_the_prior() {
        let mut table = rows(&TABLE);
        let noisy = [1.0, 10.0, 100.0, 1_000.0];
        let before = launch_means(&table);
        table.push(ServerLaunches { values: &noisy, is_steady: false });
        let after = launch_means(&table);
        assert_eq!(before[..], after[..5]);
        assert_eq!(after[5].unwrap().log_variance.unwrap().df, 3.0);
    }

    #[test]
    fn one_launch_has_no_interval_and_zero_no_logarithm() {
        let means = launch_means(&[
            ServerLaunches { values: &[7.0], is_steady: true },
            ServerLaunches { values: &[0.0, 1.0], is_steady: true },
            ServerLaunches { values: &[], is_steady: true },
        ]);
        assert_eq!(means[0].unwrap().interval, None);
        assert!((means[0].unwrap().mean - 7.0).abs() < 1e-12);
        assert_eq!(means[1..], [None, None]);
    }

    #[test]
    fn equal_launches_do_not_break_the_prior() {
        let equal = [5.0; 4];
        let mut table = rows(&TABLE);
        table.push(ServerLaunches { values: &equal, is_steady: true });
        let interval = launch_means(&table)[5].unwrap().interval.unwrap();
        assert!(interval.low > 4.0 && interval.low < 5.0, "the others' noise is assumed: {interval:?}");
    }

    #[test]
    fn launches_needed_follow_from_the_t_distribution() {
        // The table of section "Intervals" in docs/methodology.md.
        for (sd, half_width, expected) in
            [(0.033, 0.05, 5), (0.02, 0.05, 4), (0.02, 0.02, 7), (0.14, 0.05, 35)]
        {
            assert_eq!(launches_needed(sd, half_width), Some(expected), "sd {sd}, ±{half_width}");
        }
        assert_eq!(launches_needed(0.0, 0.05), Some(2));
        assert_eq!(launches_needed(50.0, 0.01), None);
    }

    /// The share of moderated intervals that hold the true value, over simulated tables of equal true variances.
    fn coverage(servers: usize, launches: usize, rounds: usize, draw: impl Fn(&mut Random) -> f64) -> f64 {
        let mut random = Random::new(42);
        let mut covered = 0;
        for _ in 0..rounds {
            let table: Vec<Vec<f64>> = (0..servers)
                .map(|_| (0..launches).map(|_| (0.1 * draw(&mut random)).exp()).collect())
                .collect();
            let rows: Vec<ServerLaunches> =
                table.iter().map(|values| ServerLaunches { values, is_steady: true }).collect();
            covered += launch_means(&rows)
                .into_iter()
                .flatten()
                .filter(|row| row.interval.is_some_and(|interval| interval.contains(1.0)))
                .count();
        }
        covered as f64 / (rounds * servers) as f64
    }

    #[test]
    fn intervals_have_their_nominal_coverage() {
        for (servers, launches) in [(7, 3), (31, 2), (31, 3), (7, 5), (3, 3)] {
            let share = coverage(servers, launches, 200, Random::normal);
            assert!((0.92..0.98).contains(&share), "{servers} servers, {launches} launches: {share}");
        }
        // One launch in twenty is far off, in either direction.
        let outliers = |random: &mut Random| {
            let scale = if random.uniform() < 0.05 { 5.0 } else { 1.0 };
            scale * random.normal()
        };
        for (servers, launches) in [(7, 3), (31, 3), (7, 5)] {
            let share = coverage(servers, launches, 200, outliers);
            assert!((0.92..0.985).contains(&share), "{servers} servers, {launches} launches: {share}");
        }
        // Two modes, three and seven of ten launches.
        let bimodal = |random: &mut Random| {
            let mode = if random.uniform() < 0.3 { 1.4 } else { -0.6 };
            mode + 0.3 * random.normal()
        };
        for (servers, launches) in [(7, 3), (31, 3), (7, 5)] {
            let share = coverage(servers, launches, 400, bimodal);
            assert!((0.88..0.98).contains(&share), "{servers} servers, {launches} launches: {share}");
        }
    }
}

//! Rules for the steady state of a server, for the warm-up and for the window.
//!
//! Each rule names its source. The rates of false alarms and misses were simulated (docs/methodology.md).

use crate::spread::{Variance, mean};

/// Seconds that the warm-up rule compares with the same number before them.
pub const WARM_UP_SECONDS: usize = 4;
/// A gain below this share does not justify more warm-up.
const GAIN_TOLERATED: f64 = 0.05;
/// A change within the window below this share does not justify a verdict.
const CHANGE_TOLERATED: f64 = 0.05;
/// Minimum number of intervals for a judgement on a window.
const MIN_POINTS: usize = 9;
/// Parts of a window differ from this many standard errors on. Of flat windows with the observed noise, 10 to 30
/// intervals of sd 2 to 8 %, 0.2 to 4 % are not called steady; with a t test on the variance of each third it was 24 to
/// 29 %.
const CRITICAL: f64 = 3.0;
/// Correlation between the rates of consecutive seconds, as observed on shared machines (docs/methodology.md).
const CORRELATION: f64 = 0.46;
/// A change by this factor and more is judged separately: on a noisy machine it may be below three standard errors.
const LARGE_CHANGE: f64 = 2.0;
/// Blocks of a window that are judged for a large change: three in each third.
const BLOCKS: usize = 9;
/// If no part of a window is steady, its halves may still differ by this share,
const HALVES_TOLERATED: f64 = 0.25;
/// and from each other by this many standard errors: without this bound 7.2 % of 4,000 flat windows of 10 intervals are
/// not called steady at sd 20 % and 11.7 % at sd 30 %, with it 5.1 and 7.1 %; a rate that halves in the middle is found
/// in 85 % at sd 20 % (94 % without it), in all windows at sd 5 %.
const HALVES_CRITICAL: f64 = 2.0;

/// Whether a server has warmed up, from its rate in each second of a closed loop so far: the last 4 s are no more than
/// 5 % faster than the 4 s before. Needs at least 8 s.
pub fn is_warm(rate_per_second: &[f64]) -> bool {
    // A server without responses is not warm.
    warm_up_rates(rate_per_second)
        .is_some_and(|[before, last]| last > 0.0 && last <= before * (1.0 + GAIN_TOLERATED))
}

/// The mean rates that this rule compares: of the 4 s before the last 4 s, and of those. None of less than 8 s.
pub fn warm_up_rates(rate_per_second: &[f64]) -> Option<[f64; 2]> {
    let start = rate_per_second.len().checked_sub(2 * WARM_UP_SECONDS)?;
    let (before, last) = rate_per_second[start..].split_at(WARM_UP_SECONDS);
    Some([mean(before), mean(last)])
}

/// The seconds of load after which a server had warmed up; none if it is not warm at the end.
pub fn warm_after(rate_per_second: &[f64]) -> Option<usize> {
    let is_warm_after = |seconds: &usize| is_warm(&rate_per_second[..*seconds]);
    is_warm(rate_per_second).then(|| (1..=rate_per_second.len()).find(is_warm_after)).flatten()
}

/// The number of points to drop from the start of a series so that the rest is steadiest: MSER (White, "An effective
/// truncation heuristic for bias reduction in simulation output", *Simulation* 69(6), 1997). With `batch` 5 it is
/// MSER-5 (Spratt 1998), which needs 50 points. None if half of the series or more should be dropped: the remaining end
/// is then not reliably steady.
pub fn mser(series: &[f64], batch: usize) -> Option<usize> {
    let batches: Vec<f64> = series.chunks_exact(batch.max(1)).map(mean).collect();
    let error = |cut: usize| {
        let rest = &batches[cut..];
        Variance::from_values(rest).map(|variance| variance.value * variance.df / (rest.len() as f64).powi(2))
    };
    // Only cuts in the first half are candidates; if the last of them is the best, a later one is better.
    let last = batches.len() / 2;
    let candidates = (0..=last).filter_map(|cut| Some((cut, error(cut)?)));
    let (cut, _) = candidates.min_by(|a, b| a.1.total_cmp(&b.1))?;
    (cut < last).then_some(cut * batch.max(1))
}

/// The steadiness of a window, from its intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Steadiness {
    /// Too few intervals for a judgement.
    Unknown,
    /// No change above 5 % that exceeds the noise.
    Steady,
    /// The last third differs from the first third (of the part that MSER keeps): 0.2 is 20 % more, -0.5 half.
    Changes {
        /// Last third divided by first third, less 1.
        change: f64,
    },
    /// No part of the window is steady.
    Unsteady,
}

/// Judges a series of equally long intervals of one window (a rate, or a mean time). MSER removes a start that differs
/// from the rest, and the last third of the rest is compared with the first on the log scale. A removed start counts as
/// a change too if it differs from the rest by the same criterion. A change by a factor of 2 and more needs less: the
/// blocks of the first third and those of the last must not overlap.
pub fn steadiness(series: &[f64]) -> Steadiness {
    let Some(logs) = crate::launches::logarithms(series) else {
        return if series.iter().any(|value| *value > 0.0) && series.len() >= MIN_POINTS {
            Steadiness::Unsteady
        } else {
            Steadiness::Unknown
        };
    };
    if logs.len() < MIN_POINTS {
        return Steadiness::Unknown;
    }
    if let Some(change) = large_change(series) {
        return Steadiness::Changes { change };
    }
    let noise = Noise::from_logs(&logs);
    let batch = if logs.len() >= 50 { 5 } else { 1 };
    let Some(cut) = mser(&logs, batch) else {
        let (first, last) = (&logs[..logs.len() / 3], &logs[logs.len() - logs.len() / 3..]);
        let (start, end) = logs.split_at(logs.len() / 2);
        let halves_differ = noise
            .difference_over(HALVES_CRITICAL, start, end)
            .is_some_and(|change| change.abs() > HALVES_TOLERATED);
        return match noise.difference(first, last) {
            Some(change) => Steadiness::Changes { change },
            None if halves_differ || noise.difference(start, end).is_some() => Steadiness::Unsteady,
            None => Steadiness::Steady,
        };
    };
    let rest = &logs[cut..];
    let third = rest.len() / 3;
    let change = noise
        .difference(&rest[..third], &rest[rest.len() - third..])
        .or_else(|| if cut >= 2 { noise.difference(&logs[..cut], rest) } else { None });
    change.map_or(Steadiness::Steady, |change| Steadiness::Changes { change })
}

/// The relative change from the first third of a window to the last, if it is at least a factor of 2 and the ranges of
/// their blocks do not overlap. Of 2,000 simulated flat windows of 10 intervals this occurs in none at sd 8 and 20 %
/// and in 2.6 % at sd 30 %; five times slower is found in 99.9 % at sd 30 %, by the noise alone in 83 %.
fn large_change(series: &[f64]) -> Option<f64> {
    let block = |n: usize| mean(&series[n * series.len() / BLOCKS..(n + 1) * series.len() / BLOCKS]);
    let third = |from: usize| (from..from + BLOCKS / 3).map(block).collect::<Vec<_>>();
    let (first, last) = (third(0), third(BLOCKS - BLOCKS / 3));
    let is_above = |upper: &[f64], lower: &[f64]| {
        let least = upper.iter().copied().fold(f64::INFINITY, f64::min);
        let most = lower.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        least > most && mean(upper) >= LARGE_CHANGE * mean(lower)
    };
    (is_above(&first, &last) || is_above(&last, &first)).then(|| mean(&last) / mean(&first) - 1.0)
}

/// The variance of the intervals of a window about a curve that changes slowly: from the median of the steps between
/// neighbours (a robust form of von Neumann's successive differences), so that a trend or a jump does not count as
/// noise.
struct Noise(f64);

impl Noise {
    fn from_logs(logs: &[f64]) -> Self {
        /// The median of a normal variable's absolute value.
        const MEDIAN_OF_NORMAL: f64 = 0.6745;
        let mut steps: Vec<f64> = logs.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
        steps.sort_by(f64::total_cmp);
        let middle = steps.len() / 2;
        let median =
            if steps.len() % 2 == 1 { steps[middle] } else { (steps[middle - 1] + steps[middle]) / 2.0 };
        Self((median / MEDIAN_OF_NORMAL).powi(2) / (2.0 * (1.0 - CORRELATION)))
    }

    /// The relative change from `first` to `last` (logarithms), if it is over 5 % and over three standard errors.
    fn difference(&self, first: &[f64], last: &[f64]) -> Option<f64> {
        self.difference_over(CRITICAL, first, last)
    }

    /// The same for another number of standard errors.
    fn difference_over(&self, critical: f64, first: &[f64], last: &[f64]) -> Option<f64> {
        let error = (self.0 * (mean_variance(first.len()) + mean_variance(last.len()))).sqrt();
        let change = mean(last) - mean(first);
        (change.abs() > critical * error && change.exp_m1().abs() > CHANGE_TOLERATED).then(|| change.exp_m1())
    }
}

/// The variance of the mean of this many neighbours as a multiple of the variance of one: AR(1) correlation.
fn mean_variance(points: usize) -> f64 {
    let n = points.max(1) as f64;
    let pairs: f64 = (1..points).map(|lag| (1.0 - lag as f64 / n) * CORRELATION.powi(lag as i32)).sum();
    (1.0 + 2.0 * pairs) / n
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn a_server_is_warm_when_its_rate_stops_growing() {
        assert!(!is_warm(&[100.0; 7]));
        assert!(is_warm(&[100.0; 8]));
        assert!(is_warm(&[100.0, 100.0, 100.0, 100.0, 104.0, 104.0, 104.0, 104.0]));
        assert!(!is_warm(&[100.0, 100.0, 100.0, 100.0, 106.0, 106.0, 106.0, 106.0]));
        assert!(is_warm(&[100.0, 100.0, 100.0, 100.0, 50.0, 50.0, 50.0, 50.0]), "a decline is no warm-up");
        assert!(!is_warm(&[0.0; 20]));
    }

    #[test]
    fn the_steady_state_begins_when_the_rate_stops_growing_for_good() {
        let flat = [vec![50.0; 4], vec![100.0; 9]].concat();
        // Until then, the eight seconds that are compared contain slow ones.
        assert_eq!(warm_after(&flat), Some(4 + 8));
        assert_eq!(warm_after(&[vec![100.0; 8], vec![200.0; 4]].concat()), None);
        assert_eq!(warm_after(&[100.0; 7]), None);
    }

    /// Seconds until the rule declares a server warm whose rate at each time is `rate`, and its remaining gain at that
    /// time.
    fn warm_up(random: &mut Random, rate: impl Fn(f64) -> f64) -> (usize, f64) {
        let mut rates = Vec::new();
        while !is_warm(&rates) && rates.len() < 60 {
            rates.push(rate(rates.len() as f64 + 0.5) * (0.02 * random.normal()).exp());
        }
        (rates.len(), 1.0 - rate(rates.len() as f64 + 5.0))
    }

    #[test]
    fn slow_warm_ups_are_waited_for() {
        let mut random = Random::new(11);
        for (name, tau, least, most, bias) in [("fast", 1.5, 8, 11, 0.01), ("slow", 5.0, 13, 25, 0.05)] {
            let (seconds, lacks) = warm_up(&mut random, |at| 1.0 - 0.6 * (-at / tau).exp());
            assert!((least..=most).contains(&seconds), "{name}: {seconds} s");
            assert!(lacks < bias, "{name}: {lacks} of the rate is missing");
        }
        let (seconds, lacks) = warm_up(&mut random, |at| if at < 9.0 { 0.5 } else { 1.0 });
        // A step at 9 s is detected if the plateau before it is shorter than the rule's 8 s.
        assert!(seconds >= 8 && (lacks == 0.0 || seconds == 8), "{seconds} s, {lacks}");
    }

    #[test]
    fn mser_matches_its_definition() {
        // numpy: argmin over d of sum((x[d:] - mean(x[d:]))**2) / (n - d)**2.
        let series = [10.0, 8.0, 5.0, 3.2, 3.0, 3.1, 2.9, 3.0, 3.05, 2.95, 3.0, 3.1, 2.9, 3.0, 2.95, 3.1];
        assert_eq!(mser(&series, 1), Some(4));
        assert_eq!(mser(&[1.0; 30], 5), Some(0));
        let rising: Vec<f64> = (0..40).map(f64::from).collect();
        assert_eq!(mser(&rising, 1), None);
        assert_eq!(mser(&[], 5), None);
    }

    fn noisy(random: &mut Random, points: usize, shape: impl Fn(f64) -> f64) -> Vec<f64> {
        (0..points).map(|i| shape(i as f64 / points as f64) * (0.02 * random.normal()).exp()).collect()
    }

    #[test]
    fn a_change_within_the_window_is_found_with_its_sign() {
        let mut random = Random::new(12);
        for points in [10, 30, 100] {
            let slower = noisy(&mut random, points, |at| if at < 0.6 { 1.0 } else { 0.2 });
            let Steadiness::Changes { change } = steadiness(&slower) else {
                panic!("{points} points: {:?}", steadiness(&slower));
            };
            assert!((-0.85..-0.2).contains(&change), "{points} points: {change}");
            let rising = noisy(&mut random, points, |at| 1.0 - 0.5 * (-at * 3.0).exp());
            assert!(
                matches!(steadiness(&rising), Steadiness::Changes { change } if change > 0.05),
                "{points} points: {:?}",
                steadiness(&rising)
            );
        }
    }

    /// A window with the correlated noise of a shared machine about a shape.
    fn shared(random: &mut Random, points: usize, sd: f64, shape: impl Fn(f64) -> f64) -> Vec<f64> {
        let mut last = sd * random.normal();
        (0..points)
            .map(|i| {
                last = CORRELATION * last + (1.0 - CORRELATION * CORRELATION).sqrt() * sd * random.normal();
                shape((i as f64 + 0.5) / points as f64) * last.exp()
            })
            .collect()
    }

    #[test]
    fn a_large_change_is_found_in_the_noise_of_a_busy_machine() {
        let mut random = Random::new(15);
        let slower: fn(f64) -> f64 = |at| if at < 0.6 { 1.0 } else { 0.2 };
        let warming: fn(f64) -> f64 = |at| 0.1 + 0.9 * at;
        for (name, sd, shape, is_slower, least) in [
            ("five times slower", 0.2, slower, true, 495),
            ("five times slower", 0.3, slower, true, 490),
            ("ten times faster", 0.2, warming, false, 480),
            ("ten times faster", 0.3, warming, false, 440),
        ] {
            let mut is_found = || match steadiness(&shared(&mut random, 10, sd, shape)) {
                Steadiness::Changes { change } => (change < 0.0) == is_slower,
                _ => false,
            };
            let right = (0..500).filter(|_| is_found()).count();
            assert!(right >= least, "{name}, sd {sd}: found in {right} of 500 windows");
        }
    }

    #[test]
    fn noise_alone_is_no_large_change() {
        let mut random = Random::new(16);
        for (points, sd, most) in [(9, 0.08, 0), (10, 0.08, 0), (30, 0.08, 0), (10, 0.2, 5), (30, 0.3, 10)] {
            let mut is_large = || large_change(&shared(&mut random, points, sd, |_| 1.0)).is_some();
            let wrong = (0..1_000).filter(|_| is_large()).count();
            assert!(wrong <= most, "{points} points, sd {sd}: {wrong} of 1,000 flat windows");
        }
    }

    #[test]
    fn the_noise_of_a_shared_machine_is_no_change() {
        let mut random = Random::new(14);
        for (points, sd, most) in
            [(10, 0.05, 90), (12, 0.08, 90), (30, 0.08, 90), (10, 0.2, 120), (30, 0.2, 90), (10, 0.3, 165)]
        {
            let mut flat = || shared(&mut random, points, sd, |_| 1.0);
            let wrong = (0..2_000).filter(|_| steadiness(&flat()) != Steadiness::Steady).count();
            assert!(
                wrong <= most,
                "{points} points, sd {sd}: {wrong} of 2,000 flat windows are not called steady"
            );
        }
    }

    #[test]
    fn a_rate_that_halves_in_the_middle_is_found() {
        let mut random = Random::new(17);
        for (sd, least) in [(0.05, 500), (0.1, 490), (0.2, 390)] {
            let mut halved = || shared(&mut random, 10, sd, |at| if at < 0.5 { 1.0 } else { 0.5 });
            let found = (0..500).filter(|_| steadiness(&halved()) != Steadiness::Steady).count();
            assert!(found >= least, "sd {sd}: found in {found} of 500 windows");
        }
    }

    #[test]
    fn flat_windows_are_steady() {
        let mut random = Random::new(13);
        for points in [10, 20, 100] {
            let wrong = (0..400)
                .filter(|_| steadiness(&noisy(&mut random, points, |_| 1.0)) != Steadiness::Steady)
                .count();
            assert!(wrong <= 12, "{points} points: {wrong} of 400 flat windows are not called steady");
        }
        assert_eq!(steadiness(&[1.0; 8]), Steadiness::Unknown);
        assert_eq!(steadiness(&[0.0; 20]), Steadiness::Unknown);
        assert_eq!(steadiness(&[1.0, 0.0].repeat(10)), Steadiness::Unsteady);
    }
}

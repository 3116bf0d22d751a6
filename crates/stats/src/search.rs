//! Searches for the highest rate that meets an objective, from windows that each pass or fail: a Bayesian psychometric
//! search.
//!
//! The probability that a window at rate r passes is e + (1 - 2e) F((theta - ln r) / s) with the normal F. The location
//! theta (the logarithm of the rate at which half of the windows pass) and the width s are unknown; e allows for
//! windows that pass or fail regardless of the rate. Each window updates the posterior of both on a grid, and the next
//! is placed where the posterior is undecided (Kontsevich and Tyler, "Bayesian adaptive estimation of psychometric
//! slope and threshold", *Vision Research* 39, 1999; lapses: Wichmann and Hill, *Perception and Psychophysics* 63,
//! 2001). Bisection would report its bracket as the interval, which covers the truth in about 60 % of cases.

use crate::launches::{ConfidenceInterval, UPPER};
use crate::special::normal_cdf;

/// The share of windows that pass regardless of the rate, and the share that fail regardless of it.
const LAPSES: f64 = 0.03;
/// Grid spacing of theta.
const STEP: f64 = 0.004;
/// Widths: 0.4 % for a queue on a quiet machine up to 15 %.
const WIDTHS: [f64; 9] = [0.004, 0.0063, 0.01, 0.0158, 0.025, 0.0397, 0.0619, 0.0965, 0.15];
/// Quantiles of the posterior at which windows are placed in turn.
const PLACES: [f64; 3] = [0.5, 0.3, 0.7];
/// Minimum number of windows: with fewer, an interval may be narrow by chance.
const MIN_WINDOWS: usize = 8;
/// A window that fails below this share of the capacity, or of a rate that passed, is a stall, not overload.
const STALL_SHARE: f64 = 0.8;
/// The lowest rate that the search tries, as a share of the start.
const LOWEST_SHARE: f64 = 1e-3;
/// The range of rates ends just above this multiple of the start.
const HIGHEST_SHARE: f64 = 8.0;

/// One window of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchWindow {
    /// The offered rate per second.
    pub rate: f64,
    /// Whether the window met the objective.
    pub passed: bool,
}

/// The current estimate of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchEstimate {
    /// The rate at which half of the windows pass: the posterior median.
    pub half_pass_rate: f64,
    /// Its 95 % credible interval.
    pub interval: ConfidenceInterval,
}

impl SearchEstimate {
    /// Half the interval's width, as a share: 0.05 is ±5 %.
    pub fn half_width(&self) -> f64 {
        (self.interval.high / self.interval.low).sqrt() - 1.0
    }
}

/// Why a search ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchEnd {
    /// The interval is as narrow as requested.
    Precise,
    /// The budget of windows is used up.
    WindowsUsed,
    /// The objective is missed even at a thousandth of the first rate.
    NothingPasses,
    /// The objective is met even at eight times the first rate, and was never missed: the posterior then only shows
    /// where the range of rates ends.
    NothingMisses,
}

/// The range of rates in which stalls, not load, decided whether a window passed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StallSpan {
    /// The lowest rate that failed.
    pub lowest_failed: f64,
    /// The highest rate that passed.
    pub highest_passed: f64,
}

/// A search in progress.
#[derive(Clone, Debug)]
pub struct CapacitySearch {
    start: f64,
    half_width: f64,
    max_windows: usize,
    windows: Vec<SearchWindow>,
    /// The range of theta.
    range: ConfidenceInterval,
    /// The posterior of theta on the grid; its sum is 1.
    posterior: Vec<f64>,
}

impl CapacitySearch {
    /// Creates a search below a rate that the server reached in a closed loop, to ± `half_width` (0.05) with at most
    /// `max_windows` windows.
    pub fn new(closed_loop_rate: f64, half_width: f64, max_windows: usize) -> Self {
        let start = closed_loop_rate.max(f64::MIN_POSITIVE);
        // From half of the closed loop's rate up to that rate, widened: with few connections the closed loop may not
        // have reached the capacity.
        let range = ConfidenceInterval { low: start.ln() - 0.8, high: start.ln() + 0.15 };
        let mut search =
            Self { start, half_width, max_windows, windows: Vec::new(), range, posterior: Vec::new() };
        search.update();
        search
    }

    /// The next rate to offer.
    pub fn next_rate(&self) -> f64 {
        self.quantile(PLACES[self.windows.len() % PLACES.len()]).exp()
    }

    /// Adds a window's result. The range is extended if the posterior reaches one of its ends.
    pub fn add(&mut self, window: SearchWindow) {
        self.windows.push(window);
        self.update();
        // The range is too short if its last twentieth holds this much probability; a uniform posterior has 0.05 there.
        const CUT_OFF: f64 = 0.2;
        while self.windows.len() >= 3 {
            let edge = self.posterior.len() / 20;
            let low: f64 = self.posterior[..edge].iter().sum();
            let high: f64 = self.posterior[self.posterior.len() - edge..].iter().sum();
            if low > CUT_OFF && self.range.low > (self.start * LOWEST_SHARE).ln() {
                self.range.low -= 0.7;
            } else if high > CUT_OFF && self.range.high < (self.start * HIGHEST_SHARE).ln() {
                self.range.high += 0.4;
            } else {
                break;
            }
            self.update();
        }
    }

    /// Removes a failed window at a rate, because the load did not cause the failure.
    pub fn forget_failure(&mut self, rate: f64) {
        if let Some(at) = self.windows.iter().position(|window| !window.passed && window.rate == rate) {
            self.windows.remove(at);
            self.update();
        }
    }

    /// The maximum number of windows.
    pub fn max_windows(&self) -> usize {
        self.max_windows
    }

    /// The windows so far.
    pub fn windows(&self) -> &[SearchWindow] {
        &self.windows
    }

    /// The estimate from the windows so far.
    pub fn estimate(&self) -> SearchEstimate {
        let at = |q| self.quantile(q).exp();
        SearchEstimate {
            half_pass_rate: at(0.5),
            interval: ConfidenceInterval { low: at(1.0 - UPPER), high: at(UPPER) },
        }
    }

    /// Why the search has ended; none while it has not.
    pub fn end(&self) -> Option<SearchEnd> {
        let estimate = self.estimate();
        let has_missed = self.windows.iter().any(|window| !window.passed);
        if self.windows.iter().all(|window| !window.passed)
            && estimate.interval.low <= self.start * LOWEST_SHARE * 2.0
        {
            Some(SearchEnd::NothingPasses)
        } else if !has_missed && self.windows.iter().any(|window| window.rate >= self.start * HIGHEST_SHARE) {
            Some(SearchEnd::NothingMisses)
        } else if has_missed && self.windows.len() >= MIN_WINDOWS && estimate.half_width() <= self.half_width
        {
            Some(SearchEnd::Precise)
        } else if self.windows.len() >= self.max_windows {
            Some(SearchEnd::WindowsUsed)
        } else {
            None
        }
    }

    /// The span to report instead of an interval if a window failed far below the capacity: then stalls decide, and no
    /// method gives an interval that covers the truth. None if all failures are near the capacity.
    pub fn stalls_decide(&self) -> Option<StallSpan> {
        let failed = self.windows.iter().filter(|window| !window.passed).map(|window| window.rate);
        let lowest_failed = failed.fold(f64::INFINITY, f64::min);
        let passed = self.windows.iter().filter(|window| window.passed).map(|window| window.rate);
        let highest_passed = passed.fold(0.0, f64::max);
        let capacity = self.estimate().half_pass_rate.max(highest_passed);
        let is_stall = lowest_failed < STALL_SHARE * capacity && highest_passed > lowest_failed;
        is_stall.then_some(StallSpan { lowest_failed, highest_passed })
    }

    fn theta(&self, index: usize) -> f64 {
        self.range.low + index as f64 * STEP
    }

    /// Computes the posterior from all windows; without windows it is uniform in theta.
    fn update(&mut self) {
        let points = ((self.range.high - self.range.low) / STEP).ceil() as usize + 1;
        let ln_likelihood = |theta: f64, width: f64| -> f64 {
            let of_window = |window: &SearchWindow| {
                let pass = LAPSES + (1.0 - 2.0 * LAPSES) * normal_cdf((theta - window.rate.ln()) / width);
                if window.passed { pass.ln() } else { (1.0 - pass).ln() }
            };
            self.windows.iter().map(of_window).sum()
        };
        let joint: Vec<[f64; WIDTHS.len()]> =
            (0..points).map(|i| WIDTHS.map(|width| ln_likelihood(self.theta(i), width))).collect();
        let largest = joint.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
        // Weighted by the root of the width: a compromise between uniform in ln s (which stops too early under high
        // noise) and uniform in s (which needs half as many windows again).
        let weight = |row: &[f64; WIDTHS.len()]| -> f64 {
            row.iter().zip(WIDTHS).map(|(ln, width)| (ln - largest).exp() * width.sqrt()).sum()
        };
        let weights: Vec<f64> = joint.iter().map(weight).collect();
        let sum: f64 = weights.iter().sum();
        self.posterior = weights.into_iter().map(|weight| weight / sum).collect();
    }

    /// A quantile of theta's posterior, interpolated within a grid cell.
    fn quantile(&self, q: f64) -> f64 {
        let mut below = 0.0;
        for (i, weight) in self.posterior.iter().enumerate() {
            if below + weight >= q {
                let inside = if *weight > 0.0 { (q - below) / weight } else { 0.5 };
                return self.theta(i) + (inside - 0.5) * STEP;
            }
            below += weight;
        }
        self.range.high
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Searches for `capacity` from a closed-loop rate, with windows whose results are random near it.
    fn search(random: &mut Random, start: f64, capacity: f64, width: f64) -> CapacitySearch {
        let mut search = CapacitySearch::new(start, 0.05, 40);
        while search.end().is_none() {
            let rate = search.next_rate();
            let passed = random.uniform() < normal_cdf((capacity / rate).ln() / width);
            search.add(SearchWindow { rate, passed });
        }
        search
    }

    #[test]
    fn posterior_matches_numpy() {
        // The same grid in NumPy: quantiles 0.025, 0.5 and 0.975 of theta after three windows, no interpolation.
        let mut search = CapacitySearch::new(1_000.0, 0.05, 40);
        for (rate, passed) in [(700.0, true), (850.0, false), (780.0, true)] {
            search.add(SearchWindow { rate, passed });
        }
        let estimate = search.estimate();
        let found = [estimate.interval.low, estimate.half_pass_rate, estimate.interval.high];
        for (found, expected) in found.into_iter().zip([692.12, 822.01, 1087.63]) {
            assert!((found / expected - 1.0f64).abs() < STEP, "{estimate:?}, expected {expected}");
        }
    }

    #[test]
    fn intervals_cover_the_capacity() {
        let mut random = Random::new(41);
        for (width, windows) in [(0.005, 16.0), (0.03, 24.0)] {
            let (mut covered, mut used) = (0, 0);
            for _ in 0..60 {
                let capacity = 1_000.0 * (0.6 + 0.35 * random.uniform());
                let search = search(&mut random, 1_000.0, capacity, width);
                covered += usize::from(search.estimate().interval.contains(capacity));
                used += search.windows().len();
                assert!(search.stalls_decide().is_none() || width > 0.02);
            }
            assert!(covered >= 55, "width {width}: {covered} of 60");
            assert!(used as f64 / 60.0 < windows, "width {width}: {used} windows in 60 searches");
        }
    }

    #[test]
    fn a_capacity_outside_the_first_range_is_found() {
        let mut random = Random::new(42);
        for capacity in [60.0, 300.0, 1_500.0] {
            let search = search(&mut random, 1_000.0, capacity, 0.01);
            let estimate = search.estimate();
            assert!((estimate.half_pass_rate / capacity - 1.0).abs() < 0.08, "{capacity}: {estimate:?}");
        }
    }

    #[test]
    fn an_unreachable_objective_ends_the_search() {
        let mut search = CapacitySearch::new(1_000.0, 0.05, 60);
        while search.end().is_none() {
            search.add(SearchWindow { rate: search.next_rate(), passed: false });
        }
        assert_eq!(search.end(), Some(SearchEnd::NothingPasses));
        assert!(search.windows().len() < 30, "{} windows", search.windows().len());
    }

    #[test]
    fn an_objective_that_is_always_met_has_no_precise_capacity() {
        let mut search = CapacitySearch::new(1_000.0, 0.05, 60);
        while search.end().is_none() {
            search.add(SearchWindow { rate: search.next_rate(), passed: true });
        }
        assert_eq!(search.end(), Some(SearchEnd::NothingMisses));
        assert!(search.windows().len() < 30, "{} windows", search.windows().len());
    }

    #[test]
    fn failures_far_below_the_capacity_are_stalls() {
        let mut search = CapacitySearch::new(1_000.0, 0.05, 40);
        for (rate, passed) in [(700.0, true), (500.0, false), (800.0, true), (820.0, true), (950.0, false)] {
            search.add(SearchWindow { rate, passed });
        }
        let span = StallSpan { lowest_failed: 500.0, highest_passed: 820.0 };
        assert_eq!(search.stalls_decide(), Some(span));
    }
}

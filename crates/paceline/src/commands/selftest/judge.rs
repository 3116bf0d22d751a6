//! Judges this machine as a measuring instrument; a pure function of the figures.
//!
//! It judges the machine as it is now. Single runs are judged in the judge crate, which also provides the limit of a
//! disturbance that is too large.

use super::experiment::{SelftestResults, TruePercentiles};
use paceline_judge::MAX_DISTURBANCE;

/// A reported time may exceed the true one by this much: the kernel's path in both directions, and a wake-up, which the
/// reference server does not see. Twice the value on a quiet machine: 235 microseconds at a p99.
const MAX_EXCESS_NS: u64 = 500_000;
/// And by this share: the width of a histogram cell, and the random variation of a percentile.
const MAX_EXCESS_SHARE: f64 = 0.05;
/// Shares of time used by others above which the machine counts as noisy.
const MAX_NOISE: f64 = 0.01;
/// Generator lag p99 above which a pace that spins is not punctual, in nanoseconds.
const MAX_LAG_NS: u64 = 50_000;

/// The verdict of the self-test.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SelftestVerdict {
    /// Reported times that are wrong: no measurement made here can be trusted.
    pub wrong: Vec<String>,
    /// Factors that reduce the machine's accuracy.
    pub notes: Vec<String>,
    /// Whether it is so disturbed that measurements made now are meaningless.
    pub is_unfit: bool,
}

impl SelftestVerdict {
    pub(super) fn is_fatal(&self) -> bool {
        !self.wrong.is_empty()
    }
}

/// Judges the figures.
pub(super) fn judge(results: &SelftestResults) -> SelftestVerdict {
    let mut verdict = SelftestVerdict::default();
    let worst_share = results.run_delay_share.max(results.steal_share);
    verdict.is_unfit = worst_share > MAX_DISTURBANCE;
    let disturbed = worst_share > MAX_NOISE || results.cores.is_none();
    let excesses = results.truths.iter().filter_map(|truth| judge_truth(truth, disturbed, &mut verdict));
    if let Some(worst) = excesses.max() {
        let micros = worst / 1_000;
        verdict.notes.push(format!(
            "reported times are up to {micros} \u{b5}s above the true ones, because of other load on the machine"
        ));
    }
    if results.cores.is_none() {
        verdict.notes.push(
            "server and generator shared the only core, so every measured time includes work of both"
                .to_owned(),
        );
    }
    if results.run_delay_share > MAX_NOISE {
        let percent = results.run_delay_share * 100.0;
        verdict.notes.push(format!("other processes kept the generator waiting {percent:.1}% of the time"));
    }
    if results.steal_share > MAX_NOISE {
        let percent = results.steal_share * 100.0;
        verdict.notes.push(format!("the hypervisor took {percent:.1}% of a core's time"));
    }
    for (pace, lag) in &results.lags {
        let p99 = lag.quantile(0.99).unwrap_or(0);
        if *pace != "sleep" && p99 > MAX_LAG_NS {
            verdict.notes.push(format!(
                "even with --pace {pace}, 1% of the sends are at least {} \u{b5}s late",
                p99 / 1_000
            ));
        }
    }
    verdict
}

/// A reported time below the true one is impossible; one far above it is wrong, unless other load took the time: then
/// its excess is returned, in nanoseconds.
fn judge_truth(truth: &TruePercentiles, disturbed: bool, verdict: &mut SelftestVerdict) -> Option<u64> {
    let mut excess_most_ns = None;
    for &(q, real, reported) in &truth.points {
        let tolerance = (real as f64 * MAX_EXCESS_SHARE) as u64;
        let too_low = reported + tolerance < real;
        let too_high = reported > real + tolerance + MAX_EXCESS_NS;
        if too_low || too_high && !disturbed {
            let (name, what, percent) = (truth.service.name(), truth.what, q * 100.0);
            verdict.wrong.push(format!(
                "{name}: the true p{percent:.0} of the {what} is {real} ns, but {reported} ns was reported"
            ));
        } else if too_high {
            excess_most_ns = excess_most_ns.max(Some(reported - real));
        }
    }
    excess_most_ns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Service;

    fn results(real: u64, reported: u64, run_delay_share: f64) -> SelftestResults {
        let points = vec![(0.99, real, reported)];
        SelftestResults {
            truths: vec![TruePercentiles { service: Service::Fixed, what: "service time", points }],
            lags: Vec::new(),
            wake_up_ns: None,
            ceiling_per_s: 1.0,
            ceiling_cpu_ns: 1.0,
            run_delay_share,
            steal_share: 0.0,
            cores: Some((1, 0)),
        }
    }

    #[test]
    fn accurate_inaccurate_and_noisy_results_are_distinguished() {
        assert_eq!(judge(&results(1_000_000, 1_100_000, 0.0)), SelftestVerdict::default());
        assert!(judge(&results(1_000_000, 900_000, 0.0)).is_fatal(), "faster than the truth");
        assert!(judge(&results(1_000_000, 900_000, 0.5)).is_fatal(), "faster than the truth, noise or not");
        assert!(judge(&results(1_000_000, 2_000_000, 0.0)).is_fatal(), "slower on a quiet machine");
        let noisy = judge(&results(1_000_000, 2_000_000, 0.5));
        assert!(
            !noisy.is_fatal() && noisy.is_unfit && noisy.notes.len() == 2,
            "slower on a noisy machine: {noisy:?}"
        );
    }
}

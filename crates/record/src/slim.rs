//! Reduces a trial to a size that can be stored in a project: the parts to leave out, in order.
//!
//! The export of a round calls it. A slim trial is a valid trial: every reader accepts it, and it still contains every
//! figure of a report. The caller reports the removed parts.

use crate::{Block, CheckOutcome, TimeKind, Times, Trial};

/// Classes of a heat map for each factor of ten.
pub const CLASSES_PER_DECADE: f64 = 12.0;

/// A part that can be left out of trials, in the order of removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OmittedPart {
    /// The resolution of the intervals' histograms beyond that of a heat map, and all of them except those of the times by
    /// which the load is judged; their percentiles stay.
    IntervalDetail,
    /// The histograms of intervals; their percentiles stay.
    IntervalHistograms,
    /// The times of intervals except service and response times; their counts stay.
    IntervalTimes,
    /// CPU and memory of the processes at each sample; the totals over the window stay.
    Samples,
    /// The checks that passed.
    PassedChecks,
    /// All times of intervals; their counts stay.
    AllIntervalTimes,
}

impl OmittedPart {
    /// All of them, in order.
    pub const ALL: [OmittedPart; 6] = [
        OmittedPart::IntervalDetail,
        OmittedPart::IntervalHistograms,
        OmittedPart::IntervalTimes,
        OmittedPart::Samples,
        OmittedPart::PassedChecks,
        OmittedPart::AllIntervalTimes,
    ];

    /// A description for people.
    pub fn description(self) -> &'static str {
        match self {
            OmittedPart::IntervalDetail => {
                "the full resolution of the histogram of each interval (its percentiles, and 12 classes for each factor of ten, are kept)"
            }
            OmittedPart::IntervalHistograms => "the histogram of each interval (its percentiles are kept)",
            OmittedPart::IntervalTimes => {
                "all measured times of intervals, such as first byte and connect time, except service and response times"
            }
            OmittedPart::Samples => {
                "the samples of processes over time (their totals over the window are kept)"
            }
            OmittedPart::PassedChecks => "the results of checks that passed (those that failed are kept)",
            OmittedPart::AllIntervalTimes => {
                "all measured times of intervals, also service and response times (the counts of intervals are kept)"
            }
        }
    }

    /// Removes it from a trial.
    pub fn omit_from(self, trial: &mut Trial) {
        let judged = trial.run.as_ref().map(|run| run.loop_.kind.judged_time());
        let intervals = trial.run.iter_mut().flat_map(|run| &mut run.intervals);
        match self {
            OmittedPart::IntervalDetail => {
                for interval in intervals {
                    for kind in TimeKind::ALL {
                        let is_judged = Some(kind) == judged;
                        let times = interval.block.times_mut(kind).iter_mut();
                        times.for_each(|times| times.histogram = coarse(times, is_judged));
                    }
                }
            }
            OmittedPart::IntervalHistograms => {
                for interval in intervals {
                    for kind in TimeKind::ALL {
                        let times = interval.block.times_mut(kind).iter_mut();
                        times.for_each(|times| times.histogram = String::new());
                    }
                }
            }
            OmittedPart::IntervalTimes => {
                intervals
                    .for_each(|interval| interval.block = judged_times(std::mem::take(&mut interval.block)));
            }
            OmittedPart::AllIntervalTimes => intervals.for_each(|interval| {
                let judged = judged_times(std::mem::take(&mut interval.block));
                interval.block = Block { service_time_ns: None, response_time_ns: None, ..judged };
            }),
            OmittedPart::Samples => trial.samples.clear(),
            OmittedPart::PassedChecks => {
                if let Some(validation) = &mut trial.validation {
                    validation.checks.retain(|check| check.outcome != CheckOutcome::Pass);
                }
            }
        }
    }
}

/// A histogram in the classes of a heat map, if it is to be kept.
fn coarse(times: &Times, is_kept: bool) -> String {
    let decoded = (is_kept && !times.histogram.is_empty()).then(|| times.decode().ok()).flatten();
    decoded.map_or_else(String::new, |histogram| histogram.in_classes(CLASSES_PER_DECADE).to_base64())
}

/// A block that keeps only the times by which loads are judged.
fn judged_times(block: Block) -> Block {
    Block {
        counts: block.counts,
        completed_in_window: block.completed_in_window,
        status: block.status,
        bytes: block.bytes,
        body_bytes: block.body_bytes,
        stream_events: block.stream_events,
        service_time_ns: block.service_time_ns,
        response_time_ns: block.response_time_ns,
        censored: block.censored,
        ..Block::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{self, trial as trial_for_tests};

    #[test]
    fn every_distribution_of_a_block_is_reduced() {
        let published = schemars::schema_for!(Block).to_value().to_string();
        let known = published.matches("#/$defs/Times").count();
        let times = crate::Times::from_histogram(&paceline_stats::Histogram::new());
        let mut all = serde_json::to_value(Block::default()).unwrap();
        for (key, _) in schemars::schema_for!(Block).to_value()["properties"].as_object().unwrap() {
            if key.ends_with("_ns") {
                all[key] = serde_json::to_value(&times).unwrap();
            }
        }
        let block: Block = serde_json::from_value(all).unwrap();
        assert_eq!(block.distributions().count(), known);
    }

    #[test]
    fn a_heat_map_is_left_of_the_histograms_of_intervals() {
        let mut fine = paceline_stats::Histogram::new();
        (0..5_000u64).for_each(|at| fine.record(1_000_000 + at * at));
        let times = crate::Times::from_histogram(&fine);
        let mut run = fixture::run(0);
        run.intervals.truncate(1);
        run.intervals[0].block.service_time_ns = Some(times.clone());
        run.intervals[0].block.connect_time_ns = Some(times.clone());
        run.loop_.kind = crate::LoopKind::Closed;
        let mut trial = Trial { run: Some(run), ..trial_for_tests() };
        OmittedPart::IntervalDetail.omit_from(&mut trial);
        let block = &trial.run.as_ref().unwrap().intervals[0].block;
        assert!(block.connect_time_ns.as_ref().unwrap().histogram.is_empty());
        let kept = block.service_time_ns.as_ref().unwrap();
        assert_eq!(
            (kept.p50, kept.p99, kept.max, kept.count),
            (times.p50, times.p99, times.max, times.count)
        );
        assert!(kept.histogram.len() * 2 < times.histogram.len(), "{}", kept.histogram.len());
        let class = |ns: u64| ((ns as f64).log10() * CLASSES_PER_DECADE).floor() as i64;
        let counts = |histogram: &paceline_stats::Histogram| {
            let mut counts = std::collections::BTreeMap::new();
            histogram
                .bars()
                .for_each(|(low, high, n)| *counts.entry(class((low + high) / 2)).or_insert(0) += n);
            counts
        };
        assert_eq!(counts(&kept.decode().unwrap()), counts(&fine));
    }

    #[test]
    fn the_longest_time_after_a_fault_goes_with_the_times_of_intervals() {
        let fault = crate::InjectedFault {
            kind: crate::FaultKind::KillOne,
            instance: 0,
            at_ns: 5_000_000_000,
            balancer_tells: false,
            taken_out_after_s: None,
        };
        let mut run = fixture::run(0);
        let times = run.total.response_time_ns.clone();
        run.intervals.iter_mut().for_each(|interval| interval.block.response_time_ns = times.clone());
        let mut trial = Trial { run: Some(run), ..trial_for_tests() };
        let longest = |trial: &Trial| fault.impact(trial.run.as_ref().unwrap()).time_ns_max;
        assert_eq!(longest(&trial), times.map(|times| times.max));
        OmittedPart::AllIntervalTimes.omit_from(&mut trial);
        assert_eq!(longest(&trial), None);
    }

    #[test]
    fn passed_checks_are_removed_and_failed_ones_kept() {
        let mut trial = trial_for_tests();
        let check = |outcome| crate::Check { name: "GET /".into(), outcome, detail: String::new() };
        let checks = vec![check(CheckOutcome::Pass), check(CheckOutcome::Warn)];
        trial.validation = Some(crate::Validation { checks });
        OmittedPart::ALL.into_iter().for_each(|what| what.omit_from(&mut trial));
        assert_eq!(trial.validation.map(|validation| validation.checks.len()), Some(1));
    }
}

//! Whether a run shows that it keeps to a gate: a pure function of its record.
//!
//! The binary asks when it has the verdicts on the run, which are part of what is judged, and makes the exit status of
//! the answer. What can be demanded, and that a doubt fails the gate, is set down in `mod.rs`.

use super::{Demand, Gate, GateOutcome, GateReason, Statistic, TimeOf};
use crate::verdict::{self, Severity};
use crate::{Block, LoopKind, Run, Times};
use paceline_stats::Histogram;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// How each gate came out. The run's verdicts are part of what is judged.
pub fn judge(gates: &[Gate], run: &Run) -> Vec<GateOutcome> {
    gates.iter().map(|gate| judge_one(gate, run)).collect()
}

/// What a judge finds: reasons against, and the figures.
#[derive(Default)]
struct Finding {
    reasons: Vec<GateReason>,
    evidence: BTreeMap<String, Value>,
}

impl Finding {
    fn against(&mut self, reason: GateReason, holds: bool) {
        if holds {
            self.reasons.push(reason);
        }
    }

    fn with(&mut self, key: &str, figure: Value) {
        self.evidence.insert(key.to_owned(), figure);
    }
}

fn judge_one(gate: &Gate, run: &Run) -> GateOutcome {
    let mut finding = Finding::default();
    let judges_delivery = match gate.demand {
        Demand::Time { of, statistic, limit_ns, or_equal } => {
            time(&mut finding, run, of, statistic, (limit_ns, or_equal));
            false
        }
        Demand::AchievedShare(least) => {
            achieved_share(&mut finding, run, least);
            true
        }
        Demand::AchievedPerS(least) => {
            finding.with("achieved_per_s", json!(run.rate_per_s.achieved));
            finding.with("least_per_s", json!(least));
            finding.against(GateReason::BeyondLimit, run.rate_per_s.achieved < least);
            true
        }
        Demand::ErrorShare(most) => {
            errors(&mut finding, run);
            finding.with("most_share", json!(most));
            finding.against(GateReason::BeyondLimit, error_share(run) > most);
            false
        }
        Demand::ErrorCount(most) => {
            errors(&mut finding, run);
            finding.with("most", json!(most));
            finding.against(GateReason::BeyondLimit, run.total.counts.not_ok() > most);
            false
        }
    };
    of_the_run(&mut finding, run, judges_delivery);
    let Finding { reasons, evidence } = finding;
    GateOutcome { gate: gate.expression.clone(), passed: reasons.is_empty(), reasons, evidence }
}

/// What spoils every figure of a run alike. A gate on what was achieved judges the delivery itself.
fn of_the_run(finding: &mut Finding, run: &Run, judges_delivery: bool) {
    if !judges_delivery && !was_delivered(run) {
        finding.reasons.push(GateReason::NotDelivered);
        finding.with("achieved_per_s", json!(run.rate_per_s.achieved));
        finding.with("offered_per_s", json!(run.rate_per_s.offered));
    }
    let invalid = run.verdicts.iter().any(|verdict| verdict.severity == Severity::Invalid);
    finding.against(GateReason::Invalid, invalid);
    finding.against(GateReason::Stopped, run.stopped);
}

/// Whether the load was the one asked for: as many connections, and an open loop was kept up with.
fn was_delivered(run: &Run) -> bool {
    let spoiled = |name: &str| run.verdicts.iter().any(|verdict| verdict.name == name);
    let nothing = run.total.counts.scheduled == 0;
    let short = run.loop_.kind == LoopKind::Closed && spoiled("connections_short");
    !nothing && !short && !spoiled("saturated")
}

fn achieved_share(finding: &mut Finding, run: &Run, least: f64) {
    let share = verdict::achieved_share(run);
    finding.with("achieved_share", json!(share));
    finding.with("achieved_per_s", json!(run.rate_per_s.achieved));
    finding.with("offered_per_s", json!(run.rate_per_s.offered));
    finding.with("least_share", json!(least));
    finding.against(GateReason::BeyondLimit, verdict::fell_short(run, least));
    finding.against(GateReason::NotMeasured, run.total.counts.scheduled == 0);
}

fn error_share(run: &Run) -> f64 {
    run.total.counts.not_ok() as f64 / (run.total.counts.scheduled as f64).max(1.0)
}

fn errors(finding: &mut Finding, run: &Run) {
    finding.with("not_ok", json!(run.total.counts.not_ok()));
    finding.with("scheduled", json!(run.total.counts.scheduled));
    finding.with("share", json!(error_share(run)));
    finding.against(GateReason::NotMeasured, run.total.counts.scheduled == 0);
}

/// A time's distribution as a gate sees it.
struct Seen {
    histogram: Histogram,
    /// Requests that have no such time because they failed: each is a miss.
    misses: u64,
    /// From here on values are lower bounds, in nanoseconds.
    censored_from_ns: u64,
}

fn time(finding: &mut Finding, run: &Run, of: TimeOf, statistic: Statistic, limit: (u64, bool)) {
    let (limit_ns, or_equal) = limit;
    finding.with("limit_ns", json!(limit_ns));
    let Some(seen) = seen(run, of) else {
        return finding.reasons.push(GateReason::NotMeasured);
    };
    let samples = seen.histogram.count() + seen.misses;
    finding.with("samples", json!(samples));
    finding.with("samples_needed", json!(statistic.samples_needed()));
    if seen.misses > 0 {
        finding.with("misses", json!(seen.misses));
    }
    finding.with("within_share", json!(within_share(&seen, limit_ns, samples)));
    match value(&seen, statistic, samples) {
        Some(value_ns) => {
            finding.with(&format!("{}_{}", of.key(), statistic.key()), json!(value_ns));
            let kept = value_ns < limit_ns as f64 || or_equal && value_ns == limit_ns as f64;
            finding.against(GateReason::BeyondLimit, !kept);
            // A mean has every lower bound in it.
            let reaches = match statistic {
                Statistic::Mean => seen.censored_from_ns < u64::MAX,
                _ => value_ns >= seen.censored_from_ns as f64,
            };
            finding.against(GateReason::LowerBound, reaches);
        }
        None => finding.reasons.push(GateReason::Failures),
    }
    finding.against(GateReason::TooFewSamples, samples < statistic.samples_needed());
}

/// The share of all requests that were answered well within the limit, to the resolution of the histogram.
fn within_share(seen: &Seen, limit_ns: u64, samples: u64) -> f64 {
    seen.histogram.count_at_or_below(limit_ns) as f64 / (samples as f64).max(1.0)
}

/// The figure, in nanoseconds, every miss counted as beyond all others; none where it falls among the misses.
fn value(seen: &Seen, statistic: Statistic, samples: u64) -> Option<f64> {
    let histogram = &seen.histogram;
    match statistic {
        Statistic::Percentile(percentile) => {
            // The rank as HdrHistogram has it, among all requests (see `Histogram::quantile`).
            let rank = (percentile / 100.0 * samples as f64 * (1.0 - 1e-12)).ceil().max(1.0);
            let share = rank / histogram.count() as f64;
            (share <= 1.0).then(|| histogram.quantile(share)).flatten().map(|value| value as f64)
        }
        _ if seen.misses > 0 => None,
        Statistic::Max => histogram.max().map(|value| value as f64),
        Statistic::Mean => histogram.mean(),
    }
}

/// The times of one kind, with who has none because it failed.
fn seen(run: &Run, of: TimeOf) -> Option<Seen> {
    let (total, counts) = (&run.total, run.total.counts);
    let lowest_ns = total.censored.map_or(u64::MAX, |censored| censored.lowest_ns);
    let (times, misses, censored_from_ns) = match of {
        TimeOf::Response => (&total.response_time_ns, counts.failed(), lowest_ns),
        // In an open loop the lowest time waited is a response time; a service time then waited for the timeout.
        TimeOf::Service => {
            let censored = if counts.timed_out > 0 { lowest_ns.min(run.timeout_ns) } else { u64::MAX };
            (&total.service_time_ns, counts.failed() + counts.unsent, censored)
        }
        TimeOf::FirstByte => (&total.first_byte_ns, counts.not_ok(), u64::MAX),
        TimeOf::Lag => (&total.generator_lag_ns, 0, u64::MAX),
        TimeOf::Connect => return connects(run, |block| block.connect_time_ns.as_ref()),
        TimeOf::Handshake => return connects(run, |block| block.handshake_time_ns.as_ref()),
    };
    let histogram = times.as_ref()?.decode().ok()?;
    Some(Seen { histogram, misses, censored_from_ns })
}

/// Every connection of the run, from the first: with keep-alive few are made in the window.
fn connects(run: &Run, times: fn(&Block) -> Option<&Times>) -> Option<Seen> {
    let mut histogram = Histogram::new();
    for times in run.intervals.iter().filter_map(|interval| times(&interval.block)) {
        histogram.merge(&times.decode().ok()?);
    }
    let misses = run.connections.failed_attempts;
    (histogram.count() + misses > 0).then_some(Seen { histogram, misses, censored_from_ns: u64::MAX })
}

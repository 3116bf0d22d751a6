//! A server that freezes for a second in every ten: what is reported, beside the truth.
//!
//! About being right, not about being cheap: no CPU time is shown. The truth is computed, as a row of its own in every
//! round. No goal is set: the rows are for the reader to compare. Two rounds at most, since each run takes long.

use super::{Settings, contender, floor_closed, known, paceline_open};
use crate::plan::{ACHIEVED, Column, Command, Comparison, FAILURES, Plan, Sample, ServerSetting};
use crate::tools::Tool;

const CONNECTIONS: u32 = 50;
const RATE_PER_S: u32 = 2_000;
const FREEZE_S: u32 = 1;
const EVERY_S: u32 = 10;

const PERCENTILES: [(&str, f64); 5] =
    [("ms_p50", 0.5), ("ms_p85", 0.85), ("ms_p95", 0.95), ("ms_p99", 0.99), ("ms_p99_9", 0.999)];

macro_rules! percentile {
    ($heading:literal, $name:literal) => {
        Column { heading: $heading, of: |s| s.extra.get($name).copied(), digits: 2 }
    };
}
const P50: Column = percentile!("p50 ms", "ms_p50");
const P85: Column = percentile!("p85 ms", "ms_p85");
const P95: Column = percentile!("p95 ms", "ms_p95");
const P99: Column = percentile!("p99 ms", "ms_p99");
const P99_9: Column = percentile!("p99.9 ms", "ms_p99_9");

/// Response time at quantile `q` of constant arrivals at `rate_per_s` to a server that serves one request in `service_s`
/// and is frozen for `FREEZE_S` of every `EVERY_S`.
///
/// What arrives in a freeze queues, and the queue drains while more arrives: a busy period lasts D = F / (1 - rate x
/// service), and over it the wait falls evenly from F to nothing. So the share of requests that wait more than w is
/// D / P x (1 - w / F). Above it lies the service itself.
fn truth_s(q: f64, rate_per_s: f64, service_s: f64) -> f64 {
    let (freeze_s, every_s) = (f64::from(FREEZE_S), f64::from(EVERY_S));
    let busy_s = freeze_s / (1.0 - rate_per_s * service_s);
    service_s + (freeze_s * (1.0 - (1.0 - q) * every_s / busy_s)).max(0.0)
}

/// The truth of a round, from what a request took that round when as many as possible were asked for.
fn truth(samples: &[Sample]) -> Vec<Sample> {
    let served = samples.iter().find(|sample| sample.contender == SERVICE);
    let Some(per_s) = served.and_then(Sample::achieved_per_s) else { return Vec::new() };
    let round = samples.first().map_or(0, |sample| sample.round);
    let at = |(name, q)| (name, truth_s(q, f64::from(RATE_PER_S), 1.0 / per_s) * 1e3);
    let extra = PERCENTILES.map(at).into();
    vec![Sample { contender: TRUTH.to_owned(), round, extra, ..Sample::default() }]
}

const SERVICE: &str = "floor, no freeze";
const TRUTH: &str = "the truth";

/// The capacity without a freeze, then Paceline and wrk with it.
pub fn plan(settings: &Settings) -> Plan {
    let calm = ServerSetting::body(12);
    let freezing = ServerSetting { freeze: Some((FREEZE_S, EVERY_S)), ..calm.clone() };
    let seconds = settings.freeze_seconds;
    let wrk = format!("-t 1 -c {CONNECTIONS} -d {seconds}s --latency -s {{work}}/percentiles.lua {{url}}");
    let paceline = paceline_open(CONNECTIONS, RATE_PER_S, "auto", seconds);
    let compare = |column| Comparison { of: "paceline", to: None, column, goal: None };
    Plan {
        name: "freeze",
        title: format!("A server that freezes 1 s in every 10 s, {CONNECTIONS} connections"),
        about: "2,000/s are offered, and a tenth of all time nothing is answered. The truth follows from the freeze and from \
                what a request takes the server otherwise (the first row: a closed loop without freezes), by the formula in \
                `speed/src/experiments/freeze.rs`; at p50 and p85 nothing waits, and the truth is the service alone, \
                without waking anybody up. wrk offers no rate: its closed loop sends nothing while the server is frozen, and \
                its percentiles contain its own synthetic correction.",
        contenders: vec![
            contender(SERVICE, Tool::FloorWhole, floor_closed(CONNECTIONS, "", 2), &calm),
            contender("paceline", Tool::PacelineWindow, paceline, &freezing),
            contender("wrk", Tool::Peer(known("wrk")), Command::new("wrk", &wrk), &freezing),
        ],
        rounds_most: Some(2),
        columns: vec![P50, P85, P95, P99, P99_9, ACHIEVED, FAILURES],
        comparisons: [P95, P99, P99_9].map(compare).into(),
        derive: Some(truth),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_truth_of_a_known_server() {
        // Worked out by simulation of the queue: 500.5, 505.5, 520.5 and 600.5 ms at p95, of which half a millisecond is
        // the spacing of arrivals.
        for (service_us, p95_ms) in [(0.0, 500.0), (5.0, 505.0), (20.0, 520.0), (100.0, 600.0)] {
            let found_ms = truth_s(0.95, 2000.0, service_us / 1e6) * 1e3;
            assert!((found_ms - p95_ms).abs() < 0.2, "{service_us}: {found_ms}");
        }
        assert!((truth_s(0.99, 2000.0, 0.0) - 0.9).abs() < 1e-9);
        assert!((truth_s(0.999, 2000.0, 0.0) - 0.99).abs() < 1e-9);
        assert_eq!(truth_s(0.85, 2000.0, 5e-6), 5e-6);
    }

    #[test]
    fn the_truth_is_a_row_of_its_round() {
        let served = Sample {
            contender: SERVICE.to_owned(),
            round: 3,
            requests: 400_000,
            wall_s: 2.0,
            ..Sample::default()
        };
        let rows = truth(&[served]);
        assert_eq!((rows.len(), rows[0].round), (1, 3));
        assert!((rows[0].extra["ms_p95"] - 505.005).abs() < 0.01);
        assert!(truth(&[Sample::default()]).is_empty());
    }
}

//! What a generator prints of its run: the floor programs and Paceline here, every other by its module of `peers`.

use anyhow::{Context as _, anyhow};
use paceline_peers::{PeerReport, PrintedReport, peer};
use paceline_record::{Run, Times, read_run};
use paceline_stats::Histogram;
use std::collections::BTreeMap;

/// What a tool reports.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolReport {
    /// Requests answered well.
    pub requests: u64,
    /// Requests that were not.
    pub failed: u64,
    /// The time they were counted over, in seconds.
    pub wall_s: Option<f64>,
    /// User and system CPU seconds over that time.
    pub cpu_s: Option<(f64, f64)>,
    /// Peak resident memory, where the tool knows it better than the kernel does.
    pub rss_bytes_peak: Option<u64>,
    /// Numbers that only this tool reports, by their keys in `number`.
    pub own: BTreeMap<&'static str, f64>,
    /// Its remarks on its own run, such as verdicts.
    pub remarks: Vec<String>,
}

const PERCENTILES: [(&str, &str, f64); 5] = [
    ("ms_p50", "p50_ns", 0.5),
    ("ms_p85", "p85_ns", 0.85),
    ("ms_p95", "p95_ns", 0.95),
    ("ms_p99", "p99_ns", 0.99),
    ("ms_p99_9", "p99.9_ns", 0.999),
];
/// The status that every server here answers with.
const STATUS: u16 = 200;

/// Reads what `program` printed on standard output.
pub fn read(program: &str, output: &str) -> anyhow::Result<ToolReport> {
    let report = match peer(program) {
        Some(peer) => (peer.read)(&PrintedReport::from_output(output))
            .map_err(|problem| anyhow!("{}: {problem}", peer.prints))
            .and_then(|report| of_peer(&report.expecting(STATUS))),
        None if program.starts_with("floor-") => of_floor(output),
        None => read_run(output).map_err(Into::into).and_then(|run| of_run(&run)),
    };
    report.with_context(|| format!("the output of {program} was not understood"))
}

#[derive(serde::Deserialize)]
struct Floor {
    requests: u64,
    achieved_per_s: f64,
    wall_s: f64,
    user_s: f64,
    system_s: f64,
}

/// The floor programs never report a failure: they count bytes and cannot recognise a wrong response.
fn of_floor(output: &str) -> anyhow::Result<ToolReport> {
    let floor: Floor = serde_json::from_str(output)?;
    Ok(ToolReport {
        requests: floor.requests,
        wall_s: Some(floor.wall_s),
        cpu_s: Some((floor.user_s, floor.system_s)),
        own: [("achieved_per_s", floor.achieved_per_s)].into(),
        ..ToolReport::default()
    })
}

fn of_peer(report: &PeerReport) -> anyhow::Result<ToolReport> {
    let percentiles_ns = report.percentiles_ns();
    let percentiles = PERCENTILES
        .iter()
        .filter_map(|(key, theirs, _)| Some((*key, *percentiles_ns.get(*theirs)? as f64 / 1e6)));
    Ok(ToolReport {
        requests: report.counts.ok,
        failed: report.counts.scheduled - report.counts.ok,
        wall_s: Some(report.duration_s().context("its run took 0 s")?),
        own: percentiles.collect(),
        ..ToolReport::default()
    })
}

fn of_run(run: &Run) -> anyhow::Result<ToolReport> {
    let (counts, threads) = (&run.total.counts, &run.generator.by_thread);
    Ok(ToolReport {
        requests: counts.ok,
        failed: counts.scheduled - counts.ok,
        wall_s: Some(run.window_s),
        cpu_s: Some((threads.iter().map(|t| t.user_s).sum(), threads.iter().map(|t| t.system_s).sum())),
        rss_bytes_peak: Some(run.generator.rss_bytes_peak),
        own: own_of_run(run)?,
        remarks: run.verdicts.iter().map(|verdict| format!("verdict `{}`", verdict.name)).collect(),
    })
}

fn own_of_run(run: &Run) -> anyhow::Result<BTreeMap<&'static str, f64>> {
    let (phases, connections) = (&run.phases, &run.connections);
    let mut own = BTreeMap::from([
        ("achieved_per_s", run.rate_per_s.achieved),
        ("busy_share", run.generator.busy_s / run.window_s),
        ("spin_share", run.generator.spin_s / run.window_s),
        ("connect_s", (phases.connect.end_ns - phases.connect.start_ns) as f64 / 1e9),
        ("all_s", phases.drain.end_ns as f64 / 1e9),
        ("connections_had", connections.had as f64),
        ("attempts_failed", connections.failed_attempts as f64),
    ]);
    own.extend(connections.served.as_ref().map(|served| ("served_min", served.min as f64)));
    if let Some(lag) = &run.total.generator_lag_ns {
        let named = [("lag_us_p50", lag.p50), ("lag_us_p99", lag.p99), ("lag_us_max", lag.max)];
        own.extend(named.map(|(key, nanoseconds)| (key, nanoseconds as f64 / 1e3)));
    }
    // An open loop's answer is the response time, a closed loop's the service time.
    if let Some(times) = run.total.response_time_ns.as_ref().or(run.total.service_time_ns.as_ref()) {
        own.extend(percentiles(times)?);
    }
    Ok(own)
}

/// From the histogram: the record prints fewer percentiles than are compared here.
fn percentiles(times: &Times) -> anyhow::Result<[(&'static str, f64); 5]> {
    let histogram = Histogram::from_base64(&times.histogram).context("its histogram does not decode")?;
    Ok(PERCENTILES.map(|(key, _, q)| (key, histogram.quantile(q).unwrap_or(0) as f64 / 1e6)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_peers::PEERS;

    #[test]
    fn each_kind_of_output_is_read() {
        let wrk = "Running 2s test @ http://127.0.0.1:1/\n  1 threads and 1 connections\n\
                     700 requests in 1.00s, 1.00KB read\n  Non-2xx or 3xx responses: 38\nRequests/sec:    350.00\n\
                   percentile 99.9 15863 us\n";
        let report = read("wrk", wrk).unwrap();
        assert_eq!((report.requests, report.failed, report.wall_s), (662, 38, Some(2.0)));
        assert_eq!(report.own, BTreeMap::from([("ms_p99_9", 15.863)]));
        let floor =
            r#"{"requests":52470,"achieved_per_s":34710.06,"wall_s":1.5,"user_s":0.1,"system_s":0.4}"#;
        let report = read("floor-open", floor).unwrap();
        assert_eq!((report.requests, report.cpu_s), (52470, Some((0.1, 0.4))));
        // An open loop of 500 requests at 1,000/s over 8 connections.
        let report = read("paceline-before", include_str!("run.golden.json")).unwrap();
        assert_eq!((report.requests, report.failed, report.wall_s), (500, 0, Some(0.5)));
        assert_eq!(report.own["connections_had"], 8.0);
        assert!(report.own["ms_p50"] > 0.0 && report.own["ms_p50"] <= report.own["ms_p99_9"]);
    }

    #[test]
    fn other_text_is_an_error_in_every_format() {
        for program in ["paceline", "floor-closed"].into_iter().chain(PEERS.map(|peer| peer.name)) {
            for text in ["", "{}", "Segmentation fault"] {
                assert!(read(program, text).is_err(), "{program} of {text:?}");
            }
        }
    }
}

//! `paceline run --format json`: a run's record, read by its published keys as anybody's script would.
//!
//! So without `paceline-record`, which such a script has not either. Percentiles are made from the record's histogram,
//! since it does not print all that `freeze` shows. The flags of a run are chosen in `experiments`.

use super::Report;
use anyhow::Context as _;
use paceline_stats::Histogram;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Every request of the run, and CPU time by wait4. Needs `--warmup 0s`, so that the window is the run.
pub fn read_whole(output: &str) -> anyhow::Result<Report> {
    Ok(Report { cpu_s: None, ..read_window(output)? })
}

/// Requests of the window's cohort, and the CPU time of the generator's threads over it.
pub fn read_window(output: &str) -> anyhow::Result<Report> {
    let run: Run = serde_json::from_str(output).context("not a record of a run")?;
    let threads = &run.generator.by_thread;
    let counts = &run.total.counts;
    Ok(Report {
        requests: counts.ok,
        failures: counts.scheduled - counts.ok,
        wall_s: Some(run.window_s),
        cpu_s: Some((threads.iter().map(|t| t.user_s).sum(), threads.iter().map(|t| t.system_s).sum())),
        rss_bytes_peak: Some(run.generator.rss_bytes_peak),
        extra: extra(&run)?,
        remarks: run.verdicts.iter().map(|verdict| format!("verdict `{}`", verdict.name)).collect(),
    })
}

fn extra(run: &Run) -> anyhow::Result<BTreeMap<&'static str, f64>> {
    let phases = &run.phases;
    let mut extra = BTreeMap::from([
        ("achieved_per_s", run.rate_per_s.achieved),
        ("busy_s", run.generator.busy_s),
        ("spin_s", run.generator.spin_s),
        ("window_s", run.window_s),
        ("connect_s", (phases.connect.end_ns - phases.connect.start_ns) as f64 / 1e9),
        ("all_s", phases.drain.end_ns as f64 / 1e9),
        ("connections_had", run.connections.had as f64),
        ("failed_attempts", run.connections.failed_attempts as f64),
    ]);
    if let Some(served) = &run.connections.served {
        extra.insert("served_min", served.min as f64);
    }
    if let Some(lag) = &run.total.generator_lag_ns {
        let named = [("lag_us_p50", lag.p50), ("lag_us_p99", lag.p99), ("lag_us_max", lag.max)];
        extra.extend(named.map(|(name, nanoseconds)| (name, nanoseconds as f64 / 1e3)));
    }
    // An open loop's answer is the response time, a closed loop's the service time: the vocabulary of the record.
    if let Some(times) = run.total.response_time_ns.as_ref().or(run.total.service_time_ns.as_ref()) {
        extra.extend(percentiles(times)?);
    }
    Ok(extra)
}

fn percentiles(times: &Times) -> anyhow::Result<[(&'static str, f64); 5]> {
    let histogram = Histogram::from_base64(&times.histogram).context("its histogram does not decode")?;
    let named = [("ms_p50", 0.5), ("ms_p85", 0.85), ("ms_p95", 0.95), ("ms_p99", 0.99), ("ms_p99_9", 0.999)];
    Ok(named.map(|(name, q)| (name, histogram.quantile(q).unwrap_or(0) as f64 / 1e6)))
}

/// The keys of a record that this comparison needs; it may have any others.
#[derive(Deserialize)]
struct Run {
    window_s: f64,
    phases: Phases,
    connections: Connections,
    generator: Generator,
    total: Block,
    rate_per_s: Rates,
    verdicts: Vec<Verdict>,
}

#[derive(Deserialize)]
struct Phases {
    connect: Span,
    drain: Span,
}

#[derive(Deserialize)]
struct Span {
    start_ns: u64,
    end_ns: u64,
}

#[derive(Deserialize)]
struct Connections {
    had: u64,
    failed_attempts: u64,
    served: Option<Served>,
}

#[derive(Deserialize)]
struct Served {
    min: u64,
}

#[derive(Deserialize)]
struct Generator {
    busy_s: f64,
    spin_s: f64,
    rss_bytes_peak: u64,
    by_thread: Vec<Thread>,
}

#[derive(Deserialize)]
struct Thread {
    user_s: f64,
    system_s: f64,
}

#[derive(Deserialize)]
struct Block {
    counts: Counts,
    service_time_ns: Option<Times>,
    response_time_ns: Option<Times>,
    generator_lag_ns: Option<Times>,
}

#[derive(Deserialize)]
struct Counts {
    scheduled: u64,
    ok: u64,
}

#[derive(Deserialize)]
struct Times {
    p50: u64,
    p99: u64,
    max: u64,
    histogram: String,
}

#[derive(Deserialize)]
struct Rates {
    achieved: f64,
}

#[derive(Deserialize)]
struct Verdict {
    name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record as printed: an open loop of 500 requests at 1,000/s over 8 connections.
    const RECORD: &str = include_str!("paceline.golden.json");

    #[test]
    fn a_record_is_read() {
        let window = read_window(RECORD).unwrap();
        assert_eq!((window.requests, window.failures, window.wall_s), (500, 0, Some(0.5)));
        assert!(window.cpu_s.is_some_and(|(user_s, system_s)| user_s + system_s > 0.0));
        assert!(window.rss_bytes_peak > Some(1_000_000));
        assert_eq!(window.extra["connections_had"], 8.0);
        assert!(window.extra["lag_us_p50"] <= window.extra["lag_us_p99"]);
        assert!(window.extra["ms_p50"] > 0.0 && window.extra["ms_p50"] <= window.extra["ms_p99_9"]);
        assert_eq!(read_whole(RECORD).unwrap().cpu_s, None);
    }

    #[test]
    fn failures_are_whatever_was_not_ok() {
        let bad = RECORD.replacen("\"ok\":500", "\"ok\":490", 1);
        assert_eq!(read_window(&bad).unwrap().failures, 10);
    }
}

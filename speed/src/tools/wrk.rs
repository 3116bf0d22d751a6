//! wrk 4: `  N requests in T, ... read`, errors only where there were any.
//!
//! The peer of most experiments. Here it is asked for a plain closed loop; `pipeline`, `freeze` and `connections` write
//! its line themselves. Percentiles are those that `speed/percentiles.lua` prints, not those of its report.

use super::{Report, number_after, number_after_or_zero};
use crate::plan::Command;
use anyhow::Context as _;
use std::collections::BTreeMap;

/// A closed loop of one thread.
pub fn closed(connections: u32, seconds: u32) -> Command {
    Command::new("wrk", &format!("-t 1 -c {connections} -d {seconds}s {{url}}"))
}

/// Reads the report, and the lines of `percentiles.lua` where it was given.
pub fn read(output: &str) -> anyhow::Result<Report> {
    let line = output.lines().find(|line| line.contains(" requests in ")).context("no line of requests")?;
    let all: u64 = line.split_whitespace().next().unwrap_or_default().parse()?;
    // wrk counts a response with a bad status among its requests, a timeout apart from them.
    let bad = number_after_or_zero(output, "Non-2xx or 3xx responses:") as u64;
    let errors: f64 =
        ["connect ", "read ", "write ", "timeout "].map(|kind| socket_errors(output, kind)).iter().sum();
    // The duration in the line has two digits; the rate has two, and more of them before the point.
    let per_second = number_after(output, "Requests/sec:")?;
    Ok(Report {
        requests: all.saturating_sub(bad),
        failures: bad + errors as u64,
        wall_s: (per_second > 0.0).then(|| all as f64 / per_second),
        extra: percentiles(output),
        ..Report::default()
    })
}

fn socket_errors(output: &str, kind: &str) -> f64 {
    let line = output.lines().find(|line| line.contains("Socket errors:")).unwrap_or_default();
    number_after_or_zero(line, kind)
}

fn percentiles(output: &str) -> BTreeMap<&'static str, f64> {
    let named =
        [("ms_p50", "50"), ("ms_p85", "85"), ("ms_p95", "95"), ("ms_p99", "99"), ("ms_p99_9", "99.9")];
    let found = named.iter().filter_map(|(name, percent)| {
        Some((*name, number_after(output, &format!("percentile {percent} ")).ok()? / 1e3))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "\
Running 1s test @ http://127.0.0.1:36625/
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.84ms    2.32ms  24.23ms   85.69%
    Req/Sec    36.61k    20.20k   79.32k    60.00%
  36600 requests in 1.01s, 3.53MB read
Requests/sec:  36301.85
Transfer/sec:      3.50MB
percentile 50 625 us
percentile 85 4069 us
percentile 95 6665 us
percentile 99 10732 us
percentile 99.9 15863 us
";

    #[test]
    fn a_good_run() {
        let report = read(REPORT).unwrap();
        assert_eq!((report.requests, report.failures), (36_600, 0));
        assert!((report.wall_s.unwrap() - 1.008_213).abs() < 1e-5);
        assert_eq!((report.extra["ms_p99"], report.extra["ms_p99_9"]), (10.732, 15.863));
    }

    #[test]
    fn a_bad_run() {
        let bad = REPORT.replace(
            "Requests/sec",
            "  Socket errors: connect 7, read 2, write 1, timeout 30\n  Non-2xx or 3xx responses: 600\nRequests/sec",
        );
        let report = read(&bad).unwrap();
        assert_eq!((report.requests, report.failures), (36_000, 640));
    }
}

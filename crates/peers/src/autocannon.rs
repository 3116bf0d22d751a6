//! autocannon with `--json`: `statusCodeStats`, `errors` and times in milliseconds, percentiles in whole ones.

use crate::peer::{Peer, PeerLaunch, never_first};
use crate::report::{PeerReport, PrintedReport};
use paceline_record::{Bytes, Counts};
use serde::Deserialize;
use std::collections::BTreeMap;

/// `autocannon` from npm.
pub const AUTOCANNON: Peer = Peer {
    name: "autocannon",
    launch: Some(PeerLaunch {
        arguments: &["--json", "-c", "{connections}", "-d", "{duration_s}", "{url}"],
        required: None,
        version_flag: "--version",
        version_prefix: "autocannon v",
        timeout_ns: Some(10_000_000_000),
    }),
    prints: "its JSON (`--json`)",
    is_first_line: never_first,
    is_report: |printed| printed.has(&["statusCodeStats"]),
    read,
};

/// The fields used of its output.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AutocannonOutput {
    #[serde(default)]
    url: String,
    #[serde(default)]
    connections: u32,
    #[serde(default)]
    pipelining: u32,
    /// In seconds.
    duration: f64,
    /// Connections that broke, timeouts among them.
    errors: u64,
    status_code_stats: BTreeMap<String, StatusCount>,
}

#[derive(Deserialize)]
struct StatusCount {
    count: u64,
}

/// The times it prints, by our names.
const TIMES: [(&str, &str); 9] = [
    ("min", "min"),
    ("mean", "average"),
    ("stddev", "stddev"),
    ("p50", "p50"),
    ("p75", "p75"),
    ("p90", "p90"),
    ("p99", "p99"),
    ("p99_9", "p99_9"),
    ("max", "max"),
];

fn read(printed: &PrintedReport<'_>) -> Result<PeerReport, String> {
    let output: AutocannonOutput = printed.parse()?;
    let received = printed.figure(&["throughput", "total"]).unwrap_or(0.0) as u64;
    let mut report = PeerReport {
        url: output.url,
        protocol: "http/1.1".to_owned(),
        connections: output.connections,
        depth: output.pipelining,
        elapsed_s: Some(output.duration),
        counts: Counts { io_failed: output.errors, ..Counts::default() },
        bytes: Bytes { received, ..Bytes::default() },
        requests_per_s: printed.figure(&["requests", "average"]),
        note: "autocannon prints percentiles in whole milliseconds".to_owned(),
        ..PeerReport::default()
    };
    report.set_status(
        output.status_code_stats.into_iter().map(|(status, stats)| (status, stats.count)).collect(),
    );
    Ok(report
        .with_times(TIMES.map(|(name, key)| (name, printed.figure(&["latency", key]).map(|ms| ms * 1e6)))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result() {
        // autocannon 9.0.0, shortened.
        let text = r#"{"url":"http://127.0.0.1:18081/","connections":8,"pipelining":4,"duration":1.21,"errors":3,
            "timeouts":1,"non2xx":2,"2xx":72,"statusCodeStats":{"200":{"count":72},"404":{"count":2}},
            "latency":{"average":125.16,"p50":98,"p99":689}}"#;
        let report = read(&PrintedReport::from_output(text)).unwrap();
        let counts = report.counts;
        assert_eq!((counts.ok, counts.bad_status, counts.io_failed), (72, 2, 3));
        assert_eq!((report.duration_s(), report.connections, report.depth), (Some(1.21), 8, 4));
        assert_eq!((report.times_ns["p99"], report.times_ns["mean"]), (689e6, 125.16e6));
    }
}

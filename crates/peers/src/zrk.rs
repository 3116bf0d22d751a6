//! zrk with `--json`: counts by class of status, and times in microseconds, since the intended send unless `--closed`.

use crate::peer::{Peer, never_first};
use crate::report::{PeerReport, PrintedReport};
use paceline_record::{Bytes, Counts};
use serde::Deserialize;
use std::collections::BTreeMap;

/// `zrk`.
pub const ZRK: Peer = Peer {
    name: "zrk",
    launch: None,
    prints: "its JSON (`--json`)",
    is_first_line: never_first,
    is_report: |printed| printed.has(&["achieved_rate", "rate_ratio", "latency_us", "status_codes"]),
    read,
};

/// The keys used of its output.
#[derive(Deserialize)]
struct ZrkOutput {
    target: ZrkTarget,
    config: ZrkSettings,
    duration_s: f64,
    bytes: u64,
    achieved_rate: f64,
    target_rate: f64,
    latency_us: BTreeMap<String, f64>,
    status_codes: BTreeMap<String, u64>,
    #[serde(default)]
    errors: ZrkErrors,
}

#[derive(Deserialize)]
struct ZrkTarget {
    url: String,
}

#[derive(Deserialize)]
struct ZrkSettings {
    connections: u32,
    #[serde(default)]
    closed: bool,
}

/// Requests without a response. `non_2xx_3xx` repeats the statuses.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ZrkErrors {
    connect: u64,
    read: u64,
    write: u64,
    timeout: u64,
    /// Requests that were not sent, because they were too late for `--deadline`.
    deadline: u64,
}

fn read(printed: &PrintedReport<'_>) -> Result<PeerReport, String> {
    let output: ZrkOutput = printed.parse()?;
    let ZrkErrors { connect, read, write, timeout, deadline } = output.errors;
    let counts = Counts {
        connect_failed: connect,
        io_failed: read.saturating_add(write),
        timed_out: timeout,
        unsent: deadline,
        ..Counts::default()
    };
    let mut report = PeerReport {
        url: output.target.url,
        protocol: "http/1.1".to_owned(),
        connections: output.config.connections,
        // In a closed loop the rate that it prints is that of the responses.
        rate_per_s: (!output.config.closed).then_some(output.target_rate),
        elapsed_s: Some(output.duration_s),
        counts,
        bytes: Bytes { received: output.bytes, ..Bytes::default() },
        requests_per_s: Some(output.achieved_rate),
        times_ns: output.latency_us.into_iter().map(|(name, us)| (name, us * 1e3)).collect(),
        ..PeerReport::default()
    };
    report.set_status(output.status_codes.into_iter().filter(|(_, count)| *count > 0).collect());
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In the form that the README of zrk 1.4 shows.
    const PRINTED: &str = r#"{"version": "1.4.2", "target": {"url": "http://127.0.0.1:8080/", "method": "GET"},
      "config": {"connections": 50, "closed": false, "target_rate": 500}, "duration_s": 10.001, "requests": 4990,
      "bytes": 309380, "achieved_rate": 498.95, "target_rate": 500, "rate_ratio": 0.9979, "error_rate": 0.0014,
      "latency_us": {"min": 106, "mean": 422.0, "stdev": 122.9, "max": 1399, "p50": 251, "p99_9": 1336},
      "status_codes": {"1xx": 0, "2xx": 4985, "3xx": 0, "4xx": 0, "5xx": 5},
      "errors": {"connect": 1, "read": 2, "write": 0, "timeout": 3, "deadline": 4, "non_2xx_3xx": 5}}"#;

    #[test]
    fn its_json_is_read() {
        let report = read(&PrintedReport::from_output(PRINTED)).unwrap();
        let counts = report.counts;
        assert_eq!((counts.ok, counts.bad_status, counts.connect_failed), (4985, 5, 1));
        assert_eq!((counts.io_failed, counts.timed_out, counts.unsent), (2, 3, 4));
        assert_eq!((report.rate_per_s, report.requests_per_s), (Some(500.0), Some(498.95)));
        assert_eq!(
            (report.connections, report.times_ns["mean"], report.times_ns["p99_9"]),
            (50, 422e3, 1336e3)
        );
        let closed = PRINTED.replace("\"closed\": false", "\"closed\": true");
        assert_eq!(read(&PrintedReport::from_output(&closed)).unwrap().rate_per_s, None);
        let cut = PRINTED.replace("\"target_rate\": 500, \"rate", "\"rate");
        assert!(read(&PrintedReport::from_output(&cut)).unwrap_err().contains("target_rate"));
    }
}

//! k6: the metrics of `--summary-export`, or the data of `handleSummary`, whole or its metrics alone.
//!
//! `http_req_failed` has one rule for all failures (a status of 400 or more, or no response), and k6 does not print how
//! many were which: they all count as a bad status. Times are in milliseconds. `speed/` writes the script
//! ([`K6_SCRIPT`]), which discards bodies, and fills in `{work}`, its folder.

use crate::peer::{Peer, PeerLaunch, never_first};
use crate::report::{PeerReport, PrintedReport};
use paceline_record::{Bytes, Counts};

/// The script: one request after the other, with the body discarded, as in other generators that do not check it; at
/// the end it prints the metrics as JSON on standard output, in place of the text report.
pub const K6_SCRIPT: &str = "\
import http from 'k6/http';
export const options = { discardResponseBodies: true };
export default function () {
    http.get(__ENV.URL);
}
export function handleSummary(data) {
    return { stdout: JSON.stringify(data.metrics) };
}
";

/// `k6`: a closed loop of virtual users.
pub const K6: Peer = Peer {
    name: "k6",
    launch: Some(PeerLaunch {
        arguments: &[
            "run",
            "--quiet",
            "--no-usage-report",
            "--vus",
            "{connections}",
            "--duration",
            "{duration_s}s",
            "--env",
            "URL={url}",
            "{work}/k6.js",
        ],
        required: None,
        version_flag: "version",
        version_prefix: "k6 ",
        timeout_ns: Some(60_000_000_000),
    }),
    prints: "the metrics of its script as JSON",
    is_first_line: never_first,
    is_report: |printed| printed.has(&["metrics"]) || printed.has(&["http_reqs"]),
    read,
};

/// The times it prints, by our names.
const TIMES: [(&str, &str); 8] = [
    ("min", "min"),
    ("mean", "avg"),
    ("p50", "med"),
    ("p90", "p(90)"),
    ("p95", "p(95)"),
    ("p99", "p(99)"),
    ("p99_9", "p(99.9)"),
    ("max", "max"),
];

fn read(printed: &PrintedReport<'_>) -> Result<PeerReport, String> {
    let around: &[&str] = if printed.has(&["metrics"]) { &["metrics"] } else { &[] };
    let metric = |name: &str, key: &str| {
        let path = |last: &[&str]| printed.figure(&[around, &[name], last].concat());
        path(&["values", key]).or_else(|| path(&[key]))
    };
    let requests = metric("http_reqs", "count").ok_or("metrics.http_reqs.count is missing")? as u64;
    let rate = metric("http_reqs", "rate").ok_or("metrics.http_reqs.rate is missing")?;
    // "passes" counts the samples that are not zero; a sample of this metric is 1 if the request failed.
    let failed = match (metric("http_req_failed", "passes"), metric("http_req_failed", "value")) {
        (Some(passes), _) => passes as u64,
        (None, Some(share)) => (share * requests as f64).round() as u64,
        (None, None) => 0,
    };
    let bad_status = failed.min(requests);
    let elapsed_s = printed.figure(&["state", "testRunDurationMs"]).map(|ms| ms / 1e3);
    let figures = ["iterations", "dropped_iterations"];
    let figures = figures.into_iter().filter_map(|name| Some((name.to_owned(), metric(name, "count")?)));
    let report = PeerReport {
        connections: metric("vus_max", "max").or_else(|| metric("vus_max", "value")).unwrap_or(0.0) as u32,
        counts: Counts { ok: requests - bad_status, bad_status, ..Counts::default() },
        requests: Some(requests),
        elapsed_s: elapsed_s.or((rate > 0.0).then(|| requests as f64 / rate)),
        requests_per_s: Some(rate),
        bytes: Bytes {
            received: metric("data_received", "count").unwrap_or(0.0) as u64,
            ..Bytes::default()
        },
        figures: figures.collect(),
        note: "failed requests are those that k6 counts as http_req_failed; the connections are its virtual users"
            .to_owned(),
        ..PeerReport::default()
    };
    Ok(report
        .with_times(TIMES.map(|(name, key)| (name, metric("http_req_duration", key).map(|ms| ms * 1e6)))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_one_kind_in_every_form() {
        let metrics = r#"{"vus":{"type":"gauge","contains":"default","values":{"max":64,"value":64,"min":64}},
                "http_req_failed":{"type":"rate","contains":"default","values":{"rate":0.01,"passes":12,"fails":1188}},
                "http_reqs":{"type":"counter","contains":"default","values":{"count":1200,"rate":600.0}}}"#;
        let exported = r#"{"metrics":{"http_req_failed":{"passes":12,"fails":1188,"value":0.01},
            "http_reqs":{"count":1200,"rate":600.0}}}"#;
        for text in [metrics.to_owned(), format!("{{\"metrics\":{metrics}}}"), exported.to_owned()] {
            let report = read(&PrintedReport::from_output(&text)).unwrap();
            let counts = report.counts;
            assert_eq!((counts.ok, counts.bad_status, counts.io_failed), (1188, 12, 0));
            assert_eq!(report.duration_s(), Some(2.0));
        }
    }
}

//! k6 with a script that prints its metrics: `http_reqs` and `http_req_failed`.
//!
//! `speed/` writes the script ([`K6_SCRIPT`]) and fills in `{work}`, its folder. The length of a run is computed from
//! count and rate. No body is compared: the script discards it.

use super::peer::{PeerGenerator, PeerReport};

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
pub const K6: PeerGenerator = PeerGenerator {
    name: "k6",
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
    prints: "the metrics of its script as JSON",
    read,
};

#[derive(serde::Deserialize)]
struct K6Output {
    http_reqs: K6Metric<K6Counter>,
    http_req_failed: K6Metric<K6Failed>,
}

#[derive(serde::Deserialize)]
struct K6Metric<T> {
    values: T,
}

#[derive(serde::Deserialize)]
struct K6Counter {
    count: u64,
    rate: f64,
}

#[derive(serde::Deserialize)]
struct K6Failed {
    /// The number of failures: k6 counts a failure as a pass, since the condition of this metric is that a request
    /// failed.
    passes: u64,
}

fn read(text: &str, _status: u16) -> Option<PeerReport> {
    let printed: K6Output = serde_json::from_str(text).ok()?;
    let failed = printed.http_req_failed.values.passes;
    let K6Counter { count, rate } = printed.http_reqs.values;
    PeerReport::from_counts(count.saturating_sub(failed), 0, failed, count as f64 / rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object() {
        let report = read(
            r#"{"vus":{"type":"gauge","contains":"default","values":{"max":64,"value":64,"min":64}},
                "http_req_failed":{"type":"rate","contains":"default","values":{"rate":0.01,"passes":12,"fails":1188}},
                "http_reqs":{"type":"counter","contains":"default","values":{"count":1200,"rate":600.0}}}"#,
            200,
        )
        .unwrap();
        assert_eq!((report.counts.ok, report.counts.io_failed, report.elapsed_s), (1188, 12, 2.0));
    }
}

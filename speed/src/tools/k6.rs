//! k6 with a script that prints its metrics: `http_reqs` and `http_req_failed`.
//!
//! `workplace` writes the script into its folder, `peers` runs it. How long a run was is worked out from count
//! and rate. No body is compared: the script throws it away.

use super::Report;
use crate::plan::Command;

/// The script: one request after the other, its body thrown away, as by the others that do not look at it; at the end
/// the metrics as JSON on standard output, in place of the report for people.
pub const SCRIPT: &str = "\
import http from 'k6/http';
export const options = { discardResponseBodies: true };
export default function () {
    http.get(__ENV.URL);
}
export function handleSummary(data) {
    return { stdout: JSON.stringify(data.metrics) };
}
";

/// A closed loop of virtual users.
pub fn closed(connections: u32, seconds: u32) -> Command {
    let arguments = format!(
        "run --quiet --no-usage-report --vus {connections} --duration {seconds}s --env URL={{url}} {{work}}/k6.js"
    );
    Command::new("k6", &arguments)
}

#[derive(serde::Deserialize)]
struct Printed {
    http_reqs: Metric<Counter>,
    http_req_failed: Metric<Failed>,
}

#[derive(serde::Deserialize)]
struct Metric<T> {
    values: T,
}

#[derive(serde::Deserialize)]
struct Counter {
    count: u64,
    rate: f64,
}

#[derive(serde::Deserialize)]
struct Failed {
    /// How many did fail: k6 calls it a pass when the thing it counts, a failure, happened.
    passes: u64,
}

/// Reads the object.
pub fn read(output: &str) -> anyhow::Result<Report> {
    let printed: Printed = serde_json::from_str(output)?;
    let failures = printed.http_req_failed.values.passes;
    let Counter { count, rate } = printed.http_reqs.values;
    Ok(Report {
        requests: count.saturating_sub(failures),
        failures,
        wall_s: (rate > 0.0).then(|| count as f64 / rate),
        ..Report::default()
    })
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
        )
        .unwrap();
        assert_eq!((report.requests, report.failures, report.wall_s), (1188, 12, Some(2.0)));
    }
}

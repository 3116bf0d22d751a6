//! vegeta with `report -type=json`. Times are in nanoseconds; it is always an open loop.

use crate::peer::{Peer, never_first};
use crate::quantity::total;
use crate::report::{PeerReport, PrintedReport};
use paceline_record::{Bytes, Counts};
use serde::Deserialize;
use std::collections::BTreeMap;

/// `vegeta`.
pub const VEGETA: Peer = Peer {
    name: "vegeta",
    launch: None,
    prints: "its JSON (`report -type=json`)",
    is_first_line: never_first,
    is_report: |printed| printed.has(&["latencies", "status_codes"]),
    read,
};

#[derive(Deserialize)]
struct VegetaOutput {
    latencies: BTreeMap<String, f64>,
    #[serde(default)]
    bytes_in: BTreeMap<String, f64>,
    #[serde(default)]
    earliest: String,
    #[serde(default)]
    end: String,
    duration: f64,
    #[serde(default)]
    wait: f64,
    requests: u64,
    rate: f64,
    throughput: f64,
    status_codes: BTreeMap<String, u64>,
}

/// The times it prints, by our names.
const TIMES: [(&str, &str); 7] = [
    ("min", "min"),
    ("mean", "mean"),
    ("p50", "50th"),
    ("p90", "90th"),
    ("p95", "95th"),
    ("p99", "99th"),
    ("max", "max"),
];

fn read(printed: &PrintedReport<'_>) -> Result<PeerReport, String> {
    let mut output: VegetaOutput = printed.parse()?;
    // A request without a response has the status 0.
    let io_failed = total(output.status_codes.remove("0").into_iter());
    let mut report = PeerReport {
        started_at: output.earliest,
        finished_at: Some(output.end).filter(|end| !end.is_empty()),
        rate_per_s: Some(output.rate),
        requests: Some(output.requests),
        elapsed_s: Some((output.duration + output.wait) / 1e9),
        counts: Counts { io_failed, ..Counts::default() },
        bytes: Bytes {
            body: output.bytes_in.get("total").copied().unwrap_or(0.0) as u64,
            ..Bytes::default()
        },
        requests_per_s: Some(output.throughput),
        note: "times start when a worker takes the request, not when the request was due".to_owned(),
        ..PeerReport::default()
    };
    report.set_status(output.status_codes);
    Ok(report.with_times(TIMES.map(|(name, key)| (name, output.latencies.get(key).copied()))))
}

//! oha with `--output-format json`: `statusCodeDistribution`, `errorDistribution` and percentiles, in seconds.
//!
//! Requests in flight at the end are left out, as in oha's own figures: it does not wait for their responses.

use crate::peer::{Peer, PeerLaunch, never_first};
use crate::quantity::total;
use crate::report::{PeerReport, PrintedReport};
use paceline_record::{Bytes, Counts};
use serde::Deserialize;
use std::collections::BTreeMap;

/// `oha`.
pub const OHA: Peer = Peer {
    name: "oha",
    launch: Some(PeerLaunch {
        arguments: &[
            "--no-tui",
            "--output-format",
            "json",
            "-z",
            "{duration_s}s",
            "-c",
            "{connections}",
            "{url}",
        ],
        required: None,
        version_flag: "--version",
        version_prefix: "oha ",
        timeout_ns: None,
    }),
    prints: "its JSON (`--no-tui --output-format json`)",
    is_first_line: never_first,
    is_report: |printed| printed.has(&["summary", "statusCodeDistribution"]),
    read,
};
/// The name in its output for a request that its own end cut off.
const CUT_OFF: &str = "aborted due to deadline";

/// The fields used of its output. A number that is not available is null.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OhaOutput {
    summary: BTreeMap<String, Option<f64>>,
    #[serde(rename = "latencyPercentiles", default)]
    percentiles: BTreeMap<String, Option<f64>>,
    status_code_distribution: BTreeMap<String, u64>,
    #[serde(default)]
    error_distribution: BTreeMap<String, u64>,
}

fn read(printed: &PrintedReport<'_>) -> Result<PeerReport, String> {
    let output: OhaOutput = printed.parse()?;
    let summary = |key: &str| output.summary.get(key).copied().flatten();
    let broken = output.error_distribution.iter().filter(|(error, _)| *error != CUT_OFF);
    let elapsed_s = summary("total").filter(|s| *s > 0.0).ok_or("summary.total is missing")?;
    let percentiles =
        output.percentiles.iter().filter_map(|(name, s)| Some((name.replace('.', "_"), (*s)? * 1e9)));
    let mut report = PeerReport {
        elapsed_s: Some(elapsed_s),
        counts: Counts { io_failed: total(broken.map(|(_, count)| *count)), ..Counts::default() },
        bytes: Bytes { body: summary("totalData").unwrap_or(0.0) as u64, ..Bytes::default() },
        requests_per_s: Some(summary("requestsPerSec").ok_or("summary.requestsPerSec is missing")?),
        times_ns: percentiles.collect(),
        ..PeerReport::default()
    };
    let times = [("min", "fastest"), ("mean", "average"), ("max", "slowest")];
    let times = times.map(|(name, key)| (name, summary(key).map(|s| s * 1e9)));
    report.set_status(output.status_code_distribution);
    Ok(report.with_times(times))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The output of oha 1.16.0 for four connections over a second; histograms and rates left out.
    const PRINTED: &str = r#"{
  "summary": {
    "successRate": 1.0,
    "total": 1.001664655,
    "slowest": 0.049116784,
    "fastest": 0.007065824,
    "average": 0.04607667040476191,
    "requestsPerSec": 87.85375380945233,
    "totalData": 1008,
    "sizePerRequest": 12,
    "sizePerSec": 1006.3248163628176
  },
  "latencyPercentiles": {
    "p10": 0.047787579,
    "p50": 0.047949579,
    "p99": 0.049116784,
    "p99.9": null
  },
  "statusCodeDistribution": {
    "200": 68,
    "500": 16
  },
  "errorDistribution": {
    "aborted due to deadline": 4,
    "Connection refused (os error 111)": 2
  }
}"#;

    #[test]
    fn oha_output_is_read() {
        let report = read(&PrintedReport::from_output(PRINTED)).unwrap().expecting(200);
        assert_eq!((report.counts.ok, report.counts.bad_status, report.counts.io_failed), (68, 16, 2));
        assert_eq!((report.counts.scheduled, report.counts.ended()), (86, 86));
        assert_eq!((report.duration_s(), report.bytes.body), (Some(1.001664655), 1008));
        let percentiles: Vec<_> = report.percentiles_ns().into_iter().collect();
        let expected = [("p10_ns", 47_787_579), ("p50_ns", 47_949_579), ("p99_ns", 49_116_784)];
        assert_eq!(percentiles, expected.map(|(name, ns)| (name.to_owned(), ns)));
    }

    #[test]
    fn its_text_is_rejected() {
        assert!(read(&PrintedReport::from_output("Summary:\n  Success rate: 100.00%\n")).is_err());
    }
}

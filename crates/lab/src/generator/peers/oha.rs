//! oha with `--output-format json`: `statusCodeDistribution`, `errorDistribution` and percentiles.
//!
//! Requests in flight at the end are left out, as in oha's own figures: it does not wait for their responses.

use super::peer::{PeerGenerator, PeerReport};
use paceline_record::{Bytes, Counts};
use serde::Deserialize;
use std::collections::BTreeMap;

/// `oha`.
pub const OHA: PeerGenerator = PeerGenerator {
    name: "oha",
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
    prints: "its JSON (`--no-tui --output-format json`)",
    read,
};
/// The name in its output for a request that its own end cut off.
const CUT_OFF: &str = "aborted due to deadline";

/// The fields used of its output. A number that is not available is null.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OhaOutput {
    summary: OhaSummary,
    /// In seconds.
    #[serde(rename = "latencyPercentiles", default)]
    percentiles: BTreeMap<String, Option<f64>>,
    status_code_distribution: BTreeMap<String, u64>,
    error_distribution: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OhaSummary {
    total: f64,
    total_data: u64,
}

fn read(text: &str, status: u16) -> Option<PeerReport> {
    let printed: OhaOutput = serde_json::from_str(text).ok()?;
    let total = |counts: &mut dyn Iterator<Item = u64>| counts.fold(0, u64::saturating_add);
    let answers = total(&mut printed.status_code_distribution.values().copied());
    let ok = printed.status_code_distribution.get(&status.to_string()).copied().unwrap_or_default();
    let broken = printed.error_distribution.iter().filter(|(error, _)| *error != CUT_OFF);
    let mut counts = Counts {
        ok,
        bad_status: answers.saturating_sub(ok),
        io_failed: total(&mut broken.map(|(_, count)| *count)),
        ..Counts::default()
    };
    counts.scheduled = counts.ended();
    let percentiles = printed.percentiles.iter();
    let nanos = |s: f64| (s * 1e9).round() as u64;
    Some(PeerReport {
        counts,
        status: printed.status_code_distribution.clone(),
        elapsed_s: Some(printed.summary.total).filter(|elapsed_s| *elapsed_s > 0.0)?,
        bytes: Bytes { body: printed.summary.total_data, ..Bytes::default() },
        percentiles_ns: percentiles.filter_map(|(p, s)| Some((format!("{p}_ns"), nanos((*s)?)))).collect(),
    })
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
        let report = read(PRINTED, 200).unwrap();
        assert_eq!((report.counts.ok, report.counts.bad_status, report.counts.io_failed), (68, 16, 2));
        assert_eq!((report.counts.scheduled, report.counts.ended()), (86, 86));
        assert_eq!((report.elapsed_s, report.bytes.body, report.status["500"]), (1.001664655, 1008, 16));
        let percentiles: Vec<_> =
            report.percentiles_ns.iter().map(|(name, ns)| (name.as_str(), *ns)).collect();
        assert_eq!(percentiles, [("p10_ns", 47_787_579), ("p50_ns", 47_949_579), ("p99_ns", 49_116_784)]);
    }

    #[test]
    fn other_output_is_rejected() {
        assert_eq!(read("Summary:\n  Success rate: 100.00%\n", 200), None);
        assert_eq!(read("{}", 200), None);
    }
}

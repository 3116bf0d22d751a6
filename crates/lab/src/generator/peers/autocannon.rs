//! autocannon with `--json`: `2xx`, `statusCodeStats`, `errors` and percentiles in whole milliseconds.

use super::peer::{PeerGenerator, PeerReport};
use serde::Deserialize;
use std::collections::BTreeMap;

/// `autocannon` from npm.
pub const AUTOCANNON: PeerGenerator = PeerGenerator {
    name: "autocannon",
    arguments: &["--json", "-c", "{connections}", "-d", "{duration_s}", "{url}"],
    required: None,
    version_flag: "--version",
    version_prefix: "autocannon v",
    timeout_ns: Some(10_000_000_000),
    prints: "its JSON (`--json`)",
    read,
};

/// The fields used of its output.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AutocannonOutput {
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

fn read(text: &str, status: u16) -> Option<PeerReport> {
    let printed: AutocannonOutput = serde_json::from_str(text).ok()?;
    let responses = printed.status_code_stats.values().fold(0_u64, |sum, one| sum.saturating_add(one.count));
    let ok = printed.status_code_stats.get(&status.to_string()).map_or(0, |one| one.count);
    PeerReport::from_counts(ok, responses - ok, printed.errors, printed.duration)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result() {
        // autocannon 9.0.0, shortened.
        let text = r#"{"url":"http://127.0.0.1:18081/","connections":8,"pipelining":1,"duration":1.21,"errors":3,
            "timeouts":1,"non2xx":2,"2xx":72,"statusCodeStats":{"200":{"count":72},"404":{"count":2}},
            "latency":{"average":125.16,"p50":98,"p99":689}}"#;
        let report = read(text, 200).unwrap();
        let counts = report.counts;
        assert_eq!((counts.ok, counts.bad_status, counts.io_failed, report.elapsed_s), (72, 2, 3, 1.21));
    }
}

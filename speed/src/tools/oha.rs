//! oha with `--output-format json`: `statusCodeDistribution` and `errorDistribution`.
//!
//! For the comparison in `peers`; rounds have a reader of their own, `crates/lab/src/generator/oha.rs`. Percentiles are
//! not read here, and how many threads it takes is left to itself.

use super::Report;
use crate::plan::Command;
use std::collections::BTreeMap;

/// A closed loop; as many threads as cores it may use.
pub fn closed(connections: u32, seconds: u32) -> Command {
    Command::new("oha", &format!("--no-tui --output-format json -z {seconds}s -c {connections} {{url}}"))
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Printed {
    summary: Summary,
    status_code_distribution: BTreeMap<u16, u64>,
    #[serde(default)]
    error_distribution: BTreeMap<String, u64>,
}

#[derive(serde::Deserialize)]
struct Summary {
    total: f64,
}

/// Reads the object. Requests that the end of the run cut off are no failures of anybody.
pub fn read(output: &str) -> anyhow::Result<Report> {
    let printed: Printed = serde_json::from_str(output)?;
    let is_good = |status: u16| (200..400).contains(&status);
    let statuses = &printed.status_code_distribution;
    let count =
        |good: bool| statuses.iter().filter(|(s, _)| is_good(**s) == good).map(|(_, n)| n).sum::<u64>();
    let errors = printed.error_distribution.iter().filter(|(why, _)| !why.contains("deadline"));
    Ok(Report {
        requests: count(true),
        failures: count(false) + errors.map(|(_, n)| n).sum::<u64>(),
        wall_s: Some(printed.summary.total),
        ..Report::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object() {
        let report = read(
            r#"{"summary":{"successRate":1.0,"total":1.003,"requestsPerSec":9000.0},
                "latencyPercentiles":{"p50":0.001},
                "statusCodeDistribution":{"200":8990,"404":7},
                "errorDistribution":{"aborted due to deadline":64,"connection refused":3}}"#,
        )
        .unwrap();
        assert_eq!((report.requests, report.failures, report.wall_s), (8990, 10, Some(1.003)));
    }
}

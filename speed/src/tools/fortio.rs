//! Fortio with `-json -`: `RetCodes` and `ActualDuration`.
//!
//! Only `peers` runs it, where it is installed or was built (`--with-built`). The object holds a histogram too, which
//! is not read: the question there is what a request costs.

use super::Report;
use crate::plan::Command;
use std::collections::BTreeMap;

/// A closed loop: `-qps 0` is as fast as it goes.
pub fn closed(connections: u32, seconds: u32) -> Command {
    Command::new(
        "fortio",
        &format!("load -quiet -json - -qps 0 -c {connections} -t {seconds}s -allow-initial-errors {{url}}"),
    )
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Printed {
    /// Nanoseconds.
    actual_duration: u64,
    /// By status; -1 for no answer.
    ret_codes: BTreeMap<String, u64>,
}

/// Reads the object.
pub fn read(output: &str) -> anyhow::Result<Report> {
    let printed: Printed = serde_json::from_str(output)?;
    let count = |good: bool| -> u64 {
        let codes = printed.ret_codes.iter();
        codes.filter(|(status, _)| status.starts_with(['2', '3']) == good).map(|(_, n)| n).sum()
    };
    Ok(Report {
        requests: count(true),
        failures: count(false),
        wall_s: Some(printed.actual_duration as f64 / 1e9),
        ..Report::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object() {
        let report = read(
            r#"{"RunType":"HTTP","ActualDuration":1002000000,"ActualQPS":9000.1,"NumThreads":64,
                "RetCodes":{"200":9000,"-1":4,"503":2},"Sizes":{"Count":9006}}"#,
        )
        .unwrap();
        assert_eq!((report.requests, report.failures, report.wall_s), (9000, 6, Some(1.002)));
    }
}

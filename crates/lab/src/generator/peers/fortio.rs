//! Fortio with `-json -`: `RetCodes` and `ActualDuration`.
//!
//! The object holds a histogram too, which is not read: its buckets are coarse.

use super::peer::{PeerGenerator, PeerReport};
use std::collections::BTreeMap;

/// `fortio`; `-qps 0` sets no rate limit.
pub const FORTIO: PeerGenerator = PeerGenerator {
    name: "fortio",
    arguments: &[
        "load",
        "-quiet",
        "-json",
        "-",
        "-qps",
        "0",
        "-c",
        "{connections}",
        "-t",
        "{duration_s}s",
        "-allow-initial-errors",
        "{url}",
    ],
    required: None,
    version_flag: "version",
    version_prefix: "",
    timeout_ns: Some(3_000_000_000),
    prints: "its JSON (`-json -`)",
    read,
};

#[derive(serde::Deserialize)]
#[serde(rename_all = "PascalCase")]
struct FortioOutput {
    /// Nanoseconds.
    actual_duration: u64,
    /// By status; -1 for no response.
    ret_codes: BTreeMap<String, u64>,
}

fn read(text: &str, _status: u16) -> Option<PeerReport> {
    let printed: FortioOutput = serde_json::from_str(text).ok()?;
    let count = |is_counted: fn(&str) -> bool| -> u64 {
        let codes = printed.ret_codes.iter().filter(|(status, _)| is_counted(status));
        codes.fold(0, |sum, (_, count)| sum.saturating_add(*count))
    };
    let ok = count(|status| status.starts_with(['2', '3']));
    let bad_status = count(|status| status.starts_with(['1', '4', '5']));
    let failed = count(|status| !status.starts_with(['1', '2', '3', '4', '5']));
    PeerReport::from_counts(ok, bad_status, failed, printed.actual_duration as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object() {
        let report = read(
            r#"{"RunType":"HTTP","ActualDuration":1002000000,"ActualQPS":9000.1,"NumThreads":64,
                "RetCodes":{"200":9000,"-1":4,"503":2},"Sizes":{"Count":9006}}"#,
            200,
        )
        .unwrap();
        let counts = report.counts;
        assert_eq!((counts.ok, counts.bad_status, counts.io_failed, report.elapsed_s), (9000, 2, 4, 1.002));
    }
}

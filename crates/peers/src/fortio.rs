//! Fortio with `-json -`: `RetCodes`, `ActualDuration` and a histogram, of which only the mean and the ends are read:
//! its buckets are coarse, and so its percentiles.

use crate::peer::{Peer, PeerLaunch, never_first};
use crate::quantity::total;
use crate::report::{PeerReport, PrintedReport};
use paceline_record::Counts;
use serde::Deserialize;
use std::collections::BTreeMap;

/// `fortio`; `-qps 0` sets no rate limit.
pub const FORTIO: Peer = Peer {
    name: "fortio",
    launch: Some(PeerLaunch {
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
    }),
    prints: "its JSON (`-json -`)",
    is_first_line: never_first,
    is_report: |printed| printed.has(&["RetCodes", "ActualDuration"]),
    read,
};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct FortioOutput {
    #[serde(default, rename = "URL")]
    url: String,
    #[serde(default)]
    num_threads: u32,
    /// The rate of all threads, or `max`.
    #[serde(default, rename = "RequestedQPS")]
    requested_rate: String,
    /// Nanoseconds.
    actual_duration: u64,
    /// By status; -1 for no response.
    ret_codes: BTreeMap<String, u64>,
}

fn read(printed: &PrintedReport<'_>) -> Result<PeerReport, String> {
    let output: FortioOutput = printed.parse()?;
    let is_status = |status: &str| status.starts_with(['1', '2', '3', '4', '5']);
    let (status, without): (BTreeMap<_, _>, BTreeMap<_, _>) =
        output.ret_codes.into_iter().partition(|(status, _)| is_status(status));
    let mut report = PeerReport {
        url: output.url,
        protocol: "http/1.1".to_owned(),
        connections: output.num_threads,
        rate_per_s: output.requested_rate.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate > 0.0),
        elapsed_s: Some(output.actual_duration as f64 / 1e9),
        counts: Counts { io_failed: total(without.into_values()), ..Counts::default() },
        requests_per_s: printed.figure(&["ActualQPS"]),
        note: "fortio's percentiles are left out: they are interpolated in coarse buckets; times start when a request \
               is sent, not when it was due"
            .to_owned(),
        ..PeerReport::default()
    };
    report.set_status(status);
    let time = |key| printed.figure(&["DurationHistogram", key]).map(|s| s * 1e9);
    Ok(report.with_times([
        ("min", time("Min")),
        ("mean", time("Avg")),
        ("stddev", time("StdDev")),
        ("max", time("Max")),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object() {
        let text = r#"{"RunType":"HTTP","ActualDuration":1002000000,"ActualQPS":9000.1,"NumThreads":64,
                "RetCodes":{"200":9000,"-1":4,"503":2},"Sizes":{"Count":9006},
                "DurationHistogram":{"Min":0.0001,"Max":0.02,"Avg":0.007,"StdDev":0.001}}"#;
        let report = read(&PrintedReport::from_output(text)).unwrap();
        let counts = report.counts;
        assert_eq!((counts.ok, counts.bad_status, counts.io_failed), (9000, 2, 4));
        assert_eq!((report.duration_s(), report.times_ns["max"]), (Some(1.002), 20e6));
        let rate = |requested: &str| {
            let text = text.replace("\"RunType\"", &format!("\"RequestedQPS\":\"{requested}\",\"RunType\""));
            read(&PrintedReport::from_output(&text)).unwrap().rate_per_s
        };
        assert_eq!((report.rate_per_s, rate("max")), (None, None));
        assert_eq!((rate("8"), rate("1e+06")), (Some(8.0), Some(1e6)));
    }
}

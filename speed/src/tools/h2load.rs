//! h2load: `requests: N total, ... N succeeded, N failed, N errored, N timeout`.
//!
//! One thread; held to HTTP/1.1 beside the others in `peers`, with HTTP/2 in `http2`. The line by status is not read: an
//! error's is among the failed ones.

use super::{Report, number_after};
use crate::plan::Command;
use anyhow::Context as _;

/// A closed loop over HTTP/1.1.
pub fn closed(connections: u32, seconds: u32) -> Command {
    Command::new("h2load", &format!("--h1 -t 1 -c {connections} -D {seconds} {{url}}"))
}

/// A closed loop over HTTP/2 without TLS, with so many streams on each connection and all but unlimited windows.
pub fn streams(connections: u32, streams: u32, seconds: u32) -> Command {
    Command::new("h2load", &format!("-t 1 -c {connections} -m {streams} -w 30 -W 30 -D {seconds} {{url}}"))
}

/// The same at a rate for each connection.
pub fn streams_at_rate(connections: u32, streams: u32, rate_per_s: u32, seconds: u32) -> Command {
    let load = format!("-t 1 -c {connections} -m {streams} --rps={rate_per_s} -D {seconds}");
    Command::new("h2load", &format!("{load} -w 30 -W 30 {{url}}"))
}

/// Reads the summary.
pub fn read(output: &str) -> anyhow::Result<Report> {
    let line = output.lines().find(|line| line.starts_with("requests: ")).context("no line of requests")?;
    let counted = |label: &str| -> anyhow::Result<u64> {
        let part = line.split([',', ':']).map(str::trim).find(|part| part.ends_with(label));
        let number = part.and_then(|part| part.split_whitespace().next());
        Ok(number.with_context(|| format!("nothing {label:?} in {line:?}"))?.parse()?)
    };
    // `failed` contains `errored` and `timeout`.
    Ok(Report {
        requests: counted("succeeded")?,
        failures: counted("failed")?,
        wall_s: Some(number_after(output, "finished in")?),
        ..Report::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary() {
        let report = read(
            "Stopped all clients for thread #0\n\nfinished in 1.02s, 24805.00 req/s, 2.39MB/s\n\
             requests: 24815 total, 24869 started, 24815 done, 24805 succeeded, 10 failed, 4 errored, 6 timeout\n\
             status codes: 24805 2xx, 0 3xx, 0 4xx, 0 5xx\n",
        )
        .unwrap();
        assert_eq!((report.requests, report.failures, report.wall_s), (24_805, 10, Some(1.02)));
    }
}

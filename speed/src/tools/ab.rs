//! ApacheBench: `Complete requests:` and `Failed requests:`.
//!
//! A row of `peers`. It keeps a connection only where the server says `Connection: keep-alive`, which that experiment's
//! server does. Its percentiles and its own rate are not read: the rate follows from count and time.

use super::{Report, number_after, number_after_or_zero};
use crate::plan::Command;

/// A closed loop with keep-alive. `-t` sets `-n` to 50,000, so that a larger `-n` must come after it; `ab` keeps 32
/// bytes for each.
pub fn closed(connections: u32, seconds: u32) -> Command {
    Command::new("ab", &format!("-q -k -c {connections} -t {seconds} -n 5000000 {{url}}"))
}

/// Reads the report.
pub fn read(output: &str) -> anyhow::Result<Report> {
    let complete = number_after(output, "Complete requests:")? as u64;
    // Only there when there were some; they are among the complete ones, as the failed are.
    let bad = number_after_or_zero(output, "Non-2xx responses:") as u64;
    let failures = number_after(output, "Failed requests:")? as u64 + bad;
    Ok(Report {
        requests: complete.saturating_sub(failures),
        failures,
        wall_s: Some(number_after(output, "Time taken for tests:")?),
        ..Report::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "\
Concurrency Level:      64
Time taken for tests:   1.002 seconds
Complete requests:      30874
Failed requests:        0
Keep-Alive requests:    30874
Total transferred:      3118274 bytes
Requests per second:    30827.70 [#/sec] (mean)
";

    #[test]
    fn reports() {
        let report = read(REPORT).unwrap();
        assert_eq!((report.requests, report.failures, report.wall_s), (30_874, 0, Some(1.002)));
        let bad = REPORT
            .replace("Failed requests:        0", "Failed requests:        70\nNon-2xx responses:      4");
        let report = read(&bad).unwrap();
        assert_eq!((report.requests, report.failures), (30_800, 74));
    }
}

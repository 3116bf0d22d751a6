//! ApacheBench: `Complete requests:` and `Failed requests:`.
//!
//! It keeps a connection only if the server sends `Connection: keep-alive`. Its percentiles and its own rate are not
//! read: they are rounded to milliseconds, and the rate follows from count and time.

use super::peer::{PeerGenerator, PeerReport, count_after, number_after};

/// `ab`. `-t` sets `-n` to 50,000, so that a larger `-n` must come after it; `ab` keeps 32 bytes for each.
pub const AB: PeerGenerator = PeerGenerator {
    name: "ab",
    arguments: &["-q", "-k", "-c", "{connections}", "-t", "{duration_s}", "-n", "5000000", "{url}"],
    required: None,
    version_flag: "-V",
    version_prefix: "This is ApacheBench, Version ",
    timeout_ns: Some(30_000_000_000),
    prints: "its report",
    read,
};

fn read(text: &str, _status: u16) -> Option<PeerReport> {
    let complete = number_after(text, "Complete requests:")? as u64;
    // Printed only if there were some; they are part of the complete ones, like the failed ones.
    let bad_status = count_after(text, "Non-2xx responses:");
    let failed = number_after(text, "Failed requests:")? as u64;
    let ok = complete.saturating_sub(failed).saturating_sub(bad_status);
    PeerReport::from_counts(ok, bad_status, failed, number_after(text, "Time taken for tests:")?)
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
        let report = read(REPORT, 200).unwrap();
        assert_eq!((report.counts.ok, report.counts.io_failed, report.elapsed_s), (30_874, 0, 1.002));
        let bad = REPORT
            .replace("Failed requests:        0", "Failed requests:        70\nNon-2xx responses:      4");
        let counts = read(&bad, 200).unwrap().counts;
        assert_eq!((counts.ok, counts.bad_status, counts.io_failed), (30_800, 4, 70));
    }
}

//! h2load: `requests: N total, ... N succeeded, N failed, N errored, N timeout`.
//!
//! The line by status is not read: the failed ones include responses with an error status.

use super::peer::{PeerGenerator, PeerReport, number_after};

/// `h2load`, which speaks HTTP/2 without `--h1`.
pub const H2LOAD: PeerGenerator = PeerGenerator {
    name: "h2load",
    arguments: &["--h1", "-t", "{threads}", "-c", "{connections}", "-D", "{duration_s}", "{url}"],
    required: Some("--h1"),
    version_flag: "--version",
    version_prefix: "h2load ",
    timeout_ns: None,
    prints: "its summary",
    read,
};

fn read(text: &str, _status: u16) -> Option<PeerReport> {
    let line = text.lines().find(|line| line.starts_with("requests: "))?;
    let counted = |label: &str| -> Option<u64> {
        let part = line.split([',', ':']).map(str::trim).find(|part| part.ends_with(label))?;
        part.split_whitespace().next()?.parse().ok()
    };
    // `failed` includes `errored` and `timeout`.
    PeerReport::from_counts(counted("succeeded")?, 0, counted("failed")?, number_after(text, "finished in")?)
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
            200,
        )
        .unwrap();
        assert_eq!((report.counts.ok, report.counts.io_failed, report.elapsed_s), (24_805, 10, 1.02));
    }
}

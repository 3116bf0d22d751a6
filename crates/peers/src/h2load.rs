//! h2load: `requests: N total, ... N succeeded, N failed, N errored, N timeout`.
//!
//! The line by status is not read: the failed ones include responses with an error status. Its table of times differs
//! between versions and is not read either.

use crate::peer::{Peer, PeerLaunch};
use crate::quantity::{count, number, time_ns};
use crate::report::{PeerReport, PrintedReport};
use paceline_record::Counts;

/// `h2load`, which speaks HTTP/2 without `--h1`.
pub const H2LOAD: Peer = Peer {
    name: "h2load",
    launch: Some(PeerLaunch {
        arguments: &["--h1", "-t", "{threads}", "-c", "{connections}", "-D", "{duration_s}", "{url}"],
        required: Some("--h1"),
        version_flag: "--version",
        version_prefix: "h2load ",
        timeout_ns: None,
    }),
    prints: "its summary",
    is_first_line: |line| line.starts_with("finished in ") && line.contains(" req/s"),
    is_report: |printed| printed.text.contains("finished in ") && printed.text.contains(" succeeded, "),
    read,
};

/// Reads the first words of `finished in 1.02s, 24805.00 req/s, ...` and the counts.
fn read(printed: &PrintedReport<'_>) -> Result<PeerReport, String> {
    let lines = printed.lines();
    let finished: Vec<&str> = lines.rest("finished in")?.split(',').collect();
    let [elapsed, rate, ..] = finished.as_slice() else {
        return Err("the line \"finished in\" has no rate".to_owned());
    };
    let requests = lines.rest("requests: ")?;
    let counted = |label: &str| {
        let part = requests.split(',').find_map(|part| part.trim().strip_suffix(label));
        part.map_or_else(|| Err(format!("the number of {label} requests is missing")), count)
    };
    Ok(PeerReport {
        elapsed_s: Some(time_ns(elapsed)? / 1e9),
        // `failed` includes `errored` and `timeout`.
        counts: Counts { ok: counted("succeeded")?, io_failed: counted("failed")?, ..Counts::default() },
        requests_per_s: Some(number(rate.trim().trim_end_matches("req/s"))?),
        note: "h2load does not print its URL and its number of connections; failed requests include bad statuses"
            .to_owned(),
        ..PeerReport::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary() {
        let text = "Stopped all clients for thread #0\n\nfinished in 1.02s, 24805.00 req/s, 2.39MB/s\n\
             requests: 24815 total, 24869 started, 24815 done, 24805 succeeded, 10 failed, 4 errored, 6 timeout\n\
             status codes: 24805 2xx, 0 3xx, 0 4xx, 0 5xx\n";
        let report = read(&PrintedReport::from_output(text)).unwrap();
        assert_eq!((report.counts.ok, report.counts.io_failed), (24_805, 10));
        assert_eq!((report.duration_s(), report.requests_per_s), (Some(1.02), Some(24_805.0)));
    }
}

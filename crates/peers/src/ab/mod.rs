//! ApacheBench: its command line (`command.rs`), its report (`write.rs`), and what such a report says: labels with
//! values, and tables of times in whole milliseconds.
//!
//! It keeps a connection only if the server sends `Connection: keep-alive`.

mod command;
mod write;

pub use command::AbCommand;

use crate::peer::{Peer, PeerLaunch};
use crate::quantity::number;
use crate::report::{Lines, PeerReport, PrintedReport};
use crate::tool::{FirstResponse, ListedRequest, MAX_LISTED, ToolCommand, ToolOutput};
use paceline_job::Job;
use paceline_record::{Bytes, Counts, Run};
use std::collections::BTreeMap;
use std::time::Duration;

/// `ab`. `-t` sets `-n` to 50,000, so that a larger `-n` must come after it; `ab` keeps 32 bytes for each.
pub const AB: Peer = Peer {
    name: "ab",
    launch: Some(PeerLaunch {
        arguments: &["-q", "-k", "-c", "{connections}", "-t", "{duration_s}", "-n", "5000000", "{url}"],
        required: None,
        version_flag: "-V",
        version_prefix: "This is ApacheBench, Version ",
        timeout_ns: Some(30_000_000_000),
    }),
    prints: "its report",
    is_first_line: |line| line.starts_with("Server Software:"),
    is_report: |printed| printed.text.contains("Concurrency Level:"),
    read,
};

/// The status if a name has no address: APR's error 670002, modulo 256.
const UNRESOLVED: u8 = 50;

fn read(printed: &PrintedReport<'_>) -> Result<PeerReport, String> {
    let lines = printed.lines();
    let complete = lines.count("Complete requests:")?;
    let (counts, other_failures) = counts(&lines, complete)?;
    let port = lines.word("Server Port:").unwrap_or("80");
    let path = lines.word("Document Path:").unwrap_or("/");
    // ab prints an IPv6 address without its brackets.
    let host = lines.word("Server Hostname:")?;
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    let scheme = if lines.find("SSL/TLS Protocol:")?.is_some() { "https" } else { "http" };
    let kept = lines.find("Keep-Alive requests:")?.map(|(_, rest)| number(rest)).transpose()?;
    let figures = [("kept_alive_requests", kept), ("receive_failures", other_failures)];
    let (first, last) =
        (lines.0.first().map_or(0, |line| line.0), lines.0.iter().rfind(|(_, line)| line.contains('%')));
    let report = PeerReport {
        url: format!("{scheme}://{host}:{port}{path}"),
        protocol: "http/1.0".to_owned(),
        server: lines.find("Server Software:")?.map(|(_, rest)| rest.to_owned()).unwrap_or_default(),
        connections: u32::try_from(lines.count("Concurrency Level:")?).unwrap_or(u32::MAX),
        requests: Some(complete),
        elapsed_s: Some(lines.number("Time taken for tests:")?),
        counts,
        bytes: Bytes {
            sent: lines.count("Total body sent:").unwrap_or(0),
            received: lines.count("Total transferred:")?,
            body: lines.count("HTML transferred:")?,
        },
        requests_per_s: Some(lines.number("Requests per second:")?),
        times_ns: times(&lines)?,
        figures: figures.into_iter().filter_map(|(name, figure)| Some((name.to_owned(), figure?))).collect(),
        place: format!("lines {first} to {}", last.map_or(first, |line| line.0)),
        note: "ab prints times in whole milliseconds".to_owned(),
        ..PeerReport::default()
    };
    Ok(report.with_rate_of_responses())
}

/// How the requests ended, and failures to receive, if there were any. "Complete" includes failed requests; failures
/// without a breakdown were I/O errors.
///
/// ab counts a response of another status and of another length than the first in both places (`read_connection` and
/// `close_connection` in `support/ab.c`), and does not say how many those are. Only the lengths beyond the number of
/// bad statuses are certain to be other responses; an error page is rarely as long as the right answer.
fn counts(lines: &Lines<'_>, complete: u64) -> Result<(Counts, Option<f64>), String> {
    let failed = lines.count("Failed requests:")?;
    let bad_status = lines.count_or_zero("Non-2xx responses:")?;
    let [connect, receive, length, exceptions] = breakdown(lines)?;
    let bad_body = length.saturating_sub(bad_status);
    let other_than_length = failed.saturating_sub(length);
    let counts = Counts {
        ok: complete.saturating_sub(other_than_length).saturating_sub(bad_status).saturating_sub(bad_body),
        bad_status,
        bad_body,
        connect_failed: connect,
        io_failed: failed.saturating_sub(connect.saturating_add(length)),
        ..Counts::default()
    };
    let others = receive.saturating_add(exceptions);
    Ok((counts, (others > 0).then_some(others as f64)))
}

/// The failures under the names that ab prints in brackets.
fn breakdown(lines: &Lines<'_>) -> Result<[u64; 4], String> {
    let Some((_, line)) = lines.find("(Connect:")? else { return Ok([0; 4]) };
    let numbers: Vec<u64> =
        line.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect();
    Ok([0, 1, 2, 3].map(|place| numbers.get(place).copied().unwrap_or(0)))
}

fn times(lines: &Lines<'_>) -> Result<BTreeMap<String, f64>, String> {
    let mut times_ns = BTreeMap::new();
    for (at, line) in &lines.0 {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["Total:", min, mean, stddev, _, max] => {
                for (name, ms) in [("min", min), ("mean", mean), ("stddev", stddev), ("max", max)] {
                    times_ns.insert(name.to_owned(), number(ms)? * 1e6);
                }
            }
            [percent, ms] if percent.ends_with('%') && *percent != "100%" => {
                let ms = number(ms).map_err(|problem| format!("line {at}: {problem}"))?;
                times_ns.insert(format!("p{}", percent.trim_end_matches('%')), ms * 1e6);
            }
            _ => {}
        }
    }
    Ok(times_ns)
}

impl ToolCommand for AbCommand {
    fn job(&self) -> Job {
        self.job()
    }

    fn begin(&self) -> ToolOutput {
        ToolOutput::of_stdout(write::begin(self))
    }

    fn wants_first_response(&self) -> bool {
        true
    }

    fn time_limit(&self) -> Option<Duration> {
        self.time_limit()
    }

    fn unreachable(&self, why: &str, errno: i32) -> ToolOutput {
        let stderr = format!("apr_socket_recv: {why} ({errno})\n");
        let status = u8::try_from(errno).unwrap_or(1);
        ToolOutput { stdout: write::begin(self), stderr, status, ..ToolOutput::default() }
    }

    fn unresolved(&self, host: &str, why: &str) -> ToolOutput {
        let stderr = format!("apr_sockaddr_info_get() for {host}: {why} (670002)\n");
        ToolOutput { stdout: write::begin(self), stderr, status: UNRESOLVED, ..ToolOutput::default() }
    }

    fn report(&self, run: &Run, first: Option<&FirstResponse>) -> ToolOutput {
        write::report(self, run, first)
    }

    fn max_listed(&self) -> usize {
        if self.gnuplot.is_some() { MAX_LISTED } else { 0 }
    }

    fn list(&self, run: &Run, requests: Vec<ListedRequest>, report: &mut ToolOutput) {
        write::list(self, run, requests, report);
    }

    fn record_file(&self) -> Option<&str> {
        self.record_file()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "\
Server Software:
Server Hostname:        127.0.0.1
Server Port:            20000

Document Path:          /hello
Document Length:        12 bytes

Concurrency Level:      64
Time taken for tests:   1.002 seconds
Complete requests:      30874
Failed requests:        0
Keep-Alive requests:    30874
Total transferred:      3118274 bytes
HTML transferred:       370488 bytes
Requests per second:    30827.70 [#/sec] (mean)
";

    #[test]
    fn the_url_has_the_scheme_of_the_run() {
        let url = |text: &str| read(&PrintedReport::from_output(text)).unwrap().url;
        assert_eq!(url(REPORT), "http://127.0.0.1:20000/hello");
        let tls = "443\nSSL/TLS Protocol:       TLSv1.3,TLS_AES_256_GCM_SHA384,2048,256\n";
        assert_eq!(url(&REPORT.replace("20000\n", tls)), "https://127.0.0.1:443/hello");
        assert_eq!(url(&REPORT.replace("127.0.0.1", "::1")), "http://[::1]:20000/hello");
    }

    #[test]
    fn failures_by_kind() {
        let read = |text: &str| read(&PrintedReport::from_output(text)).unwrap().expecting(200);
        let report = read(REPORT);
        assert_eq!(
            (report.counts.ok, report.counts.io_failed, report.duration_s()),
            (30_874, 0, Some(1.002))
        );
        let bad = REPORT
            .replace("Failed requests:        0", "Failed requests:        70\nNon-2xx responses:      4");
        let counts = read(&bad).counts;
        assert_eq!((counts.ok, counts.bad_status, counts.io_failed), (30_800, 4, 70));
        let length = bad.replace("70\n", "70\n   (Connect: 0, Receive: 0, Length: 70, Exceptions: 0)\n");
        let ends = |text: &str| {
            let counts = read(text).counts;
            (counts.ok, counts.bad_status, counts.bad_body, counts.io_failed)
        };
        // An error page has another length too: at least 66 lengths are those of other responses.
        assert_eq!(ends(&length), (30_804, 4, 66, 0));
        let pages = length.replace("Non-2xx responses:      4", "Non-2xx responses:      70");
        assert_eq!(ends(&pages), (30_804, 70, 0, 0));
        let broken = "5\n   (Connect: 0, Receive: 3, Length: 2";
        let as_long = pages.replace("70\n   (Connect: 0, Receive: 0, Length: 70", broken);
        assert_eq!(ends(&as_long), (30_801, 70, 0, 3));
    }
}

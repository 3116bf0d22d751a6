//! hey: its command line (`command.rs`), its summary (`write.rs`), and what such a summary says: labels with values,
//! and tables of percentiles, statuses and errors.
//!
//! Statuses, errors and the histogram are lines that begin with a number in brackets, or have one second, and differ in
//! the text after it. It prints no version, so a round does not run it.

mod command;
mod flags;
mod write;

pub use command::HeyCommand;

use crate::peer::{Peer, PeerLaunch};
use crate::quantity::{count, number, total};
use crate::report::{PeerReport, PrintedReport};
use crate::tool::{FirstResponse, ListedRequest, MAX_LISTED, ToolCommand, ToolOutput};
use paceline_job::Job;
use paceline_record::{Bytes, Counts, Run};
use std::collections::BTreeMap;

/// `hey`, on all cores that it may use.
pub const HEY: Peer = Peer {
    name: "hey",
    launch: Some(PeerLaunch {
        arguments: &["-z", "{duration_s}s", "-c", "{connections}", "{url}"],
        required: None,
        version_flag: "-version",
        version_prefix: "hey ",
        timeout_ns: Some(20_000_000_000),
    }),
    prints: "its summary",
    is_first_line: |line| line == "Summary:",
    is_report: |printed| {
        let has = |label| printed.text.contains(label);
        // oha's text has these labels too, with other units and a rate of success before them.
        has("Slowest:") && has("Requests/sec:") && !has("Success rate:")
    },
    read,
};

fn read(printed: &PrintedReport<'_>) -> Result<PeerReport, String> {
    let lines = printed.lines();
    let mut times_ns = BTreeMap::new();
    for (label, name) in [("Slowest:", "max"), ("Fastest:", "min"), ("Average:", "mean")] {
        // Nothing was answered: NaN.
        if lines.word(label)? != "NaN" {
            times_ns.insert(name.to_owned(), lines.number(label)? * 1e9);
        }
    }
    let (mut status, mut broken) = (BTreeMap::new(), Vec::new());
    for (at, line) in &lines.0 {
        let words: Vec<&str> = line.split_whitespace().collect();
        let wrong = |problem: String| format!("line {at}: {problem}");
        match words.as_slice() {
            [percent, "in", time, "secs"] if percent.ends_with('%') => {
                let name = format!("p{}", percent.trim_end_matches('%').replace('.', "_"));
                times_ns.insert(name, number(time).map_err(wrong)? * 1e9);
            }
            [code, answers, "responses"] if code.starts_with('[') => {
                status.insert(code.trim_matches(['[', ']']).to_owned(), count(answers).map_err(wrong)?);
            }
            // The table of errors: a number in brackets and a text.
            [number, _, ..] if number.starts_with('[') && number.ends_with(']') => {
                broken.push(count(number.trim_matches(['[', ']'])).map_err(wrong)?);
            }
            _ => {}
        }
    }
    let body = lines.find("Total data:")?.map_or(Ok(0), |(_, rest)| count(rest.trim_end_matches("bytes")))?;
    let mut report = PeerReport {
        protocol: "http/1.1".to_owned(),
        elapsed_s: Some(lines.number("Total:")?),
        counts: Counts { io_failed: total(broken.into_iter()), ..Counts::default() },
        bytes: Bytes { body, ..Bytes::default() },
        requests_per_s: Some(lines.number("Requests/sec:")?),
        times_ns,
        note:
            "hey keeps the times of at most 1,000,000 requests and does not print its number of connections"
                .to_owned(),
        ..PeerReport::default()
    };
    report.set_status(status);
    // `runReporter` in `requester/report.go` counts each result, errors too.
    Ok(report.with_rate_of_responses())
}

impl ToolCommand for HeyCommand {
    fn job(&self) -> Job {
        self.job()
    }

    fn begin(&self) -> ToolOutput {
        ToolOutput::default()
    }

    fn unreachable(&self, why: &str, _errno: i32) -> ToolOutput {
        write::unreachable(self, why)
    }

    fn unresolved(&self, host: &str, _why: &str) -> ToolOutput {
        write::unresolved(self, host)
    }

    fn report(&self, run: &Run, _first: Option<&FirstResponse>) -> ToolOutput {
        write::report(self, run)
    }

    fn max_listed(&self) -> usize {
        if self.lists_requests { MAX_LISTED } else { 0 }
    }

    fn list(&self, _: &Run, requests: Vec<ListedRequest>, report: &mut ToolOutput) {
        report.stdout = write::csv(&requests);
    }

    fn record_file(&self) -> Option<&str> {
        self.record_file()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUMMARY: &str = "
Summary:
  Total:\t1.0012 secs
  Slowest:\t0.0120 secs
  Fastest:\t0.0001 secs
  Average:\t0.0048 secs
  Requests/sec:\t13284.6581

  Total data:\t159600 bytes

Response time histogram:
  0.000 [1]\t|
  0.003 [3863]\t|■■■■■■■■

Status code distribution:
  [200]\t13300 responses
  [503]\t12 responses

Error distribution:
  [64]\tGet \"http://127.0.0.1:1/\": dial tcp 127.0.0.1:1: connect: connection refused
";

    #[test]
    fn a_summary() {
        let report = read(&PrintedReport::from_output(SUMMARY)).unwrap();
        let counts = report.counts;
        assert_eq!((counts.ok, counts.bad_status, counts.io_failed), (13_300, 12, 64));
        assert_eq!((report.duration_s(), report.bytes.body), (Some(1.0012), 159_600));
        assert_eq!(report.requests_per_s, Some(13_284.658_1 * (13_312.0 / 13_376.0)));
        let refused = SUMMARY.replace("[200]\t13300 responses", "").replace("[503]\t12 responses", "");
        assert_eq!(read(&PrintedReport::from_output(&refused)).unwrap().requests_per_s, Some(0.0));
        let nothing = SUMMARY.replace("0.0120", "NaN").replace("0.0001", "NaN").replace("0.0048", "NaN");
        assert!(read(&PrintedReport::from_output(&nothing)).unwrap().times_ns.is_empty());
    }

    #[test]
    fn percentiles_are_read_from_either_version() {
        for percent in ["95%", "95%%"] {
            let distribution = format!("\nLatency distribution:\n  {percent} in 0.0120 secs\n");
            let summary = format!("{SUMMARY}{distribution}");
            let times_ns = read(&PrintedReport::from_output(&summary)).unwrap().times_ns;
            assert_eq!(times_ns.get("p95"), Some(&12e6), "{percent}");
        }
    }
}

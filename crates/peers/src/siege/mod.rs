//! siege 4: its command line (`command.rs`), its report (`write.rs`), and what such a report says: a text of labels, or
//! the same figures as one object with `json_output`.
//!
//! Through 4.1.5 the text has seconds, and the longest and shortest time have no unit; later it has milliseconds. A
//! transaction with a 4xx status is neither successful nor failed. `speed/` writes the settings ([`SIEGE_SETTINGS`])
//! and fills in `{work}`, its folder: the user's own settings are neither read nor written.

mod command;
mod settings;
mod urls;
mod write;

pub use command::SiegeCommand;

use crate::peer::{Peer, PeerLaunch};
use crate::quantity::time_ns;
use crate::report::{Lines, PeerReport, PrintedReport};
use crate::tool::{FirstResponse, ToolCommand, ToolOutput};
use paceline_job::Job;
use paceline_record::{Bytes, Counts, Run};
use std::collections::BTreeMap;

/// Its settings: without `connection = keep-alive` every request has a separate connection.
pub const SIEGE_SETTINGS: &str = "connection = keep-alive\nprotocol = HTTP/1.1\nlimit = 1024\nparser = false\n\
    logging = false\nshow-logfile = false\nverbose = false\njson_output = true\n";

/// `siege`: a closed loop, a thread for each connection. It writes a template of its settings into its home folder.
pub const SIEGE: Peer = Peer {
    name: "siege",
    launch: Some(PeerLaunch {
        arguments: &["-R", "{work}/siegerc", "-b", "-c", "{connections}", "-t", "{duration_s}S", "{url}"],
        required: None,
        version_flag: "--version",
        version_prefix: "SIEGE ",
        timeout_ns: Some(30_000_000_000),
    }),
    prints: "its report",
    is_first_line: |line| line.starts_with("Transactions:"),
    is_report: |printed| {
        printed.has(&["transactions"])
            || printed.text.contains("Transactions:") && printed.text.contains("Availability:")
    },
    read: |printed| {
        let lines = printed.lines();
        let source = if printed.json.is_some() { Figures::Json(printed) } else { Figures::Text(&lines) };
        source.report()
    },
};

/// Where the figures are, by their label in the text: the key in JSON is the same in lower case.
enum Figures<'a> {
    Json(&'a PrintedReport<'a>),
    Text(&'a Lines<'a>),
}

impl Figures<'_> {
    fn number(&self, label: &str) -> Result<f64, String> {
        match self {
            Self::Json(printed) => {
                let key = label.to_lowercase().replace(' ', "_");
                printed.figure(&[&key]).ok_or_else(|| format!("{key} is missing"))
            }
            Self::Text(lines) => lines.number(&format!("{label}:")),
        }
    }

    fn time_ns(&self, label: &str) -> Result<f64, String> {
        match self {
            Self::Json(_) => self.number(label).map(|seconds| seconds * 1e9),
            Self::Text(lines) => {
                let words = lines.rest(&format!("{label}:"))?.split_whitespace();
                time_ns(&words.collect::<Vec<_>>().join(" "))
            }
        }
    }

    fn report(&self) -> Result<PeerReport, String> {
        let (transactions, ok) =
            (self.number("Transactions")? as u64, self.number("Successful transactions")? as u64);
        let failed = self.number("Failed transactions")? as u64;
        let body = (self.number("Data transferred")? * 1024.0 * 1024.0) as u64;
        let times =
            [("Response time", "mean"), ("Longest transaction", "max"), ("Shortest transaction", "min")];
        let times = times.into_iter().map(|(label, name)| Ok((name.to_owned(), self.time_ns(label)?)));
        Ok(PeerReport {
            protocol: "http/1.1".to_owned(),
            requests: Some(transactions.saturating_add(failed)),
            elapsed_s: Some(self.number("Elapsed time")?),
            counts: Counts {
                ok,
                bad_status: transactions.saturating_sub(ok),
                io_failed: failed,
                ..Counts::default()
            },
            bytes: Bytes { body, ..Bytes::default() },
            requests_per_s: Some(self.number("Transaction rate")?),
            times_ns: times.collect::<Result<BTreeMap<_, _>, String>>()?,
            note: "siege measures in steps of 10 ms and does not print its number of users".to_owned(),
            ..PeerReport::default()
        })
    }
}

impl ToolCommand for SiegeCommand {
    fn job(&self) -> Job {
        self.job()
    }

    fn begin(&self) -> ToolOutput {
        write::begin(self)
    }

    fn unreachable(&self, why: &str, _errno: i32) -> ToolOutput {
        write::unreachable(self, &[&format!("socket: unable to connect: {why}")])
    }

    fn unresolved(&self, _host: &str, why: &str) -> ToolOutput {
        write::unreachable(self, &["Address resolution failed with the following error:", why])
    }

    fn report(&self, run: &Run, _first: Option<&FirstResponse>) -> ToolOutput {
        write::report(self, run)
    }

    fn record_file(&self) -> Option<&str> {
        self.record_file()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_after_some_words() {
        let text = "New configuration template added to .siege\nRun siege -C to view the current settings in that file\n\
             {\t\"transactions\":\t\t\t        2053,\n\t\"availability\":\t\t\t      100.00,\n\
             \t\"elapsed_time\":\t\t\t        0.78,\n\t\"data_transferred\":\t\t        1.00,\n\t\"response_time\":\t\t        0.01,\n\
             \t\"transaction_rate\":\t\t     2632.05,\n\t\"successful_transactions\":\t        2051,\n\
             \t\"failed_transactions\":\t\t           3,\n\t\"longest_transaction\":\t\t        0.05,\n\
             \t\"shortest_transaction\":\t\t        0.00\n}\n";
        let report = (SIEGE.read)(&PrintedReport::from_output(text)).unwrap();
        let counts = report.counts;
        assert_eq!((counts.ok, counts.bad_status, counts.io_failed), (2051, 2, 3));
        assert_eq!((report.duration_s(), report.times_ns["max"]), (Some(0.78), 50e6));
    }

    #[test]
    fn times_have_units_in_later_versions() {
        let text = |response: &str, longest: &str| {
            format!(
                "Transactions:\t\t        2 hits\nElapsed time:\t\t 0.50 secs\nData transferred:\t 0.00 MB\n\
                 Response time:\t\t {response}\nTransaction rate:\t 4.00 trans/sec\nSuccessful transactions: 2\n\
                 Failed transactions:\t 0\nLongest transaction:\t {longest}\nShortest transaction:\t {longest}\n"
            )
        };
        for text in [text("0.02 secs", "0.03"), text("20.00 ms", "30.00 ms")] {
            let times = (SIEGE.read)(&PrintedReport::from_output(&text)).unwrap().times_ns;
            assert_eq!((times["mean"], times["max"]), (20e6, 30e6));
        }
    }
}

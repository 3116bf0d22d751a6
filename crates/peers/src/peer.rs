//! The description of a program: how it is started, and how its report is read.

use crate::report::{PeerReport, PrintedReport};

/// A program whose report can be read.
#[derive(Debug)]
pub struct Peer {
    /// The program's file name.
    pub name: &'static str,
    /// How a closed loop is started; `None` if it has none.
    pub launch: Option<PeerLaunch>,
    /// A description of the report that it must print.
    pub prints: &'static str,
    /// Whether a line is the first of its report; never true for a report in JSON.
    pub is_first_line: fn(&str) -> bool,
    /// A quick check whether a text is its report.
    pub is_report: fn(&PrintedReport<'_>) -> bool,
    /// Parses its report. The error says what is missing or wrong.
    pub read: fn(&PrintedReport<'_>) -> Result<PeerReport, String>,
}

/// How a program is started for a closed loop with keep-alive over HTTP/1.1.
#[derive(Debug)]
pub struct PeerLaunch {
    /// Its arguments. `{url}`, `{connections}`, `{duration_s}` and `{threads}` are filled in; a round rejects a peer with
    /// others.
    pub arguments: &'static [&'static str],
    /// An argument without which it does not speak HTTP/1.1.
    pub required: Option<&'static str>,
    /// The flag to print its version.
    pub version_flag: &'static str,
    /// The text before the version, at the beginning of a line.
    pub version_prefix: &'static str,
    /// Its default timeout of a response, in nanoseconds; `None` where it waits until its own end.
    pub timeout_ns: Option<u64>,
}

/// For reports in JSON, which do not begin with a line.
pub(crate) fn never_first(_line: &str) -> bool {
    false
}

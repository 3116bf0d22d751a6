//! The description of a third-party load generator, and its parsed output.
//!
//! Each sibling module describes one peer; the list of them is in `peers`. `third_party` turns the report into a run of
//! a round; `speed/` decides what it shows of it.

use paceline_record::{Bytes, Counts};
use std::collections::BTreeMap;

/// A program whose output can be read.
#[derive(Debug)]
pub struct PeerGenerator {
    /// The program's file name.
    pub name: &'static str,
    /// The arguments for a closed loop with keep-alive over HTTP/1.1. `{url}`, `{connections}`, `{duration_s}` and
    /// `{threads}` are filled in; a round rejects a peer with others.
    pub arguments: &'static [&'static str],
    /// An argument without which it does not speak HTTP/1.1.
    pub required: Option<&'static str>,
    /// The flag to print its version.
    pub version_flag: &'static str,
    /// The text before the version, at the beginning of a line.
    pub version_prefix: &'static str,
    /// Its default timeout of a response, in nanoseconds; `None` where it waits until its own end.
    pub timeout_ns: Option<u64>,
    /// A description of the output that it must print.
    pub prints: &'static str,
    /// Parses its output of a run with this expected status.
    pub read: fn(&str, u16) -> Option<PeerReport>,
}

/// The report of a program on its run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PeerReport {
    /// How the requests ended.
    pub counts: Counts,
    /// Responses by status, if the program counts them.
    pub status: BTreeMap<String, u64>,
    /// The duration of the load.
    pub elapsed_s: f64,
    /// The bytes transferred, as far as they are known.
    pub bytes: Bytes,
    /// Percentiles of its service times, in nanoseconds, by keys such as `p99_ns`.
    pub percentiles_ns: BTreeMap<String, u64>,
}

impl PeerReport {
    /// Counts of requests with a right answer or a failure, all that the program counts. `None` if the time is 0: no
    /// rate can be derived.
    pub(super) fn from_counts(ok: u64, bad_status: u64, io_failed: u64, elapsed_s: f64) -> Option<Self> {
        let mut counts = Counts { ok, bad_status, io_failed, ..Counts::default() };
        counts.scheduled = counts.ended();
        let is_time = elapsed_s.is_finite() && elapsed_s > 0.0;
        is_time.then_some(Self { counts, elapsed_s, ..Self::default() })
    }
}

/// The number that follows `label` anywhere in the text; spaces between are skipped.
pub(super) fn number_after(text: &str, label: &str) -> Option<f64> {
    let rest = text.split_once(label)?.1.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// The same as a whole number, or 0 if the program omits the line because the count is 0.
pub(super) fn count_after(text: &str, label: &str) -> u64 {
    number_after(text, label).unwrap_or_default() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_after_labels() {
        assert_eq!(number_after("a: 1\nTime taken:   4.25 s", "Time taken:"), Some(4.25));
        assert_eq!(number_after("Time taken: soon", "Time taken:"), None);
        assert_eq!(number_after("", "Time taken:"), None);
        assert_eq!(count_after("", "x"), 0);
    }
}

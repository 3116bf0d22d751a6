//! What is known of a load generator of another make, and what it printed of a run.
//!
//! Every module beside this one describes one peer; the list of them is `peers`. How a run in a round is made of it is
//! `foreign`'s, and what `speed/` shows of it is decided there.

use paceline_record::{Bytes, Counts};
use std::collections::BTreeMap;

/// A program whose output can be read.
#[derive(Debug)]
pub struct Peer {
    /// The program's file name.
    pub name: &'static str,
    /// What follows the program for a closed loop with keep-alive over HTTP/1.1. `{url}`, `{connections}`, `{duration_s}`
    /// and `{threads}` are filled in; a round refuses a peer that needs more.
    pub arguments: &'static [&'static str],
    /// An argument without which it does not speak HTTP/1.1.
    pub required: Option<&'static str>,
    /// What makes it print its version.
    pub version_flag: &'static str,
    /// What stands before the version, at the beginning of a line.
    pub version_prefix: &'static str,
    /// How long it waits for a response unless it is set otherwise, in nanoseconds; none where it waits to its end.
    pub timeout_ns: Option<u64>,
    /// What it must have printed, for people.
    pub prints: &'static str,
    /// Reads what it printed of a run in which this status was expected.
    pub read: fn(&str, u16) -> Option<PeerReport>,
}

/// What a program printed of its run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PeerReport {
    /// How the requests ended.
    pub counts: Counts,
    /// Responses by status, where it counts them.
    pub status: BTreeMap<String, u64>,
    /// How long it loaded.
    pub elapsed_s: f64,
    /// What was transferred, as far as it is known.
    pub bytes: Bytes,
    /// Percentiles of its service times, in nanoseconds, by keys such as `p99_ns`.
    pub percentiles_ns: BTreeMap<String, u64>,
}

impl PeerReport {
    /// Of requests that were answered well or failed, which is all that the program counts. None without a time: nothing
    /// can be derived from it.
    pub(super) fn of(ok: u64, bad_status: u64, io_failed: u64, elapsed_s: f64) -> Option<Self> {
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

/// The same as a whole number, or 0 where the program leaves the line out because nothing happened.
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

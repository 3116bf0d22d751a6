//! The generators that are compared, and how the output of each is read.
//!
//! The floor programs and Paceline have a module each; everything of the others comes from the lab's list of peers. CPU
//! time is never taken from a tool's own report where the kernel can be asked (wait4).

pub mod floor;
pub mod paceline;

use anyhow::Context as _;
use paceline_lab::peers::{Peer, PeerReport};
use std::collections::BTreeMap;

/// A generator, by the form of its output.
#[derive(Clone, Copy, Debug)]
pub enum Tool {
    /// A floor program: CPU time of the whole process.
    FloorWhole,
    /// A floor program: CPU time from when its connections were there.
    FloorConnected,
    /// Paceline: CPU time of the whole process.
    PacelineWhole,
    /// Paceline: CPU time of the window.
    PacelineWindow,
    /// One of another make.
    Peer(&'static Peer),
}

/// What a tool says of its run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Requests answered well.
    pub requests: u64,
    /// Requests that were not.
    pub failures: u64,
    /// What they were counted over, in seconds, where it reports it.
    pub wall_s: Option<f64>,
    /// User and system CPU seconds to take instead of those of the whole process.
    pub cpu_s: Option<(f64, f64)>,
    /// Peak resident memory to take instead of what wait4 says.
    pub rss_bytes_peak: Option<u64>,
    /// What only this tool reports.
    pub extra: BTreeMap<&'static str, f64>,
    /// What it says of its own run.
    pub remarks: Vec<String>,
}

/// The status that every server here answers with.
const STATUS: u16 = 200;

impl Tool {
    /// Reads what the tool printed on standard output.
    pub fn read(self, output: &str) -> anyhow::Result<Report> {
        let report = match self {
            Tool::FloorWhole => floor::read_whole(output),
            Tool::FloorConnected => floor::read_connected(output),
            Tool::PacelineWhole => paceline::read_whole(output),
            Tool::PacelineWindow => paceline::read_window(output),
            Tool::Peer(peer) => {
                let report = (peer.read)(output, STATUS).map(of_peer);
                report.with_context(|| format!("{} did not print {}", peer.name, peer.prints))
            }
        };
        report.with_context(|| format!("the output of {self:?} was not understood"))
    }
}

/// What a peer printed, as this comparison shows it.
fn of_peer(report: PeerReport) -> Report {
    let named = [
        ("ms_p50", "p50_ns"),
        ("ms_p85", "p85_ns"),
        ("ms_p95", "p95_ns"),
        ("ms_p99", "p99_ns"),
        ("ms_p99_9", "p99.9_ns"),
    ];
    let found =
        named.iter().filter_map(|(name, key)| Some((*name, *report.percentiles_ns.get(*key)? as f64 / 1e6)));
    Report {
        requests: report.counts.ok,
        failures: report.counts.scheduled - report.counts.ok,
        wall_s: Some(report.elapsed_s),
        extra: found.collect(),
        ..Report::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_lab::peers::{PEERS, peer};

    #[test]
    fn a_peer_is_read() {
        let text = "  700 requests in 1.00s, 1.00KB read\n  Non-2xx or 3xx responses: 38\nRequests/sec:    350.00\n\
                    percentile 99.9 15863 us\n";
        let report = Tool::Peer(peer("wrk").unwrap()).read(text).unwrap();
        assert_eq!((report.requests, report.failures, report.wall_s), (662, 38, Some(2.0)));
        assert_eq!(report.extra, BTreeMap::from([("ms_p99_9", 15.863)]));
    }

    #[test]
    fn other_text_is_an_error_in_every_format() {
        let ours = [Tool::FloorWhole, Tool::FloorConnected, Tool::PacelineWhole, Tool::PacelineWindow];
        for tool in ours.into_iter().chain(PEERS.map(Tool::Peer)) {
            for text in ["", "{}", "Segmentation fault"] {
                assert!(tool.read(text).is_err(), "{tool:?} of {text:?}");
            }
        }
    }
}

//! Other load generators: how each is started, and what its report says; for some of them also the reverse, their
//! command line as a job and a run as their report (`paceline wrk`).
//!
//! There is one module for each; a rule about its figures is written there and nowhere else. Rounds run them as
//! generators (`lab`), `speed/` compares Paceline with them, and `store import` reads their reports. To add one, write a
//! module here and add a line to [`PEERS`].

mod ab;
mod autocannon;
mod fortio;
mod getopt;
mod h2load;
mod hey;
mod httperf;
mod k6;
mod oha;
mod quantity;
mod report;
mod siege;
mod tool;
mod vegeta;
mod wrk;

pub use k6::K6_SCRIPT;
pub use quantity::{bytes, count, number, time_ns, total};
pub use report::{PeerReport, PrintedReport};
pub use siege::SIEGE_SETTINGS;
pub use tool::{FirstResponse, ToolCommand, ToolOutput, tool_command, tools};

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

/// Every peer.
pub const PEERS: [&Peer; 12] = [
    &wrk::WRK,
    &oha::OHA,
    &h2load::H2LOAD,
    &ab::AB,
    &hey::HEY,
    &fortio::FORTIO,
    &siege::SIEGE,
    &httperf::HTTPERF,
    &k6::K6,
    &autocannon::AUTOCANNON,
    &wrk::WRK2,
    &vegeta::VEGETA,
];

/// The peer with this name.
pub fn peer(name: &str) -> Option<&'static Peer> {
    PEERS.into_iter().find(|peer| peer.name == name)
}

/// Those that can be started for a closed loop, with how.
pub fn launchable() -> impl Iterator<Item = (&'static Peer, &'static PeerLaunch)> {
    PEERS.into_iter().filter_map(|peer| Some((peer, peer.launch.as_ref()?)))
}

/// For reports in JSON, which do not begin with a line.
fn never_first(_line: &str) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_text_is_not_a_report() {
        for peer in PEERS {
            for text in ["", "{}", "Segmentation fault", "unable to connect"] {
                let printed = PrintedReport::from_output(text);
                assert!(!(peer.is_report)(&printed), "{} recognised {text:?}", peer.name);
                assert!((peer.read)(&printed).is_err(), "{} read {text:?}", peer.name);
            }
        }
    }

    #[test]
    fn names_are_unique() {
        let names: std::collections::BTreeSet<&str> = PEERS.iter().map(|peer| peer.name).collect();
        assert_eq!(names.len(), PEERS.len());
    }
}

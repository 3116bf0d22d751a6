//! Other load generators: how each is started, and what its report says; for some of them also the reverse, their
//! command line as a job and a run as their report (`paceline wrk`).
//!
//! There is one module for each; a rule about its figures is written there and nowhere else. Rounds run them as
//! generators (`lab`), `speed/` compares Paceline with them, and `store import` reads their reports. To add one, write
//! a module here and add a line to [`PEERS`].

mod ab;
mod answers;
mod autocannon;
mod fortio;
mod getopt;
mod h2load;
mod hey;
mod httperf;
mod k6;
mod oha;
mod peer;
mod quantity;
mod report;
mod siege;
mod tool;
mod tools;
mod vegeta;
mod wrk;
mod zrk;

pub use k6::K6_SCRIPT;
pub use peer::{Peer, PeerLaunch};
pub use quantity::{bytes, count, number, time_ns, total};
pub use report::{PeerReport, PrintedReport};
pub use siege::SIEGE_SETTINGS;
pub use tool::{FirstResponse, ListedRequest, LogRow, ToolCommand, ToolInputs, ToolOutput};
pub use tools::{tool_command, tools};
pub use wrk::{SampleValues, ScriptCall, ScriptErrors, ScriptResults, run_results};

/// Every peer.
pub const PEERS: [&Peer; 13] = [
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
    &zrk::ZRK,
];

/// The peer with this name.
pub fn peer(name: &str) -> Option<&'static Peer> {
    PEERS.into_iter().find(|peer| peer.name == name)
}

/// Those that can be started for a closed loop, with how.
pub fn launchable() -> impl Iterator<Item = (&'static Peer, &'static PeerLaunch)> {
    PEERS.into_iter().filter_map(|peer| Some((peer, peer.launch.as_ref()?)))
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

//! Third-party load generators with known output: one module each, and the list of them.
//!
//! Rounds run them as generators (`third_party`), `speed/` compares Paceline with them. To add one, write a module here
//! and add a line to [`PEERS`].

mod ab;
mod autocannon;
mod fortio;
mod h2load;
mod hey;
mod httperf;
mod k6;
mod oha;
mod peer;
mod siege;
mod wrk;

pub use k6::K6_SCRIPT;
pub use peer::{PeerGenerator, PeerReport};
pub use siege::SIEGE_SETTINGS;

/// Every peer.
pub const PEERS: [&PeerGenerator; 11] = [
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
];

/// The peer with this name.
pub fn peer(name: &str) -> Option<&'static PeerGenerator> {
    PEERS.into_iter().find(|peer| peer.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_text_is_not_a_report() {
        for peer in PEERS {
            for text in ["", "{}", "Segmentation fault", "unable to connect"] {
                assert_eq!((peer.read)(text, 200), None, "{} read {text:?}", peer.name);
            }
        }
    }

    #[test]
    fn names_are_unique() {
        let names: std::collections::BTreeSet<&str> = PEERS.iter().map(|peer| peer.name).collect();
        assert_eq!(names.len(), PEERS.len());
    }
}

//! Every peer there is, in the loop they all know: closed, keep-alive, a short body.
//!
//! They come from the lab's list, with their arguments. One that is not installed is left out by `runner`. The ratios have no goal: who is cheaper is shown, not demanded.

use super::{Settings, contender, floor_closed, paceline_closed, peer_closed};
use crate::plan::{CPU_US, Comparison, FAILURES, Plan, RATE, RSS_MB, ServerSetting, USER_US};
use crate::tools::Tool;
use paceline_lab::peers::PEERS;

const CONNECTIONS: u32 = 64;

/// One row for each generator.
pub fn plan(settings: &Settings) -> Plan {
    let seconds = settings.seconds;
    let server = ServerSetting { says_keep_alive: true, ..ServerSetting::body(12) };
    let peers = PEERS.map(|peer| {
        let command = peer_closed(peer, CONNECTIONS, seconds);
        // siege writes a template of its settings into its home.
        (peer.name, Tool::Peer(peer), command.with("HOME", "{work}/home"))
    });
    let ours = [
        ("floor", Tool::FloorWhole, floor_closed(CONNECTIONS, "", seconds)),
        ("paceline", Tool::PacelineWhole, paceline_closed(CONNECTIONS, "", seconds)),
    ];
    let rows = ours.into_iter().chain(peers);
    let beside = |to| Comparison { of: "paceline", to: Some(to), column: CPU_US, goal: None };
    Plan {
        name: "peers",
        title: format!("Every peer, closed loop, {CONNECTIONS} connections, 12-byte body"),
        about: "Each with keep-alive, on one core, otherwise as it comes. The response says `Connection: keep-alive`, because \
                `ab` speaks HTTP/1.0 and waits for it. `httperf` polls without sleeping, and so uses its whole core. Where the \
                server's core is the limit, a generator's rate says nothing about it; its CPU time does.",
        contenders: rows.map(|(name, tool, command)| contender(name, tool, command, &server)).collect(),
        rounds_most: None,
        columns: vec![CPU_US, USER_US, RATE, RSS_MB, FAILURES],
        comparisons: std::iter::once("floor").chain(PEERS.map(|peer| peer.name)).map(beside).collect(),
        derive: None,
    }
}

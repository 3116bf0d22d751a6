//! Every peer there is, in the loop they all know: closed, keep-alive, a short body.
//!
//! A new peer has a line here, and a file in `tools` that says how it is asked and read. One that is not installed is
//! left out by `runner`. The ratios have no goal: who is cheaper is shown, not demanded.

use super::{Settings, contender, floor_closed, paceline_closed};
use crate::plan::{CPU_US, Comparison, FAILURES, Plan, RATE, RSS_MB, ServerSetting, USER_US};
use crate::tools::{Tool, ab, fortio, h2load, hey, httperf, k6, oha, siege, wrk};

const CONNECTIONS: u32 = 64;

/// One row for each generator.
pub fn plan(settings: &Settings) -> Plan {
    let seconds = settings.seconds;
    let server = ServerSetting { says_keep_alive: true, ..ServerSetting::body(12) };
    let peers = [
        ("wrk", Tool::Wrk, wrk::closed(CONNECTIONS, seconds)),
        ("h2load --h1", Tool::H2load, h2load::closed(CONNECTIONS, seconds)),
        ("ab -k", Tool::Ab, ab::closed(CONNECTIONS, seconds)),
        ("httperf", Tool::Httperf, httperf::closed(CONNECTIONS, seconds)),
        ("fortio", Tool::Fortio, fortio::closed(CONNECTIONS, seconds)),
        ("oha", Tool::Oha, oha::closed(CONNECTIONS, seconds)),
        ("hey", Tool::Hey, hey::closed(CONNECTIONS, seconds)),
        ("k6", Tool::K6, k6::closed(CONNECTIONS, seconds)),
        ("siege", Tool::Siege, siege::closed(CONNECTIONS, seconds)),
    ];
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
        comparisons: [
            "floor",
            "wrk",
            "h2load --h1",
            "ab -k",
            "httperf",
            "fortio",
            "oha",
            "hey",
            "k6",
            "siege",
        ]
        .map(beside)
        .into(),
        derive: None,
    }
}

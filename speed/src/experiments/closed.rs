//! Closed loop, a short body: what a request costs the generator.
//!
//! Taken twice, over 64 and over 256 connections. The goals bound CPU time against the floor's and wrk's, and user time
//! by itself. No percentile is shown: those are held against the truth in `freeze`.

use super::{Settings, contender, floor_closed, known, paceline_closed, peer_closed};
use crate::plan::{CORE_US, CPU_US, Comparison, Goal, Plan, RATE, ServerSetting, USER_US};
use crate::tools::Tool;

/// Floor, Paceline and wrk over so many connections.
pub fn plan(name: &'static str, connections: u32, settings: &Settings) -> Plan {
    let wrk = known("wrk");
    let (server, seconds) = (ServerSetting::body(12), settings.seconds);
    let cpu = |to, bound| Comparison {
        of: "paceline",
        to: Some(to),
        column: CPU_US,
        goal: Some(Goal::AtMost(bound)),
    };
    Plan {
        name,
        title: format!("Closed loop, {connections} connections, 12-byte body"),
        about: "As fast as the connections go. Paceline compares every response byte for byte and records it; the floor \
                only counts bytes; wrk parses and records, and compares nothing.",
        contenders: vec![
            contender("floor", Tool::FloorWhole, floor_closed(connections, "", seconds), &server),
            contender("paceline", Tool::PacelineWhole, paceline_closed(connections, "", seconds), &server),
            contender("wrk", Tool::Peer(wrk), peer_closed(wrk, connections, seconds), &server),
        ],
        rounds_most: None,
        columns: vec![CPU_US, USER_US, CORE_US, RATE],
        comparisons: vec![
            cpu("floor", 1.03),
            cpu("wrk", 0.73),
            Comparison { of: "paceline", to: None, column: USER_US, goal: Some(Goal::AtMost(0.35)) },
        ],
        derive: None,
    }
}

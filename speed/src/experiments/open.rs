//! Open loop over 10,000 connections: the load under which other generators become the bottleneck.
//!
//! The goals bound CPU time against the floor's, the rate that must be kept, and memory. No other generator has a row:
//! the peers in `tools` are asked for closed loops alone. How late a request goes out is `pacing`'s question.

use super::{Settings, contender, floor_open, paceline_open};
use crate::plan::{ACHIEVED, CPU_US, Comparison, FAILURES, Goal, Plan, RSS_MB, ServerSetting, USER_US};
use crate::tools::Tool;

const CONNECTIONS: u32 = 10_000;
const RATE_PER_S: u32 = 30_000;

/// The bare open loop and Paceline, both asleep between sends.
pub fn plan(settings: &Settings) -> Plan {
    let (server, seconds) = (ServerSetting::body(2053), settings.seconds * 2);
    let floor = floor_open(CONNECTIONS, RATE_PER_S, seconds);
    let paceline = paceline_open(CONNECTIONS, RATE_PER_S, "sleep", seconds);
    Plan {
        name: "open-10k",
        title: "Open loop, 10,000 connections, 30,000/s offered, 2 kB body, `--pace sleep`".to_owned(),
        about: "CPU time from when the connections are there, divided by the requests answered in it: for Paceline the \
                window's, by its own record. Both sleep in the kernel until the next send is due.",
        contenders: vec![
            contender("floor", Tool::FloorConnected, floor, &server),
            contender("paceline", Tool::PacelineWindow, paceline, &server),
        ],
        rounds_most: None,
        columns: vec![ACHIEVED, CPU_US, USER_US, RSS_MB, FAILURES],
        comparisons: vec![
            Comparison { of: "paceline", to: Some("floor"), column: CPU_US, goal: Some(Goal::AtMost(1.10)) },
            Comparison {
                of: "paceline",
                to: None,
                column: ACHIEVED,
                goal: Some(Goal::AtLeast(f64::from(RATE_PER_S) * 0.999)),
            },
            Comparison { of: "paceline", to: None, column: RSS_MB, goal: Some(Goal::AtMost(48.0)) },
        ],
        derive: None,
    }
}
